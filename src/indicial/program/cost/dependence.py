"""Which statement reads which defined tensor, and how far away.

    h[ℓ+1,t,j] = … h[ℓ,t_2,i] … under t_2 ≤ t    →    along ℓ always -1, along t from -∞ to 0

>>> [edge.distance(0, 0) for edge in edges(code)]
[(-1, -1)]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from indicial.program.cost.conditions import Constraint, add, constraints, sign
from indicial.program.ir import (
    Affine,
    Code,
    Expression,
    Flat,
    Index,
    Join,
    Read,
    Reduce,
    Select,
    Softmax,
    Statement,
)

Interval = tuple[float, float]
ANYWHERE: Interval = (-math.inf, math.inf)


@dataclass(frozen=True)
class Edge:
    """A statement reads a tensor that is defined: `statement.target` needs `read.tensor` first."""

    statement: Statement
    read: Read
    indices: dict[str, Index]
    constraints: tuple[Constraint, ...]
    rebound: frozenset[str] = frozenset()

    @property
    def ends(self) -> tuple[str, str]:
        return self.statement.target, self.read.tensor

    def distance(self, axis: int, other: int) -> Interval:
        """The place read minus the place defined, along an axis of each: (-1, -1) for `h[t-1]`."""
        here, there = self.statement.left[axis], self.read.places[other]
        if isinstance(here, Flat) and here == there:
            return 0, 0
        if not isinstance(here, Affine) or not isinstance(there, Affine):
            return ANYWHERE
        # An index that is bound anew around the read is not the one on the left.
        terms = tuple((f"left {n}" if n in self.rebound else n, factor) for n, factor in here.terms)
        form = add(there, Affine(terms, here.offset), -1)
        return -self._most(add(Affine(), form, -1)), self._most(form)

    def _most(self, form: Affine) -> float:
        """The largest value of index arithmetic, as far as it can be known; inf if it grows."""
        # What a condition says of sizes alone, `n = 2`, is no bound of an index.
        bounding = (c.form for c in self.constraints if c.form.terms and not c.differs)
        bounds = [form, *(add(form, bound, -1) for bound in bounding)]
        return min(self._at_most(bound) for bound in bounds)

    def _at_most(self, form: Affine) -> float:
        _, value = form.ends(self.indices)
        number = value.number
        if number is not None:
            return float(number)
        return -1.0 if sign(value) == -1 else math.inf


def edges(code: Code) -> Iterator[Edge]:
    """Every read of a defined tensor, guards and conditions included."""
    defined = {statement.target for statement in code.statements}
    for statement in code.statements:
        scope = _Scope(
            statement.scope,
            tuple(constraints(statement.guard)[0]),
        )
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
class _Scope:
    """The indices at some place of a right side, what is known of them, which were bound there."""

    indices: dict[str, Index]
    constraints: tuple[Constraint, ...]
    bound: frozenset[str] = frozenset()

    def bind(self, new: Iterable[Index]) -> _Scope:
        inner = {index.name: index for index in new}
        # A name that is bound anew has nothing to do with what was known about the old one.
        kept = [c for c in self.constraints if inner.keys().isdisjoint(dict(c.form.terms))]
        return _Scope(self.indices | inner, tuple(kept), self.bound | inner.keys())

    def where(self, condition: Expression | None) -> _Scope:
        found = tuple(constraints(condition)[0])
        return replace(self, constraints=self.constraints + found)


def _reads(expression: Expression, scope: _Scope) -> Iterator[tuple[Read, _Scope]]:
    """Every read, those inside places included, with its scope."""
    match expression:
        case Reduce(_, indices, condition, body) | Softmax(indices, condition, body):
            inner = scope.bind(indices)
            if condition is not None:
                yield from _reads(condition, inner)
            yield from _reads(body, inner.where(condition))
        case Select(branches, otherwise):
            for condition, value in branches:
                yield from _reads(condition, scope)
                yield from _reads(value, scope.where(condition))
            yield from _reads(otherwise, scope)
        case Join(_, parts):
            for part in parts:
                yield from _reads(part.body, scope.bind([part.index]))
        case _:
            if isinstance(expression, Read):
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
