"""The likeliest reading of a program: a shape for every name, and one convention for all.

h = tanh(W x + b)    y = V h        columns: W, V matrices, x, b, h, y columns
H = φ(X W + b)                      rows: the batch is the first index, b is added to every row

Equations that share no name are decided separately. What comes second is kept, to say how far ahead
the first is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from indicial.notation import syntax as s
from indicial.program.vectors.costs import COST
from indicial.program.vectors.kinds import WEIGHTS, Kinds
from indicial.program.vectors.shapes import NUMBER, Shape
from indicial.program.vectors.tables import IMPOSSIBLE, Entry, Given, Table, Tables


@dataclass(frozen=True)
class Doubt:
    """Two readings of the same equations that are about as likely."""

    one: Given
    other: Given
    names: tuple[str, ...]
    """The variables that differ."""


@dataclass
class Reading:
    """What was decided."""

    rows: bool
    cost: float = 0.0
    given: dict[str, Shape] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)
    odd: dict[int, float] = field(default_factory=dict)
    """How odd the form of each equation is in this reading, by the identity of its first side."""

    @property
    def oddest(self) -> float:
        return max(self.odd.values(), default=0.0)

    @property
    def convention(self) -> str:
        return "rows: X W" if self.rows else "columns: W x"


def solve(kinds: Kinds, equations: Sequence[Sequence[s.Expression]]) -> Reading:
    """The best reading of equations, given by their sides."""
    before, behind = _votes(kinds, equations)
    columns = _read(kinds, equations, rows=False)
    columns.cost += COST.vote * before
    rows = _read(kinds, equations, rows=True)
    rows.cost += COST.vote * behind + (COST.rows_shown if before else COST.rows)
    return rows if rows.cost < columns.cost else columns


def _votes(kinds: Kinds, equations: Sequence[Sequence[s.Expression]]) -> tuple[int, int]:
    """How often a weight stands behind what it multiplies, and how often before it."""
    before = behind = 0
    for side in (side for sides in equations for side in sides):
        for node in side.every(s.Product):
            factors = [f for f in node.factors if not isinstance(f, s.Number)]
            weights = [_is_weight(kinds, f) for f in factors]
            if len(factors) > 1 and weights[-1] and not weights[-2]:
                before += 1
            elif len(factors) > 1 and weights[0] and not weights[-1]:
                behind += 1
    return before, behind


def _is_weight(kinds: Kinds, node: s.Expression) -> bool:
    leaf = kinds.leaf(node.body if isinstance(node, s.Transpose) else node)
    if leaf is None or not leaf.capital:
        return False
    return leaf.letter in WEIGHTS or not any(ord(c) < 128 for c in leaf.letter)


def _read(kinds: Kinds, equations: Sequence[Sequence[s.Expression]], rows: bool) -> Reading:
    tables = Tables(kinds, rows)
    made = [_Made(sides, tables.sides(sides)) for sides in equations if sides]
    reading = Reading(rows)
    for group in _components(made):
        found = _folded(tables, group)
        best = found[0]
        reading.given |= best.given
        reading.cost += tables.total(best)
        doubt = _doubt(tables, found)
        if doubt is not None:
            reading.doubts.append(doubt)
    # What only weighs one reading against another is nothing odd.
    tables.pinned, tables.turned, tables.gated, tables.of_numbers = (
        reading.given, COST.turned_at_last, COST.gated_at_last, 0.0,
    )  # fmt: skip
    for sides in filter(None, equations):
        reading.odd[id(sides[0])] = min(entry.cost for entry in tables.sides(sides))
    return reading


@dataclass(frozen=True)
class _Made:
    """An equation with its table."""

    sides: Sequence[s.Expression]
    table: Table

    @property
    def names(self) -> set[str]:
        return set(self.table[0].given)


def _components(made: list[_Made]) -> list[list[_Made]]:
    """Equations that share a variable, together; the shortest table first."""
    groups: list[tuple[set[str], list[_Made]]] = []
    for one in made:
        mine: tuple[set[str], list[_Made]] = (one.names, [one])
        kept = []
        for group in groups:
            if group[0] & mine[0]:
                mine = (group[0] | mine[0], [*group[1], *mine[1]])
            else:
                kept.append(group)
        groups = [*kept, mine]
    return [_in_order(group) for _, group in groups]


def _in_order(group: list[_Made]) -> list[_Made]:
    """The shortest first, then always one that shares a name with those before it."""
    waiting = sorted(group, key=lambda one: len(one.table))
    order = [waiting.pop(0)]
    known = order[0].names
    while waiting:
        number = next((n for n, one in enumerate(waiting) if known & one.names), 0)
        order.append(waiting.pop(number))
        known |= order[-1].names
    return order


def _folded(tables: Tables, group: list[_Made]) -> Table:
    """All equations of a component at once; where one cannot hold with the others, at a price."""
    result: Table = [Entry(0, NUMBER, {})]
    for number, one in enumerate(group):
        found = tables.fitting(result, one.table, _any)
        if not found:
            again, another = (
                partial(_again, tables, group[:number]),
                partial(tables.sides, one.sides),
            )
            found = tables.torn(again, another, result, one.table, _any)
        result = found
    return tables.best(result)


def _again(tables: Tables, group: list[_Made]) -> Table:
    table: Table = [Entry(0, NUMBER, {})]
    for one in group:
        table = tables.join(table, tables.sides(one.sides), _any)
    return table


def _two(one: Entry, other: Entry, variable: str) -> set[Shape]:
    """What two readings say of a name, if they differ."""
    found = {one.given[variable], other.given.get(variable, one.given[variable])}
    return found if len(found) > 1 else set()


def _any(one: Shape, two: Shape) -> tuple[Shape, float]:
    return NUMBER, 0


def _doubt(tables: Tables, found: Table) -> Doubt | None:
    """The second reading, if it is about as likely, and says something else."""
    best = found[0]
    cost = tables.total(best)
    if cost >= IMPOSSIBLE:
        return None
    for entry in found[1:]:
        if tables.total(entry) - cost >= COST.ahead:
            return None
        differ = [v for v in best.given if NUMBER in _two(best, entry, v)]
        if differ:
            return Doubt(best.given, entry.given, tuple(differ))
    return None
