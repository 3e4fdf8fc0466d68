"""Modules with kernels in unusual but legal hands: odd shapes, threads, partial gradients, nan.

What is right is the same module without kernels, or the oracle.
"""

from __future__ import annotations

import copy
import threading
from functools import cache

import numpy as np
import pytest
import torch
from agreeing import no_kernels

import indicial
from indicial.compile.module.module import ProgramModule
from indicial.compile.native import toolchain

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")

J, K = 5, 3


@cache
def lstm(dtype: torch.dtype = torch.float64, kernels: bool = True) -> ProgramModule:
    """The same parameters with and without kernels."""
    module = indicial.load("lstm").compile(J=J, K=K, dtype=dtype)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in module.parameters():
            values = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(0.7 * values)
    if not kernels:
        with no_kernels():
            module(x=torch.randn(1, 1, K, dtype=dtype))
    return module


def given(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, K, generator=generator, dtype=torch.float64).to(dtype)


def slopes(module: ProgramModule, x: torch.Tensor) -> list[torch.Tensor]:
    """The state, and the gradients of a mixture of it."""
    x = x.detach().requires_grad_()
    h = module(x=x)["h"]
    weights = torch.sin(torch.arange(h.numel(), dtype=h.dtype) + 1).view(h.shape)
    found = torch.autograd.grad((weights * h).sum(), [*module.parameters(), x])
    return [h.detach(), *found]


def same(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("members", [1, 2, 7])
@pytest.mark.parametrize("threads", [1, 2])
def test_any_number_of_members_and_threads(members: int, threads: int) -> None:
    x = given(members, 6)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        ours = slopes(lstm(), x)
    finally:
        torch.set_num_threads(before)
    same(ours, slopes(lstm(kernels=False), x))


def test_single_precision() -> None:
    x = given(3, 20)
    exact = slopes(lstm(kernels=False), x)
    ours = slopes(lstm(torch.float32), x.float())
    for mine, other in zip(ours, exact, strict=True):
        scale = other.abs().max().item()
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=0, atol=4e-6 * scale)


def test_a_long_text() -> None:
    x = given(2, 1000)
    same(slopes(lstm(), x), slopes(lstm(kernels=False), x))


@pytest.mark.parametrize("shape", [(0, 4), (2, 0), (0, 0)])
def test_nothing(shape: tuple[int, int]) -> None:
    """An empty batch and an empty text give empty tensors, and zeros as gradients."""
    h, *found = slopes(lstm(), given(*shape))
    assert h.shape == (*shape, J)
    assert all(bool((slope == 0).all()) for slope in found)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e300])
def test_what_is_not_finite_goes_where_it_goes_in_pytorch(value: float) -> None:
    x = given(3, 5)
    x[1, 2, 0] = value
    same(slopes(lstm(), x), slopes(lstm(kernels=False), x))


def test_inputs_that_are_views() -> None:
    x = given(4, 6)
    turned = x.transpose(0, 1).contiguous().transpose(0, 1)
    strided = torch.stack([x, -x], dim=-1)[..., 0]
    repeated = x[:1].expand(4, -1, -1)
    for view in (turned, strided):
        assert not view.is_contiguous()
        same(slopes(lstm(), view), slopes(lstm(), x))
    same(slopes(lstm(), repeated), slopes(lstm(kernels=False), repeated))


def test_some_gradients() -> None:
    """Only what is asked for: no input, one parameter, none at all."""
    module, x = lstm(), given(2, 4)
    every = dict(zip([*dict(module.named_parameters()), "x"], slopes(module, x)[1:], strict=True))
    for key, parameter in module.named_parameters():
        h = module(x=x)["h"]
        weights = torch.sin(torch.arange(h.numel(), dtype=h.dtype) + 1).view(h.shape)
        (found,) = torch.autograd.grad((weights * h).sum(), [parameter])
        torch.testing.assert_close(found, every[key], rtol=1e-10, atol=1e-12)
    with torch.no_grad():
        assert not module(x=x)["h"].requires_grad


def test_frozen_parameters() -> None:
    module, x = copy.deepcopy(lstm()), given(2, 4)
    first, *others = module.parameters()
    for parameter in others:
        parameter.requires_grad_(False)
    module(x=x)["h"].sum().backward()
    assert first.grad is not None and all(p.grad is None for p in others)


def test_twice_in_one_graph() -> None:
    module, x, y = lstm(), given(2, 4, seed=1), given(3, 6, seed=2)
    parameters = list(module.parameters())
    both = torch.autograd.grad(module(x=x)["h"].sum() + module(x=y)["h"].sum(), parameters)
    one = torch.autograd.grad(module(x=x)["h"].sum(), parameters)
    two = torch.autograd.grad(module(x=y)["h"].sum(), parameters)
    for total, a, b in zip(both, one, two, strict=True):
        torch.testing.assert_close(total, a + b, rtol=1e-12, atol=1e-12)


def test_backward_twice() -> None:
    module, x = lstm(), given(2, 4)
    loss = module(x=x)["h"].square().sum()
    parameters = list(module.parameters())
    once = torch.autograd.grad(loss, parameters, retain_graph=True)
    again = torch.autograd.grad(loss, parameters)
    for a, b in zip(once, again, strict=True):
        assert torch.equal(a, b)


def test_threads_of_python() -> None:
    module = lstm()
    inputs = [given(1 + n % 3, 3 + n, seed=n) for n in range(8)]
    expected = [slopes(module, x) for x in inputs]
    found: dict[int, list[torch.Tensor]] = {}

    def work(number: int) -> None:
        for _ in range(5):
            found[number] = slopes(module, inputs[number])

    workers = [threading.Thread(target=work, args=(n,)) for n in range(len(inputs))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for number, one in enumerate(expected):
        same(found[number], one)


def test_a_copy_is_a_module_of_its_own() -> None:
    module, x = lstm(), given(2, 4)
    other = copy.deepcopy(module)
    with torch.no_grad():
        next(other.parameters()).mul_(2)
    assert not torch.equal(module(x=x)["h"], other(x=x)["h"])
    other.load_state_dict(module.state_dict())
    same(slopes(other, x), slopes(module, x))


def test_two_programs_with_the_same_equations() -> None:
    """They share their kernels, and not their parameters."""
    module = indicial.load("lstm").compile(J=J, K=K, dtype=torch.float64)
    x = given(2, 4)
    ours, theirs = slopes(module, x), slopes(lstm(), x)
    assert not torch.allclose(ours[0], theirs[0])
    module.load_state_dict(lstm().state_dict())
    same(slopes(module, x), theirs)
