"""Shapes of vector style, and how factors side by side and terms of a sum fit together.

k^⊤ q      row, column             a number: both are summed over one index
u u^⊤      column, row             a matrix: nothing is summed
V x        matrix, column          a column
u u        column, column          nothing that makes sense; with a dot between them a number
X W + b    matrix, row             b is added to every row
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.program.names.letters import ALL, COUNTING
from indicial.program.vectors.leaves import is_ones

Shape = tuple[int, int]
"""Whether an expression is open to the left and to the right."""
NUMBER, COLUMN, ROW, MATRIX = (0, 0), (1, 0), (0, 1), (1, 1)
OF_RANK: dict[int, Shape] = {0: NUMBER, 1: COLUMN, 2: MATRIX}

KINDS: dict[Shape, str] = {NUMBER: "number", COLUMN: "column", ROW: "row", MATRIX: "matrix"}


def part_of(shape: Shape, items: Sequence[s.Expression]) -> Shape | None:
    """What is left of something at some places: a number of `x_i`, a row of `X_{i,:}`; None if they do not fit."""
    if ALL not in items:
        return NUMBER if shape == NUMBER or sum(shape) == len(items) else None
    if shape != MATRIX or len(items) != 2:
        return None
    return int(items[0] == ALL), int(items[1] == ALL)


class Mismatch(Exception):
    """Two factors that cannot stand side by side: their positions in the product."""

    def __init__(self, first: int, second: int) -> None:
        self.first, self.second = first, second


End = tuple[int, int]
"""A factor by its position, and 0 for its left end or 1 for its right one."""


@dataclass
class Aligned:
    """A product: its shape, which ends share a summed index, which stay open."""

    links: list[tuple[End, End]] = field(default_factory=list)
    shared: list[tuple[End, End]] = field(default_factory=list)
    """Ends that share an open index: `η/√s · g` is taken element by element."""
    left: End | None = None
    right: End | None = None
    last: int = 0
    """The last factor that is no number."""

    @property
    def shape(self) -> Shape:
        return int(self.left is not None), int(self.right is not None)

    def add(self, number: int, shape: Shape, dot: bool, gain: bool) -> bool:
        """One more factor; False if it does not fit."""
        if shape == NUMBER:
            return True
        if self.left is None and self.right is None:
            self.left = (number, 0) if shape[0] else None
            self.right = (number, 1) if shape[1] else None
        elif self.right is not None and shape[0]:
            self.links.append((self.right, (number, 0)))
            self.right = (number, 1) if shape[1] else None
        elif self.right is None and not shape[0]:
            self.right = (number, 1)
        elif gain and self.shape == shape != MATRIX:
            held = self.left or self.right
            assert held is not None
            self.shared.append((held, (number, 0 if shape[0] else 1)))
        elif dot and self.shape == COLUMN == shape:
            assert self.left is not None
            self.links.append((self.left, (number, 0)))
            self.left = None
        elif dot and self.shape == ROW == shape:
            assert self.right is not None
            self.links.append((self.right, (number, 1)))
            self.right = None
        else:
            return False
        self.last = number
        return True


def align(
    shapes: Sequence[Shape], dots: Collection[int] = (), gains: Collection[int] = ()
) -> Aligned:
    """`u u^⊤ x`, column row column → a column; the row is summed with the column behind it.

    `dots` are the factors that a sign stands before: `x · y`; `gains` those that go with the one before
    them element by element.
    """
    result = Aligned()
    for number, shape in enumerate(shapes):
        if not result.add(number, shape, number in dots, number in gains):
            raise Mismatch(result.last, number)
    return result


def differentiated(one: Shape, two: Shape, step: bool = False) -> list[tuple[Shape, float]]:
    """The shapes of a derivative, of what has the one by what has the other, with how odd they are.

    Of a column by a column it is a matrix, or the diagonal of one: `∂c_t/∂c_{t-1} = f_t`.
    """
    if one == two == NUMBER:
        return [(NUMBER, 0.5 if step else 0.0)]
    if one == NUMBER:
        return [(two, 0.5), (ROW, 1.5)] if two == COLUMN else [(two, 0.5)]
    if two == NUMBER:
        return [(one, 1.0)]
    if MATRIX in (one, two):
        return []
    return [(MATRIX, 0.0), (COLUMN, 0.1 if step else 1.0)]


def times(one: Shape, two: Shape, dot: bool, gain: bool = False) -> Shape | None:
    """The shape of a product of two; None if they do not fit."""
    if one == NUMBER:
        return two
    if two == NUMBER:
        return one
    if one[1] and two[0]:
        return one[0], two[1]
    if one == COLUMN and two == ROW:
        return MATRIX
    if one != two or one == MATRIX:
        return None
    if gain:
        return one
    return NUMBER if dot else None


def together(one: Shape, two: Shape) -> Shape | None:
    """The shape of a sum: alike, or a number or a vector that goes with every element or row."""
    if one == two or two == NUMBER:
        return one
    if one == NUMBER:
        return two
    return MATRIX if MATRIX in (one, two) else None


def flip(shape: Shape) -> Shape:
    return shape[1], shape[0]


# ---------------------------------------------------------------------- what is written


def fits_all(node: s.Expression) -> bool:
    """`0`, `1/2`, `0/β^2`: a plain number can be of any shape; `1/(1 + e^{-x})` is none."""
    if isinstance(node, s.Group | s.Negative):
        return fits_all(node.body)
    if isinstance(node, s.Fraction):
        return fits_all(node.above) and (fits_all(node.below) or node.above == s.Number("0"))
    return isinstance(node, s.Number)


def ones(node: s.Expression) -> tuple[Shape, ...]:
    """What a factor `\\mathbf 1`, `\\mathbf 1^⊤` may be; nothing for other factors."""
    if isinstance(node, s.Transpose):
        return tuple(map(flip, ones(node.body)))
    return (COLUMN, ROW) if is_ones(node) else ()


def dotted(node: s.Product) -> set[int]:
    """The factors of a product that a dot stands before: `x · y`."""
    between = (one.span.between(two.span) or "" for one, two in pairwise(node.factors))
    signs = ("·", "⋅", "∙", "\\cdot", "*")
    return {n for n, text in enumerate(between, 1) if any(sign in text for sign in signs)}


def gains(node: s.Product) -> set[int]:
    """The factors beside a fraction: if both are vectors, `η/√s · g` is taken element by element."""
    pairs = enumerate(pairwise(node.factors), 1)
    return {n for n, pair in pairs if any(isinstance(f, s.Fraction) for f in pair)}


def inverts(exponent: s.Expression) -> bool:
    """The -1 of `A^{-1}`."""
    return isinstance(exponent, s.Negative) and exponent.body == s.Number("1")


def steps_of(exponent: s.Expression) -> s.Name | None:
    """The t of `A^{t-i}`, the k of `A^k`: how often A is multiplied by itself is counted by an index."""
    terms = [
        (s.unsigned(term), isinstance(term, s.Negative)) for term in s.terms(s.inner(exponent))
    ]
    counts = [(x, less) for x, less in terms if isinstance(x, s.Name)]
    whole = all(isinstance(x, s.Name | s.Number) for x, _ in terms)
    if not whole or not all(x.bare and x.base in COUNTING for x, _ in counts):
        return None
    return next((x for x, less in counts if not less), None)


def inverted(node: s.Expression, statements: Iterable[s.Statement]) -> bool:
    """Whether a capital of it is inverted somewhere: the A of `(Δ A)^{-1} (exp(Δ A) - I)`."""
    capitals = {n.stem for n in node.every(s.Name) if n.base.isupper()}
    for power in s.every(statements, s.Power):
        if inverts(power.exponent) and capitals & {n.stem for n in power.base.every(s.Name)}:
            return True
    names = (n for n in s.every(statements, s.Name) if n.sup and inverts(n.sup[-1]))
    return any(n.stem in capitals for n in names)


def diagonal(base: s.Expression, exponent: s.Expression) -> bool:
    """The `D^{-1/2}` of a graph: a matrix of degrees, whose power is that of each of them."""
    half = s.unsigned(exponent)
    degrees = isinstance(base, s.Name) and base.base == "D"
    return degrees and isinstance(half, s.Fraction) and half.below == s.Number("2")
