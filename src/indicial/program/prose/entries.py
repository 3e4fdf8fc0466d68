r"""Matrices whose entries are written out, in prose → an equation for each entry, or for each row of a product.

A = [[0, 1], [-k/m, -b/m]]           →  A[0,0] = 0, A[0,1] = 1, A[1,0] = -k/m, A[1,1] = -b/m
[a; b] = [[c, -s], [s, c]] [x; y]    →  a = c x - s y, b = s x + c y

A matrix of numbers alone is a constant, and stays one. What is made of vectors or of other matrices is left
as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.source import Span
from indicial.program.names.letters import is_capital

Rows = tuple[tuple[s.Expression, ...], ...]
MOST = 64
"""So many entries at most."""


def by_entries(statements: Iterable[s.Statement]) -> Iterator[s.Statement]:
    """The statements, with an equation for each entry of what is written out."""
    for statement in statements:
        yield from _entries(statement) or (_multiplied(statement) or (statement,))


def _entries(statement: s.Statement) -> list[s.Statement]:
    """The equations of `A = [[0, 1], [-k/m, -b/m]]`."""
    if not isinstance(statement, s.Equation) or len(statement.sides) != 2:
        return []
    left, right = statement.sides
    rows = _rows(right)
    if not isinstance(left, s.Name) or rows is None or statement.relations != ("=",):
        return []
    flat = [entry for row in rows for entry in row]
    if len(flat) > MOST or not all(map(_is_number, flat)) or all(map(_is_constant, flat)):
        return []
    if (
        len(rows) == 1 or len(rows[0]) == 1
    ):  # `[0; 1/m]`: of names alone it may be a join of vectors
        if not any(map(_is_constant, flat)):
            return []
        return [_equation(statement, _at(left, n), entry) for n, entry in enumerate(flat)]
    return [
        _equation(statement, _at(left, n, k), entry)
        for n, row in enumerate(rows)
        for k, entry in enumerate(row)
    ]


def _multiplied(statement: s.Statement) -> list[s.Statement]:
    """The rows of `[a; b] = [[c, -s], [s, c]] [x; y]`, each an equation."""
    if not isinstance(statement, s.Equation) or len(statement.sides) != 2:
        return []
    lefts, product = _list(statement.sides[0]), s.inner(statement.sides[1])
    factors = product.factors if isinstance(product, s.Product) else ()
    if not lefts or len(factors) != 2:
        return []
    rows, column = _rows(factors[0]), _list(factors[1])
    if rows is None or not column or len(rows) != len(lefts) or len(rows[0]) != len(column):
        return []
    if not all(map(_is_number, (*lefts, *column, *(e for row in rows for e in row)))):
        return []
    span = product.span
    return [
        _equation(statement, left, _sum([_times(a, x, span) for a, x in zip(row, column, strict=True)], span))
        for left, row in zip(lefts, rows, strict=True)
    ]  # fmt: skip


def _rows(node: s.Expression) -> Rows | None:
    """The entries of a matrix, row by row; those of a column too."""
    items = _list(node)
    if not items:
        return None
    rows = tuple(_list(item) or (item,) for item in items)
    return rows if len({len(row) for row in rows}) == 1 else None


def _list(node: s.Expression) -> tuple[s.Expression, ...]:
    node = s.inner(node)
    return node.items if isinstance(node, s.ListLiteral) else ()


def _is_constant(entry: s.Expression) -> bool:
    return isinstance(s.unsigned(entry), s.Number)


def _is_number(entry: s.Expression) -> bool:
    """Whether an entry is a number by its letters: no bold one, no capital, nothing that goes on."""
    if entry.every(s.Dots, s.ListLiteral, s.Join, s.Transpose):
        return False
    names = [n for n in s.values(entry) if isinstance(n, s.Name)]
    return not any(n.font == "bold" or is_capital(n.base) or "vec" in n.accents for n in names)


def _at(name: s.Name, *places: int) -> s.Index:
    return s.Index(
        name, tuple(s.Number(str(n), span=name.span) for n in places), span=name.span
    )  # counted from 0, as everything is


def _equation(statement: s.Equation, left: s.Expression, right: s.Expression) -> s.Equation:
    return replace(statement, sides=(left, right))


def _times(factor: s.Expression, x: s.Expression, span: Span) -> s.Expression:
    """`-s` and y → `-s y`; 0 and 1 go without saying."""
    body = s.unsigned(factor)
    if body == s.Number("0"):
        return body
    x = s.Group(x, span=x.span) if isinstance(x, s.Add | s.Negative) else x
    product = x if body == s.Number("1") else s.Product((body, x), span=span)
    return s.Negative(product, span=span) if body is not factor else product


def _sum(terms: Sequence[s.Expression], span: Span) -> s.Expression:
    kept = [term for term in terms if term != s.Number("0")] or list(terms[:1])
    return kept[0] if len(kept) == 1 else s.Add(tuple(kept), span=span)
