"""Claims about values: the true ones hold, the false ones break, and never by the compiler alone."""

import re
from typing import Any

import numpy as np
import pytest
from claiming import verdict, verdicts

from indicial.claims import values
from indicial.claims.experiment import HOLDS, REFUTED, UNTRIED, Sides
from indicial.claims.running import Stage

SOFTMAX = "input x[n]\nα[n] = softmax_n x[n]\n"
ATTENTION = """
input x[t,j]
Query[k,t,i] = W^Q[k,i,J] x[t,J]
Key[k,t,i] = W^K[k,i,J] x[t,J]
α[k,t_1,t_2] = softmax_{t_2} 1/sqrt(I) Query[k,t_1,I] Key[k,t_2,I]
W^{QK}[k,j,j'] = W^Q[k,I,j] W^K[k,I,j']
α'[k,t_1,t_2] = softmax_{t_2} 1/sqrt(I) x[t_1,J] W^{QK}[k,J,J'] x[t_2,J']
"""


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("Σ_n α[n] = 1", HOLDS),
        ("α[n] ≥ 0", HOLDS),
        ("α[n] ≤ 1", HOLDS),
        ("α[n] ≠ 2", HOLDS),
        ("α[n] < 2", HOLDS),
        ("α[n] > -1", HOLDS),
        ("α[n] ≈ 1/2 within 1/2", HOLDS),
        ("α[n] ≥ α[n'] for x[n] ≥ x[n']", HOLDS),
        ("α[n] = 1 for N = 1", HOLDS),
        ("α[n] ≤ 1/N", REFUTED),
        ("Σ_n α[n] < 1", REFUTED),
        ("Σ_n α[n] > 1", REFUTED),
        ("α[n] = 1", REFUTED),
        ("α[n] ≈ 1/2 within 0.4", REFUTED),
        ("α[n] ≠ α[n]", REFUTED),
        ("α[n] ≥ α[n'] for n ≥ n'", REFUTED),
        ("α[n] = 1 for N < 3", REFUTED),
        ("α[n] = 1 for N < 1", UNTRIED),
    ],
)
def test_every_relation(claim: str, status: str) -> None:
    assert verdict(f"{SOFTMAX}claim {claim}").status == status


def test_a_false_claim_is_as_stated_when_it_breaks() -> None:
    assert verdict(f"{SOFTMAX}claim false: α[n] ≤ 1/N").as_stated
    holds = verdict(f"{SOFTMAX}claim false: α[n] ≤ 1")
    assert not holds.as_stated
    assert "claimed to be false, but it holds" in holds.message().render()


@pytest.mark.parametrize("relation", ["=", "≈", "≤", "<", "≥", ">", "≠"])
def test_what_is_told_is_the_same_on_another_processor(relation: str) -> None:
    """There products are added in another order, and sides differ by a few units of rounding."""
    random = np.random.default_rng(0)
    size = 10.0 ** random.integers(-3, 4, (6, 40))
    away = {"=": 0.0, "≈": 0.0, "≤": -1.0, "<": -1.0, "≥": 1.0, ">": 1.0, "≠": 1.0}[relation]
    for least in (0.0, 1e-13, 1e-6):  # how far the sides are apart where they are nearest
        right = random.normal(size=size.shape) * size
        left = right + away * size * (least + random.random(size.shape))
        left[2, 3] = right[2, 3] + away * least
        within = np.full(size.shape, 0.01) if relation == "≈" else None
        told = set()
        for _ in range(20):
            noise = 1e-14 * size * random.choice([-1, 0, 1], size.shape)
            tally = values._Tally()
            tally.add(
                values.judge(relation, Sides(left + noise, right, size > 0, within)), relation
            )
            told.add(values._held(relation, tally))
        if relation != "≠" or least > 1e-9:
            assert len(told) == 1, told


def test_merged_attention_is_attention() -> None:
    """A product of matrices in another order: equal to rounding, and that is told."""
    found = verdict(ATTENTION + "claim α[k,t_1,t_2] = α'[k,t_1,t_2]")
    assert found.status == HOLDS
    assert "equal but for rounding" in found.found
    wrong = ATTENTION.replace("W^{QK}[k,J,J'] x", "W^{QK}[k,J',J] x")
    assert verdict(wrong + "claim α[k,t_1,t_2] = α'[k,t_1,t_2]").status == REFUTED


def test_bounded_whatever_the_length() -> None:
    text = """
    input s[t_1,t_2]
    α[t_1,t_2] = softmax_{t_2} s[t_1,t_2]
    near = 1/T Σ_{t_1} min(16, Σ_{t_2} α[t_1,t_2] (t_1 - t_2)^2)
    far = 1/T Σ_{t_1} Σ_{t_2} α[t_1,t_2] (t_1 - t_2)^2
    claim 0 ≤ near ≤ 16
    claim far ≤ 16
    """
    low, high, far = verdicts(text)
    assert (low.status, high.status, far.status) == (HOLDS, HOLDS, REFUTED)
    assert "T = 1 to 32" in high.found


