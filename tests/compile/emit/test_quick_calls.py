"""What is quicker than the plain call of PyTorch gives the same numbers: short rows, few keys, ranks."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

import indicial
from indicial.compile.emit import helpers, running

Tensor = torch.Tensor


def drawn(*shape: int) -> Tensor:
    random = torch.Generator().manual_seed(0)
    return torch.randn(shape, dtype=torch.float64, generator=random).requires_grad_()


@pytest.mark.parametrize("shape", [(4096, 3), (8, 200, 15), (4, 16, 5, 8), (300, 16), (7, 0), (5,)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_short_rows(name: str, shape: tuple[int, ...]) -> None:
    x = drawn(*shape)
    expected = getattr(F, name)(x, -1)
    found = getattr(running, name)(x, -1)
    torch.testing.assert_close(found, expected)
    slope = torch.sin(torch.arange(x.numel()).double()).view(shape)
    gradients = [torch.autograd.grad(y, x, slope)[0] for y in (found, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("asked", [False, True])
def test_linear_maps_side_by_side(
    asked: bool, biased: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Together where the operand has a gradient, apart where it has none: the same numbers."""
    monkeypatch.setattr(running, "LARGE", 0)
    x, weights, bias = drawn(2, 5, 4).detach().requires_grad_(asked), drawn(6, 4), drawn(6)
    leaves = [weights, *([bias] if biased else []), *([x] if asked else [])]
    found = running.quickly_linears(x, [1, 2, 3], weights, bias if biased else None)
    assert [piece.is_contiguous() for piece in found] == [not asked] * 3
    expected = F.linear(x, weights, bias if biased else None)
    torch.testing.assert_close(torch.cat(found, -1), expected)
    slopes = [torch.autograd.grad(y.sin().sum(), leaves) for y in (torch.cat(found, -1), expected)]
    torch.testing.assert_close(*slopes)


def test_parts_that_lie_side_by_side_are_not_copied() -> None:
    whole = drawn(2, 5, 6).detach()
    found = running.side_by_side(whole.split([1, 2, 3], -1))
    assert found.data_ptr() == whole.data_ptr() and torch.equal(found, whole)
    for order in ([0, 2, 1], [1, 2], [0, 1], [1, 1, 2]):
        parts = [whole.split([1, 2, 3], -1)[n] for n in order]
        assert torch.equal(running.side_by_side(parts), torch.cat(parts, -1))


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 3, 4)])
def test_a_network_with_a_relu(
    shape: tuple[int, ...], biased: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "LARGE", 0)
    x, first, second = drawn(*shape, 5), [drawn(6, 5)], [drawn(3, 6).cos()]
    if biased:
        first, second = [*first, drawn(6)], [*second, drawn(3)]
    leaves = [x, *first, *second]
    found, expected = (
        network(x, first, second) for network in (running.quick_relu_network, helpers.relu_network)
    )
    torch.testing.assert_close(found, expected)
    slopes = [
        torch.autograd.grad(y.sin().sum(), leaves, retain_graph=True) for y in (found, expected)
    ]
    torch.testing.assert_close(*slopes)
    # What was passed back is not overwritten, and the second gradient is that of the equations.
    torch.testing.assert_close(torch.autograd.grad(found.sin().sum(), leaves), slopes[0])
    cut = 1 + len(first)
    assert torch.autograd.gradgradcheck(
        lambda *g: running.quick_relu_network(g[0], [*g[1:cut]], [*g[cut:]]),
        [g.detach().requires_grad_() for g in leaves],
    )


