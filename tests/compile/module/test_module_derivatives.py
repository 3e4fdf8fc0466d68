"""A module under everything that PyTorch differentiates with: twice, forward, many at once, again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from modules import compiled, inputs
from torch.autograd import forward_ad
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

from indicial import IndicialError, library, load
from indicial.compile.emit import running
from indicial.compile.module.module import ProgramModule
from indicial.compile.native import toolchain

Tensors = dict[str, torch.Tensor]
KINDS = ("ugrnn", "self_attention", "rnn_lm", "transformer")
"""A recurrence, attention, and both behind tokens."""


@pytest.fixture(autouse=True)
def fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention by the fused call, whose second gradient is not PyTorch's, however few keys there are."""
    monkeypatch.setattr(running, "FEW_KEYS", 0)
    monkeypatch.setattr(running, "kernels", {})


def mixed(values: dict[str, torch.Tensor]) -> torch.Tensor:
    """A number that depends on every element, and not linearly."""
    real = [v.flatten() for v in values.values() if v.is_floating_point()]
    every = torch.cat(real)
    return (torch.sin(torch.arange(1, len(every) + 1).double()) * torch.sin(every)).sum()


def given_to(module: ProgramModule, *batch: int) -> Tensors:
    """Inputs; a distribution is positive."""
    found = inputs(module, *batch)
    return {n: v.abs() if n == "α" else v for n, v in found.items()}


def held(module: ProgramModule) -> Tensors:
    return {name: p.detach().clone() for name, p in module.named_parameters()}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.long) if n == "bahdanau" else n for n in library.names()],
)
def test_second_derivatives_of_the_library(name: str) -> None:
    """Along a random line through all parameters and inputs."""
    module = compiled(name).eval()
    given, values = given_to(module, 2), held(module)
    every = {**values, **{n: v for n, v in given.items() if v.is_floating_point()}}
    generator = torch.Generator().manual_seed(1)
    ways = {
        n: 0.1 * torch.rand(v.shape, generator=generator, dtype=v.dtype) for n, v in every.items()
    }

    def along(place: torch.Tensor) -> torch.Tensor:
        moved = {n: v + place * ways[n] for n, v in every.items()}
        at = {n: moved.pop(n, v) for n, v in given.items()}
        return mixed(functional_call(module, moved, (), at))

    start = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    if along(start).requires_grad:
        assert torch.autograd.gradgradcheck(along, start)


def test_a_penalty_on_the_gradient_arrives() -> None:
    """h[t] = a h[t-1] + x[t]: of h[2] = a² x_0 + a x_1 + x_2 both derivatives are known."""
    module = load("input x[t]\nparameter a\nh[t] = tanh(a h[t-1] + x[t])").compile(
        dtype=torch.float64
    )
    x = torch.tensor([0.3, -0.2, 0.5], dtype=torch.float64)
    a = module.parameter("a")

    def written_out(a: torch.Tensor) -> torch.Tensor:
        return ((((x[0].tanh() * a + x[1]).tanh()) * a + x[2]).tanh()).sin()

    loss = module(x)["h"][-1].sin()
    (slope,) = torch.autograd.grad(loss, a, create_graph=True)
    (slope**2).backward()
    other = a.detach().clone().requires_grad_()
    (expected,) = torch.autograd.grad(written_out(other), other, create_graph=True)
    (expected**2).backward()
    torch.testing.assert_close(slope, expected)
    torch.testing.assert_close(a.grad, other.grad)


