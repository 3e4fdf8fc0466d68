"""Which statement reads which defined tensor, and how far away.

    h[ℓ+1,t,j] = … h[ℓ,t_2,i] … under t_2 ≤ t    →    along ℓ always -1, along t from -∞ to 0

>>> [edge.distance(0, 0) for edge in edges(code)]
[(-1, -1)]

How long a program takes where everything that can happen at once does: its longest chain.

    h[t,j]   = … h[t-1,i] …                         T steps
    h[ℓ+1,t] = … h[ℓ+1,t-1] … h[ℓ,t] …              T + L: all (ℓ,t) of one diagonal at once
    h[ℓ+1,t] = … Σ_{t_2} α[ℓ,t,t_2] h[ℓ,t_2] …      L

Tensors that need each other form a group. In a group an axis is scanned if every way back to the
same tensor leads to an earlier value; a weighted sum of axes is scanned in the same way, in the sum
of their extents (Karp, Miller and Winograd 1967). Where no such sum exists, one axis is scanned
around the others, and the times multiply (Allen and Kennedy 1987). A reduction counts as one step,
as on a blackboard.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Self

from indicial.program import ir
from indicial.program.cost.conditions import (
    Constraint,
    add,
    bound_strides,
    constraints,
    larger,
    sign,
)
from indicial.program.sizes import Coefficient, Size

Interval = tuple[float, float]
ANYWHERE: Interval = (-math.inf, math.inf)


@dataclass(frozen=True)
class Edge:
    """A statement reads a tensor that is defined: `statement.target` needs `read.tensor` first."""

    statement: ir.Statement
    read: ir.Read
    indices: dict[str, ir.Index]
    constraints: tuple[Constraint, ...]
    rebound: frozenset[str] = frozenset()

    @property
    def ends(self) -> tuple[str, str]:
        return self.statement.target, self.read.tensor

    def distance(self, axis: int, other: int) -> Interval:
        """The place read minus the place defined, along an axis of each: (-1, -1) for `h[t-1]`."""
        here, there = self.statement.left[axis], self.read.places[other]
        if isinstance(here, ir.Flat) and here == there:
            return 0, 0
        if not isinstance(here, ir.Affine) or not isinstance(there, ir.Affine):
            return ANYWHERE
        # An index that is bound anew around the read is not the one on the left.
        terms = tuple((f"left {n}" if n in self.rebound else n, factor) for n, factor in here.terms)
        form = add(there, ir.Affine(terms, here.offset), -1)
        return -self._most(add(ir.Affine(), form, -1)), self._most(form)

    def _most(self, form: ir.Affine) -> float:
        """The largest value of index arithmetic, as far as it can be known; inf if it grows."""
        # What a condition says of sizes alone, `n = 2`, is no bound of an index.
        bounding = (c.form for c in self.constraints if c.form.terms and not c.differs)
        bounds = [form, *(add(form, bound, -1) for bound in bounding)]
        return min(self._at_most(bound) for bound in bounds)

    def _at_most(self, form: ir.Affine) -> float:
        _, value = form.ends(self.indices)
        number = value.number
        if number is not None:
            return float(number)
        return -1.0 if sign(value) == -1 else math.inf


def edges(code: ir.Code) -> Iterator[Edge]:
    """Every read of a defined tensor, guards and conditions included."""
    defined = {statement.target for statement in code.statements}
    for statement in code.statements:
        scope = Scope(statement.scope, tuple(constraints(statement.guard)[0]))
        for part in (statement.body, statement.guard):
            if part is None:
                continue
            for read, inner in _reads(part, scope):
                if read.tensor in defined:
                    rebound = inner.bound & scope.indices.keys()
                    lefts = {f"left {name}": scope.indices[name] for name in rebound}
                    indices = inner.indices | lefts
                    yield Edge(statement, read, indices, inner.constraints, rebound)


@dataclass(frozen=True)
class Scope:
    """The indices at some place of a right side, what is known of them, which were bound there."""

    indices: dict[str, ir.Index]
    constraints: tuple[Constraint, ...] = ()
    bound: frozenset[str] = frozenset()

    def bind(self, new: Iterable[ir.Index]) -> Self:
        inner = {index.name: index for index in new}
        # A name that is bound anew has nothing to do with what was known about the old one.
        kept = [c for c in self.constraints if inner.keys().isdisjoint(dict(c.form.terms))]
        return self.__class__(self.indices | inner, tuple(kept), self.bound | inner.keys())

    def where(self, condition: ir.Expression | None) -> Self:
        found = tuple(constraints(condition)[0])
        return replace(self, constraints=self.constraints + found)


def _reads(expression: ir.Expression, scope: Scope) -> Iterator[tuple[ir.Read, Scope]]:
    """Every read, those inside places included, with its scope."""
    match expression:
        case ir.Reduce(_, indices, condition, body) | ir.Softmax(indices, condition, body):
            inner = scope.bind(indices)
            if condition is not None:
                yield from _reads(condition, inner)
            yield from _reads(body, inner.where(condition))
        case ir.Select(branches, otherwise):
            for condition, value in branches:
                yield from _reads(condition, scope)
                yield from _reads(value, scope.where(condition))
            yield from _reads(otherwise, scope)
        case ir.Join(_, parts):
            for part in parts:
                yield from _reads(part.body, scope.bind([part.index]))
        case _:
            if isinstance(expression, ir.Read):
                yield expression, scope
            for child in expression.children():
                yield from _reads(child, scope)


def groups(names: list[str], found: list[Edge]) -> list[list[str]]:
    """The tensors in groups that need each other, what is needed first coming first."""
    number = {name: n for n, name in enumerate(names)}
    needs: list[dict[int, None]] = [{} for _ in names]
    for edge in found:
        here, there = edge.ends
        needs[number[here]][number[there]] = None
    return [[names[n] for n in circle] for circle in circles(needs)]


def circles(needs: Sequence[Iterable[int]]) -> Iterator[list[int]]:
    """Groups of numbers that need each other, what is needed first coming first.

    >>> list(circles([[1], [2], [1], []]))
    [[1, 2], [0], [3]]

    (Tarjan 1972, with a list in place of the recursion.)
    """
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: list[int] = []
    closed: set[int] = set()

    def begin(number: int) -> tuple[int, Iterator[int]]:
        order[number] = low[number] = len(order)
        open_.append(number)
        return number, iter(needs[number])

    for root in range(len(needs)):
        waiting = [] if root in order else [begin(root)]
        while waiting:
            number, rest = waiting[-1]
            for other in rest:
                if other not in order:
                    waiting.append(begin(other))
                    break
                if other not in closed:
                    low[number] = min(low[number], order[other])
            else:
                waiting.pop()
                if waiting:
                    above = waiting[-1][0]
                    low[above] = min(low[above], low[number])
                if low[number] == order[number]:
                    group: list[int] = []
                    while not group or group[-1] != number:
                        group.append(open_.pop())
                    closed.update(group)
                    yield sorted(group)


BEGINNINGS = 64
"""How many tensors of a group a step is tried to begin with, the smallest."""
_WEIGHTS = {1: (1, -1), 2: (1, -1, 2, -2, 3, -3), 3: (1, -1, 2, -2)}


@dataclass
class Chain:
    """The longest dependent chain.

    `state` has the letter of each axis that is walked, with the number of elements that a step
    needs of earlier ones.
    """

    steps: Size = field(default_factory=Size)
    exact: bool = True
    state: dict[str, Size] = field(default_factory=dict)


def longest_chain(code: ir.Code) -> Chain:
    """The parallel time of a program, without constants: `T + L` for a stack of RNNs."""
    names = list(dict.fromkeys(statement.target for statement in code.statements))
    chain = Chain()
    chain.steps = _time(code, names, list(edges(code)), chain)
    return chain


def _time(code: ir.Code, names: list[str], found: list[Edge], chain: Chain) -> Size:
    """Along each chain of groups the times add; the longest chain counts."""
    finished: dict[str, Size] = {}
    total = Size()
    outgoing: dict[str, list[tuple[int, Edge]]] = {}
    for number, edge in enumerate(found):
        outgoing.setdefault(edge.ends[0], []).append((number, edge))
    for group in groups(names, found):
        members = set(group)
        leaving = sorted(
            (item for name in group for item in outgoing.get(name, ())), key=lambda item: item[0]
        )
        inside = [edge for _, edge in leaving if edge.ends[1] in members]
        before = Size()
        for _, edge in leaving:
            if edge.ends[1] not in members:
                before = longer(before, finished[edge.ends[1]])
        own = _group_time(code, group, inside, chain) if inside else Size()
        for name in group:
            finished[name] = before + own
        total = longer(total, before + own)
    return total


def longer(a: Size, b: Size) -> Size:
    """The larger one, or what is at least both where that depends on the sizes."""
    if a == b:
        return a
    known = larger(a, b)
    if known is not None:
        return known
    terms = dict(a.terms)
    for monomial, coefficient in b.terms:
        terms[monomial] = max(coefficient, terms.get(monomial, coefficient))
    return sum((Size(((m, c),)) for m, c in terms.items()), Size())


@dataclass(frozen=True)
class Scan:
    """One axis of each tensor of a group, and how far each of the group's reads goes along it."""

    axes: dict[str, int]
    distances: tuple[Interval, ...]

    def turned(self, direction: int) -> Scan:
        """The same, walked backwards if the direction is negative."""
        if direction > 0:
            return self
        return Scan(self.axes, tuple((-high, -low) for low, high in self.distances))


