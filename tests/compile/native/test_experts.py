"""The rows of all choices by kernels, beside the interpreter and PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from indicial.compile.emit import running
from indicial.compile.native import experts, toolchain
from tests.compile.test_choices import SCORES, SIZES, TEXTS, drawn, made, told

pytestmark = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")

OTHERS = {
    "weights for all": "y[t,i] = Σ_e top_k(g[t,e], 2) W[e,i,F] SiLU(U[e,F,J] x[t,J] + b[e,F]) (V[F,J] x[t,J])",
    "one slope for two": "h[t,e,f] = tanh(U[e,f,J] x[t,J] + b[e,f] + k[e,f])\n"
    "y[t,i] = Σ_e top_k(g[t,e], 2) W[e,i,F] h[t,e,F]",
}
OTHERS = {name: SCORES + text for name, text in OTHERS.items()}


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Kernels for any number of rows, and whether each call had one."""
    calls: list[bool] = []

    def noted(*given: object) -> torch.Tensor | None:
        found = experts.by_kernels(*given)  # type: ignore[arg-type]
        calls.append(found is not None)
        return found

    monkeypatch.setattr(experts, "LEAST", 0)
    monkeypatch.setitem(running.kernels, "experts", noted)
    yield calls


@pytest.mark.parametrize("text", [*TEXTS.values(), *OTHERS.values()], ids=[*TEXTS, *OTHERS])
def test_values_and_gradients_are_those_of_the_equations(text: str, used: list[bool]) -> None:
    program, module = made(text)
    x = drawn(2, 3, SIZES["J"])
    y = module(x=x)["y"]
    assert used and all(used)
    expected = np.stack([told(program, module, one) for one in x])
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-9, atol=1e-12)
    names, values = zip(*module.named_parameters(), strict=True)

    def slopes() -> list[torch.Tensor | None]:
        own = x.clone().requires_grad_()
        slope = drawn(*y.shape)
        leaves = [own, *values]
        return list(torch.autograd.grad(module(x=own)["y"], leaves, slope, allow_unused=True))

    by_kernels = slopes()
    del running.kernels["experts"]
    for name, one, other in zip(["x", *names], by_kernels, slopes(), strict=True):
        assert (one is None) == (other is None), name
        if one is not None and other is not None:
            torch.testing.assert_close(one, other, msg=name)


def test_the_second_gradient_is_that_of_the_equations(used: list[bool]) -> None:
    _, module = made(TEXTS["top-layers"].replace("ReLU", "tanh"))
    x = drawn(1, 3, SIZES["J"]).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: module(x=x)["y"], [x], fast_mode=True)
    assert used and all(used)


def test_rows_of_many_blocks_and_choices_without_any(used: list[bool]) -> None:
    """More rows than a kernel takes at a time, and weights that fill no panel of a product."""
    text = SCORES + "y[t,i] = Σ_e [g[t,e] > 0.5] W[e,i,F] ReLU(U[e,F,J] x[t,J])"
    program, module = made(text)
    with torch.no_grad():
        module.get_parameter("C")[1] = 0.0
    x = drawn(1, 200, SIZES["J"])
    y = module(x=x)["y"]
    assert used == [True]
    np.testing.assert_allclose(y[0].detach().numpy(), told(program, module, x[0]), rtol=1e-9)
    y.sum().backward()
    gradient = module.get_parameter("W").grad
    assert gradient is not None and not gradient[1].any() and gradient[0].any()


def test_few_rows_are_left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packing the weights would take longer than multiplying by them."""
    _, module = made(TEXTS["top-layers"])
    monkeypatch.setattr(experts, "_Together", None)
    module(x=drawn(1, 2, SIZES["J"]))
