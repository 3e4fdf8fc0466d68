"""Clipping: against torch's own, and by hand."""

import math

import pytest
import torch
from torch import nn

from indicial.training.training import clip_by_norm


def parameters(seed: int = 0) -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(seed)
    made = [nn.Parameter(torch.zeros(shape)) for shape in ((3, 4), (5,), ())]
    for parameter in made:
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    return [*made, nn.Parameter(torch.zeros(2))]  # the last has no gradient


def gradients(made: list[nn.Parameter]) -> list[torch.Tensor]:
    return [p.grad.clone() for p in made if p.grad is not None]


@pytest.mark.parametrize("most", [0.5, 100.0])
def test_the_whole(most: float) -> None:
    ours, theirs = parameters(), parameters()
    norm = nn.utils.clip_grad_norm_(theirs, most)
    found = clip_by_norm(ours, most)
    assert found.norm == pytest.approx(norm.item())
    assert found.clipped == (norm.item() > most)
    for one, other in zip(gradients(ours), gradients(theirs), strict=True):
        torch.testing.assert_close(one, other)


def test_each() -> None:
    made = parameters()
    before = gradients(made)
    most = sorted(g.norm().item() for g in before)[1]  # one is longer, one is as long, one shorter
    found = clip_by_norm(made, most, each=True)
    assert found.clipped
    assert found.norm == pytest.approx(math.sqrt(sum(g.norm().item() ** 2 for g in before)))
    for old, new in zip(before, gradients(made), strict=True):
        torch.testing.assert_close(new, old * min(1.0, most / old.norm().item()))


@pytest.mark.parametrize("each", [False, True])
def test_what_is_short_enough_is_not_touched(each: bool) -> None:
    made = parameters()
    before = gradients(made)
    assert not clip_by_norm(made, 1e9, each).clipped
    assert not clip_by_norm(made, None, each).clipped
    assert all(torch.equal(a, b) for a, b in zip(before, gradients(made), strict=True))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_is_reported_and_not_spread(value: float) -> None:
    made = parameters()
    assert made[1].grad is not None
    made[1].grad[0] = value
    before = gradients(made)
    norm, clipped = clip_by_norm(made, 0.1)
    assert not math.isfinite(norm) and not clipped
    assert torch.equal(before[0], gradients(made)[0])


def test_no_gradients() -> None:
    assert clip_by_norm([nn.Parameter(torch.zeros(3))], 1.0) == (0.0, False)
