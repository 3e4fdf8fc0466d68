"""One program three ways, interpreted, as a loop of PyTorch, as kernels: all must agree.

>>> ways = Ways(code)
>>> ways.agree({"T": 5, "J": 3, "K": 2}, members=3)

The oracle has no gradients, so those of the kernels are compared with PyTorch's of the loop.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import numpy as np
import torch

from indicial.compile.emit.dispatch import Dispatch
from indicial.compile.emit.source import Source, emit
from indicial.compile.native.recurrence import Recurrence
from indicial.compile.pipeline import Planned, planned
from indicial.compile.schedule.schedule import Plan
from indicial.program.ir import Code
from indicial.program.meaning.interpret import interpret
from indicial.program.meaning.sample import sample

Tensors = dict[str, torch.Tensor]


@contextmanager
def no_kernels() -> Iterator[None]:
    """Without the compiler, whatever is prepared inside."""
    before = os.environ.get("INDICIAL_NATIVE")
    os.environ["INDICIAL_NATIVE"] = "0"
    try:
        yield
    finally:
        del os.environ["INDICIAL_NATIVE"]
        if before is not None:
            os.environ["INDICIAL_NATIVE"] = before


def recurrences(plan: Plan) -> Iterator[Recurrence]:
    """What the kernels of a plan compute."""
    for call in plan.calls():
        if isinstance(call.function, Dispatch):
            continue
        assert isinstance(call.function, Recurrence)
        yield call.function


class Given:
    """Random values for all that a program does not define, in float64."""

    def __init__(self, code: Code, sizes: dict[str, int], members: int, seed: int = 0) -> None:
        drawn = [sample(code, sizes, seed + member) for member in range(members)]
        rng = np.random.default_rng(seed)
        self.sizes = sizes
        self.parameters = {n: 0.7 * v for n, v in drawn[0].parameters.items()}
        self.inputs = {n: np.stack([d.inputs[n] for d in drawn]) for n in drawn[0].inputs}
        self.draws = {
            n: rng.choice([0.0, 1 / 0.7], size=[members, *v.shape])
            for n, v in drawn[0].draws.items()
        }


class Ways:
    """The ways of a program; what they give of the wanted tensors, or of all."""

    def __init__(self, code: Code, want: Sequence[str] | None = None) -> None:
        self.code = code
        every = dict.fromkeys(s.target for s in code.statements)
        self.want = tuple(every if want is None else want)
        self.draws = frozenset(draw.tensor for draw in code.draws)

    @cached_property
    def ready(self) -> Planned:
        return planned(self.code, self.want, self.draws)

    @cached_property
    def native(self) -> Source:
        return emit(self.ready.code, self.ready.plan, self.want, draws=self.draws)

    @cached_property
    def loop(self) -> Source:
        with no_kernels():
            ready = planned(self.code, self.want, self.draws)
        return emit(ready.code, ready.plan, self.want, draws=self.draws)

    def agree(self, sizes: dict[str, int], members: int, seed: int = 0) -> None:
        """Values of all three, gradients of two."""
        given = Given(self.code, sizes, members, seed)
        expected = interpret(
            self.code, given.inputs, given.parameters, sizes=sizes, draws=given.draws,
            want=self.want,
        )  # fmt: skip
        loop, slopes = self.run(self.loop, given)
        native, own_slopes = self.run(self.native, given)
        for name in self.want:
            close(loop[name], expected[name], f"{name} by the loop")
            close(native[name], expected[name], f"{name} by kernels")
        assert slopes.keys() == own_slopes.keys()
        for name, slope in slopes.items():
            close(own_slopes[name], slope.numpy(), f"the gradient of {name}")

    def run(self, source: Source, given: Given) -> tuple[Tensors, Tensors]:
        """The wanted tensors, and the gradient of a mixture of all their elements."""
        p = {n: self.tensor(n, v) for n, v in given.parameters.items()}
        x = {n: self.tensor(n, v) for n, v in given.inputs.items()}
        draws = {n: torch.tensor(v) for n, v in given.draws.items()}
        found = source.run(p, x, given.sizes, {}, draws)
        leaves = {n: v for n, v in {**p, **x}.items() if v.requires_grad}
        total = sum((mixed(found[name]) for name in self.want), torch.zeros(()).double())
        slopes = torch.autograd.grad(
            total, list(leaves.values()), allow_unused=True, materialize_grads=True
        )
        return {n: v.detach() for n, v in found.items()}, dict(zip(leaves, slopes, strict=True))

    def tensor(self, name: str, values: np.ndarray) -> torch.Tensor:
        if self.code.tensors[name].values is not None:
            return torch.tensor(values).long()
        return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def mixed(values: torch.Tensor) -> torch.Tensor:
    """A number in which every element has a weight of its own."""
    weights = torch.sin(torch.arange(1, values.numel() + 1, dtype=values.dtype))
    return (weights * values.reshape(-1)).sum()


def close(found: torch.Tensor, expected: np.ndarray, what: str, tolerance: float = 1e-9) -> None:
    """Equal wherever the oracle has an element."""
    array, other = found.numpy(), np.asarray(expected)
    if array.ndim == other.ndim + 1:  # nothing that differs between members entered
        array = array[0]
    assert array.shape == other.shape, f"{what}: {array.shape}, not {other.shape}"
    there = ~np.isnan(other)
    np.testing.assert_allclose(array[there], other[there], tolerance, tolerance, err_msg=what)
