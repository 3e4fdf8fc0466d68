"""Mistakes of vector style: columns where a matrix is needed, rows added to columns.

    V = (u_b u_b - u_c u_c) / β^2      a product of two columns is no matrix; write u_b u_b^⊤
    c = k_i^⊤ q + v_i                  a number and a column cannot be added

`Conflicts.shape` gives the shape of a sound expression, and None, after a message, for another one.
"""

from __future__ import annotations

from collections.abc import Sequence

from indicial.notation import syntax as s
from indicial.notation.printers import unicode
from indicial.program.messages import Messages
from indicial.program.vectors.alignment import (
    COLUMN,
    KINDS,
    MATRIX,
    NUMBER,
    ROW,
    Mismatch,
    Shape,
    align,
)
from indicial.program.vectors.ranks import LIKE_ITS_ARGUMENT, Ranks


def fits_all(node: s.Expression) -> bool:
    """`0`, `0/β^2`: a plain number can be of any shape."""
    if isinstance(node, s.Group | s.Negative):
        return fits_all(node.body)
    return isinstance(node, s.Number) or (isinstance(node, s.Fraction) and fits_all(node.above))


class Conflicts:
    """Looks through expressions whose names all have their ranks."""

    def __init__(self, ranks: Ranks, messages: Messages) -> None:
        self.ranks = ranks
        self.messages = messages

    def sides(self, sides: Sequence[s.Expression]) -> tuple[Shape, list[int]] | None:
        """The shape of an equation and the sides that have it; the others got a message."""
        wanted = self.ranks.shape_of(leaf) if (leaf := self.ranks.leaf(sides[0])) else None
        shapes = [None if fits_all(side) else self.shape(side, wanted) for side in sides]
        known = [(n, x) for n, x in enumerate(shapes) if x is not None]
        kept = [n for n, side in enumerate(sides) if fits_all(side)]
        if not known:
            return (NUMBER, kept) if kept else None
        first, shape = known[0]
        for n, other in known:
            if other == shape:
                kept.append(n)
            else:
                self.messages.error(
                    "rank", f"one side is a {KINDS[shape]}, the other a {KINDS[other]}",
                    (sides[n].span, f"a {KINDS[other]}"), (sides[first].span, f"a {KINDS[shape]}"),
                    hint=_hint(shape, other),
                )  # fmt: skip
        return shape, sorted(kept)

    def shape(self, node: s.Expression, wanted: Shape | None = None) -> Shape | None:
        leaf = self.ranks.leaf(node)
        if leaf is not None:
            arguments = leaf.use.call.arguments if leaf.use.call is not None else ()
            sound = None not in [self.shape(a) for a in arguments]
            return (self.ranks.shape_of(leaf) or NUMBER) if sound else None
        match node:
            case s.Group(body=body) | s.Negative(body=body) | s.Expectation(body=body):
                return self.shape(body, wanted)
            case s.Transpose(body=body):
                inner = self.shape(body, None if wanted is None else (wanted[1], wanted[0]))
                return None if inner is None else (inner[1], inner[0])
            case s.Add(terms=parts) | s.Hadamard(factors=parts):
                done = "added" if isinstance(node, s.Add) else "multiplied by ⊙"
                return self._same(parts, wanted, done)
            case s.Cases(branches=branches):
                return self._same([value for value, _ in branches], wanted, "cases of one thing")
            case s.Product(factors=factors):
                return self._product(factors, wanted)
            case s.Fraction(above=above, below=below):
                result = self.shape(above, wanted)
                return self._number(below, "nothing can be divided by a {}", result)
            case s.Power(base=base):
                return self.shape(base, wanted)
            case s.Norm(body=body):
                return None if self.shape(body) is None else NUMBER
            case s.Reduction(operator="softmax" | "argmax" | "argmin", under=(_, *_), body=body):
                return self._number(body, f"{node.operator} takes numbers, not a {{}}", NUMBER)
            case s.Reduction(body=body):
                return self.shape(body, wanted)
            case s.Join(parts=parts) | s.ListLiteral(items=parts):
                return MATRIX if any(isinstance(p, s.ListLiteral) for p in parts) else COLUMN
            case s.Call(function=s.Name(base=name), arguments=parts) if name in LIKE_ITS_ARGUMENT:
                return self._same(parts, wanted, f"arguments of {name}")
        return NUMBER

    def _number(self, node: s.Expression, text: str, result: Shape | None) -> Shape | None:
        shape = self.shape(node, NUMBER)
        if shape is None or shape == NUMBER:
            return None if shape is None else result
        self.messages.error("rank", text.format(KINDS[shape]), (node.span, f"a {KINDS[shape]}"))
        return None

    def _same(self, parts: Sequence[s.Expression], wanted: Shape | None, done: str) -> Shape | None:
        shapes = [(p, self.shape(p, wanted)) for p in parts if not fits_all(p)]
        if not shapes:
            return NUMBER
        if any(x is None for _, x in shapes):
            return None
        first, shape = shapes[0]
        for part, other in shapes[1:]:
            if other != shape and shape is not None and other is not None:
                self.messages.error(
                    "rank", f"a {KINDS[shape]} and a {KINDS[other]} cannot be {done}",
                    (first.span, f"a {KINDS[shape]}"), (part.span, f"a {KINDS[other]}"),
                    hint=_hint(shape, other),
                )  # fmt: skip
                return None
        return shape

    def _product(self, factors: Sequence[s.Expression], wanted: Shape | None) -> Shape | None:
        shapes = [self.shape(f) for f in factors]
        known = [x for x in shapes if x is not None]
        if len(known) < len(shapes):
            return None
        try:
            return align(known).shape
        except Mismatch as problem:
            n, m = problem.first, problem.second
            self._refuse(factors[n], factors[m], known[n], known[m], wanted)
            return None

    def _refuse(
        self, one: s.Expression, two: s.Expression, a: Shape, b: Shape, wanted: Shape | None
    ) -> None:
        number, matrix = f"{_turned(one)} {unicode(two)}", f"{unicode(one)} {_turned(two)}"
        if a == b == COLUMN:
            text = f"a product of two columns is no {KINDS[wanted or COLUMN]}"
            hint = f"{number} is a number, {matrix} is a matrix; or is a sign between them lost?"
            if wanted == MATRIX:
                hint = f"write {matrix}"
            elif wanted == NUMBER:
                hint = f"write {number}"
        else:
            text = f"a {KINDS[a]} cannot be multiplied by a {KINDS[b]} behind it"
            hint = f"write {number}" if a == COLUMN else f"write {matrix}"
        sites = (one.span, f"a {KINDS[a]}"), (two.span, f"a {KINDS[b]}")
        self.messages.error("rank", text, *sites, hint=hint)


def _turned(node: s.Expression) -> str:
    """The transpose of an expression, as it is written."""
    return unicode(node.body) if isinstance(node, s.Transpose) else unicode(s.Transpose(node))


def _hint(one: Shape, other: Shape) -> str:
    return "transpose one of the two" if {one, other} == {COLUMN, ROW} else ""
