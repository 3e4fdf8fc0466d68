"""What one step does to a small change of the state: eigenvalues of ∂h[t]/∂h[t-1].

>>> found = jacobians(module, {"w": tokens})
>>> found[0].name, found[0].eigenvalues.shape, found[0].radius
('c, h', (8, 96), 0.94)

A state that is carried as several tensors (the c and h of an LSTM) is one vector. The recurrence is
cut at one step: the state before it becomes an input, and the gradient does the rest. So all is
read from the equations, and each text gives the Jacobian at one of its steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from indicial.compile.module.module import ProgramModule
from indicial.inspect.gradients import covered
from indicial.inspect.probes import Recurrence, Twin, cut, recurrences, told_sizes
from indicial.program.ir import Code

TEXTS = 8
MOST = 2048
"""Of a state with more numbers no eigenvalues are computed: it would take minutes."""


@dataclass(frozen=True)
class Jacobian:
    """Of one recurrence, at a step of each text."""

    name: str
    eigenvalues: NDArray[np.complex128]
    """(texts, numbers of the state)"""
    stretch: float
    """The largest factor by which a change can grow in one step: the mean of the largest singular
    values."""

    @property
    def radii(self) -> NDArray[np.float64]:
        """The spectral radius at each step."""
        found: NDArray[np.float64] = np.abs(self.eigenvalues).max(1)
        return found

    @property
    def radius(self) -> float:
        return float(self.radii.mean())

    @property
    def outside(self) -> float:
        """The share of eigenvalues outside the unit circle."""
        return float((np.abs(self.eigenvalues) > 1).mean())


def jacobians(
    module: ProgramModule, inputs: Mapping[str, torch.Tensor], seed: int = 0
) -> list[Jacobian | str] | str:
    """One for each recurrence, or why it has none; or why there is no recurrence."""
    want = [module.code.loss] if module.code.loss is not None else list(module.wanted)
    found = recurrences(module.code, want)
    if not found:
        return "no equation reads a state of the step before it, so there is no recurrence"
    few = {name: value[:TEXTS] for name, value in inputs.items()}
    return [_jacobian(module, one, few, seed) for one in found]


def _jacobian(
    module: ProgramModule, found: Recurrence, inputs: Mapping[str, torch.Tensor], seed: int
) -> Jacobian | str:
    states = list(found.states)
    with torch.no_grad():
        known = Twin(module, module.code, states)(inputs)
    sizes = told_sizes(module, inputs)
    code, before = cut(module.code, found)
    given = {before[name]: known[name].detach().requires_grad_() for name in states}
    places = _Places(module.code, found, sizes)
    if places.count > MOST:
        return f"{found.name} has {places.count} numbers, too many to compute eigenvalues of"
    steps = places.steps(len(next(iter(inputs.values()))), seed)
    if steps is None:
        return f"the texts have no two steps of {found.name}"
    after = Twin(module, code, states)({**inputs, **given})
    here = places.taken(after, steps)
    rows = []
    for number in range(places.count):
        slopes = torch.autograd.grad(
            here[:, number].sum(), list(given.values()), retain_graph=True, materialize_grads=True
        )
        by_name = dict(zip(states, slopes, strict=True))
        rows.append(places.taken(by_name, steps - found.loop.direction))
    matrices = torch.stack(rows, 1).numpy()
    if not np.isfinite(matrices).all():
        return f"the Jacobian of {found.name} is not finite"
    stretch = float(np.linalg.svd(matrices, compute_uv=False)[:, 0].mean())
    return Jacobian(found.name, np.linalg.eigvals(matrices).astype(complex), stretch)


class _Places:
    """Where the numbers of a state are in its tensors."""

    def __init__(self, code: Code, found: Recurrence, sizes: Mapping[str, int]) -> None:
        self.found = found
        self.loop = found.loop
        self.sizes = sizes
        self.tensors = {name: code.tensors[name] for name in found.states}
        self.ranges = {name: self._ranges(name) for name in found.states}
        self.count = sum(
            int(np.prod([high - low for low, high in ranges])) for ranges in self.ranges.values()
        )

    def _ranges(self, name: str) -> list[tuple[int, int]]:
        """Along each axis but that of the steps: the part that the recurrence itself defines."""
        statements = [s for s in self.loop.statements() if s.target == name]
        ranges = []
        for number, axis in enumerate(self.tensors[name].axes):
            if number == self.loop.axes[name]:
                continue
            lower = axis.lower.value(self.sizes)
            first, last = covered(statements, number, self.sizes)
            ranges.append((first - lower, last - lower + 1))
        return ranges

    def steps(self, texts: int, seed: int) -> torch.Tensor | None:
        """A step of the loop for each text, drawn from those with a step before and all states."""
        low, high = [], []
        for name, tensor in self.tensors.items():
            axis = tensor.axes[self.loop.axes[name]]
            first = axis.lower.value(self.sizes) + self.loop.offsets.get(name, 0)
            low.append(first)
            high.append(first + axis.extent.value(self.sizes) - 1)
        least, most = max(low), min(high)
        if self.loop.direction > 0:
            least += 1
        else:
            most -= 1
        if least > most:
            return None
        drawn = np.random.default_rng(seed).integers(least, most + 1, texts)
        return torch.from_numpy(drawn)

    def taken(self, values: Mapping[str, torch.Tensor], steps: torch.Tensor) -> torch.Tensor:
        """The state of each text at its own step: (texts, numbers)."""
        parts = []
        for name, tensor in self.tensors.items():
            axis = self.loop.axes[name]
            lower = tensor.axes[axis].lower.value(self.sizes)
            at = steps - self.loop.offsets.get(name, 0) - lower
            value = values[name].movedim(axis + 1, 1)[torch.arange(len(steps)), at]
            for number, (low, high) in enumerate(self.ranges[name]):
                value = value.narrow(number + 1, low, high - low)
            parts.append(value.flatten(1))
        return torch.cat(parts, 1)