def test_draws_at_which_a_side_is_no_number_are_counted() -> None:
    """A root of one number, which is as often below zero as above."""
    found = verdict("input x\ny = sqrt(x)\nclaim y^2 = x", seed=5)
    draws = int(re.findall(r"(\d+) draws", found.found)[0])
    assert (found.status, found.seed) == (HOLDS, 5)
    assert 0.4 * draws < found.undefined < 0.6 * draws
    assert f"(at {found.undefined} of them a side is not a number" in found.found
    assert verdict("input x\ny = x\nclaim y ≥ x", seed=5).undefined == 0


@pytest.mark.parametrize("given", ["z[t] = 2 t", "constant z[t] = [1, 2]"])
def test_nothing_is_differentiated_by_what_an_equation_or_a_number_says(given: str) -> None:
    found = verdict(f"{given}\ny[t] = z[t]^2\nclaim ∂y[t]/∂z[t] = 2 z[t]")
    assert found.status == UNTRIED
    assert found.found.startswith("z is not an input, a parameter or a draw")


def test_permutations_pass_through_attention() -> None:
    text = """
    input x[t,i]
    π[t] ~ permutation
    x'[t,i] = x[π[t],i]
    α[t_1,t_2] = softmax_{t_2} x[t_1,I] x[t_2,I]
    α'[t_1,t_2] = softmax_{t_2} x'[t_1,I] x'[t_2,I]
    y[t,i] = α[t,T] x[T,i]
    y'[t,i] = α'[t,T] x'[T,i]
    claim y'[t,i] = y[π[t],i]
    claim y'[t,i] = y[t,i]
    """
    same, other = verdicts(text)
    assert (same.status, other.status) == (HOLDS, REFUTED)


def test_derivatives() -> None:
    text = """
    input x[t]
    p[t] = softmax_t x[t]
    L = Σ_t x[t]^2 tanh(x[t])
    claim ∂p[t]/∂x[t'] = p[t] (cases { 1 if t = t', 0 otherwise } - p[t'])
    claim ∂p[t]/∂x[t'] = p[t] p[t']
    claim ∂L/∂x[t] = 2 x[t] tanh(x[t]) + x[t]^2 (1 - tanh(x[t])^2)
    claim Σ_t ∂p[t]/∂x[t'] = 0
    claim ∂L/∂x[t] ≥ 0
    claim ∂p[t]/∂w[t'] = 0
    """
    found = verdicts(text)
    assert [v.status for v in found] == [HOLDS, REFUTED, HOLDS, HOLDS, HOLDS, HOLDS]


def test_nothing_passes_back_through_an_argmax() -> None:
    text = """
    input q[i], k[n,i], v[n,j]
    best = argmax_n k[n,I] q[I]
    h[j] = v[best,j]
    claim ∂h[j]/∂q[i] = 0
    claim ∂h[j]/∂k[n,i] = 0
    claim ∂h[j]/∂v[n,j'] = 0
    """
    assert [v.status for v in verdicts(text)] == [HOLDS, HOLDS, REFUTED]


def test_recurrences_tokens_and_losses() -> None:
    text = """
    input w[t] in V
    h[t,j] = tanh(W[j,I] h[t-1,I] + e[w[t],j])
    P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,J] h[t-1,J]
    loss = Σ_t -ln P(w_t | …)
    claim |h[t,j]| ≤ 1
    claim loss ≥ 0
    claim loss = ln V for T = 1
    claim loss ≤ T ln V
    """
    found = verdicts(text)
    assert [v.status for v in found] == [HOLDS, HOLDS, HOLDS, REFUTED]


def test_a_written_batch_is_run_draw_by_draw() -> None:
    text = "input x[b,t]\nm[b] = mean_t x[b,t]\nclaim m[b] ≤ max_t x[b,t]\nclaim m[b] ≥ 0"
    assert [v.status for v in verdicts(text)] == [HOLDS, REFUTED]


def test_sizes_that_are_given_stay() -> None:
    found = verdict(f"{SOFTMAX}claim α[n] ≥ 0", sizes={"N": 5})
    assert found.found.endswith("sizes N = 5")
    assert verdict(f"size N = 4\n{SOFTMAX}claim α[n] ≥ 0").found.endswith("sizes N = 4")


def test_a_size_that_is_given_is_that_of_all_its_letters() -> None:
    """No equation ties the n of y to that of x; still nobody says that it is another."""
    text = "input x[n], y[n]\nsize N = 8\n"
    held, other = verdicts(f"{text}claim x[n] = x[n]\nclaim y[n] = y[n]")
    assert "= 8" in held.found and "= 8" in other.found
    set_ = verdicts("input x[n], y[n]\nclaim x[n] = x[n]\nclaim y[n] = y[n]", sizes={"N": 5})
    assert all(one.found.endswith("= 5") for one in set_)


def test_what_is_no_number_is_told() -> None:
    root, fine = verdicts("input x[n]\nclaim sqrt(x[n])^2 = x[n]\nclaim sqrt(x[n]^2) ≥ x[n]")
    assert root.status == fine.status == HOLDS
    assert re.search(r"\(at \d+ of them a side is not a number somewhere\)", root.found)
    assert "no number" not in fine.found
    guarded = verdict("input x[n]\nclaim sqrt(x[n])^2 = x[n] for x[n] ≥ 0")
    assert "no number" not in guarded.found


