"""Sums and extremes of what stands before a place, or behind it: one pass, with the values and slopes of all."""

from __future__ import annotations

import pytest
import torch

import indicial
from indicial.compile.emit.helpers import running_max
from indicial.compile.pipeline import emitted
from tests.compile.agreeing import Ways

PASSES = {
    "sum": "Σ_{s ≤ t} x[s,k]",
    "sum of those before": "Σ_{s < t} exp(x[s,k])",
    "sum of those behind": "Σ_{s > t} x[s,k] x[s,k]",
    "sum from the third on": "Σ_{s ≤ t - 2} x[s,k]",
    "sum with a condition": "Σ_{1 ≤ s ≤ t} x[s,k]",
    "sum of tables": "Σ_{i,s ≤ t} x[s,i] x[s,k]",
    "maximum": "max_{s ≤ t} x[s,k]",
    "maximum from the second on": "max_{1 ≤ s ≤ t} x[s,k]",
    "minimum": "min_{s ≤ t} x[s,k]",
    "minimum of those behind": "min_{s ≥ t} x[s,k]",
}
ALL_PAIRS = {
    "a factor of the place": "Σ_{s ≤ t} x[t,k] x[s,k]",
    "one more": "Σ_{s ≤ t + 1} x[s,k]",
    "maximum of nothing": "max_{s < t} x[s,k]",
}


def program(body: str) -> indicial.Program:
    return indicial.load(f"input x[t,k]\nc[t,k] = {body}\ny[t,k] = c[t,k] x[t,k]")


@pytest.mark.parametrize("body", [*PASSES.values(), *ALL_PAIRS.values()], ids=[*PASSES, *ALL_PAIRS])
def test_values(body: str) -> None:
    code = program(body).compilable
    text = emitted(code, ["y"]).text
    assert (".cumsum(" in text or "running_max(" in text) == (body in PASSES.values())
    for steps in (4, 1, 2):
        Ways(code).agree({n: steps if n == "T" else 2 for n in code.sizes}, members=3)


@pytest.mark.parametrize("body", PASSES.values(), ids=PASSES)
def test_lengths(body: str) -> None:
    """Each example alone gives what it gives beside a longer one, values and slopes."""
    torch.manual_seed(0)
    module = program(body).compile(dtype=torch.float64)
    x = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    ends = torch.tensor([5, 3])
    both = module(x=x, lengths=ends)["y"]
    for number, end in enumerate(ends.tolist()):
        alone = module(x=x[number, :end])["y"]
        torch.testing.assert_close(both[number, :end], alone)
        expected, found = (
            torch.autograd.grad(y.square().sum(), x, retain_graph=True)[0][number, :end]
            for y in (alone, both[number, :end])
        )
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("dim", [0, 1])
def test_slopes_of_a_running_maximum(dim: int) -> None:
    """Those that tie have equal shares, as in the maximum of all pairs."""
    rows = [[1.0, 1, 2, 2, 0, 2, 3, 3], [3.0, 2, 3, 1, 3, 3, 4, 0], [5.0, 4, 3, 2, 1, 1, 1, 1]]
    x = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    before = torch.ones(8, 8).tril().bool()
    pairs = torch.where(before, x[:, None, :].expand(3, 8, 8), -torch.inf).amax(-1)
    found = running_max(x if dim else x.mT, dim)
    found = found if dim else found.mT
    assert torch.equal(found, pairs)
    weights = torch.randn_like(pairs)
    slopes = (torch.autograd.grad((y * weights).sum(), x)[0] for y in (found, pairs))
    torch.testing.assert_close(*slopes)
    assert torch.equal(running_max(x.detach(), 1), pairs)


def test_a_running_maximum_of_nothing_and_of_infinities() -> None:
    assert running_max(torch.zeros(2, 0, requires_grad=True), 1).shape == (2, 0)
    x = torch.tensor([-torch.inf, -torch.inf, 1.0, torch.inf], requires_grad=True)
    found = running_max(x, 0)
    assert torch.equal(found, x)
    (slope,) = torch.autograd.grad(found[2], x)
    assert slope.tolist() == [0, 0, 1, 0]
