"""Recurrences with something that few have: found by programs made at random."""

from __future__ import annotations

import pytest
from agreeing import Ways
from test_kernels_lengths import Ragged

from indicial.compile.native import toolchain
from indicial.program.program import Program

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")

TEXTS = {
    "a first step that later ones sum over": """
        h[0,k] = a[k]
        h[t,k] = tanh(Σ_{n=1}^{2} W[n] h[t-n,k] + x[t,k])
    """,
    "a sum that counts": "h[t,k] = 0.5 h[t-1,k] + (Σ_s 0.5 x[t,k])",
    "a sum that stops before the end": """
        h[t,K-1] = x[t,0]
        h[t,k] = tanh(0.5 h[t-1,k] + Σ_{i=0}^{K-2} σ(x[t,k] + h[t-1,i+1] + h[t-1,i-1]))
    """,
    "one element of a start": "h[-1,k] = x[0,k]\nh[t,k] = tanh(W[k] h[t-1,K-1] + x[t,k])",
    "one element that there may not be": "h[-1,k] = a[k]\nh[t,k] = tanh(h[t-1,4] + x[t,k])",
    "a sum of parameters at one step": """
        h[t,k] = Σ_j A[j] for t = 1
        h[t,k] = tanh(h[t+1,k] + x[t,k])
    """,
    "a start, and an input of the next step": """
        h[-1,k] = a[k]
        h[t,k] = tanh(0.5 h[t-1,k] + softplus(x[t+1,0]))
    """,
    "tokens of other steps": """
        input w[t] in V
        h[t,k] = tanh(M[w[t+1],k,I] h[t-1,I] + e[w[t-2],k] h[t-1,k] + x[t,k])
    """,
    "a last step with an equation of its own": """
        h[T-1,k] = x[T-1,k]
        h[t,k] = tanh(W[k,I] h[t+1,I] + x[t,k])
    """,
    "an element with an equation of its own": """
        h[t,0] = tanh(x[t,0] + 0.5 h[t-1,1])
        h[t,k] = h[t-1,k-1] + 0.1 x[t,k]
    """,
    "the last element, and a sum for the first": """
        g[t,j] = σ(U[j,K] x[t,K] + V[j,K] h[t-1,K])
        h[t,0] = σ(D[J] g[t,J])
        h[t,K-1] = x[t,0] h[t-1,0]
        h[t,k] = 0.5 h[t-1,k-1] - 0.25 h[t-1,k+1]
    """,
    "a row with an equation of its own": """
        M[t,0,k] = x[t,k] + 0.5 M[t-1,1,k]
        M[t,n,k] = 0.5 M[t-1,n-1,k] + 0.25 M[t-1,n,k]
        h[t,k] = tanh(W[k,I] h[t-1,I] + M[t-1,0,k] + M[t,1,k])
    """,
    "a neighbour within a step": """
        g[t,k] = tanh(x[t,k] + h[t-1,k])
        h[t,k] = g[t,k] + 1/2 g[t,k+1]
    """,
    "a neighbour that decides": """
        g[t,k] = tanh(x[t,k] + h[t-1,k])
        h[t,k] = 1/3 g[t,k] for g[t,k+1] > 0
        h[t,k] = 1/2 g[t,k]
    """,
    "exchanged indices within a step": """
        g[t,i,k] = tanh(x[t,i] x[t,k] + G[t-1,i,k])
        G[t,i,k] = 1/2 g[t,i,k] + 1/4 W[i] g[t,k,i]
        h[t,k] = G[t,k,0] + 1/2 h[t-1,k]
    """,
    "a probability at the next token": """
        input w[t] in V
        h[t,k] = tanh(W[k,I] h[t-1,I] + x[t,k] + c[t-1])
        P(w_t | w_0, …, w_{t-1}) = softmax_{w_t} e[w_t,K] h[t-1,K]
        c[t] = 0.5 c[t-1] + P[t,w[t+1]] - P[t,w[t-1]]
    """,
}


def program(name: str) -> Program:
    lines = [line.strip() for line in TEXTS.get(name, name).strip().splitlines()]
    found = Program.of_text("\n".join(["input x[t,k]", *lines, "o[t,k] = h[t,k] + x[t,k]"]))
    assert not found.errors, found.errors[0].render()
    return found


@pytest.mark.parametrize("name", TEXTS)
def test_three_ways_agree(name: str) -> None:
    ways = Ways(program(name).code)
    assert not ways.ready.refused
    sizes = {n: {"T": 4}.get(n, 3) for n in ways.code.sizes}
    ways.agree(sizes, members=2)
    ways.agree({**sizes, "K": 5}, members=1)


