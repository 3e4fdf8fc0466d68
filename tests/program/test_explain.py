"""`explain`: what it says of a program, and that it fits a screen."""

from collections.abc import Callable
from typing import Any

import pytest

from indicial import library, load
from indicial.program.explain.explain import explain
from indicial.program.explain.facts import read
from indicial.program.explain.numbers import both, count, formula, in_bytes, leading, short
from indicial.program.explain.outside import outside
from indicial.program.explain.report import to_json
from indicial.program.meaning.arrays import tie, tied_sizes
from indicial.program.messages import IndicialError, columns
from indicial.program.sizes import Size

Golden = Callable[[str, str], None]


def rows(text: str) -> dict[str, str]:
    """Labels with what stands behind them, lines that go on joined by a newline."""
    found: dict[str, str] = {}
    label = ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            label = line[:12].strip()
            found[label] = line[12:]
        elif label and line:
            found[label] += "\n" + line[12:]
    return found


# ---------------------------------------------------------------------- the screen


@pytest.mark.parametrize(
    "name", ["transformer", "ugrnn", "self_attention", "language_cnn", "rnn_lm"]
)
def test_golden(name: str, golden: Golden) -> None:
    golden(f"explain_{name}.txt", explain(load(name)))


def test_golden_with_sizes(golden: Golden) -> None:
    sizes = {"J": 512, "K": 8, "I": 64, "L": 6, "D": 2048, "V": 32000, "T": 1024}
    golden("explain_transformer_sizes.txt", explain(load("transformer"), sizes=sizes))


def test_golden_of_pasted_equations(golden: Golden) -> None:
    """A name with a question mark was guessed, and the reason stands below."""
    from indicial.paste import written

    text = r"\alpha_t = \mathrm{softmax}_t\; q[I] k[t,I] \\ c[j] = \alpha[T] W[j,I] k[T,I]"
    golden("explain_pasted.txt", explain(written(text)))


def test_transformer_fits_a_lecture_screen() -> None:
    lines = explain(load("transformer")).splitlines()
    assert len(lines) <= 40
    assert max(map(columns, lines)) <= 80


@pytest.mark.parametrize("name", library.names())
def test_every_model_fits_80_columns(name: str) -> None:
    for everything in (False, True):
        text = explain(load(name), everything=everything)
        assert max(columns(line) for line in text.splitlines()) <= 80


def test_what_the_analysis_made_shows_only_on_request() -> None:
    program = load("encoder")
    made = [n.name for n in read(program).names if n.made]
    assert any(name.startswith("layernorm") for name in made)
    assert not any(name in explain(program) for name in made)
    assert all(name in explain(program, everything=True) for name in made)


def test_spellings() -> None:
    program = load("ugrnn")
    assert "sigma(" not in explain(program)
    typed = load("y[j] = sum_{i} W[j,i] tau x[i]\ninput x[i]")
    assert "sum_{i}" in explain(typed)
    assert "Σ" in explain(typed, spelling="unicode")


def test_as_typed_with_its_condition() -> None:
    text = "input x[t]\ny[t] = x[t] for t < 3  # a remark\ny[t] = 2 x[t] for t ≥ 3"
    lines = explain(load(text)).splitlines()
    assert lines[2:4] == ["  y[t] = x[t] for t < 3", "  y[t] = 2 x[t] for t ≥ 3"]


def test_an_index_that_is_left_out_on_both_sides_is_a_note() -> None:
    text = "input x[t,k]\nh[t] = tanh(x[t])\ny[t] = Σ_k h[t,k] x[t,k]"
    note = rows(explain(load(text)))["note"]
    assert note == "h: the trailing index K is left out on both sides"


# ---------------------------------------------------------------------- costs