def _group_time(code: ir.Code, group: list[str], found: list[Edge], chain: Chain) -> Size:
    ways = scans(code, group, found)
    for count, weights in _WEIGHTS.items():
        for chosen in itertools.combinations(ways, count):
            for signs in itertools.product(weights, repeat=count):
                reached = zip((e.ends for e in found), _lags(chosen, signs), strict=True)
                if latest_return(latest_ways(reached)) < 0:
                    for scan, direction in zip(chosen, signs, strict=True):
                        _note_state(code, scan.turned(direction), found, chain)
                    return sum((_steps(code, scan.axes) for scan in chosen), Size())
    for scan, direction in itertools.product(ways, (1, -1)):
        lags = _lags((scan,), (direction,))
        if max(lags) <= 0 and min(lags) < 0:
            # One step of this axis after the other, and in each step all that is left.
            _note_state(code, scan.turned(direction), found, chain)
            rest = [edge for edge, lag in zip(found, lags, strict=True) if lag == 0]
            inner = _time(code, group, rest, chain)
            return _steps(code, scan.axes) * (inner if inner.terms else 1)
    chain.exact = False  # one element after the other is always possible
    total = Size()
    for name in group:
        elements = Size.of(1)
        for axis in range(len(code.tensors[name].axes)):
            elements = elements * _steps(code, {name: axis})
        total = total + elements
    return total


