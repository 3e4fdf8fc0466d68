"""How far back a model learns from, and what one step does to a small change of the state.

>>> found = gradients_through_time(module, {"w": tokens})
>>> found[0].name, found[0].norms[:3], found[0].factor
('h', [0.41, 0.35, 0.29], 0.86)
>>> found = jacobians(module, {"w": tokens})
>>> found[0].name, found[0].eigenvalues.shape, found[0].radius
('c, h', (8, 96), 0.94)

`norms[d]` is the norm of ∂(-ln P[t])/∂h[t-d], averaged over texts and over the last steps t. The
factor is that by which it changes with each step, fitted to the logarithms. Where there is no
recurrence, it is the gradient at what the tokens become first, their embedding.

A state that is carried as several tensors (the c and h of an LSTM) is one vector. The recurrence is
cut at one step: the state before it becomes an input, and the gradient ∂h[t]/∂h[t-1] does the rest. So all is
read from the equations, and each text gives the Jacobian at one of its steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from indicial.compile.module.module import ProgramModule
from indicial.inspect.statistics import Recurrence, Twin, cut, nudged, recurrences, told_sizes
from indicial.program.ir import Affine, Code, Gather, Read, Statement
from indicial.program.show import show_left
from indicial.tasks.predictions import SURPRISE, Prediction, prediction, with_surprise

TARGETS = 8
"""How many of the last steps are predicted."""


@dataclass(frozen=True)
class Gradient:
    """The norms of one tensor, by distance."""

    name: str
    norms: tuple[float, ...]
    factor: float | None
    """None where fewer than three distances have a gradient."""

    @property
    def half(self) -> float | None:
        """After how many steps it is half as large, or twice."""
        if self.factor is None or self.factor in (0.0, 1.0):
            return None
        return math.log(2) / abs(math.log(self.factor))


def gradients_through_time(
    module: ProgramModule, inputs: Mapping[str, torch.Tensor]
) -> list[Gradient] | str:
    """One for each state, and for each layer of it; or why there is none."""
    found = prediction(module.code)
    if found is None or not found.token.axes:
        return "the equations give no distribution of each token, so no step has a loss of its own"
    code = with_surprise(module.code, found)
    first = inputs[found.token.name]
    sizes = told_sizes(module, inputs)
    curves = watched(code, found, sizes)
    if not curves:
        return "no state goes from step to step, and no equation makes a vector of a token"
    made, nudges = nudged(code, [s for curve in curves for s in curve.statements])
    probes = {}
    for name, nudge in nudges.items():
        shape = [axis.extent.value(sizes) for axis in code.tensors[name].axes]
        probes[nudge] = torch.zeros(len(first), *shape, dtype=torch.float64, requires_grad=True)
    surprise = Twin(module, made, [SURPRISE])({**inputs, **probes})[SURPRISE]
    sums = [_Sums(first.shape[1] - curve.lower) for curve in curves]
    for target in sorted({t for curve in curves for t in curve.targets(first.shape[1])}):
        slopes = torch.autograd.grad(
            surprise[:, target].sum(),
            list(probes.values()),
            retain_graph=True,
            materialize_grads=True,
        )
        by_name = dict(zip(nudges, slopes, strict=True))
        for curve, total in zip(curves, sums, strict=True):
            if target in curve.targets(first.shape[1]):
                slope = curve.of(by_name[curve.tensor])
                total.add(slope, target - curve.lower, curve.direction)
    return [
        Gradient(curve.name, *fitted(total.means()))
        for curve, total in zip(curves, sums, strict=True)
    ]


# ---------------------------------------------------------------------- what is looked at


@dataclass(frozen=True)
class Curve:
    """A tensor along the steps of a text: a state, one layer of it, or an embedding."""

    name: str
    tensor: str
    statements: tuple[Statement, ...]
    time: int
    lower: int
    """The first step that there is."""
    direction: int = 1
    """-1 for a state that comes from later steps; its distances count forwards."""
    layer: tuple[int, int] | None = None
    """The axis of layers, and where along it this one is stored."""

    def targets(self, length: int) -> range:
        """The steps that are predicted: those with the most steps on the side it comes from."""
        every = range(length)
        return every[-TARGETS:] if self.direction > 0 else every[:TARGETS]

    def of(self, values: torch.Tensor) -> torch.Tensor:
        """Its part of the values of the tensor: (B, T, the rest)."""
        time = self.time + 1
        if self.layer is not None:
            axis, place = self.layer
            values = values.select(axis + 1, place)
            time -= axis < self.time
        return values.movedim(time, 1).flatten(2)


def watched(code: Code, found: Prediction, sizes: Mapping[str, int]) -> list[Curve]:
    """The states; where there is none, the first thing that is read at a token."""
    curves = []
    for recurrence in recurrences(code, [SURPRISE]):
        for name in recurrence.states:
            if found.length in code.tensors[name].axes[recurrence.loop.axes[name]].extent.names:
                curves += _layers(code, recurrence, name, sizes)
    if curves:
        return curves
    for statement in code.statements:
        tensor = code.tensors[statement.target]
        times = [n for n, axis in enumerate(tensor.axes) if axis.extent.name == found.length]
        if times and not tensor.probability and _embeds(code, statement):
            lower = tensor.axes[times[0]].lower.value(sizes)
            return [Curve(show_left(statement), tensor.name, (statement,), times[0], lower)]
    return []


def _layers(code: Code, recurrence: Recurrence, name: str, sizes: Mapping[str, int]) -> list[Curve]:
    """Each layer of a state, where layers stand around the loop over the steps."""
    statements = tuple(s for s in recurrence.loop.statements() if s.target == name)
    time = recurrence.loop.axes[name]
    stacked = [loop.axes[name] for loop in recurrence.around if name in loop.axes]
    begins = code.tensors[name].axes[time].lower.value(sizes)
    direction = recurrence.loop.direction
    if not stacked:
        return [Curve(name, name, statements, time, begins, direction)]
    axis = stacked[0]
    first, last = covered(statements, axis, sizes)
    lower = code.tensors[name].axes[axis].lower.value(sizes)
    return [
        Curve(f"{name}_{layer}", name, statements, time, begins, direction, (axis, layer - lower))
        for layer in range(first, last + 1)
    ]


def _embeds(code: Code, statement: Statement) -> bool:
    """Whether a statement reads a parameter at a token: `e[w[t],j]`."""
    return any(
        code.tensors[node.tensor].role == "parameter"
        and any(isinstance(place, Gather) for place in node.places)
        for node in statement.body.every(Read)
    )


def covered(
    statements: Sequence[Statement], axis: int, sizes: Mapping[str, int]
) -> tuple[int, int]:
    """The first and the last place along an axis that some statements define."""
    ends: list[int] = []
    for statement in statements:
        place = statement.left[axis]
        if not isinstance(place, Affine):
            continue
        offset = place.offset.value(sizes)
        if not place.terms:
            ends.append(offset)
        for name, factor in place.terms:
            index = next(i for i in statement.indices if i.name == name)
            low, count = index.lower.value(sizes), index.extent.value(sizes)
            ends += [factor * low + offset, factor * (low + count - 1) + offset]
    return min(ends), max(ends)


class _Sums:
    """Norms added up by distance."""

    def __init__(self, length: int) -> None:
        self.total = np.zeros(length)
        self.count = np.zeros(length)

    def add(self, slopes: torch.Tensor, place: int, direction: int) -> None:
        """Gradients at all steps, of a prediction at the step that is stored at `place`."""
        norms = slopes.norm(dim=2).mean(0).numpy()
        norms = norms[: place + 1][::-1] if direction > 0 else norms[place:]
        self.total[: len(norms)] += norms
        self.count[: len(norms)] += 1

    def means(self) -> list[float]:
        return [float(t / c) for t, c in zip(self.total, self.count, strict=True) if c]


def fitted(norms: Sequence[float]) -> tuple[tuple[float, ...], float | None]:
    """The norms, and the factor by which they change with each step."""
    known = [(d, math.log(n)) for d, n in enumerate(norms) if n > 0 and math.isfinite(n)]
    if len(known) < 3:
        return tuple(norms), None
    slope = np.polyfit([d for d, _ in known], [y for _, y in known], 1)[0]
    return tuple(norms), float(math.exp(slope))


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
