"""Gradients of emitted sources: finite differences of the values, which the oracle vouches for."""

from __future__ import annotations

import pytest
import torch
from emitting import LEAST, batch, code, draw, model, source, tensors

from indicial import library, load
from indicial.program.ir import Code

STEP = 1e-5


def check(program: Code, size: int, seed: int = 0, **sizes: int) -> None:
    """The slope of a random mix of all outputs, in random directions of all that is given."""
    drawn = [draw(program, size, seed + n, **sizes) for n in range(2)]
    given = {
        **tensors(program, drawn[0].parameters),
        **tensors(program, batch([d.inputs for d in drawn])),
    }
    text = source(program)
    generator = torch.Generator().manual_seed(seed)

    def random(like: torch.Tensor) -> torch.Tensor:
        return torch.randn(like.shape, generator=generator, dtype=like.dtype)

    def outputs(values: dict[str, torch.Tensor]) -> list[torch.Tensor]:
        every = {**given, **values}
        inputs = {n: v for n, v in every.items() if program.tensors[n].role == "input"}
        parameters = {n: v for n, v in every.items() if n not in inputs}
        found = text.run(parameters, inputs, drawn[0].sizes, {}, {})
        return [v for v in found.values() if v.is_floating_point()]

    free = {n: t.requires_grad_() for n, t in given.items() if t.is_floating_point()}
    found = outputs(free)
    weights = [random(v) for v in found]
    total = sum((v * w).sum() for v, w in zip(found, weights, strict=True))
    slopes = torch.autograd.grad(total, list(free.values()), allow_unused=True)
    for _ in range(2):
        way = {n: random(t) for n, t in free.items()}
        along = sum(
            (s * w).sum().item() for s, w in zip(slopes, way.values(), strict=True) if s is not None
        )
        ends = []
        with torch.no_grad():
            for step in (STEP, -STEP):
                moved = outputs({n: t + step * way[n] for n, t in free.items()})
                ends.append(sum((v * w).sum() for v, w in zip(moved, weights, strict=True)))
        assert along == pytest.approx(((ends[0] - ends[1]) / (2 * STEP)).item(), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", library.names())
def test_library_models(name: str) -> None:
    check(model(name), 2, seed=3, **LEAST.get(name, {}))


def gradient(text: str, **inputs: list[float]) -> dict[str, list[float]]:
    """The gradient of `y`, the sum of it, in the inputs."""
    given = {
        name: torch.tensor([values], dtype=torch.float64, requires_grad=True)
        for name, values in inputs.items()
    }
    sizes = {"T": len(next(iter(inputs.values())))}
    found = source(code(text), ["y"]).run({}, given, sizes, {}, {})
    found["y"].sum().backward()
    return {name: tensor.grad[0].tolist() for name, tensor in given.items()}  # type: ignore[index]


SINGULAR = {
    "a case": ("y[t] = cases { x[t] ln x[t] if x[t] > 0, 0 otherwise }", [0.0, 1.0, 2.0]),
    "a condition": ("y = Σ_{t ≥ 1} x[t] ln x[t]", [0.0, 1.0, 2.0]),
    "a guard": ("y[t] = x[t] ln x[t] for t > 0\ny[t] = 0", [0.0, 1.0, 2.0]),
    "what wins over it": ("y[t] = 0 for t = 0\ny[t] = x[t] ln x[t]", [0.0, 1.0, 2.0]),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_what_does_not_count_has_no_slope(name: str) -> None:
    """At 0 the slope of x ln x is infinite; where it is left out the gradient is 0."""
    text, values = SINGULAR[name]
    found = gradient(f"input x[t]\n{text}", x=values)
    expected = [0.0, 1.0, 1.0 + torch.tensor(2.0).log().item()]
    assert found["x"] == pytest.approx(expected)


def test_a_quotient_that_is_left_out() -> None:
    found = gradient("input x[t]\ny = Σ_{t ≥ 1} 1/x[t]", x=[0.0, 1.0, 2.0])
    assert found["x"] == pytest.approx([0.0, -1.0, -0.25])


def test_an_exponential_that_is_left_out() -> None:
    text = "input x[t]\ny[t] = cases { exp(x[t])/(1 + exp(x[t])) if x[t] < 0, 1 otherwise }"
    assert gradient(text, x=[0.0, 2000.0])["x"] == [0.0, 0.0]


def test_the_logarithm_of_a_softmax_that_is_left_out() -> None:
    """The entropy of causal attention: where α is 0, its logarithm is computed all the same."""
    text = (
        "α[t_1,t_2] = softmax_{t_2 ≤ t_1} x[t_1] x[t_2]\n"
        "y = Σ_{t_1} Σ_{t_2 ≤ t_1} α[t_1,t_2] ln α[t_1,t_2]"
    )
    found = gradient(f"input x[t]\n{text}", x=[0.5, 0.3, -0.2])
    x = torch.tensor([0.5, 0.3, -0.2], dtype=torch.float64, requires_grad=True)
    total = sum((p * p.log()).sum() for p in ((x[t] * x[: t + 1]).softmax(0) for t in range(3)))
    (expected,) = torch.autograd.grad(total, x)  # type: ignore[arg-type]
    assert found["x"] == pytest.approx(expected.tolist())


def test_a_power_that_is_left_out() -> None:
    """Where s > t the exponent is negative, and 0.01^(t-s) soon infinite: its slope is no part of a's."""
    steps = 200
    module = load("input x[t]\ny[t] = x[t] + Σ_{s < t} a^(t-s) x[s]").compile(
        start={"a": 0.01}, dtype=torch.float64
    )
    module(x=torch.ones(steps, dtype=torch.float64))["y"].sum().backward()
    apart = torch.arange(1, steps, dtype=torch.float64)
    expected = ((steps - apart) * apart * 0.01 ** (apart - 1)).sum()
    torch.testing.assert_close(module.parameter("a").grad, expected)


def test_a_condition_that_is_one_for_all() -> None:
    module = load("input x[t]\ny[t] = cases { x[t]/√(a) if a > 0, 0 otherwise }").compile(
        start={"a": 0.0}
    )
    module(x=torch.ones(3))["y"].sum().backward()
    assert module.parameter("a").grad == 0