def scans(code: ir.Code, group: list[str], found: list[Edge]) -> list[Scan]:
    """The ways to choose one axis of each tensor that the reads connect."""
    result: list[dict[str, int]] = []
    for axis in range(len(code.tensors[group[0]].axes)):
        axes = {group[0]: axis}
        grows = True
        while grows and len(axes) < len(group):
            grows = False
            for edge in found:
                here, there = edge.ends
                if (here in axes) != (there in axes):
                    new, old = (there, here) if here in axes else (here, there)
                    other = _connected(code, edge, axes[old], new)
                    if other is not None:
                        axes[new] = other
                        grows = True
        if len(axes) == len(group) and axes not in result:
            result.append(axes)
    return [
        Scan(axes, tuple(e.distance(axes[e.ends[0]], axes[e.ends[1]]) for e in found))
        for axes in result
    ]


def _connected(code: ir.Code, edge: Edge, axis: int, new: str) -> int | None:
    """The axis of the other tensor that goes best with this one: closest, then of its letter."""
    here, there = edge.ends
    old = there if new == here else here
    letter = code.tensors[old].axes[axis].letter
    best: tuple[float, bool, int] | None = None
    for number, other in enumerate(code.tensors[new].axes):
        low, high = edge.distance(axis, number) if new == there else edge.distance(number, axis)
        rank = (high - low, other.letter != letter, number)
        if (low, high) != ANYWHERE and (best is None or rank < best):
            best = rank
    return None if best is None else best[2]


def _lags(scans: tuple[Scan, ...], weights: tuple[int, ...]) -> list[float]:
    """How far along a weighted sum of axes each read can reach; below 0 it is always earlier."""
    result = []
    for distances in zip(*(scan.distances for scan in scans), strict=True):
        parts = [w * (d[1] if w > 0 else d[0]) for w, d in zip(weights, distances, strict=True)]
        result.append(math.inf if math.inf in parts else sum(parts))
    return result


Ways = Mapping[str, Mapping[str, float]]
"""The latest that each tensor reads of others: below 0 it is always earlier."""


def latest_ways(found: Iterable[tuple[tuple[str, str], float]]) -> dict[str, dict[str, float]]:
    """The latest of several reads of one tensor by another."""
    ways: dict[str, dict[str, float]] = {}
    for (here, there), lag in found:
        onward = ways.setdefault(here, {})
        onward[there] = max(lag, onward.get(there, -math.inf))
    return ways


