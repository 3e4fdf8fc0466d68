"""Slips in correct equations are noticed, where they are, and correct equations are left alone."""

import pytest
from mutations import Verdict, judge, sampled, table
from slips import KINDS, Original, mutants, originals, program

from indicial.program.program import Program

FEW, MANY = 64, 240
"""As many mutants as run in some seconds; `python tests/program/mutations.py` judges them all."""
ENOUGH, ENOUGH_OF_EACH = 0.9, 0.85


def report(verdicts: list[Verdict]) -> str:
    missed = [v.mutant.shown for v in verdicts if v.outcome == "missed"]
    return "\n".join(["", table(verdicts), "", "missed:", *missed])


@pytest.mark.parametrize("original", originals(), ids=lambda o: o.name)
def test_correct_equations_get_no_message(original: Original) -> None:
    found = program(original.text, original.name).mistakes
    assert not found, "\n\n".join(m.render() for m in found)


@pytest.mark.parametrize("sample", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
def test_slips_are_noticed(sample: int) -> None:
    """Of all slips that change the meaning, nine in ten get a message at their place."""
    known: dict[str, Program] = {}
    found = sampled((m for o in originals() for m in mutants(o)), sample)
    verdicts = [judge(mutant, known) for mutant in found]
    for kind, enough in (*((k, ENOUGH_OF_EACH) for k in KINDS), ("all", ENOUGH)):
        counted = [v for v in verdicts if v.outcome != "same" and kind in ("all", v.mutant.kind)]
        caught = [v for v in counted if v.outcome == "caught"]
        assert counted, kind
        assert len(caught) >= enough * len(counted), report(verdicts)


RIGHT = {
    "a difference of two times": "input x[t,k]\ny[t,k] = x[t,k] - x[t-1,k]",
    "a matrix twice": "input A[i,j]\nB[i,k] = A[i,J] A[J,k]",
    "a transpose": "input x[t,j]\ny[j,t] = x[t,j]",
    "a symmetric part": "input A[i,j]\nS[i,j] = 1/2 A[i,j] + 1/2 A[j,i]",
    "two states that drive each other": (
        "input x[t,k]\n"
        "u[t,j] = tanh(A[j,I] u[t-1,I] + B[j,I] v[t-1,I] + C[j,K] x[t,K])\n"
        "v[t,j] = tanh(D[j,I] u[t-1,I] + E[j,I] v[t-1,I])"
    ),
    "a recurrence over two steps": (
        "input x[t,j]\nh[t,j] = tanh(A[j,I] h[t-1,I] + B[j,I] h[t-2,I] + x[t,j])"
    ),
    "a step forward": "input x[t,j]\nh[t+1,j] = tanh(W[j,I] h[t,I] + x[t,j])",
    "word vectors that are not tied": (
        "input w[t] in V\n"
        "h[t,j] = tanh(W[j,I] h[t-1,I] + e[w[t],j])\n"
        "P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} U[w_t,J] h[t-1,J]"
    ),
    "layers that share all parameters": (
        "input L_0[t,j]\nL_{ℓ+1}[t,j] = ReLU(W[j,I] L_ℓ[t,I] - B[j])"
    ),
    "two outputs": "input x[t,k]\nμ[t,j] = W^μ[j,K] x[t,K]\nv[t,j] = exp(W^v[j,K] x[t,K])",
    "keys that the heads share": (
        "input x[t,j]\n"
        "α[k,t_1,t_2] = softmax_{t_2} W^Q[k,I,J] x[t_1,J] (W^K[I,J] x[t_2,J])\n"
        "y[t,k,j] = α[k,t,T] x[T,j]"
    ),
    "a mean over heads": (
        "input x[t,j]\n"
        "α[k,t_1,t_2] = softmax_{t_2} x[t_1,J] W[k,J,J'] x[t_2,J']\n"
        "ᾱ[t_1,t_2] = mean_k α[k,t_1,t_2]"
    ),
    "a gain that is a number": "input x[t,j]\nparameter g\ny[t,j] = g x[t,j] + b[j]",
    "a sum with a range": "input x[t]\ny = Σ_{t=1}^{T-1} x[t] x[t-1]",
    "names that differ below": (
        "input x[t,k]\ny[t,j] = W_{in}[j,K] x[t,K]\nz[t,i] = W_{out}[i,J] y[t,J]"
    ),
}
"""Equations that look unusual and are meant so."""


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT.keys())
def test_unusual_equations_get_no_message(text: str) -> None:
    found = Program.of_text(text, "text.eq").mistakes
    assert not found, "\n\n".join(m.render() for m in found)
