"""A loop over time inside another: the inner one has a kernel, beside the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import indicial
from indicial.compile.planned import planned

GRIDS = {
    "forward": "h[m,n,j] = tanh(W[j,K] x[m,n,K] + U[j,I] h[m-1,n,I] + V[j,I] h[m,n-1,I])",
    "backward": "h[m,n,j] = tanh(W[j,K] x[m,n,K] + U[j,I] h[m+1,n,I] + V[j,I] h[m,n+1,I])",
    "gates": "G[m,n,j] = σ(U[j,I] h[m-1,n,I] + V[j,I] h[m,n-1,I])\n"
    "h[m,n,j] = G[m,n,j] h[m-1,n,j] + (1 - G[m,n,j]) h[m,n-1,j] + W[j,K] x[m,n,K]",
}


@pytest.mark.parametrize("line", GRIDS.values(), ids=GRIDS)
def test_recurrences_over_a_grid(line: str) -> None:
    program = indicial.load(f"input x[m,n,k]\n{line}")
    torch.manual_seed(0)
    module = program.compile(J=2, K=3, dtype=torch.float64)
    (call,) = planned(program.code, ["h"]).plan.calls()
    assert call.loop.letter == "n"
    x = torch.randn(2, 3, 4, 3, dtype=torch.float64)
    parameters = {name: p.detach().numpy() for name, p in module.named_parameters()}
    expected = np.stack([program.interpret({"x": one.numpy()}, parameters)["h"] for one in x])
    np.testing.assert_allclose(module(x=x)["h"].detach().numpy(), expected, rtol=1e-9, atol=1e-12)
    names, values = zip(*module.named_parameters(), strict=True)

    def h(x: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        given = dict(zip(names, values, strict=True))
        return torch.func.functional_call(module, given, (), {"x": x})["h"]  # type: ignore[no-any-return]

    leaves = [v.detach().clone().requires_grad_() for v in (x, *values)]
    assert torch.autograd.gradcheck(h, leaves, fast_mode=True)


def test_examples_of_different_widths() -> None:
    program = indicial.load(f"input x[m,n,k]\n{GRIDS['backward']}")
    torch.manual_seed(0)
    module = program.compile(J=2, K=3, dtype=torch.float64)
    x = torch.randn(2, 3, 4, 3, dtype=torch.float64)
    h = module(x=x, lengths={"N": torch.tensor([4, 2]), "M": torch.tensor([2, 3])})["h"]
    parameters = {name: p.detach().numpy() for name, p in module.named_parameters()}
    for one, own, (m, n) in zip(x, h, ((2, 4), (3, 2)), strict=True):
        expected = program.interpret({"x": one[:m, :n].numpy()}, parameters)["h"]
        np.testing.assert_allclose(own[:m, :n].detach().numpy(), expected, rtol=1e-9, atol=1e-12)
