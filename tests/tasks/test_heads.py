"""Cells whose names are their own, joined with a language model: beside PyTorch, written by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from indicial.program.messages import IndicialError
from indicial.tasks.programs import trainable

MAMBA = """
input x[t,d]
Δ[t,d] = softplus(W^Δ[d,E] x[t,E] + b[d])
B[t,n] = W^B[n,D] x[t,D]
C[t,n] = W^C[n,D] x[t,D]
h[t,d,n] = exp(-Δ[t,d] exp(A[d,n])) h[t-1,d,n] + Δ[t,d] B[t,n] x[t,d]
y[t,d] = C[t,N] h[t,d,N] + D[d] x[t,d]
"""
TURING = """
input x[t,k]
q[t,m] = tanh(W^q[m,K] x[t,K] + U^q[m,J] s[t-1,J])
w[t,n] = softmax_n q[t,M] M[t-1,n,M]
r[t,m] = w[t,N] M[t-1,N,m]
e[t,m] = σ(W^e[m,J] s[t-1,J])
a[t,m] = tanh(W^a[m,J] s[t-1,J])
M[t,n,m] = M[t-1,n,m] (1 - w[t,n] e[t,m]) + w[t,n] a[t,m]
s[t,j] = tanh(W^s[j,I] s[t-1,I] + V^s[j,M] r[t,M] + Z[j,K] x[t,K])
"""
SPACE = """
input u[t,v]
h[t,n] = A[n] h[t-1,n] + B[n,V] u[t,V]
P[t,v] = C[v,N] h[t,N]
"""
WORDS, WIDTH, LENGTH = 7, 4, 6
Cell = Callable[[dict[str, Tensor], Tensor], Tensor]


def mamba(p: dict[str, Tensor], x: Tensor) -> Tensor:
    state, out = torch.zeros(WIDTH, 3), []
    for row in x:
        step = F.softplus(p["W^Δ"] @ row + p["b"])
        kept = torch.exp(-step[:, None] * p["A"].exp())
        state = kept * state + step[:, None] * (p["W^B"] @ row)[None] * row[:, None]
        out.append(state @ (p["W^C"] @ row) + p["D"] * row)
    return torch.stack(out)


def turing(p: dict[str, Tensor], x: Tensor) -> Tensor:
    state, memory, out = torch.zeros(WIDTH), torch.zeros(3, 2), []
    for row in x:
        query = torch.tanh(p["W^q"] @ row + p["U^q"] @ state)
        weights = (memory @ query).softmax(0)
        erased, added = torch.sigmoid(p["W^e"] @ state), torch.tanh(p["W^a"] @ state)
        reading = weights @ memory
        memory = memory * (1 - weights[:, None] * erased) + weights[:, None] * added
        state = torch.tanh(p["W^s"] @ state + p["V^s"] @ reading + p["Z"] @ row)
        out.append(state)
    return torch.stack(out)


def space(p: dict[str, Tensor], x: Tensor) -> Tensor:
    state, out = torch.zeros(3), []
    for row in x:
        state = p["A"] * state + p["B"] @ row
        out.append(p["C"] @ state)
    return torch.stack(out)


@pytest.mark.parametrize(
    ("text", "cell", "sizes"),
    [
        (MAMBA, mamba, {"N": 3}),
        (TURING, turing, {"N": 3, "M": 2}),
        (SPACE, space, {"N": 3}),
    ],
    ids=["mamba", "turing", "space"],
)
def test_names_of_a_cell_are_its_own(text: str, cell: Cell, sizes: dict[str, int]) -> None:
    program = trainable([text]).program
    assert not program.errors
    code = program.code
    free = [n for n, v in code.sizes.items() if v is None and n not in (*sizes, "T")]
    (token,) = [t for t in code.tensors.values() if t.role == "input"]
    vocabulary = token.values
    assert vocabulary is not None
    every = {**sizes, **dict.fromkeys(free, WIDTH), str(vocabulary): WORDS}
    torch.manual_seed(0)
    module = program.compile(sizes=every).double()
    p = {name: module.parameter(name) for name in module.state_keys}
    words = torch.randint(WORDS, (LENGTH,))
    vectors = p[next(n for n, v in p.items() if v.shape == (WORDS, WIDTH))]
    before = torch.cat([torch.zeros(1, WIDTH), vectors[words[:-1]]]).double()
    torch.set_default_dtype(torch.float64)
    try:
        states = cell(p, before)
    finally:
        torch.set_default_dtype(torch.float32)
    want = F.cross_entropy(states @ vectors.T, words)
    assert code.loss is not None
    got = module(**{token.name: words[None]})[code.loss]
    torch.testing.assert_close(got.squeeze(), want)


def test_which_of_two_outputs_is_asked() -> None:
    text = """
input x[t,k]
a[t,j] = tanh(W^a[j,I] a[t-1,I] + U^a[j,K] x[t,K])
b[t,j] = tanh(W^b[j,I] b[t-1,I] + U^b[j,K] x[t,K])
"""
    with pytest.raises(IndicialError, match=r"end in a\[t,j\] and b\[t,j\]: which of them"):
        trainable([text])
    both = trainable([text + "o[t,j] = a[t,j] + b[t,j]"])
    assert "o" in {t.name for t in both.program.code.tensors.values()}


@pytest.mark.parametrize("cell", [MAMBA, TURING, SPACE], ids=["mamba", "turing", "space"])
def test_a_cell_that_is_named_with_its_language_model(cell: str) -> None:
    """As with the cell alone, though letters that both use would be the same then."""
    with_head = trainable([cell, "language_model"]).program
    assert with_head.unicode() == trainable([cell]).program.unicode()