@pytest.mark.parametrize(
    ("name", "work", "time"),
    [
        ("rnn", "O(T)", "O(T)"),
        ("ugrnn", "O(T)", "O(T)"),
        ("lstm", "O(T)", "O(T)"),
        ("stacked", "O(L T)", "O(L + T)"),
        ("language_cnn", "O(L + T)", "O(L)"),
        ("transformer", "O(L T²)", "O(L)"),
        ("self_attention", "O(T²)", "O(1)"),
    ],
)
def test_growth_forward_and_backward(name: str, work: str, time: str) -> None:
    said = rows(explain(load(name)))
    for label in ("forward", "backward"):
        assert said[label].startswith(f"{work} work, {time} parallel time"), said[label]
    assert "twice the work" in said["backward"]


def test_query_and_key_against_one_matrix() -> None:
    """2KIJ against KJ², which is the same at I = J/2."""
    both_ = read(load("self_attention"))
    merged = read(load("merged_attention"))
    parts = both_.program.cost.parameters_by_tensor
    pair = both_.tied(parts["W^Q"] + parts["W^K"])
    one = merged.tied(merged.program.cost.parameters_by_tensor["W^{QK}"])
    assert (str(pair), str(one)) == ("2 I J K", "J² K")
    for j in (2, 8, 512):
        assert pair.value({"I": j // 2, "J": j, "K": 3}) == one.value({"J": j, "K": 3})
    assert "W^Q[k,i,j]" in explain(both_.program)
    assert "W^{QK}[k,j_1,j_2] J² K" in explain(merged.program)


def test_numbers_agree_with_the_formulas() -> None:
    sizes = {"J": 10, "K": 7, "T": 3}
    said = rows(explain(load("ugrnn"), sizes=sizes))
    assert said["parameters"].startswith(f"{2 * 100 + 2 * 70 + 20} = 2 J² + 2 J K + 2 J")
    assert said["work"].startswith(f"{count(4 * 100 * 3 + 4 * 70 * 3 + 10 * 30)} operations")
    assert said["memory"].startswith("90 elements, 360 B in float32")
    assert "numbers" not in said


def test_some_sizes_give_part_of_a_formula() -> None:
    said = rows(explain(load("ugrnn"), sizes={"J": 256}))
    assert said["work"] == "1,024 K T + 264,704 T operations"
    assert said["numbers"].startswith("need also T, K")


def test_unknown_size_is_refused() -> None:
    with pytest.raises(IndicialError, match="no size Q"):
        explain(load("ugrnn"), sizes={"Q": 3})


# ---------------------------------------------------------------------- sizes of one letter


def test_second_size_of_a_letter_is_taken_as_the_first() -> None:
    code = load("transformer").code
    assert tie(code) == {"I_{Value}": "I"}
    assert tied_sizes(code, {"I": 4})["I_{Value}"] == 4
    assert tied_sizes(code, {"I": 4, "I_{Value}": 5})["I_{Value}"] == 5
    said = explain(load("transformer"))
    assert "I_{Value} is taken as I unless set" in said
    assert said.count("I_{Value}") == 1


def test_a_second_size_that_is_set_stays() -> None:
    said = explain(load("self_attention"), sizes={"I_{Value}": 5})
    assert "I_{Value} = 5" in said
    assert "5 J K" in said


def test_worded_sizes_are_their_own() -> None:
    code = load("thought_vector").code
    assert {"T", "T_{in}"} <= set(code.sizes)
    assert "T_{in}" not in tie(code)


def test_two_indices_of_one_letter_are_shown_as_written() -> None:
    text = "input x[t]\nparameter R[t,t']\na[t,t'] = x[t] x[t']\nb[t_1,t_2] = x[t_1] R[t_1,t_2]"
    shown = {n.name: n.shown for n in read(load(text)).names}
    assert (shown["a"], shown["b"], shown["R"]) == ("a[t,t']", "b[t_1,t_2]", "R[t_1,t_2]")


def test_letters_of_one_size() -> None:
    assert read(load("ugrnn")).same == [("I", "J")]
    assert read(load("thought_vector")).same == []


# ---------------------------------------------------------------------- outside a range


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("input x[t]\nh[t] = h[t-1] + x[t]", ["h[t-1] at t = 0: 0, the start"]),
        ("input x[t]\nh[t] = h[t-2] + x[t]", ["h[t-2] at t < 2: 0, the start"]),
        ("input x[t]\nh[t] = h[t+1] + x[t]", ["h[t+1] at t = T-1: 0, the start"]),
        ("input x[t]\ny[t] = x[t] + x[t+1]", ["x[t+1] at t = T-1: 0, padding"]),
        (
            "input x[t]\nh[-1] = 3\nh[t] = h[t-1] + x[t]",
            ["h[t-1] at t = 0: the start, h[-1] = 3"],
        ),
        ("input x[t]\nh[0] = 3\nh[t] = h[t-1] + x[t]", []),
        ("input x[t]\nh[t] = h[t-1] + x[t] for t > 0", []),
        ("input w[t] in V\ny[t] = e[w[t-1]]", ["w[t-1] at t = 0: no token, e[w[t-1]] is 0"]),
        (
            "input x[t]\nrange Δt = -1..1\ny[t] = W[ΔT] x[t+ΔT]",
            ["x[t+Δt] beyond 0..T-1: 0, padding"],
        ),
        ("input x[t]\ny[t_1] = Σ_{t_2 ≤ t_1} x[t_1-t_2]", []),
        ("input x[t]\ny[t_1] = Σ_{t_2} x[t_1-t_2]", ["x[t_1-t_2] beyond 0..T-1: 0, padding"]),
        (
            "input x[t]\nL_0[t] = x[t]\nL_{ℓ+1}[t] = a L_ℓ[t-1]",
            ["L[ℓ,t-1] at t = 0: 0, padding"],
        ),
    ],
)
def test_reads_outside(text: str, expected: list[str]) -> None:
    assert [str(found) for found in outside(load(text).code)] == expected