def test_an_argument_that_depends_on_another_is_counted_once() -> None:
    module = load("input x[t]\ninput y[t]\nh[t] = h[t-1] x[t] + y[t]^2").compile()
    x = torch.tensor([0.5, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    module = module.double()

    def value(x: torch.Tensor) -> torch.Tensor:
        return module(x=x, y=x * 2)["h"][-1]

    (slope,) = torch.autograd.grad(value(x), x, create_graph=True)
    (plain,) = torch.autograd.grad(value(x), x)
    torch.testing.assert_close(slope, plain)
    assert torch.autograd.gradgradcheck(value, x)


def test_second_derivatives_with_lengths() -> None:
    module = compiled("gru")
    x = inputs(module, 3)["x"].requires_grad_()

    def value(x: torch.Tensor) -> torch.Tensor:
        return mixed({"h": module(x, lengths=[2, 5, 3])["h"]})

    assert torch.autograd.gradgradcheck(value, x, fast_mode=True)


@pytest.mark.parametrize("name", KINDS)
def test_transforms(name: str) -> None:
    module = compiled(name).eval()
    given, values = inputs(module, 3), held(module)
    want = module.wanted[-1]

    def loss(values: Tensors, given: Tensors) -> torch.Tensor:
        return mixed(functional_call(module, values, (), given))

    leaves = {n: v.clone().requires_grad_() for n, v in values.items()}
    expected = dict(
        zip(leaves, torch.autograd.grad(loss(leaves, given), list(leaves.values())), strict=True)
    )
    torch.testing.assert_close(grad(loss)(values, given), expected)

    each = vmap(lambda given: functional_call(module, values, (), given)[want])(given)
    alone = [module({n: v[i] for n, v in given.items()})[want] for i in range(3)]
    torch.testing.assert_close(each, torch.stack(alone))

    way = {n: torch.cos(v) for n, v in values.items()}
    slope = torch.stack([(expected[n] * way[n]).sum() for n in values]).sum()
    torch.testing.assert_close(jvp(lambda v: loss(v, given), (values,), (way,))[1], slope)
    with forward_ad.dual_level():
        dual = {n: forward_ad.make_dual(v, way[n]) for n, v in values.items()}
        torch.testing.assert_close(forward_ad.unpack_dual(loss(dual, given)).tangent, slope)

    key = next(iter(values))

    def of_one(value: torch.Tensor) -> torch.Tensor:
        return functional_call(module, {**values, key: value}, (), given)[want].sin().sum()

    torch.testing.assert_close(jacrev(of_one)(values[key]), jacfwd(of_one)(values[key]))
    curved = hessian(of_one)(values[key])
    torch.testing.assert_close(curved, torch.autograd.functional.hessian(of_one, values[key]))
    assert curved.abs().max() > 1e-4


def test_many_gradients_at_once() -> None:
    module = compiled("ugrnn")
    h = module(inputs(module, 2)["x"])["h"].flatten()
    weight = module.parameter("W^{h,R}")
    unit = torch.eye(len(h), dtype=h.dtype)
    (together,) = torch.autograd.grad(h, weight, unit, is_grads_batched=True, retain_graph=True)
    for row, way in zip(together, unit, strict=True):
        (alone,) = torch.autograd.grad(h, weight, way, retain_graph=True)
        torch.testing.assert_close(row, alone)


def gradients(module: ProgramModule, value: Callable[[], torch.Tensor]) -> list[torch.Tensor]:
    module.zero_grad()
    value().backward()
    return [p.grad.clone() for p in module.parameters()]


@pytest.mark.parametrize("name", KINDS)
def test_checkpoints(name: str) -> None:
    module = compiled(name).eval()
    given = list(inputs(module, 2).values())

    def again() -> torch.Tensor:
        return mixed(checkpoint(module, *given, use_reentrant=False))

    expected = gradients(module, lambda: mixed(module(*given)))
    torch.testing.assert_close(gradients(module, again), expected)


def penalty(module: ProgramModule, value: torch.Tensor) -> torch.Tensor:
    slopes = torch.autograd.grad(value, list(module.parameters()), create_graph=True)
    return torch.stack([(slope**2).sum() for slope in slopes]).sum()


def test_second_derivatives_of_a_checkpoint() -> None:
    recurrence, attention = compiled("ugrnn"), compiled("self_attention")
    for module in (recurrence, attention):
        x = next(iter(inputs(module, 2).values()))

        def again(module: ProgramModule = module, x: torch.Tensor = x) -> torch.Tensor:
            return penalty(module, mixed(checkpoint(module, x, use_reentrant=False)))

        def once(module: ProgramModule = module, x: torch.Tensor = x) -> torch.Tensor:
            return penalty(module, mixed(module(x)))

        expected = gradients(module, once)
        if module is attention:
            with pytest.raises(
                IndicialError, match="second gradient of attention under checkpoint"
            ):
                again()
            with sdpa_kernel(SDPBackend.MATH):
                torch.testing.assert_close(gradients(module, again), expected)
        else:
            torch.testing.assert_close(gradients(module, again), expected)


def test_full_backward_hooks() -> None:
    module = load("input x[t]\ninput y[t]\na[t] = 2 x[t]\nb[t] = 3 y[t]^2").compile()
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    seen: list[Any] = []
    first = module.register_full_backward_hook(lambda _, given, found: seen.append((given, found)))
    before = module.register_full_backward_pre_hook(
        lambda _, found: tuple(2 * slope for slope in found)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = module(x=x, y=y)
        (found["a"].sum() + found["b"].sum()).backward()
    (given, outputs), = seen  # fmt: skip
    assert [v.tolist() for v in outputs] == [[2, 2], [2, 2]]
    assert [v.tolist() for v in given] == [[4, 4], [12, 12]]
    assert x.grad.tolist() == [4, 4]
    before.remove()
    first.remove()
    x.grad = None
    module(x=x, y=y)["a"].sum().backward()
    assert len(seen) == 1
    assert x.grad.tolist() == [2, 2]
    order: list[int] = []
    module.register_full_backward_hook(lambda *_: order.append(1))
    module.register_full_backward_hook(lambda *_: order.append(2), prepend=True)
    module(x=x, y=y)["a"].sum().backward()
    assert order == [2, 1]


def test_a_graph_is_used_once_unless_retained() -> None:
    module = compiled("lstm")
    given = inputs(module, 2)
    once = gradients(module, lambda: mixed(module(given)))
    module.zero_grad()
    loss = mixed(module(given))
    loss.backward(retain_graph=True)
    loss.backward()
    torch.testing.assert_close([p.grad / 2 for p in module.parameters()], once)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
def test_what_was_changed_in_place_is_noticed() -> None:
    module = compiled("ugrnn")
    given = inputs(module, 2)
    loss = mixed(module(given))
    with torch.no_grad():
        module.parameter("W^{h,R}").add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    if not toolchain.available():
        return  # kernels keep h for their gradient, and loops of PyTorch what they made it of
    h = module(given)["h"]
    loss = (2 * h).sum()
    h.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_gradients_of_inputs_alone_and_of_parameters_alone() -> None:
    module = compiled("ugrnn")
    x = inputs(module, 2)["x"]
    own = gradients(module, lambda: mixed(module(x)))
    both = x.clone().requires_grad_()
    torch.testing.assert_close(gradients(module, lambda: mixed(module(both))), own)
    alone = x.clone().requires_grad_()
    module.requires_grad_(False)
    mixed(module(alone)).backward()
    torch.testing.assert_close(alone.grad, both.grad)
    assert not module(x)["h"].requires_grad


def test_nothing_is_recorded_where_nobody_asks() -> None:
    module = compiled("ugrnn")
    x = inputs(module, 2)["x"]
    expected = module(x)["h"]
    with torch.no_grad():
        assert torch.equal(module(x)["h"], expected)
        assert not module(x)["h"].requires_grad
    with torch.inference_mode():
        assert torch.equal(module(x)["h"], expected)
        made = x + 0
        assert module(made)["h"].is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        module(made)


def test_steps_have_tangents() -> None:
    """Also where no gradient is recorded: the kernel of a step would drop them."""
    module = compiled("ugrnn")
    x = inputs(module, 2)["x"]
    with torch.no_grad(), forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.cos(x))
        expected = forward_ad.unpack_dual(module(dual)["h"]).tangent
        state = module.begin()
        for t in range(x.shape[1]):
            state, found = module.step(state, x=dual[:, t])
            slope = forward_ad.unpack_dual(found["h"]).tangent
            torch.testing.assert_close(slope, expected[:, t])


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_attention_of_any_number_of_axes(axes: int) -> None:
    """Which of them are computed by one fused call, and behind what, is the version's choice."""
    shape = (2, 1, 3, 4)[-axes:]
    given = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    assert torch.autograd.gradgradcheck(running.attention, given)
    whole = given[0].view(1, -1, 3, 4)
    dropped = torch.nn.functional.scaled_dot_product_attention(whole, whole, whole)
    assert running._fused(dropped) is running._fused(dropped.squeeze(0)) is not None
