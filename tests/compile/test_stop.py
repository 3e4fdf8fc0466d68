"""`stop(x)` is x, and no gradient passes through it: in the emitted text, in kernels, in equations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agreeing import Ways

from indicial.compile.native import toolchain
from indicial.program.program import Program

RIGHT = {
    "stop(x[t,j])": (lambda x: x, lambda x: 0 * x),
    "sg(x[t,j])": (lambda x: x, lambda x: 0 * x),
    "x[t,j] stop(x[t,j])": (lambda x: x**2, lambda x: x),
    "x[t,j] + stop(sign(x[t,j]) - x[t,j])": (np.sign, np.ones_like),
    "tanh(stop(2 x[t,j])) + x[t,j]^2": (lambda x: np.tanh(2 * x) + x**2, lambda x: 2 * x),
    "stop(Σ_i x[t,i]) x[t,j]": (
        lambda x: x.sum(1, keepdims=True) * x,
        lambda x: x.sum(1, keepdims=True) + 0 * x,
    ),
}


def program(text: str) -> Program:
    made = Program.of_text(f"input x[t,j]\n{text}")
    assert not made.errors, made.errors[0].render()
    return made


@pytest.mark.parametrize("right", RIGHT)
def test_values_and_slopes(right: str) -> None:
    """The interpreter has the value; the emitted module has value and slope."""
    value, slope = RIGHT[right]
    given = np.random.default_rng(0).normal(size=(3, 2))
    made = program(f"y[t,j] = {right}")
    np.testing.assert_allclose(made.interpret({"x": given})["y"], value(given))
    x = torch.tensor(given[None], requires_grad=True)
    ways = Ways(made.code, ["y"])
    y = ways.loop.run({}, {"x": x}, {"T": 3, "J": 2}, {}, {})["y"]
    np.testing.assert_allclose(y.detach().numpy()[0], value(given))
    if y.requires_grad:
        (found,) = torch.autograd.grad(y.sum(), x, materialize_grads=True, allow_unused=True)
    else:
        found = torch.zeros_like(x)
    np.testing.assert_allclose(found.numpy()[0], slope(given))


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
@pytest.mark.parametrize(
    "text",
    [
        "h[t,j] = tanh(W[j,I] stop(h[t-1,I]) + x[t,j])",
        "h[t,j] = stop(σ(W[j,I] h[t-1,I])) h[t-1,j] + x[t,j]",
        "g[t,j] = σ(h[t-1,j])\nh[t,j] = g[t,j] + stop([g[t,j] > 1/2] - g[t,j]) + x[t,j] h[t-1,j]",
    ],
)
def test_kernels_pass_nothing_back(text: str) -> None:
    Ways(program(text).code, ["h"]).agree({"T": 5, "J": 3}, members=2)


def test_the_source_detaches() -> None:
    assert ".detach()" in program("y[t,j] = x[t,j] + stop(x[t,j])").torch_source()


def test_no_operations() -> None:
    with_stop, without = program("y[t,j] = stop(x[t,j])"), program("y[t,j] = x[t,j]")
    assert with_stop.cost.work == without.cost.work


def test_latex() -> None:
    made = Program.of_text(
        r"y[i] = \operatorname{stop}(x[i]) + \operatorname{sg}(x[i])", latex=True
    )
    assert not made.errors
    assert made.interpret({}, {"x": [1.0, 2.0]})["y"].tolist() == [2.0, 4.0]