def test_outside_holds_for_the_oracle() -> None:
    """What explain says of `h[t-1]` at the start is what interpret does."""
    program = load("input x[t]\nh[-1] = 3\nh[t] = h[t-1] + x[t]")
    assert program.interpret({"x": [1.0, 1.0]})["h"].tolist() == [4.0, 5.0]


# ---------------------------------------------------------------------- for programs


def test_json_holds_all_of_it() -> None:
    found: dict[str, Any] = to_json(read(load("ugrnn"), {"J": 10, "K": 7, "T": 3}))
    by_name = {n["name"]: n for n in found["names"]}
    assert by_name["x"]["role"] == "input"
    assert by_name["W^{h,R}"]["role"] == "parameter"
    assert [a["upper"] for a in by_name["h"]["axes"]] == ["T-1", "J-1"]
    cost = found["cost"]
    assert cost["parameters"]["number"] == 360
    assert cost["parameters"]["by_tensor"]["B^R"] == {"formula": "J", "number": 10}
    assert cost["parallel_time"]["growth"] == cost["backward"]["parallel_time"]["growth"] == "O(T)"
    assert found["outside"][0]["kind"] == "start"
    assert found["same_size"] == [["I", "J"]]


# ---------------------------------------------------------------------- numbers


def test_numbers_are_readable() -> None:
    assert count(1234567) == "1,234,567"
    assert both(12345678) == "12,345,678 (12.3 M)"
    assert [short(n) for n in (950, 1000, 999_999, 12_345_678, 3.2e12)] == [
        "950", "1.00 k", "1.00 M", "12.3 M", "3.20 T",
    ]  # fmt: skip
    assert (in_bytes(10), in_bytes(12_345_678)) == ("40 B", "49.4 MB")


def test_formulas_are_grouped_and_shortened() -> None:
    j, t = Size.of("J"), Size.of("T")
    assert formula(65536 * j * t - 1000) == "65,536 J T - 1,000"
    assert str(leading(4 * j * j * t + 10 * j * t + t * t)) == "4 J² T + T²"