@pytest.mark.parametrize("name", TEXTS)
def test_each_text_gives_what_it_gives_alone(name: str) -> None:
    Ragged(program(name).code, seed=1).check()


STEPS_WITH_A_NUMBER = {
    "one that reads the step before": "h[2,k] = x[2,k] + h[1,k]\nh[t,k] = tanh(x[t,k] + h[t-1,k])",
    "a number": "h[2,k] = 5\nh[t,k] = tanh(x[t,k] + h[t-1,k])",
    "three": """
        h[2,k] = a[k]
        h[0,k] = x[0,k]
        h[1,k] = 2 x[0,k]
        h[t,k] = tanh(W[k,I] x[t,I] + W[k,I] h[t-1,I] + h[t-2,k])
    """,
    "a sum": "h[2,k] = x[2,k]\nh[t,k] = W[k,I] h[t-1,I]",
    "a maximum": "h[2,k] = x[2,k]\nh[t,k] = max_i (h[t-1,i] + A[k,i])",
    "one on the way back": "h[3,k] = x[0,k]\nh[t,k] = tanh(x[t,k] + h[t+1,k])",
    "one from the end, on the way back": "h[T-2,k] = x[0,k]\nh[t,k] = tanh(x[t,k] + h[t+1,k])",
    "one from the end": "h[T-2,k] = x[0,k]\nh[t,k] = tanh(x[t,k] + h[t-1,k])",
}


@pytest.mark.parametrize("text", STEPS_WITH_A_NUMBER.values(), ids=STEPS_WITH_A_NUMBER)
def test_a_text_may_end_before_a_step_with_a_number(text: str) -> None:
    ways = Ways(program(text).code)
    sizes = dict.fromkeys(ways.code.sizes, 3)
    for steps in (1, 2, 3, 4, 5):
        ways.agree({**sizes, "T": steps}, members=2)


LEFT_TO_THE_LOOP = {
    "a row with an equation for all but its last": """
        range r = 0..J-2
        M[t,0,r] = x[t,r]
        M[t,k,j] = tanh(M[t-1,k,j] + x[t,j] + a[k])
    """,
    "a matrix in a row": "h[t,j] = tanh(W[(j,I)] h[t-1,I] + x[t,j])",
}


@pytest.mark.parametrize("text", LEFT_TO_THE_LOOP.values(), ids=LEFT_TO_THE_LOOP)
def test_what_no_kernel_has(text: str) -> None:
    lines = [line.strip() for line in text.strip().splitlines()]
    found = Program.of_text("\n".join(["input x[t,j]", *lines]))
    assert not found.errors, found.errors[0].render()
    sizes = {n: {"T": 4, "K": 2}.get(n, 3) for n in found.code.sizes}
    Ways(found.code).agree(sizes, members=2)


def test_a_derivative_has_no_place_for_the_first_layer() -> None:
    """δ is there for layers 1..L, and the loop over them goes on to 0: nothing is written there."""
    layers = Program.of_text("""
        input b[ℓ,t,j]
        input x[t,j]
        range ℓ = 0..L
        parameter W[ℓ,j,i]
        h[0,t,j] = x[t,j]
        h[ℓ+1,t,j] = tanh(W[ℓ+1,j,I] b[ℓ+1,t-1,I] + h[ℓ,t,j])
    """)
    assert not layers.errors, layers.errors[0].render()
    ways = Ways(layers.code)
    sizes = {n: {"T": 5, "L": 2}.get(n, 3) for n in ways.code.sizes}
    ways.agree(sizes, members=2)
    ways.agree(sizes, members=1)


TABLES = {
    "a first row that is walked along": """
        D[0,k] = x[0,k] + 0.5 D[0,k-1]
        D[t,k] = tanh(x[t,k] + D[t,k-1] + D[t-1,k])
    """,
    "a corner, a row and a column": """
        D[0,0] = x[0,0]
        D[0,k] = x[0,k] + D[0,k-1]
        D[t,0] = x[t,0] + D[t-1,0]
        D[t,k] = x[t,k] - ln(exp(-D[t-1,k]) + exp(-D[t,k-1]) + exp(-D[t-1,k-1]))
    """,
    "a first step that reads what is computed in it": """
        D[0,k] = 2 g[0,k]
        D[t,k] = g[t,k] + 0.5 D[t-1,k]
        g[t,k] = tanh(x[t,k] + W[k,I] D[t-1,I])
    """,
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_what_is_read_at_the_number_on_the_left_is_of_this_step(text: str) -> None:
    lines = [line.strip() for line in text.strip().splitlines()]
    ways = Ways(Program.of_text("\n".join(["input x[t,k]", *lines])).code)
    for steps in (1, 4):
        ways.agree({**dict.fromkeys(ways.code.sizes, 3), "T": steps}, members=2)