def latest_return(ways: Ways) -> float:
    """The latest that any way back to the same tensor reads of it, `inf` if that is ever later.

    One tensor after the other is taken out, and what was read through it is read beside it; first
    those with few neighbours, so that a long circle stays a circle.
    """
    if any(math.inf in onward.values() for onward in ways.values()):
        return math.inf
    out = {name: dict(onward) for name, onward in ways.items()}
    into: dict[str, set[str]] = {}
    for here, onward in out.items():
        for there in onward:
            into.setdefault(there, set()).add(here)
    most = -math.inf
    waiting = [(0, number, name) for number, name in enumerate(dict.fromkeys((*out, *into)))]
    while waiting:
        work, number, name = heapq.heappop(waiting)
        onward, before = out.get(name, {}), into.get(name, set())
        if len(onward) * len(before) > work:
            heapq.heappush(waiting, (len(onward) * len(before), number, name))
            continue
        most = max(most, onward.pop(name, -math.inf))
        before.discard(name)
        if most > 0:
            return math.inf
        for there in onward:
            into[there].discard(name)
        for here in before:
            way = out[here].pop(name)
            for there, further in onward.items():
                out[here][there] = max(way + further, out[here].get(there, -math.inf))
                into[there].add(here)
    return most


def latest_reads(first: str, ways: Ways) -> dict[str, float]:
    """The latest that one tensor can read of each other, where no way back to the same is later."""
    found = {first: 0.0}
    waiting = deque([first])
    while waiting:
        here = waiting.popleft()
        for there, lag in ways.get(here, {}).items():
            if found[here] + lag > found.get(there, -math.inf):
                found[there] = found[here] + lag
                waiting.append(there)
    return found


def _steps(code: ir.Code, axes: dict[str, int]) -> Size:
    """The extent of a scanned axis, without constants and strides."""
    total = Size()
    for name, axis in axes.items():
        extent = bound_strides(code.tensors[name].axes[axis].extent, ())
        if extent.number is None:
            extent = Size(tuple(term for term in extent.terms if term[0]))
        total = longer(total, extent)
    return total


def _note_state(code: ir.Code, scan: Scan, found: list[Edge], chain: Chain) -> None:
    """What a step of a scan keeps, if each tensor is computed as late as it can be.

    Which tensor a step begins with is a matter of how the indices were written (`h[ℓ+1]` reads
    `α[ℓ]`, which reads `h[ℓ]`): the one that leaves the least to keep.
    """
    group = list(scan.axes)
    across = {name: _across(code, name, axis) for name, axis in scan.axes.items()}
    ways = latest_ways((e.ends, high) for e, (_, high) in zip(found, scan.distances, strict=True))
    if latest_return(ways) > 0:
        ways = {}
    options = [
        _kept(code, scan, found, across, dict.fromkeys(group, 0.0) | latest_reads(first, ways))
        for first in heapq.nsmallest(BEGINNINGS, group, key=lambda n: _weight(across[n]))
    ]
    letter = code.tensors[group[0]].axes[scan.axes[group[0]]].letter
    least = min(options, key=_weight)
    chain.state[letter] = chain.state.get(letter, Size()) + least


def _weight(size: Size) -> tuple[int, Coefficient, str]:
    """For comparing: the degree, then the coefficients."""
    degree = max((sum(power for _, power in monomial) for monomial, _ in size.terms), default=0)
    return degree, sum((c for _, c in size.terms), Fraction(0)), str(size)


def _kept(
    code: ir.Code,
    scan: Scan,
    found: list[Edge],
    across: Mapping[str, Size],
    begins: Mapping[str, float],
) -> Size:
    """Of each tensor, as many steps as a read reaches back."""
    reach: dict[str, float] = {}
    for edge, (low, _) in zip(found, scan.distances, strict=True):
        here, there = edge.ends
        back = begins[there] - begins[here] - low
        reach[there] = max(reach.get(there, 0.0), back)
    total = Size()
    for name, back in reach.items():
        if not back:
            continue
        steps = _steps(code, {name: scan.axes[name]}) if back == math.inf else Size.of(int(back))
        total = total + steps * across[name]
    return total


def _across(code: ir.Code, name: str, scanned: int) -> Size:
    """How many elements of a tensor a step has."""
    elements = Size.of(1)
    for number, axis in enumerate(code.tensors[name].axes):
        if number != scanned:
            elements = elements * bound_strides(axis.extent, ())
    return elements