@pytest.mark.parametrize(("causal", "masked"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_few_keys(
    causal: bool, masked: bool, scale: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, key, value = drawn(2, 3, 5, 4), drawn(2, 1, 10, 4).mul(2), drawn(2, 3, 10, 7)[..., :4]
    mask = torch.rand(2, 1, 5, 10, generator=torch.Generator().manual_seed(1)) < 0.7
    mask[..., 0] = True
    given = {"attn_mask": mask if masked else None, "is_causal": causal, "scale": scale}
    found = running.attention(query, key, value, **given)  # type: ignore[arg-type]
    monkeypatch.setattr(running, "FEW_KEYS", 0)
    monkeypatch.setattr(running, "kernels", {})
    key = key.expand(2, 3, 10, 4)
    expected = running.attention(query, key, value, **given)  # type: ignore[arg-type]
    assert running._fused(expected) is not None and running._fused(found) is None
    torch.testing.assert_close(found, expected)
    slopes = [
        torch.autograd.grad(y.sin().sum(), query, retain_graph=True) for y in (found, expected)
    ]
    torch.testing.assert_close(*slopes)


def test_few_keys_have_second_gradients() -> None:
    given = drawn(1, 9, 2), drawn(1, 9, 2), drawn(1, 9, 2)
    assert torch.autograd.gradgradcheck(lambda *x: running.attention(*x, is_causal=True), given)


@pytest.mark.parametrize("fronts", [((), ()), ((2, 3), (3,)), ((1, 3), (2, 1))])
@pytest.mark.parametrize("place", [(16, 0, 9), (12, 3, 12), (9, 4, 5)])
def test_convolutions_by_transforms(
    fronts: tuple[tuple[int, ...], ...], place: tuple[int, int, int]
) -> None:
    """The sum itself, its gradient, and the gradient of that, also where one depends on the other."""
    size, start, stop = place
    x, w = drawn(*fronts[0], 5), drawn(*fronts[1], 4)
    found = running.quickly_wrapped(x, w, size, start, stop)
    for t in range(start, stop):
        terms = [x[..., (t - s) % size] * w[..., s] for s in range(4) if (t - s) % size < 5]
        zero = torch.zeros(found.shape[:-1], dtype=torch.float64)
        torch.testing.assert_close(found[..., t - start], sum(terms, zero))

    def both(x: Tensor, w: Tensor) -> Tensor:
        return running.quickly_wrapped(x, w * x.sum(), size, start, stop)

    assert torch.autograd.gradcheck(both, (x, w))
    assert torch.autograd.gradgradcheck(both, (x, w))
    tangents = torch.func.jvp(both, (x, w), (x.cos(), w.cos()))[1]
    (slopes,) = torch.autograd.functional.jvp(both, (x, w), (x.cos(), w.cos()))[1:]
    torch.testing.assert_close(tangents, slopes)


RANKED = """
input x[t,e]
y[t,e] = Σ_{e'} [x[t,e'] > x[t,e] or (x[t,e'] = x[t,e] and e' < e)]
"""
REVERSED = RANKED.replace("x[t,e'] > x[t,e]", "x[t,e'] < x[t,e]")


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_ranks_count_the_larger(axis: int) -> None:
    """Ties, infinities, and nan, which is not larger than anything, nor anything than it."""
    random = torch.Generator().manual_seed(2)
    x = torch.randint(4, (3, 6, 5), generator=random).double()
    x[x == 3], x[0, 0, 0], x[1, :, 1] = -math.inf, math.nan, math.inf
    expected = torch.zeros_like(x)
    for a in range(x.shape[axis]):
        for b in range(x.shape[axis]):
            one, other = x.select(axis, a), x.select(axis, b)
            before = other > one if b >= a else other >= one
            expected.select(axis, a).add_(before)
    assert torch.equal(helpers.rank(x, axis), expected)
    each = torch.func.vmap(lambda one: helpers.rank(one, axis))(torch.stack([x, -x]))
    assert torch.equal(each[0], expected)


def test_ranks_are_found() -> None:
    x = torch.tensor([[2.0, 5.0, 2.0, 7.0], [1.0, 1.0, 1.0, 0.0]])
    for text, found, ranks in (
        (RANKED, True, [[2, 1, 3, 0], [0, 1, 2, 3]]),
        (REVERSED, False, [[0, 2, 1, 3], [1, 2, 3, 0]]),
    ):
        program = indicial.load(text)
        assert ("rank(" in program.torch_source(["y"])) == found
        assert program.compile(E=4)(x=x)["y"].tolist() == ranks
