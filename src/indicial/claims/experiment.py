"""A claim as a program: draws in, both sides of the claim out.

    claim α[n] ≤ 1 for n > 0

    claim_left[n] = α[n];  claim_right[n] = 1;  claim_guard[n] = 1 if n > 0, 0 otherwise

Derivatives in a claim are computed first, from the adjoint equations, and then read like inputs.
The `std of …` of a claim is the same at all draws; `statistics.py` finds it and reads it likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from indicial.claims.running import OPEN, Array, Random, Slope, Stage, Truths, Values, slope, world
from indicial.claims.running import values as leaf_values
from indicial.program import ir
from indicial.program.meaning.sample import extent_value, least_sizes
from indicial.program.messages import IndicialError
from indicial.program.rewrite import free_indices, rebuild
from indicial.program.sizes import Size

EXTREMES = ("max", "min")
LEFT, RIGHT, GUARD, TOLERANCE = "claim_left", "claim_right", "claim_guard", "claim_tolerance"


@dataclass(frozen=True)
class Sides:
    """Both sides of a claim at all draws (the first axis) and all values of its indices."""

    left: Array
    right: Array
    guard: Truths
    tolerance: Array | None


@dataclass(frozen=True)
class Summary:
    """A statistic of a claim: over the draws of the tensor `name`, whose value `read` then is."""

    operator: str
    name: str
    read: str


class Experiment:
    """One claim about one program."""

    def __init__(self, code: ir.Code, test: ir.Test) -> None:
        self.test = test
        self.least = least_sizes(code)
        """How large sizes must be for what is named by its number to exist."""
        self.world = world(code)
        self.code = self.world.code
        self.slopes: list[Slope] = []
        self.summaries: list[Summary] = []
        parts = {LEFT: test.left, RIGHT: test.right, GUARD: test.guard, TOLERANCE: test.tolerance}
        prepared = {n: self._prepared(e) for n, e in parts.items() if e is not None}
        self.inner = Stage(self.code, tuple(s.name for s in self.summaries))
        """What statistics are taken of."""
        for summary in self.summaries:
            tensor = self.code.tensors[summary.name]
            self._tensor(replace(tensor, name=summary.read, role="input"))
        for name, expression in prepared.items():
            self._define(name, test.indices, expression, truth=name == GUARD)
        self.outer = Stage(self.code, tuple(prepared))
        self._require_settled()
        self.sampler: Stage | None = None
        reads = self.reads()
        drawn = tuple(name for name in self.world.drawn if name in reads)
        if self.world.sampler is not None and drawn:
            self.sampler = Stage(self.world.sampler, drawn)
        self._require_distributions()

    # ------------------------------------------------------------------ the program of the claim

    def _prepared(self, expression: ir.Expression) -> ir.Expression:
        """The expression with derivatives and statistics as reads."""

        def known(node: ir.Expression) -> ir.Expression:
            if isinstance(node, ir.Derivative):
                return self._derivative(node)
            return self._statistic(node) if isinstance(node, ir.Statistic) else node

        return rebuild(expression, leaf=known)

    def _derivative(self, node: ir.Derivative) -> ir.Expression:
        name = f"slope_{len(self.slopes) + 1}"
        made = slope(self.world.code, node.above.tensor, node.below.tensor, name)
        self.slopes.append(made)
        self._tensor(made.tensor)
        return ir.Read(name, (*node.above.places, *node.below.places), span=node.span)

    def _statistic(self, node: ir.Statistic) -> ir.Expression:
        number = len(self.summaries) + 1
        every = {i.name: i for i in _indices(self.test)}
        free = [every[name] for name in sorted(free_indices(node.body))]
        if any(n.tensor.startswith("summary_") for n in node.body.every(ir.Read)):
            raise IndicialError(
                "a statistic of a statistic is the same at every draw; for a quotient, "
                "write (mean of a) / (mean of b)"
            )
        truth = node.operator == "probability"
        self._define(f"outcome_{number}", free, node.body, truth)
        summary = Summary(node.operator, f"outcome_{number}", f"summary_{number}")
        self.summaries.append(summary)
        return ir.Read(summary.read, tuple(ir.Affine.of(i) for i in free), span=node.span)

    def _define(
        self, name: str, indices: Iterable[ir.Index], body: ir.Expression, truth: bool = False
    ) -> None:
        indices = tuple(indices)
        if truth:
            body = ir.Select(((body, ir.Constant(1.0)),), ir.Constant(0.0))
        self._tensor(_tensor(name, indices, "defined"))
        places = tuple(ir.Affine.of(i) for i in indices)
        statement = ir.Statement(name, places, indices, body)
        self.code = replace(self.code, statements=(*self.code.statements, statement))

    def _tensor(self, tensor: ir.Tensor) -> None:
        self.code = replace(self.code, tensors={**self.code.tensors, tensor.name: tensor})

    def _require_settled(self) -> None:
        """Beside a statistic nothing may stand that changes from draw to draw."""
        if not self.summaries:
            return
        reads = {summary.read for summary in self.summaries}
        slopes = {one.tensor.name for one in self.slopes}
        loose = ["a derivative" if n in slopes else n for n in self.outer.reads if n not in reads]
        if loose:
            raise IndicialError(
                f"a statistic is combined with what changes from draw to draw: {', '.join(loose)}; "
                f"write `mean of …` before it, or make it a constant"
            )

    def _require_distributions(self) -> None:
        """A mean needs to know how what it is taken of is drawn; a largest value does not."""
        if all(summary.operator in EXTREMES for summary in self.summaries):
            return
        below = self.sampler.reads if self.sampler is not None else []
        open_ = [name for name in (*self.reads(), *below) if self.world.kinds.get(name) == OPEN]
        if open_:
            name = open_[0]
            indices = ",".join(axis.letter for axis in self.world.code.tensors[name].axes)
            written = f"{name}[{indices}]" if indices else name
            raise IndicialError(
                f"the figure depends on {name}, but its distribution is not given; write "
                f"`{written} ~ N(0, 1)`, or make it a constant"
            )

    # ------------------------------------------------------------------ draws

    def reads(self) -> list[str]:
        """The inputs that a draw has to give."""
        found = dict.fromkeys(name for slope in self.slopes for name in slope.stage.reads)
        found |= dict.fromkeys(self.inner.reads if self.summaries else self.outer.reads)
        made = {slope.tensor.name for slope in self.slopes}
        seeds = {slope.seed for slope in self.slopes}
        return [name for name in found if name not in made and name not in seeds]

    def labels_of(self, name: str) -> Callable[[int], str] | None:
        """How the tokens of a name are called; None where the text gives them no labels."""
        vocabulary = self.code.tensors[name].values
        if vocabulary is None or not self._labels(vocabulary):
            return None
        return lambda token: self._label(vocabulary, token)

    def _labels(self, size: Size) -> tuple[str, ...]:
        return self.code.labels.get(size.name or "", ())

    def _label(self, size: Size, value: int) -> str:
        labels = self._labels(size)
        return labels[value] if 0 <= value < len(labels) else str(value)

    def places(self, place: Iterable[int], sizes: Mapping[str, int]) -> dict[str, int]:
        """The values of the claim's indices at one element: `{"t": 3}`."""
        at = zip(self.test.indices, place, strict=True)
        return {index.name: index.lower.value(sizes) + number for index, number in at}

    def labels(self, at: Mapping[str, int]) -> dict[str, str]:
        """The labels of those values: `{"t": "bird"}`."""
        return {i.name: self._label(i.extent, at[i.name]) for i in self.test.indices}

    def draw(self, sizes: Mapping[str, int], count: int, random: Random) -> dict[str, Array]:
        """Values for all that the claim depends on, `count` of each."""
        wanted = self.reads()
        source = self.sampler.code if self.sampler is not None else self.code
        first = [n for n in wanted if self.sampler is None or n not in self.sampler.want]
        first += [
            n for n in (self.sampler.reads if self.sampler is not None else ()) if n not in first
        ]
        found: dict[str, Array] = {}
        for name in first:
            tensor = source.tensors.get(name) or self.code.tensors[name]
            shape = tuple(extent_value(axis.extent, sizes) for axis in tensor.axes)
            tokens = extent_value(tensor.values, sizes) if tensor.values is not None else 0
            found[name] = leaf_values(self.world.kinds[name], shape, count, random, tokens)
        if self.sampler is not None:
            found |= self.sampler.run(found, sizes, count)
        return {name: found[name] for name in wanted}

    # ------------------------------------------------------------------ outcomes

    def sides(self, values: Values, sizes: Mapping[str, int], count: int) -> Sides:
        """Both sides at many draws, or at many values of the statistics."""
        given = values if self.summaries else self.with_slopes(values, sizes, count)
        return _sides(self.outer.run(given, sizes, count))

    def exact_sides(self, values: Values, sizes: Mapping[str, int]) -> Sides:
        """Both sides at one draw, by the interpreter; with a first axis of length 1."""
        given = dict(values)
        for one in self.slopes:
            given[one.tensor.name] = one.exact(values, sizes)
        found = self.outer.exact(given, sizes)
        return _sides({name: value[None] for name, value in found.items()})

    def with_slopes(self, values: Values, sizes: Mapping[str, int], count: int) -> dict[str, Array]:
        """The draws, and the derivatives at them."""
        found = dict(values)
        for one in self.slopes:
            found[one.tensor.name] = one.at(values, sizes, count)
        return found


def _tensor(name: str, indices: tuple[ir.Index, ...], role: str) -> ir.Tensor:
    return ir.Tensor(name, tuple(ir.Axis(i.name, i.lower, i.extent) for i in indices), role)


def _sides(found: Mapping[str, Array]) -> Sides:
    guard = found.get(GUARD)
    holds = np.ones(found[LEFT].shape, dtype=bool) if guard is None else guard != 0
    return Sides(found[LEFT], found[RIGHT], holds, found.get(TOLERANCE))


def _indices(test: ir.Test) -> list[ir.Index]:
    """The indices of a claim, those of its sums included."""
    found = list(test.indices)
    for node in (node for part in test.parts for node in part.walk()):
        found += getattr(node, "indices", ())
    return found