def test_the_same_seed_gives_the_same_verdict() -> None:
    text = f"{SOFTMAX}claim x[n] - α[n] ≤ 1000"
    assert verdict(text, seed=3).found == verdict(text, seed=3).found
    assert verdict(text, seed=3).found != verdict(text, seed=4).found
    assert "996 draws" in verdict(text, draws=996).found


# ---------------------------------------------------------------------- the compiler is not believed


def test_a_lie_of_the_compiler_refutes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Stage._compiled

    def lying(self: Stage, values: Any, sizes: Any, count: int) -> dict[str, Any]:
        return {n: v + 1.0 for n, v in honest(self, values, sizes, count).items()}

    monkeypatch.setattr(Stage, "_compiled", lying)
    found = verdict(f"{SOFTMAX}claim Σ_n α[n] ≤ 1.5")
    assert found.status == UNTRIED
    assert "not those of the interpreter" in found.message().render().replace("\n    ", " ")


def test_what_cannot_be_compiled_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(self: Stage, values: Any, sizes: Any, count: int) -> dict[str, Any]:
        raise NotImplementedError

    monkeypatch.setattr(Stage, "_compiled", refusing)
    held, broken = verdicts(f"{SOFTMAX}claim Σ_n α[n] = 1\nclaim α[n] ≤ 1/2", draws=20)
    assert (held.status, broken.status) == (HOLDS, REFUTED)


def test_compiled_and_interpreted_sides_agree() -> None:
    from indicial import load
    from indicial.claims.experiment import Experiment

    code = load(ATTENTION + "claim ∂α[k,t_1,t_2]/∂W^Q[k',i,j] ≤ α'[k,t_1,t_2]").code
    experiment = Experiment(code, code.tests[0])
    sizes = {"K": 2, "T": 2, "I": 3, "J": 2}
    values = experiment.draw(sizes, 3, np.random.default_rng(0))
    fast = experiment.sides(values, sizes, 3)
    for member in range(3):
        slow = experiment.exact_sides({n: v[member] for n, v in values.items()}, sizes)
        np.testing.assert_allclose(fast.left[member], slow.left[0], atol=1e-12)
        np.testing.assert_allclose(fast.right[member], slow.right[0], atol=1e-12)


def test_a_constant_that_the_claim_does_not_read() -> None:
    text = f"constant c = 2\nz[n] = c x[n]\n{SOFTMAX}claim Σ_n α[n] = 1\nclaim z[n] = 2 x[n]"
    assert [v.status for v in verdicts(text)] == [HOLDS, HOLDS]


def test_nothing_large_is_tried() -> None:
    found = verdict("size T = 100000\ninput x[t]\ny[t_1,t_2] = x[t_1] x[t_2]\nclaim y[0,0] ≥ 0")
    assert found.status == UNTRIED
    assert "set smaller ones" in found.found


LABELS = """\
label the, cat, saw in T
size T = 3
label yes, no in V
size V = 2
"""


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("α[t_1,t_2] = 0\nα[saw,cat] = 1\nclaim α[t_1,t_2] = 0", "at t_1 = saw, t_2 = cat"),
        (
            "x[t] ~ N(0, 1)\ny[t] = x[t] + [t = cat]\nclaim mean of y[t] ≈ 0 within 0.1",
            "at t = cat",
        ),
        ("input w[t] in V\nclaim w[t] = yes for t = saw", "at t = saw"),
        ("input x[i]\nclaim x[i] ≤ 0", "at i = 0"),
    ],
)
def test_a_counterexample_is_told_by_its_labels(text: str, where: str) -> None:
    found = verdict(LABELS + text)
    assert found.broken is not None
    assert found.broken.where.strip().startswith(where + " where"), found.broken.where
    if "input w" in text:
        drawn = found.broken.draw["w"].strip("[]").split(", ")
        assert set(drawn) <= {"yes", "no"} and drawn[2] == "no"
        assert found.to_json()["claim"]["counterexample"]["at"] == {"t": 2}


def test_nothing_passes_back_through_a_stop() -> None:
    """The value is that of the step, the slope that of the line."""
    text = "input x[i]\ny[i] = x[i] + stop(sign(x[i]) - x[i])\n"
    found = verdicts(
        f"{text}claim y[i] = sign(x[i])\nclaim ∂y[i]/∂x[j] = [i = j]\nclaim false: ∂y[i]/∂x[j] = 0"
    )
    assert all(v.as_stated for v in found), [v.found for v in found]


def test_a_margin_of_nothing_is_told_as_such() -> None:
    """Only where more than nothing is claimed, nothing may be rounding."""
    assert verdict("input x[i]\nclaim x[i] ≤ x[i]").found.startswith("least margin 0, ")
    assert verdict("input x[i]\nclaim x[i] ≥ x[i] - 2").found.startswith("least margin 2, ")
