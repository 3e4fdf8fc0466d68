"""Constants that are set, claims of symmetry, sizes that meet, and costs as `explain` says them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from indicial.claims.trying import try_claims
from indicial.cli import main
from indicial.library.loading import load
from indicial.program.messages import IndicialError
from indicial.program.program import Program

SCALED = "constant M = 2\ninput x[t]\ny[t] = M x[t]\nclaim y[t] = 3 x[t]\n"
HEAD = """
input x[t,d]
Q[t,i] = W^Q[i,D] x[t,D]
K[t,i] = W^K[i,D] x[t,D]
V[t,i] = W^V[i,D] x[t,D]
α[t,s] = softmax_s Q[t,I] K[s,I]
y[t,i] = α[t,S] V[S,i]
"""


def test_a_constant_is_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scaled.eq"
    file.write_text(SCALED, encoding="utf-8")
    assert main(["explain", str(file), "--set", "M=1"]) == 0
    assert "M = 1\n" in capsys.readouterr().out
    assert main(["check", str(file)]) == 1
    assert main(["check", str(file), "--set", "M=3"]) == 0
    assert main(["try", str(file), "--set", "M=0.5", "--set", "T=3"]) == 0
    capsys.readouterr()
    assert main(["explain", str(file), "--set", "N=0.5"]) != 0
    assert "not a constant of the equations (M)" in capsys.readouterr().err
    program = load(SCALED).with_constants({"M": 3})
    assert np.allclose(program.interpret({"x": [1.0, 2.0]})["y"], [3, 6])


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        ("claim b[t,s] = b[s,t]", True),
        ("claim Σ_s b[t,s] = Σ_s b[s,t]", True),
        ("claim c[t,s] = -c[s,t]", True),
        ("claim a[t,s] = a[s,t]", False),
    ],
)
def test_a_claim_of_symmetry(line: str, holds: bool) -> None:
    program = load(f"""
input x[t,i]
a[t,s] = softmax_s x[t,I] x[s,I]
b[t,s] = x[t,I] x[s,I]
c[t,s] = a[t,s] - a[s,t]
{line}
""")
    assert not program.errors
    (verdict,) = try_claims([program])
    assert verdict.as_stated == holds


def test_an_exchange_that_is_a_slip_is_still_found() -> None:
    program = load("input x[t,k]\nh[t,j] = tanh(W[j,I] h[I,t-1] + U[j,K] x[t,K])")
    assert "index-order" in {m.code for m in program.errors}


def test_two_sizes_that_meet_are_both_shown() -> None:
    text = "input x[j], z[k]\nsize J = 4\nsize K = 8\ny[j] = x[j] + z[j]"
    (message,) = load(text).errors
    assert "J = 4 and K = 8 must be equal" in message.text
    assert [site.text for site, _ in message.sites] == ["j", "J", "K"]
    (message,) = load(text.replace("size K = 8\n", "")).mistakes
    assert message.severity == "warning" and "K" in message.text
    with pytest.raises(IndicialError, match="J is K in x"):
        load("input x[j], z[k]\ny[j] = x[j] + z[j]").sizes({"J": 4})


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        ("claim parameters = 3 D I", True),
        ("claim elements of W^V = D I", True),
        ("claim work of V = 2 D I T", True),
        ("claim parameters = 3 D I_V", False),
        ("claim parameters = 4 D I", False),
    ],
)
def test_costs_are_those_that_explain_says(line: str, holds: bool) -> None:
    program = load(HEAD + line)
    assert "3 D I" in program.explain()
    (verdict,) = try_claims([program])
    assert verdict.as_stated == holds


def test_a_letter_with_an_accent_is_an_index() -> None:
    """`ŷ` runs over what y is one of; it is no label because it wears a hat."""
    program = load(
        "input x[j]\ninput y in Y\ns[ŷ] = Σ_j W[ŷ,j] x[j]\nloss = -s[y] + ln Σ_ŷ exp s[ŷ]"
    )
    assert program.messages == []
    W, x = np.array([[1.0, 2.0], [0.5, -1.0], [0.0, 3.0]]), np.array([0.3, -0.7])
    scores = W @ x
    found = program.interpret({"x": x, "y": 2}, {"W": W})
    assert np.allclose(found["s"], scores)
    assert np.isclose(found.loss, -scores[2] + np.log(np.exp(scores).sum()))


SHARED = """
input q[t,h,i], k[s,g,i], v[s,g,j]
size H = 4
size G = 2
r[h] = floor(h/2)
α[t,h,s] = softmax_s q[t,h,I] k[s,r[h],I]
o[t,h,j] = Σ_s α[t,h,s] v[s,r[h],j]
"""


def test_heads_that_share_keys_and_values() -> None:
    """The place floor(h/2) has a name of its own; written in brackets, a hint says so."""
    random = np.random.default_rng(0)
    q, k = random.normal(size=(3, 4, 5)), random.normal(size=(2, 2, 5))
    v = random.normal(size=(2, 2, 6))
    found = Program.of_text(SHARED).interpret({"q": q, "k": k, "v": v})["o"]
    keys, values = k[:, [0, 0, 1, 1]], v[:, [0, 0, 1, 1]]
    weights = np.exp(np.einsum("thi,shi->ths", q, keys))
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(found, np.einsum("ths,shj->thj", weights, values))
    (error,) = Program.of_text(SHARED.replace("v[s,r[h],j]", "v[s,floor(h/2),j]")).errors
    assert "r[h] = floor(h/2)" in error.hint
