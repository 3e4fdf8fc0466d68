"""Expressions of vector style with their indices written out.

    u_b u_b^⊤ x    with the index D on the left    →    u_b[D] u_b[D'] x[D']

Every expression has at most two open ends; whoever asks for it says which indices stand there.
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.source import Span
from indicial.program.vectors import transposes
from indicial.program.vectors.alignment import NUMBER, Shape, align
from indicial.program.vectors.conflicts import Conflicts, fits_all
from indicial.program.vectors.dimensions import Dimensions
from indicial.program.vectors.leaves import Leaf
from indicial.program.vectors.ranks import LIKE_ITS_ARGUMENT, Ranks

Open = tuple[int | None, int | None]
"""The indices at the left and at the right end of an expression, by number."""

CLOSED: Open = (None, None)


class Emission:
    """Writes indices into expressions whose ranks are known."""

    def __init__(
        self, ranks: Ranks, conflicts: Conflicts, dimensions: Dimensions, identity: bool
    ) -> None:
        self.ranks = ranks
        self.conflicts = conflicts
        self.dimensions = dimensions
        self.identity = identity
        self.identities: dict[int, Span] = {}

    def ends(self, shape: Shape) -> Open:
        """New indices for the open ends of a shape."""
        left = self.dimensions.new() if shape[0] else None
        return left, self.dimensions.new() if shape[1] else None

    def emit(self, node: s.Expression, ends: Open) -> s.Expression:
        """The expression with the indices at its ends written out."""
        leaf = self.ranks.leaf(node)
        if leaf is not None:
            return self._name(node, leaf, ends)
        if fits_all(node):
            return node
        match node:
            case s.Transpose(body=body):
                inner = self.emit(body, (ends[1], ends[0]))
                return node if inner == body else inner  # on what is indexed in full it may stay
            case s.Product(factors=factors):
                return replace(node, factors=self._product(factors, ends))
            case s.Fraction(above=above, below=below):
                return replace(node, above=self.emit(above, ends), below=self.emit(below, CLOSED))
            case s.Power(base=base, exponent=exponent):
                return replace(
                    node, base=self.emit(base, ends), exponent=self.emit(exponent, CLOSED)
                )
            case s.Norm(body=body):
                return replace(node, body=self._part(body))
            case s.Reduction(operator="softmax" | "argmax" | "argmin", under=(_, *_), body=body):
                return replace(node, body=self._part(body))
            case s.Reduction(operator="softmax", body=body) if ends != CLOSED:
                over = ends[1] if ends[1] is not None else ends[0]
                assert over is not None
                name = self.dimensions.name(over, node.span)
                return replace(node, under=(name,), body=self.emit(body, ends))
            case s.Join(parts=parts):
                return replace(node, parts=tuple(self._part(p) for p in parts))
            case s.ListLiteral(items=parts) if any(isinstance(n, s.Name) for n in node.walk()):
                return replace(node, items=tuple(self._part(p) for p in parts))
            case s.Comparison() | s.Conjunction() | s.Disjunction() | s.Negation():
                return transposes.rebuilt(node, lambda n: self.emit(n, CLOSED))
            case s.Call(function=s.Name(base=name)) if name not in LIKE_ITS_ARGUMENT:
                return node
            case s.Cases(branches=branches):
                pairs = (
                    (self.emit(v, ends), self.emit(c, CLOSED) if c is not None else None)
                    for v, c in branches
                )
                return replace(node, branches=tuple(pairs))
        return transposes.rebuilt(node, lambda n: self.emit(n, ends))

    def _part(self, node: s.Expression) -> s.Expression:
        """A part of a joined vector, an argument, the inside of a norm: a slice of its own."""
        with self.dimensions.inside():
            shape = self.conflicts.shape(node) or NUMBER
            return self.emit(node, self.ends(shape))

    def _product(self, factors: tuple[s.Expression, ...], ends: Open) -> tuple[s.Expression, ...]:
        aligned = align([self.conflicts.shape(f) or NUMBER for f in factors])
        left: dict[int, int | None] = {}
        right: dict[int, int | None] = {}
        with self.dimensions.inside():
            for one, two in aligned.links:
                right[one] = left[two] = self.dimensions.new()
            if aligned.left is not None:
                left[aligned.left] = ends[0]
            if aligned.right is not None:
                right[aligned.right] = ends[1]
            return tuple(self.emit(f, (left.get(n), right.get(n))) for n, f in enumerate(factors))

    def _name(self, node: s.Expression, leaf: Leaf, ends: Open) -> s.Expression:
        call = leaf.use.call
        if call is not None:
            node = replace(call, arguments=tuple(self._part(a) for a in call.arguments))
        letters = [e for e in ends if e is not None]
        if not letters:
            return node
        if self.is_identity(node):
            dimension = self.dimensions.join(*letters)
            self.identities.setdefault(dimension, node.span)
            unit = self._unit(dimension, node.span)
            return s.Index(unit, self._letters(letters, node.span), span=node.span)
        power = leaf.use.reference.power
        if power is not None:
            base = self.indexed(_without_power(node), leaf.key, letters)
            return s.Power(base, power, span=node.span)
        return self.indexed(node, leaf.key, letters)

    def indexed(self, node: s.Expression, key: str, letters: list[int]) -> s.Expression:
        for position, letter in enumerate(letters):
            self.dimensions.meet(key, position, letter, node.span)
        return s.Index(node, self._letters(letters, node.span), span=node.span)

    def _letters(self, letters: list[int], span: Span) -> tuple[s.Expression, ...]:
        return tuple(self.dimensions.name(letter, span) for letter in letters)

    # ------------------------------------------------------------------ the identity

    def is_identity(self, node: s.Expression) -> bool:
        return self.identity and node == s.Name("I")

    def _unit(self, dimension: int, span: Span) -> s.Name:
        """`I`; or `I_{size2}` for another size than the first."""
        roots = list(dict.fromkeys(self.dimensions.root(d) for d in self.identities))
        number = roots.index(self.dimensions.root(dimension))
        return s.Name("I", sub=(s.Name(f"size{number + 1}"),) if number else (), span=span)

    def unit_matrices(self) -> list[s.Statement]:
        made: dict[int, s.Statement] = {}
        for dimension, span in list(self.identities.items()):
            root = self.dimensions.root(dimension)
            if root in made:
                continue
            row = self.dimensions.letter(root, span)
            pair = (row, replace(row, primes=row.primes + 1))
            same = s.Comparison(pair, ("=",), span=span)
            one, zero = s.Number("1", span=span), s.Number("0", span=span)
            body = s.Cases(((one, same), (zero, None)), span=span)
            left = s.Index(self._unit(root, span), pair, span=span)
            made[root] = s.Equation((left, body), ("=",), span=span)
        return list(made.values())


def _without_power(node: s.Expression) -> s.Expression:
    if isinstance(node, s.Name):
        return replace(node, sup=())
    assert isinstance(node, s.Index | s.Call)
    if isinstance(node, s.Index):
        return replace(node, base=_without_power(node.base))
    return replace(node, function=_without_power(node.function))
