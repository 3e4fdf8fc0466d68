"""Code → plan: what has to be a loop becomes one, all else runs at once.

    L[0,t,j]   = …                              Run
    N[ℓ+1,t,J] = layernorm(L[ℓ,t,J])            Loop over ℓ, stacked: N, …, L
    L[ℓ+1,t,j] = … N[ℓ+1,t,J] …

Statements that need each other are walked along an axis on which every read goes back, or stays;
what stays is ordered within a step, if need be by a loop inside the loop (Allen and Kennedy 1987).

A plan has the statements in an order in which they can run, and the loops that have to be loops.

    h[ℓ+1,t,j] = … h[ℓ+1,t-1,i] … h[ℓ,t,i] …

    Loop(ℓ, stacked)            one layer after the other
      Loop(t, scanned)          one step after the other
        Run(R), Run(G), Run(h)  all their other indices at once

What a loop's variable means: at value `v` a tensor's element `v - offsets[tensor]` along
`axes[tensor]` is defined. A read of the loop's own tensors at an earlier value is its state.

Which statement has to run before which: `G` before `h`, and `h` at `t-1` before `G`.

>>> [(need.reader.target, need.definer.target) for need in needs(code)]
[('R', 'h'), ('G', 'h'), ('h', 'G'), ('h', 'h'), ('h', 'R')]

The nodes are statements, not tensors, so that `L[0,t,j] = …` is no part of the recurrence of
`L[ℓ+1,t,j] = …` that it starts.

Which axis of each tensor of a group is the same step: more choices than the cost of a chain needs.

    Ā[t,r] = … C̄[t,j] …        axis t of both
    h̄[t,j] = Σ_{t' > t} … Ā[t',t]    axis t of h̄ goes with either axis of Ā

Beginning at any of the tensors, those next to it are settled before those further away, so that
what is tied to one axis of Ā nearby decides, not a long way round.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from indicial.notation.source import NOWHERE
from indicial.program.cost.conditions import surely_apart
from indicial.program.cost.dependence import ANYWHERE, Edge, Scan, circles, edges, longer, scans
from indicial.program.ir import Affine, Code, Flat, Index, Statement, index_at
from indicial.program.messages import IndicialError, Message
from indicial.program.rewrite import reached
from indicial.program.sizes import Size

T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """One statement, for all values of its indices that no loop around it fixes."""

    statement: Statement

    def statements(self) -> Iterator[Statement]:
        yield self.statement


@dataclass(frozen=True)
class Loop:
    """`steps` for one value of `variable` after the other, backwards if `direction` is -1.

    `kind` is "stacked" where the axis is not an axis of an input (layers), else "scanned".
    `lower` and `extent` span the values of the variable for all statements inside; a statement
    whose own range is smaller sits out.
    """

    variable: str
    letter: str
    kind: str
    direction: int
    lower: Size
    extent: Size
    axes: dict[str, int]
    steps: tuple[Step, ...]
    offsets: dict[str, int] = field(default_factory=dict)

    def statements(self) -> Iterator[Statement]:
        for step in self.steps:
            yield from step.statements()

    def fixed(self, statement: Statement) -> tuple[str, Affine] | None:
        """Which index of a statement the loop fixes, and its value in terms of the variable.

        `("ℓ", v-1)` for `h[ℓ+1,t,j] = …`; None where the left side has a number at that axis,
        and the statement runs at one value only (`at`).
        """
        place = statement.left[self.axes[statement.target]]
        assert isinstance(place, Affine)
        if not place.terms:
            return None
        ((name, factor),) = place.terms
        assert factor == 1
        shift = -place.offset - self.offsets.get(statement.target, 0)
        return name, Affine(((self.variable, 1),), shift)

    def at(self, statement: Statement) -> Size | None:
        """The one value of the variable at which a statement with a number on its left runs."""
        place = statement.left[self.axes[statement.target]]
        assert isinstance(place, Affine)
        if place.terms:
            return None
        return place.offset + self.offsets.get(statement.target, 0)


@dataclass(frozen=True)
class Piece:
    """A tensor of the program with some axes fixed by the loops outside: `W[v-1, :, :]`."""

    tensor: str
    places: tuple[Affine | None, ...]

    def rest(self, of: Sequence[T]) -> tuple[T, ...]:
        """Of something for each axis, that for the axes that are not fixed."""
        return tuple(one for one, place in zip(of, self.places, strict=True) if place is None)

    @property
    def fixed(self) -> tuple[str | None, ...]:
        """The index that each axis is fixed at, where it is one alone."""
        return tuple(None if place is None else index_at(place) for place in self.places)


@dataclass(frozen=True)
class Call:
    """A loop that a function runs: from tensors to tensors, all steps at once.

    `function(arguments, sizes, lengths)` gives the results; `sizes` are in the order of `names`.
    A function of kernels can be told what it will be called with, so that it makes ready:
    `start(dtype, sizes, ragged)`, and `expect(dtype, sizes, ragged, arguments)` with the numbers of
    the arguments whose gradients are next.
    """

    loop: Loop
    arguments: tuple[Piece, ...]
    results: tuple[Piece, ...]
    names: tuple[str, ...]
    function: Any

    def statements(self) -> Iterator[Statement]:
        yield from self.loop.statements()


Step = Run | Loop | Call
Around = tuple[Loop, ...]
"""Loops, the outermost first."""


@dataclass(frozen=True)
class Plan:
    """All statements of a program, each exactly once, in order."""

    steps: tuple[Step, ...]

    def rebuild(
        self,
        old: Sequence[Statement],
        new: Sequence[Sequence[Statement]],
        loop: Callable[[Loop], Loop] = lambda loop: loop,
        call: Callable[[Call], Call] = lambda call: call,
    ) -> Plan:
        """The plan with what became of each of the old statements; a loop that has none left goes."""
        became = dict(zip((s.number for s in old), new, strict=True))

        def rebuilt(steps: Sequence[Step]) -> Iterator[Step]:
            for step in steps:
                if isinstance(step, Run):
                    yield from map(Run, became[step.statement.number])
                elif isinstance(step, Call):
                    for inside in rebuilt((step.loop,)):
                        assert isinstance(inside, Loop)
                        yield call(replace(step, loop=inside))
                elif inner := tuple(rebuilt(step.steps)):
                    yield replace(loop(step), steps=inner)

        return Plan(tuple(rebuilt(self.steps)))

    def exchanged(self, change: Callable[[Step, Around], Step | None]) -> Plan:
        """Other steps in the place of some; a loop that is to stay as it is (None) is looked into."""

        def exchange(steps: Sequence[Step], around: Around) -> Iterator[Step]:
            for step in steps:
                other = change(step, around)
                if other is None and isinstance(step, Loop):
                    other = replace(step, steps=tuple(exchange(step.steps, (*around, step))))
                yield step if other is None else other

        return Plan(tuple(exchange(self.steps, ())))

    def walk(self) -> Iterator[tuple[Step, Around]]:
        """Every step with the loops around it, an outer one before those inside it."""

        def walk(steps: Sequence[Step], around: Around) -> Iterator[tuple[Step, Around]]:
            for step in steps:
                yield step, around
                if isinstance(step, Loop):
                    yield from walk(step.steps, (*around, step))

        return walk(self.steps, ())

    def statements(self) -> Iterator[Statement]:
        for step in self.steps:
            yield from step.statements()

    def loops(self) -> Iterator[Loop]:
        return (step for step, _ in self.walk() if isinstance(step, Loop))

    def calls(self) -> Iterator[Call]:
        """Every loop that a function runs."""
        return (step for step, _ in self.walk() if isinstance(step, Call))


@dataclass(frozen=True)
class Need:
    """`reader` reads, along `edge`, what `definer` may define."""

    reader: Statement
    definer: Statement
    edge: Edge


def needs(code: Code) -> list[Need]:
    """Every read of a defined tensor, once for each statement that it may meet."""
    known: list[Need] | None = code.__dict__.get("_needs")
    if known is None:
        known = code.__dict__["_needs"] = [
            Need(edge.statement, definer, edge)
            for edge in edges(code)
            for definer in code.of(edge.read.tensor)
            if not _misses(edge, definer)
        ]
    return list(known)


def _misses(edge: Edge, definer: Statement) -> bool:
    """Whether a read can never meet what a statement defines: `L[0]` and `L[ℓ+1]`."""
    ranges = definer.scope
    for place, left in zip(edge.read.places, definer.left, strict=True):
        if not isinstance(place, Affine) or not isinstance(left, Affine):
            continue
        if _alike(place, edge.indices, left, ranges):
            continue
        if surely_apart(place, edge.indices, left, ranges):
            return True
    return False


def _alike(
    place: Affine, around: Mapping[str, Index], left: Affine, ranges: Mapping[str, Index]
) -> bool:
    """Whether both run over the same range, of some size: what is so nearly always."""
    if place.shift is None or left.shift is None:
        return False
    here, there = around[place.shift[0]], ranges[left.shift[0]]
    same = here.range == there.range
    return same and here.extent.name is not None


def components(
    statements: Sequence[Statement], found: Sequence[Need]
) -> Iterator[tuple[list[Statement], list[Need]]]:
    """The statements in groups that need each other, what is needed first coming first.

    With each group come the needs inside it; none, if it is one statement that does not need
    itself.
    """
    number = {s.number: n for n, s in enumerate(statements)}
    by_reader: list[list[Need]] = [[] for _ in statements]
    for need in found:
        if need.reader.number in number and need.definer.number in number:
            by_reader[number[need.reader.number]].append(need)
    for circle in circles([[number[n.definer.number] for n in needs] for needs in by_reader]):
        inside = set(circle)
        yield (
            [statements[n] for n in circle],
            [n for s in circle for n in by_reader[s] if number[n.definer.number] in inside],
        )


def aligned_axes(code: Code, tensors: Sequence[str], edges: Sequence[Edge]) -> Iterator[Scan]:
    """Choices of one axis of each tensor, each once."""
    seen: list[dict[str, int]] = []
    for first in tensors:
        for axis in range(len(code.tensors[first].axes)):
            axes = _grown(code, {first: axis}, edges)
            if len(axes) == len(tensors) and axes not in seen:
                seen.append(axes)
                distances = (e.distance(axes[e.ends[0]], axes[e.ends[1]]) for e in edges)
                yield Scan(axes, tuple(distances))


def _grown(code: Code, axes: dict[str, int], edges: Sequence[Edge]) -> dict[str, int]:
    while True:
        new: dict[str, tuple[float, int]] = {}
        for edge in edges:
            here, there = edge.ends
            if (here in axes) == (there in axes):
                continue
            name = there if here in axes else here
            for number in range(len(code.tensors[name].axes)):
                ends = (axes[here], number) if name == there else (number, axes[there])
                low, high = edge.distance(*ends)
                if (low, high) != ANYWHERE:
                    new[name] = min(new.get(name, (high - low, number)), (high - low, number))
        if not new:
            return axes
        axes = axes | {name: number for name, (_, number) in new.items()}


class ScheduleError(IndicialError):
    """The statements need each other in a way that no order of loops serves."""


def schedule(
    code: Code, want: Collection[str] | None = None, told: Collection[str] | None = None
) -> Plan:
    """A plan for what the wanted tensors need, or for everything.

    `told` are the sizes that data have: loops along them are scanned. Without it, those of inputs.
    """
    statements = needed(code, want)
    return Plan(tuple(_Scheduler(code, told).order(statements, needs(code))))


def needed(code: Code, want: Collection[str] | None = None) -> list[Statement]:
    """The statements that the wanted tensors depend on, in the order of the text."""
    if want is None:
        return list(code.statements)
    reads: dict[str, set[str]] = {}
    for need in needs(code):
        reads.setdefault(need.reader.target, set()).add(need.definer.target)
    found = reached(want, lambda name: reads.get(name, ()))
    return [s for s in code.statements if s.target in found]


class _Scheduler:
    def __init__(self, code: Code, told: Collection[str] | None) -> None:
        self.code = code
        self.loops = itertools.count(1)
        self.told = _told(code) if told is None else set(told)

    def order(self, statements: Sequence[Statement], found: Sequence[Need]) -> Iterator[Step]:
        for group, inside in components(statements, found):
            if inside:
                yield self.loop(group, inside)
            else:
                yield Run(group[0])

    def loop(self, group: list[Statement], inside: list[Need]) -> Loop:
        tensors = list(dict.fromkeys(s.target for s in group))
        edges = [need.edge for need in inside]
        candidates = self.ways(group, scans(self.code, tensors, edges), inside)
        if not candidates:
            candidates = self.ways(group, aligned_axes(self.code, tensors, edges), inside)
        if not candidates:
            raise ScheduleError(_no_order(group))
        scan, direction, offsets, rest = min(candidates, key=lambda way: self.rank(group, way))
        lower, upper = self.span(group, scan, offsets)
        letter = self.code.tensors[tensors[0]].axes[scan.axes[tensors[0]]].letter
        return Loop(
            variable=f"{letter}°{next(self.loops)}",
            letter=letter,
            kind="stacked" if self.stacked(scan) else "scanned",
            direction=direction,
            lower=lower,
            extent=upper - lower + 1,
            axes=dict(scan.axes),
            steps=tuple(self.order(group, rest)),
            offsets=offsets,
        )

    def ways(
        self, group: list[Statement], found: Iterable[Scan], inside: list[Need]
    ) -> list[tuple[Scan, int, dict[str, int], list[Need]]]:
        """Those of some choices of axes that can be walked, and in which direction."""
        return [
            way
            for scan in found
            if self.walkable(group, scan)
            for direction in (1, -1)
            if (way := self.walk(group, scan, direction, inside)) is not None
        ]

    def walkable(self, group: list[Statement], scan: Scan) -> bool:
        """Whether each left side has a single index, or a number, at the axis."""
        for statement in group:
            place = statement.left[scan.axes[statement.target]]
            if isinstance(place, Flat) or len(place.terms) > 1:
                return False
            if place.terms and place.terms[0][1] != 1:
                return False
        return True

    def walk(
        self, group: list[Statement], scan: Scan, direction: int, inside: list[Need]
    ) -> tuple[Scan, int, dict[str, int], list[Need]] | None:
        """The offsets at which no read looks ahead, and the needs that stay within a step."""
        lags = [high for _, high in scan.turned(direction).distances]
        offsets = _potentials(self.starts(group, scan, direction), inside, lags)
        if offsets is None:
            return None
        rest = [
            need
            for need, lag in zip(inside, lags, strict=True)
            if lag + offsets[need.definer.target] - offsets[need.reader.target] >= 0
        ]
        if len(rest) == len(inside):
            return None  # nothing is carried, so a loop would order nothing
        first = next(iter(offsets.values()))
        shifts = {name: direction * (offset - first) for name, offset in offsets.items()}
        return scan, direction, shifts, rest

    def starts(self, group: list[Statement], scan: Scan, direction: int) -> dict[str, int]:
        """Offsets at which the tensors begin together, as far as numbers tell."""
        result: dict[str, int] = {}
        for statement in group:
            low, high = self.ends(statement, scan)
            first = low if direction > 0 else -high
            number = int(sum(c for monomial, c in first.terms if not monomial))
            result.setdefault(statement.target, -number)
        return result

    def ends(self, statement: Statement, scan: Scan) -> tuple[Size, Size]:
        """The first and the last element that a statement defines along the axis."""
        place = statement.left[scan.axes[statement.target]]
        assert isinstance(place, Affine)
        return place.ends(statement.scope)

    def rank(
        self, group: list[Statement], way: tuple[Scan, int, dict[str, int], list[Need]]
    ) -> tuple[bool, bool, bool, int]:
        """Layers outermost, then what leaves no loop inside, then forward, then as written."""
        scan, direction, _, rest = way
        nested = any(inside for _, inside in components(group, rest))
        return not self.stacked(scan), nested, direction < 0, min(scan.axes.values())

    def stacked(self, scan: Scan) -> bool:
        extents = [self.code.tensors[name].axes[axis].extent for name, axis in scan.axes.items()]
        return not any(extent.names & self.told for extent in extents)

    def span(
        self, group: list[Statement], scan: Scan, offsets: dict[str, int]
    ) -> tuple[Size, Size]:
        """The first and the last value of the variable."""
        lowest: Size | None = None
        highest: Size | None = None
        for statement in group:
            low, high = (end + offsets[statement.target] for end in self.ends(statement, scan))
            lowest = low if lowest is None else -longer(-lowest, -low)
            highest = high if highest is None else longer(highest, high)
        assert lowest is not None and highest is not None
        return lowest, highest


def _told(code: Code) -> set[str]:
    """The sizes that inputs have."""
    inputs = [tensor for tensor in code.tensors.values() if tensor.role == "input"]
    return {name for t in inputs for axis in t.axes for name in axis.extent.names}


def _potentials(
    starts: dict[str, int], inside: list[Need], lags: list[float]
) -> dict[str, int] | None:
    """How much earlier or later each tensor runs, so that no read looks ahead (Bellman, Ford)."""
    if math.inf in lags:
        return None
    offsets = dict(starts)
    bounded = [
        (need.reader.target, need.definer.target, int(lag))
        for need, lag in zip(inside, lags, strict=True)
        if lag != -math.inf
    ]
    for _ in range(len(starts) + 1):
        changed = False
        for reader, definer, lag in bounded:
            if offsets[definer] > offsets[reader] - lag:
                offsets[definer] = offsets[reader] - lag
                changed = True
        if not changed:
            return offsets
    return None


def _no_order(group: list[Statement]) -> str:
    names = ", ".join(dict.fromkeys(s.target for s in group))
    sites = tuple((s.span, "needs the others first") for s in group if s.span is not NOWHERE)
    text = f"{names} need each other in a way that no order of steps serves"
    hint = "`interpret` evaluates such a program element by element; a module cannot"
    return Message("error", "no-order", text, sites, hint).render()
