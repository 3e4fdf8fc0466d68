"""Mistakes of vector style: columns where a matrix is needed, rows added to columns.

    V = (u_b u_b - u_c u_c) / β^2      a product of two columns is no matrix; write u_b u_b^⊤
    c = k_i^⊤ q + v_i                  a number and a column cannot be added

`Conflicts.shape` gives the shape of a sound expression, and None, after a message, for another one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress

from indicial.notation import syntax as s
from indicial.notation.printers import unicode
from indicial.program.messages import Messages
from indicial.program.vectors.kinds import Kinds
from indicial.program.vectors.leaves import JOINING, TRACE, chain, elementwise, numbered
from indicial.program.vectors.shapes import (
    COLUMN,
    KINDS,
    MATRIX,
    NUMBER,
    ROW,
    Mismatch,
    Shape,
    align,
    diagonal,
    differentiated,
    dotted,
    fits_all,
    flip,
    gains,
    inverted,
    inverts,
    ones,
    part_of,
    steps_of,
    together,
)
from indicial.program.vectors.tables import NORMALISED, divides


class Outside(Exception):
    """Something that index notation has no word for, with what it is."""


class Conflicts:
    """Looks through expressions whose names all have their shapes."""

    def __init__(self, kinds: Kinds, messages: Messages) -> None:
        self.kinds = kinds
        self.messages = messages
        self.loosely = kinds.outline.document

    def sides(self, sides: Sequence[s.Expression]) -> tuple[Shape, list[int]] | None:
        """The shape of an equation and the sides that have it; the others got a message."""
        leaf = self.kinds.leaf(sides[0])
        wanted = self.kinds.shape_of(leaf) if leaf is not None else None
        if leaf is not None and leaf.capital and any(map(_lists, sides[1:])):
            raise Outside("it puts vectors side by side")  # `H = [h_1; …; h_n]`
        if any(map(self.is_diagonal, sides)) and any(map(self._contracts, sides)):
            raise Outside("the derivative of a column by a column is a matrix")
        shapes = [None if fits_all(side) else self.shape(side, wanted) for side in sides]
        known = [(n, x) for n, x in enumerate(shapes) if x is not None]
        kept = [n for n, side in enumerate(sides) if fits_all(side)]
        if not known:
            return (NUMBER, kept) if kept else None
        first, shape = known[0]
        for n, other in known:
            if other == shape or ({other, shape} == {COLUMN, ROW} and self.loosely):
                kept.append(n)
            elif self.loosely and isinstance(s.inner(sides[0]), s.Join | s.ListLiteral):
                raise Outside("it names the parts of something")  # `[q, k, v] = z U`
            else:
                self.messages.error(
                    "rank", f"one side is a {KINDS[shape]}, the other a {KINDS[other]}",
                    (sides[n].span, f"a {KINDS[other]}"), (sides[first].span, f"a {KINDS[shape]}"),
                    hint=_hint(shape, other),
                )  # fmt: skip
        return shape, sorted(kept)

    def shape(self, node: s.Expression, wanted: Shape | None = None) -> Shape | None:
        leaf = self.kinds.leaf(node)
        if leaf is not None:
            arguments = leaf.use.call.arguments if leaf.use.call is not None else ()
            sound = None not in [self.shape(a) for a in arguments]
            shape = self.kinds.shape_of(leaf)
            if leaf.key in self.kinds.higher and leaf.key not in self.kinds.total:
                raise Outside(f"{leaf.key} has more indices than a matrix, and none is written")
            power = leaf.use.reference.power
            if power is not None and not diagonal(leaf.base, power):
                _raised(shape, power)
            return shape if sound else None
        if derivatives := chain(node):
            return self._chain(derivatives)
        match node:
            case s.Group(body=body) | s.Negative(body=body) | s.Expectation(body=body):
                return self.shape(body, wanted)
            case s.Transpose(body=body):
                inner = self.shape(body, None if wanted is None else flip(wanted))
                return None if inner is None else flip(inner)
            case s.Add(terms=parts) | s.Hadamard(factors=parts):
                done = "added" if isinstance(node, s.Add) else "multiplied by ⊙"
                if isinstance(node, s.Hadamard) and self.loosely:
                    self._no_number(parts)
                return self._same(parts, wanted, done)
            case s.Cases(branches=branches):
                return self._same([value for value, _ in branches], wanted, "cases of one thing")
            case s.Product():
                return self._product(node, wanted)
            case s.Fraction():
                return self._fraction(node, wanted)
            case s.Power(base=base, exponent=exponent):
                raised = self.shape(base, wanted)
                return None if raised is None else _raised(raised, exponent)
            case s.Norm(body=body):
                return None if self.shape(body) is None else NUMBER
            case s.Reduction(operator="softmax" | "argmax" | "argmin", under=(_, *_), body=body):
                return self._number(body, f"{node.operator} takes numbers, not a {{}}", NUMBER)
            case s.Reduction(operator="softmax", body=body):
                return self.shape(body, wanted)
            case s.Reduction(under=(), body=body):
                return None if self.shape(body) is None else NUMBER
            case s.Reduction(body=body):
                found = self.shape(body, wanted)
                if node.operator == "prod" and found == MATRIX:
                    raise Outside("it multiplies many matrices, and does not say in which order")
                return found
            case s.Index(base=base, items=items):
                found = self.shape(base)
                part = None if found is None else part_of(found, items)
                if found is not None and part is None:
                    raise Outside("it takes a part of something")
                return part
            case s.Join(parts=parts) | s.ListLiteral(items=parts):
                found = self._joined(parts)
                if wanted == MATRIX and found in (COLUMN, ROW):
                    raise Outside("it puts vectors side by side")  # `X = [x_1; …; x_n]`
                return found
            case s.TupleLiteral(items=(one, two)) if node.inner:
                return None if self._same([one, two], None, "multiplied") is None else NUMBER
            case s.Call():
                return self._call(node, wanted)
            case s.Dots():
                raise Outside("it goes on with dots")
        return NUMBER

    def end(self, name: s.Name) -> Shape:
        """The shape of an end of a derivative."""
        leaf = self.kinds.leaf(name)
        return NUMBER if leaf is None else self.kinds.shape_of(leaf)

    def is_diagonal(self, node: s.Expression) -> bool:
        """Whether of a matrix of derivatives the diagonal is all that is written: `∂c_t/∂c_{t-1} = f_t`."""
        if not isinstance(node, s.Name) or len(node.ends) < 2:
            return False
        leaf = self.kinds.leaf(node)
        columns = all(sum(self.end(name)) == 1 for name in node.ends)
        return columns and leaf is not None and sum(self.kinds.shape_of(leaf)) == 1

    def _contracts(self, side: s.Expression) -> bool:
        """Whether a product of a side sums over something."""
        products = side.every(s.Product)
        with suppress(Mismatch):
            shapes = ([x or NUMBER for x in self.factors(p)] for p in products)
            aligned = (align(x, dotted(p), gains(p)) for x, p in zip(shapes, products, strict=True))
            return any(found.links for found in aligned)
        return False

    def _chain(self, derivatives: Sequence[s.Name]) -> Shape:
        first, last = derivatives[0].ends, derivatives[-1].ends[-1]
        above = self.end(first[0]) if len(first) == 2 else NUMBER
        for shape, _ in differentiated(above, self.end(last)):
            return shape
        raise Outside("it has a derivative by a matrix that has more indices than are written")

    def _fraction(self, node: s.Fraction, wanted: Shape | None) -> Shape | None:
        above, below = self.shape(node.above, wanted), self.shape(node.below)
        if above is None or below is None or below == NUMBER:
            return None if below is None else above
        if above in (below, NUMBER) and divides(node.below, self.kinds):
            return below
        text = f"nothing can be divided by a {KINDS[below]}"
        self.messages.error("rank", text, (node.below.span, f"a {KINDS[below]}"))
        return None

    def _joined(self, parts: Sequence[s.Expression]) -> Shape | None:
        dots = any(p.every(s.Dots) for p in parts)
        if dots and numbered(tuple(parts)) is None:
            raise Outside("it goes on with dots")
        if any(isinstance(p, s.ListLiteral) for p in parts):
            return MATRIX
        kept = [p for p in parts if not isinstance(p, s.Dots)]
        if all(fits_all(p) for p in kept):
            return COLUMN
        shapes = [self.shape(p) for p in kept]
        known = {x for x in shapes if x is not None}
        if len(known) < len(set(shapes)):
            return None
        if dots and NUMBER in known:
            raise Outside("it goes on with dots")
        if known <= {NUMBER, COLUMN}:
            return COLUMN
        if len(known) == 1:
            return known.pop()
        kinds = " and a ".join(sorted(KINDS[x] for x in known))
        sites = [(p.span, f"a {KINDS[x]}") for p, x in zip(kept, shapes, strict=True) if x]
        self.messages.error("rank", f"a {kinds} cannot be joined", *sites)
        return None

    def _call(self, node: s.Call, wanted: Shape | None) -> Shape | None:
        name = node.word
        if not node.arguments or node.given is not None:
            return NUMBER
        if name in NORMALISED:
            return self.shape(node.arguments[0], wanted)
        if name == "exp" and self._is_multiple(node.arguments[0]):
            if not self.is_exponential(node):
                raise Outside("it may take the exponential of a matrix")
            return MATRIX
        if elementwise(node):
            return self._same(node.arguments, wanted, f"arguments of {name}")
        if name in JOINING:
            return self._joined(node.arguments)
        if name in ("diag", "Diag") and len(node.arguments) == 1:
            found = self.shape(node.arguments[0])
            if found is None:
                return None
            return {MATRIX: COLUMN, NUMBER: NUMBER}.get(found, MATRIX)
        if name in TRACE and len(node.arguments) == 1:
            return None if self.shape(node.arguments[0]) is None else NUMBER
        return NUMBER

    def is_exponential(self, node: s.Call) -> bool:
        """Whether `exp(Δ A)` is that of a matrix, and not of its elements: A, or Δ A, is inverted somewhere."""
        return self._is_multiple(node.arguments[0]) and inverted(
            node.arguments[0], self.kinds.statements
        )

    def _is_multiple(self, node: s.Expression) -> bool:
        """`A`, `t A`: a matrix that numbers are multiplied with; `Q K^⊤` has an element for each pair."""
        factors = s.factors(node)
        shapes = [self.shape(factor) for factor in factors]
        names = [f for f, x in zip(factors, shapes, strict=True) if x == MATRIX]
        bare = all((leaf := self.kinds.leaf(f)) and not leaf.use.reference.items for f in names)
        return len(names) == 1 and bare and all(x in (NUMBER, MATRIX) for x in shapes)

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
        result: Shape | None = None
        where = shapes[0][0]
        for part, other in shapes:
            if other is None:
                return None
            fits = other if result is None else together(result, other)
            mixed = result is not None and NUMBER in (result, other) and result != other
            if fits is None or (mixed and not self._goes_along(where, part, result == NUMBER)):
                assert result is not None
                # Of rows, k_t^⊤ v_t would be a matrix.
                of_rows = {result, other} == {NUMBER, MATRIX} and _is_turned(
                    part if other == NUMBER else where
                )
                self.messages.error(
                    "row-product" if of_rows else "rank", f"a {KINDS[result]} and a {KINDS[other]} cannot be {done}",
                    (where.span, f"a {KINDS[result]}"), (part.span, f"a {KINDS[other]}"),
                    hint=_hint(result, other),
                )  # fmt: skip
                return None
            if fits != result:
                where = part
            result = fits
        return result

    def _no_number(self, parts: Sequence[s.Expression]) -> None:
        """Whoever writes `f_t ⊙ c_t` does not multiply numbers: what came out as one is in doubt."""
        for part in parts:
            leaf = self.kinds.leaf(part)
            if leaf is None or not leaf.use.reference.items or self.kinds.fixed(leaf) is not None:
                continue
            if self.shape(part) == NUMBER:
                raise Outside(f"{unicode(part)} may be a number or a column")

    def _goes_along(self, one: s.Expression, two: s.Expression, first: bool) -> bool:
        """Whether a number goes with every element: `x + b`, `x - mean`; a product `k^⊤ q` does not."""
        number = one if first else two
        number = s.unsigned(number)
        if isinstance(number, s.Product):
            shapes = [self.shape(f) for f in number.factors]
            return all(x == NUMBER for x in shapes)
        return True

    def _product(self, node: s.Product, wanted: Shape | None) -> Shape | None:
        factors = node.factors
        shapes = self.factors(node)
        known = [x for x in shapes if x is not None]
        if len(known) < len(shapes):
            return None
        try:
            return align(known, dotted(node), gains(node)).shape
        except Mismatch as problem:
            n, m = problem.first, problem.second
            self._refuse(factors[n], factors[m], known[n], known[m], wanted)
            return None

    def factors(self, node: s.Product) -> list[Shape | None]:
        """The shapes of factors: a `\\mathbf 1` among them is a column or a row, as it fits."""
        shapes = [self.shape(f) for f in node.factors]
        places = [n for n, f in enumerate(node.factors) if ones(f)]
        for choice in itertools.product(*(ones(node.factors[n]) for n in places)):
            for n, shape in zip(places, choice, strict=True):
                shapes[n] = shape
            with suppress(Mismatch):
                align([x or NUMBER for x in shapes], dotted(node), gains(node))
                break
        return shapes

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


def _raised(shape: Shape, exponent: s.Expression) -> Shape:
    if shape == MATRIX and not inverts(exponent) and steps_of(exponent) is None:
        raise Outside("it takes a power of a matrix")
    return shape


def _turned(node: s.Expression) -> str:
    """The transpose of an expression, as it is written."""
    return unicode(node.body) if isinstance(node, s.Transpose) else unicode(s.Transpose(node))


def _lists(side: s.Expression) -> bool:
    """`[h_1, …, h_n]^⊤`: a list that goes on with dots, of something small."""
    side = s.inner(side.body if isinstance(side, s.Transpose) else side)
    parts = side.parts if isinstance(side, s.Join) else getattr(side, "items", ())
    if not isinstance(side, s.Join | s.ListLiteral) or numbered(tuple(parts)) is None:
        return False
    return isinstance(parts[0], s.Name) and len(parts[0].base) == 1 and parts[0].base.islower()


def _is_turned(node: s.Expression) -> bool:
    """`k^⊤ v`."""
    return isinstance(node, s.Product) and isinstance(node.factors[0], s.Transpose)


def _hint(one: Shape, other: Shape) -> str:
    return "transpose one of the two" if {one, other} == {COLUMN, ROW} else ""
