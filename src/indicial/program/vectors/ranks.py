"""Vector style: which names are numbers, which are columns, which are matrices.

    c = Σ_i v_i α_i        α_i = k_i^⊤ q        V = u_b u_b^⊤        y = V x_1
    k, q, u: columns, because of ⊤;  α: numbers;  V: a matrix;  x, y: columns

A shape says whether an expression is open to the left and to the right: a column `(1, 0)`, a row
`(0, 1)`, a matrix `(1, 1)`, a number `(0, 0)`. In a product, neighbours that are open to each other
are summed. Names of one stem (`u_b`, `u_c`) have one rank. What is declared, and what stands under
a ⊤, is sure; the rest follows from sums, sides of equations and products that fit in one way only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.program.names.outline import Outline
from indicial.program.names.uses import BUILT_IN
from indicial.program.vectors.alignment import (
    COLUMN,
    MATRIX,
    NUMBER,
    OF_RANK,
    ROW,
    Mismatch,
    Shape,
    align,
    flip,
)
from indicial.program.vectors.leaves import Leaf, Leaves
from indicial.program.vectors.transposes import index_letters

CONVENTIONAL = frozenset("chkoquvxyz")
"""Letters that are columns in a document that nothing else says anything about."""

LIKE_ITS_ARGUMENT = BUILT_IN - {"onehot", "softmax"}


class Ranks(Leaves):
    """The ranks of a program's names.

    `total` has, for names that are indexed in full somewhere, how many indices that is; `rank` has
    the others.
    """

    def __init__(self, outline: Outline, statements: Sequence[s.Statement]) -> None:
        super().__init__(outline)
        self.statements = statements
        self.total: dict[str, int] = {}
        self.rank: dict[str, int] = {}
        self.guessed: dict[str, s.Expression] = {}
        """Stems whose rank is a guess by convention, and where they stand first."""
        self.sizes = {name_key(n.upper) for st in statements for n in st.walk()
                      if isinstance(n, s.Reduction) and isinstance(n.upper, s.Name)}  # fmt: skip
        self.sizes |= set(outline.sizes) | set(outline.labels) | index_letters(list(statements))

    # ------------------------------------------------------------------ what is known

    def shape_of(self, leaf: Leaf) -> Shape | None:
        """What is known of a name's shape here."""
        if leaf.use.kind == "tensor":
            items = leaf.use.reference.items
            if leaf.key in self.total:
                return OF_RANK.get(self.total[leaf.key] - len(items), NUMBER)
            fixed = leaf.key in self.sizes or leaf.key == "π"
            if fixed and not items and leaf.stem not in self.rank:
                return NUMBER
        rank = self.rank.get(leaf.stem)
        return None if rank is None else OF_RANK[rank]

    def set(self, leaf: Leaf, shape: Shape | None) -> None:
        for rank, known in OF_RANK.items():
            if shape == known and self.shape_of(leaf) is None:
                self.rank[leaf.stem] = rank

    # ------------------------------------------------------------------ what follows from what

    def visit(self, node: s.Expression, wanted: Shape | None = None) -> Shape | None:
        """The shape of an expression; what is wanted of it is handed down to what is not known.

        None: not known, or any shape will do (a plain number fits everywhere).
        """
        leaf = self.leaf(node)
        if leaf is not None:
            for argument in leaf.use.call.arguments if leaf.use.call is not None else ():
                self.visit(argument)
            self.set(leaf, wanted)
            return self.shape_of(leaf)
        match node:
            case s.Number():
                return None
            case s.Group(body=body) | s.Negative(body=body) | s.Expectation(body=body):
                return self.visit(body, wanted)
            case s.Transpose(body=body):
                return flip(self.visit(body, flip(wanted)))
            case s.Add(terms=parts) | s.Hadamard(factors=parts):
                return self.same(parts, wanted)
            case s.Cases(branches=branches):
                for condition in (c for _, c in branches if c is not None):
                    self.visit(condition)
                return self.same([value for value, _ in branches], wanted)
            case s.Product(factors=factors):
                return self._product(factors, wanted)
            case s.Fraction(above=above, below=below):
                self.visit(below, NUMBER)
                return self.visit(above, wanted)
            case s.Power(base=base, exponent=exponent):
                self.visit(exponent, NUMBER)
                return self.visit(base, wanted)
            case s.Norm(body=body):
                self.visit(body)
            case s.Reduction(operator="softmax", under=()):
                return self.visit(node.body, wanted)
            case s.Reduction(operator="softmax" | "argmax" | "argmin"):
                self.visit(node.body, NUMBER)
            case s.Reduction(body=body):
                return self.visit(body, wanted)
            case s.Join(parts=parts) | s.ListLiteral(items=parts):
                return self._listed(parts)
            case s.Negation(body=body):
                self.visit(body)
            case (
                s.Comparison(operands=parts)
                | s.Conjunction(parts=parts)
                | s.Disjunction(parts=parts)
            ):
                for part in parts:
                    self.visit(part)
            case s.Call(function=s.Name(base=name), arguments=parts) if name in LIKE_ITS_ARGUMENT:
                return self.same(parts, wanted)
        return NUMBER

    def same(self, parts: Sequence[s.Expression], wanted: Shape | None = None) -> Shape | None:
        """Terms of a sum, sides of an equation: they have one shape."""
        shapes = [self.visit(p) for p in parts]
        known = next((x for x in shapes if x is not None), wanted)
        if known is not None:
            for part in (p for p, x in zip(parts, shapes, strict=True) if x is None):
                self.visit(part, known)
        return known

    def _listed(self, parts: Sequence[s.Expression]) -> Shape:
        if any(isinstance(p, s.ListLiteral) for p in parts):
            return MATRIX
        for part in parts:
            self.visit(part, COLUMN)
        return COLUMN

    def _product(self, factors: Sequence[s.Expression], wanted: Shape | None) -> Shape | None:
        shapes = [NUMBER if _plain(f) else self.visit(f) for f in factors]
        for n, factor in enumerate(factors[1:]):
            leaf = self.leaf(factor)
            last = n + 2 == len(factors) if leaf is None else not leaf.capital
            if shapes[n] == ROW and shapes[n + 1] is None and last:  # `k_i^⊤ q`, `v^⊤ tanh(…)`
                shapes[n + 1] = self.visit(factor, COLUMN)
        if None in shapes:
            self._fit(factors, shapes, wanted)
            shapes = [NUMBER if _plain(f) else self.visit(f) for f in factors]
        known = [x for x in shapes if x is not None]
        if len(known) < len(shapes):
            return None
        try:
            return align(known).shape
        except Mismatch:
            return wanted

    def _fit(
        self, factors: Sequence[s.Expression], shapes: list[Shape | None], wanted: Shape | None
    ) -> None:
        """Tries all shapes of the unknown factors; what fits in one way only has that shape."""
        unknown = {n: self._choices(factors[n]) for n, x in enumerate(shapes) if x is None}
        variables = dict(unknown.values())
        if len(variables) > 4 or (wanted is None and len(unknown) == len(shapes)):
            return
        fits: dict[str, set[Shape]] = {name: set() for name in variables}
        for combination in itertools.product(*variables.values()):
            chosen = dict(zip(variables, combination, strict=True))
            seen = {n: self._seen(factors[n], chosen[name]) for n, (name, _) in unknown.items()}
            tried = [seen[n] if x is None else x for n, x in enumerate(shapes)]
            try:
                shape = align(tried).shape
            except Mismatch:
                continue
            if wanted is None or shape == wanted:
                for name, choice in chosen.items():
                    fits[name].add(choice)
        for n, (name, _) in unknown.items():
            if len(fits[name]) == 1:
                self.visit(factors[n], self._seen(factors[n], next(iter(fits[name]))))

    def _choices(self, factor: s.Expression) -> tuple[str, tuple[Shape, ...]]:
        body = factor.body if isinstance(factor, s.Transpose) else factor
        leaf = self.leaf(body)
        if leaf is None:
            return f"#{id(factor)}", (NUMBER, COLUMN, ROW, MATRIX)
        if leaf.capital is None:
            return leaf.stem, (NUMBER, COLUMN, MATRIX)
        return leaf.stem, (NUMBER, MATRIX) if leaf.capital else (NUMBER, COLUMN)

    def _seen(self, factor: s.Expression, shape: Shape) -> Shape:
        """The shape of a factor whose name has this shape."""
        if isinstance(factor, s.Transpose) and self.leaf(factor.body) is not None:
            return (shape[1], shape[0])
        return shape

    # ------------------------------------------------------------------ the whole program

    def solve(self, document: bool) -> None:
        """Finds a rank for every name; what nothing decides is a number, or goes by convention."""
        for node in self._nodes():
            leaf = self.leaf(node.body) if isinstance(node, s.Transpose) else None
            if leaf is not None and self.shape_of(leaf) is None:
                self.rank[leaf.stem] = 2 if leaf.capital else 1
        self._settle()
        for leaf, _ in self._open():
            if leaf.capital is False and "α" <= leaf.stem[0] <= "ω":
                self._guess(leaf, 0)
        for node in self._nodes():
            if isinstance(node, s.Transpose):
                self.visit(node.body, COLUMN)
            elif isinstance(node, s.Power):
                self.visit(node.base, NUMBER)
        self._settle()
        self._operators()
        if document:
            for leaf, node in self._open():
                if leaf.stem in CONVENTIONAL and leaf.use.kind == "tensor":
                    before = self.conflicts()
                    self._guess(leaf, 1)
                    if self.conflicts() > before:
                        self.rank[leaf.stem] = 0
                    else:
                        self.guessed[leaf.stem] = node
            self._operators()
        for first in (1, 0):  # left sides last: they follow from the right ones
            for leaf, _ in self._open(first):
                self._guess(leaf, 0)

    def _operators(self) -> None:
        """`V x`, `x^⊤ Q y`: a capital before a column is a matrix; what is behind it fits it."""
        products = [node for node in self._nodes() if isinstance(node, s.Product)]
        for node in (*reversed(products), *products):  # the inner ones first
            for before, after in itertools.pairwise(node.factors):
                leaf = self.leaf(before)
                if leaf is not None and leaf.capital and (self.visit(after) or NUMBER)[0]:
                    self._guess(leaf, 2)
                leaf = self.leaf(after)
                letter = leaf is not None and leaf.capital is not None
                if leaf is not None and letter and (self.visit(before) or NUMBER)[1]:
                    self._guess(leaf, 2 if leaf.capital else 1)

    def _guess(self, leaf: Leaf, rank: int) -> None:
        if self.shape_of(leaf) is None:
            self.rank[leaf.stem] = rank
            self._settle()

    def _settle(self) -> None:
        for _ in range(len(self.statements) + 3):
            before = dict(self.rank)
            for sides in self.equations():
                self.same(sides)
            if self.rank == before:
                return

    def equations(self) -> Iterator[list[s.Expression]]:
        """What must have one shape: the sides of equations and claims, a draw and its mean."""
        for statement in self.statements:
            if isinstance(statement, s.Claim):
                yield list(statement.comparison.operands)
            elif isinstance(statement, s.Equation) and statement.relations == ("~",):
                right = statement.sides[1]
                arguments = right.arguments if isinstance(right, s.Call) else ()
                yield [statement.sides[0], *arguments[:1]]
                yield from ([argument] for argument in arguments[1:])
            elif isinstance(statement, s.Equation):
                yield [side for side in statement.sides if not isinstance(side, s.Dots)]

    def conflicts(self) -> int:
        """How many equations have sides of different shapes."""
        count = 0
        for sides in self.equations():
            shapes = {self.visit(side) for side in sides} - {None}
            count += len(shapes) > 1
        return count

    def _nodes(self) -> Iterator[s.Node]:
        for sides in self.equations():
            for side in sides:
                yield from side.walk()

    def _open(self, first: int = 0) -> Iterator[tuple[Leaf, s.Expression]]:
        """The names that have no rank yet, in the order of the text, while it goes on."""
        for sides in self.equations():
            for side in sides[first:]:
                for node in self.values(side):
                    leaf = self.leaf(node)
                    if leaf is not None and self.shape_of(leaf) is None:
                        yield leaf, node


def _plain(node: s.Expression) -> bool:
    """`2`, `1/2`: a number, whatever stands beside it."""
    return not any(isinstance(n, s.Name) for n in node.walk())
