"""Loops inside loops: one kernel runs them all, beside the interpreter and a loop of PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import indicial
from indicial.compile.native import toolchain
from indicial.compile.native.reading.stages import Matmul, Single, every_stage
from indicial.compile.native.routine import Native, Routine
from indicial.compile.schedule.schedule import Loop
from tests.compile.agreeing import Ways, mixed, recurrences

GRID = "input x[m,n,k]\n"
STEP = "input x[t,k]\n"
NESTS = {
    "forward": GRID + "h[m,n,j] = tanh(W[j,K] x[m,n,K] + U[j,I] h[m-1,n,I] + V[j,I] h[m,n-1,I])",
    "backward": GRID + "h[m,n,j] = tanh(W[j,K] x[m,n,K] + U[j,I] h[m+1,n,I] + V[j,I] h[m,n+1,I])",
    "both ways": GRID + "h[m,n,j] = tanh(W[j,K] x[m,n,K] + U[j,I] h[m+1,n,I] + V[j,I] h[m,n-1,I])",
    "gates": GRID
    + "G[m,n,j] = σ(U[j,I] h[m-1,n,I] + V[j,I] h[m,n-1,I])\n"
    + "h[m,n,j] = G[m,n,j] h[m-1,n,j] + (1 - G[m,n,j]) h[m,n-1,j] + W[j,K] x[m,n,K]",
    "a start": GRID
    + "h[-1,n,j] = s[j]\n"
    + "h[m,n,j] = tanh(W[j,K] x[m,n,K] + U[j,I] h[m-1,n,I] + V[j,I] h[m,n-1,I])",
    "far": GRID + "h[m,n,j] = tanh(x[m,n,j] + U[j,I] h[m-2,n+1,I] + V[j,I] h[m,n-2,I])",
    "warped": "input c[i,j]\n"
    + "D[i,j] = c[i,j] - ln(exp(-D[i-1,j]) + exp(-D[i,j-1]) + exp(-D[i-1,j-1]))",
    "a row at once": GRID
    + "a[m,n] = softmax_n x[m,n,K] s[m-1,N-1,K]\n"
    + "s[m,n,k] = tanh(s[m,n-1,k] + a[m,n] x[m,n,k])",
    "highway": STEP
    + "s[t,0,j] = s[t-1,L,j]\n"
    + "H[t,ℓ+1,j] = tanh(R^H[ℓ,j,I] s[t,ℓ,I] + 1[ℓ = 0] W^H[j,K] x[t,K] - B^H[ℓ,j])\n"
    + "G[t,ℓ+1,j] = σ(R^G[ℓ,j,I] s[t,ℓ,I] + 1[ℓ = 0] W^G[j,K] x[t,K] - B^G[ℓ,j])\n"
    + "s[t,ℓ+1,j] = G[t,ℓ+1,j] H[t,ℓ+1,j] + (1 - G[t,ℓ+1,j]) s[t,ℓ,j]\n"
    + "h[t,j] = s[t,L,j]",
    "layers from 1 on": STEP
    + "s[t,0,j] = s[t-1,L,j]\n"
    + "s[t,ℓ,j] = tanh(R[ℓ,j,I] s[t,ℓ-1,I] + [ℓ = 1] W[j,K] x[t,K]) for ℓ ≥ 1\n"
    + "h[t,j] = s[t,L,j]",
    "layers from 1 on, and before": "input x[t,j]\n"
    + "s[t,0,j] = s[t-1,L,j] + x[t,j]\n"
    + "s[t,ℓ,j] = tanh(R[ℓ,j,I] s[t,ℓ-1,I] + s[t-1,ℓ,j])\n"
    + "h[t,j] = s[t,L,j]",
    "what follows the inner loop": STEP
    + "s[t,0,j] = tanh(U[j,I] h[t-1,I] + W[j,K] x[t,K])\n"
    + "s[t,ℓ+1,j] = tanh(R[j,I] s[t,ℓ,I] + B[ℓ,j])\n"
    + "h[t,j] = tanh(V[j,I] s[t,L,I] + s[t,0,j])",
    "layers around": STEP
    + "y[0,t,k] = x[t,k]\n"
    + "y[l+1,t,k] = y[l,t,k] + s[l+1,t,D,k]\n"
    + "s[l+1,t,0,k] = s[l+1,t-1,D,k] + y[l,t,k]\n"
    + "s[l+1,t,d+1,k] = tanh(R[l,d,k,I] s[l+1,t,d,I])",
}
SIZES = {"T": 4, "M": 3, "N": 4, "I": 3, "J": 2, "K": 2, "L": 3, "D": 2}


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
@pytest.mark.parametrize("text", NESTS.values(), ids=NESTS)
def test_nests_agree(text: str) -> None:
    code = indicial.load(text).code
    ways = Ways(code)
    (call,) = ways.ready.plan.calls()
    assert any(isinstance(step, Loop) for step in call.loop.steps)
    sizes = {name: SIZES[name] for name in code.sizes}
    for changed in ({}, {"T": 1, "M": 1, "L": 1, "D": 1}, {"N": 1}):
        ways.agree({**sizes, **{n: v for n, v in changed.items() if n in sizes}}, members=3)


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
@pytest.mark.parametrize("name", ["forward", "highway", "layers around"])
def test_products_with_weights_are_products_of_matrices(name: str) -> None:
    (made,) = recurrences(Ways(indicial.load(NESTS[name]).code).ready.plan)
    back = made.backward(made.differentiable)
    assert isinstance(back, Routine)
    parts = [p for p in (*made.forward.parts, *back.parts) if isinstance(p, Native)]
    assert len(parts) == 2
    for part in parts:
        kinds = [type(stage) for stage in every_stage(part.design.stages)]
        assert Matmul in kinds and Single not in kinds


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
def test_what_is_the_same_in_every_round_is_computed_once() -> None:
    code = Ways(indicial.load(NESTS["highway"]).code).ready.code
    assert [axis.letter for axis in code.tensors["H^{in}"].axes] == ["t", "j"]


@pytest.mark.parametrize("name", ["forward", "backward", "highway"])
def test_examples_of_different_lengths(name: str) -> None:
    program = indicial.load(NESTS[name])
    torch.manual_seed(0)
    grid = name != "highway"
    module = program.compile(J=2, K=3, dtype=torch.float64, **({} if grid else {"L": 3}))
    x = torch.randn(2, 3, 4, 3, dtype=torch.float64) if grid else torch.randn(2, 4, 3).double()
    ends = {"M": [2, 3], "N": [4, 2]} if grid else {"T": [4, 2]}
    lengths = {letter: torch.tensor(own) for letter, own in ends.items()}
    mixed(module(x=x, lengths=lengths)["h"]).backward()
    found = {n: p.grad for n, p in module.named_parameters()}
    module.zero_grad()
    whole = torch.zeros((*x.shape[:-1], 2), dtype=torch.float64)
    for number, one in enumerate(x):
        at = tuple(slice(own[number]) for own in ends.values())
        whole[(number, *at)] = module(x=one[at])["h"]
    mixed(whole).backward()
    for n, p in module.named_parameters():
        torch.testing.assert_close(found[n], p.grad)
    parameters = {n: module.parameter(n).detach().numpy() for n in module.state_keys}
    at = tuple(slice(own[1]) for own in ends.values())
    expected = program.interpret({"x": x[1][at].numpy()}, parameters)["h"]
    np.testing.assert_allclose(whole[(1, *at)].detach().numpy(), expected, rtol=1e-9, atol=1e-12)


WARPED = {
    "begun along both": "D[-1,-1] = 0\nD[-1,j] = ∞\nD[i,-1] = ∞\n"
    "D[i,j] = c[i,j] + min(D[i-1,j], D[i,j-1], D[i-1,j-1])\nd = D[I-1,J-1]",
    "begun inside": "D[0,0] = 0\nD[0,j+1] = ∞\nD[i+1,0] = ∞\n"
    "D[i+1,j+1] = c[i,j] + min(D[i,j+1], D[i+1,j], D[i,j])\nd = D[I,J]",
    "nowhere begun": "D[i+1,j+1] = c[i,j] - ln(exp(-D[i,j+1]) + exp(-D[i+1,j]) + exp(-D[i,j]))\n"
    "d = D[I,J]",
    "edges": "D[i,0] = c[i,0] + D[i-1,0]\nD[0,j] = c[0,j] + D[0,j-1] for j > 0\n"
    "D[i,j] = c[i,j] + min(D[i-1,j], D[i,j-1], D[i-1,j-1]) for i > 0 and j > 0\nd = D[I-1,J-1]",
    "cases": "D[i,j] = c[i,j] + cases { 0 if i = 0 and j = 0, D[i,j-1] if i = 0, D[i-1,j] if j = 0, "
    "min(D[i-1,j], D[i,j-1], D[i-1,j-1]) otherwise }\nd = D[I-1,J-1]",
    "guarded edges": "D[0,0] = c[0,0]\nD[i,0] = 9 i + c[i,0] for i > 0\nD[0,j] = D[0,j-1] + 1 for j > 0\n"
    "D[i,j] = c[i,j] + min(D[i-1,j], D[i,j-1], D[i-1,j-1]) for i > 0 and j > 0\nd = D[I-1,J-1]",
    "numbers along both": "D[0,j] = j + c[0,j]\nD[i,0] = i + c[i,0]\n"
    "D[i,j] = min(D[i-1,j] + 1, D[i,j-1] + 1, D[i-1,j-1] + c[i,j])\nd = D[I-1,J-1]",
}


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
@pytest.mark.parametrize("text", WARPED.values(), ids=WARPED)
def test_warping_however_it_begins(text: str) -> None:
    """With one kernel for both loops, and one for their gradient."""
    ways = Ways(indicial.load(f"input c[i,j]\n{text}").code, ["d"])
    assert not ways.ready.refused
    (made,) = recurrences(ways.ready.plan)
    made.backward(made.differentiable)
    for rows, columns in ((4, 3), (1, 3), (3, 1)):
        ways.agree({"I": rows, "J": columns}, members=3)


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
def test_a_table_that_is_wanted_with_its_edges_has_its_own_range() -> None:
    code = indicial.load("input c[i,j]\n" + WARPED["begun along both"]).code
    ways = Ways(code, ["D", "d"])
    assert not ways.ready.refused
    ways.agree({"I": 3, "J": 4}, members=2)


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
@pytest.mark.parametrize(
    "text",
    [
        GRID + "h[m,-1,j] = s[j]\nh[-1,n,j] = s[j]\n"
        "h[m,n,j] = tanh(W[j,K] x[m,n,K] + U[j,I] h[m-1,n,I] + V[j,I] h[m,n-1,I])",
        GRID + "h[m,2,k] = x[m,2,k]\nh[m,n,k] = tanh(x[m,n,k] + h[m-1,n,k] + h[m,n-1,k])",
    ],
    ids=["with products", "an edge in the middle"],
)
def test_where_the_edges_stay_equations_of_their_own(text: str) -> None:
    code = indicial.load(text).code
    Ways(code, ["h"]).agree({name: SIZES[name] for name in code.sizes}, members=2)


STACKS = {
    "a start of each layer": "h[ℓ+1,-1,j] = a[ℓ,j]\n"
    "h[ℓ+1,t,j] = tanh(W[ℓ,j,I] h[ℓ,t,I] + U[ℓ,j,I] h[ℓ+1,t-1,I])",
    "a start of each layer, and the step before": "h[ℓ+1,-1,j] = a[ℓ,j]\n"
    "h[ℓ+1,t,j] = tanh(W[ℓ,j,I] h[ℓ,t-1,I] + U[ℓ,j,I] h[ℓ+1,t-1,I])",
    "two starts of each layer": "h[ℓ+1,-1,j] = a[ℓ,j]\nh[ℓ+1,-2,j] = b[ℓ,j]\n"
    "h[ℓ+1,t,j] = tanh(W[ℓ,j,I] h[ℓ,t,I] + U[ℓ,j,I] h[ℓ+1,t-1,I] + h[ℓ+1,t-2,j])",
    "a start, and both ways": "h[ℓ+1,-1,j] = a[ℓ,j]\n"
    "h[ℓ+1,t,j] = tanh(W[ℓ,j,I] g[ℓ,t,I] + U[ℓ,j,I] h[ℓ+1,t-1,I])\n"
    "g[ℓ,t,j] = tanh(V[ℓ,j,I] g[ℓ,t+1,I] + h[ℓ,t,j])",
    "a layer more": "g[ℓ,t,j] = σ(U[ℓ,j,I] h[ℓ+1,t-1,I] + h[ℓ,t,j])\n"
    "h[ℓ+1,t,j] = tanh(g[ℓ,t,j] h[ℓ+1,t-1,j] + h[ℓ,t,j])",
    "a layer fewer": "g[ℓ+1,t,j] = σ(U[ℓ,j,I] h[ℓ+1,t-1,I] + h[ℓ,t,j]) for ℓ < L-1\n"
    "h[ℓ+1,t,j] = tanh(g[ℓ+1,t,j] h[ℓ+1,t-1,j] + h[ℓ,t,j])",
}


@pytest.mark.parametrize("text", STACKS.values(), ids=STACKS)
def test_stacks_whose_parts_have_other_layers(text: str) -> None:
    program = f"input x[t,j]\nh[0,t,j] = x[t,j]\n{text}\ny[t,j] = h[L,t,j]"
    code = indicial.load(program).code
    Ways(code, ["y"]).agree({name: SIZES[name] for name in code.sizes}, members=2)
