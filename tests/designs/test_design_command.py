"""`indicial design`, and `indicial compare` of designs with runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import indicial
from indicial.cli import main
from indicial.designs.design import Design
from indicial.designs.hand import hand
from tests.designs.test_design import selects

FIRST = """\
input w[t] in V
parameter pos[t,p]
token[t,v] = [v = w[t-1]]
x[t,C] = token[t,V]; pos[t,P]
Query[t,i] = W^Q[i,C] x[t,C]
Key[t,i] = W^K[i,C] x[t,C]
Value[t,u] = W^V[u,C] x[t,C]
α[t_1,t_2] = softmax_{t_2 ≤ t_1} 1/√I Query[t_1,I] Key[t_2,I]
y[t,u] = α[t,T] Value[T,u]
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} y[t,w_t]
loss = 1/T Σ_t -ln P(w_t | …)
"""


def test_every_case_of_a_design(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["design", "position"]) == 0
    assert "all 120 sequences are right" in capsys.readouterr().out
    made = hand("position")
    path = indicial.design(
        "selects", Q=made.arrays["W^Q"], K=-made.arrays["W^K"], V=made.arrays["W^V"],
        positions=made.arrays["pos"],
    ).save(tmp_path / "mine.json")  # fmt: skip
    assert main(["design", str(path), "--task", "position", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["design"]
    assert told["cases"] == 120 and "AB" in told["wrong"]


def test_what_is_learned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, figure = tmp_path / "learned.json", tmp_path / "both.svg"
    call = ["design", "position", "--train", "--steps", "1200", "--rate", "0.2"]
    assert main([*call, "--out", str(out), "--figure", str(figure)]) == 0
    said = capsys.readouterr().out
    assert said.count("  step ") == 10 and "  step 1,200: squared error" in said
    assert "position learned: 1,200 steps of one sequence at rate 0.2, seed 0" in said
    assert "Scores of tokens for positions have the same pattern" in said
    assert max(map(len, said.splitlines())) <= 80
    learned = Design.load(out)
    assert learned.check("position").squared_error < 0.001
    assert selects(learned, (2, 0, 1)).argmax(-1).tolist() == [2, 2, 2]
    assert "<svg" in figure.read_text(encoding="utf-8")


def test_a_design_beside_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A design of equations that `train` takes, and what it learned."""
    equations, data = tmp_path / "first.eq", tmp_path / "first.txt"
    equations.write_text(FIRST, encoding="utf-8")
    words = [a + b + c for a in "ABC" for b in "ABC" for c in "ABC"]
    data.write_text("".join(f"{w}={w[0]}\n" for w in words * 4), encoding="utf-8")
    run, mine = tmp_path / "run", tmp_path / "mine.json"
    call = ["train", str(equations), "--data", str(data), "--documents", "lines", "--context", "6"]
    sizes = ["--set", "P=6", "--set", "I=2", "--max-steps", "3", "--batch-size", "8"]
    assert main([*call, *sizes, "--out", str(run)]) == 0
    learned = Design.of_run(run)
    assert learned.tokens == ("<EOS>", "�", "=", "A", "B", "C")
    random = np.random.default_rng(0)
    indicial.design(
        equations, Q=random.normal(size=(2, 12)), K=random.normal(size=(2, 12)),
        V=random.normal(size=(6, 12)), positions=np.eye(6), tokens=learned.tokens, name="mine",
    ).save(mine)  # fmt: skip
    capsys.readouterr()
    figure = tmp_path / "both.svg"
    assert main(["compare", str(mine), str(run), "--figure", str(figure), "--text", "AB="]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"“mine” and “{run}”") and "trained by 3 steps" in said
    assert "On AB= the weights differ by at most" in said
    assert "<svg" in figure.read_text(encoding="utf-8")
    assert main(["compare", str(run), str(run), "--json"]) == 0
    parts = json.loads(capsys.readouterr().out)["parts"]
    assert all(part["difference"] == 0 for part in parts)
    told = learned.reading([3, 4]).values(["P"])["P"]
    assert main(["trace", str(run), "AB", "--want", "P", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)["values"]["P"]["values"]
    np.testing.assert_allclose(values, told, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["design", "postion"], "did you mean position?"),
        (["design", "position", "--rate", "1"], "--rate is for what is learned: add --train"),
        (["design", "position", "--task", "unique"], "4 tokens"),
        (["design", "position", "--train", "--steps", "0"], "at least one step"),
        (["compare", "position", "gru"], "gru is neither a design nor a run"),
        (["compare", "position", "unique", "--data", "people"], "--data is not for this"),
        (["compare", "gru", "lstm", "--figure", "a.svg"], "--figure is not for this"),
    ],
)
def test_wrong_calls(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_texts_in_place_of_arrays() -> None:
    sizes = {"I": 3, "V": 3, "O": 3, "T": 6, "P": 1}
    made = indicial.design(
        "selects", Q="4 [i = c]", K="W^K[i,c] = 4 [i = c]", V="[o = c]", positions="0", sizes=sizes
    )
    assert made.arrays["W^Q"].tolist() == made.arrays["W^K"].tolist() == (4 * np.eye(3, 4)).tolist()
    assert made.check("content").passed


def test_more_tokens_than_letters() -> None:
    made = indicial.design(
        "selects", Q=np.zeros((1, 31)), K=np.zeros((1, 31)), V=np.zeros((1, 31)),
        positions=np.zeros((2, 1)),
    )  # fmt: skip
    assert made.tokens[24:28] == ("Y", "Z", "AA", "AB") and len(set(made.tokens)) == 30
    assert made.encode("AA Z") == [26, 25]
