"""What has no place inside an expression in index notation: it gets a name, and equations of its own.

    (X^⊤ X)^{-1} y    →  matrix1^{-1}[d,D] y[D], and matrix1[d,e] = X[F,d] X[F,e]
    D^{-1/2} x        →  root1[d,D'] x[D'], of a diagonal D
    C A^k B           →  … power1[k,d,e] …, which begins with the identity
    x + I y           →  I[d,d'] = cases { 1 if d = d', 0 otherwise }

`emission.py` writes the indices, and asks for these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.program.names.inverses import INVERSE
from indicial.program.names.letters import index_name, is_capital
from indicial.program.vectors.conflicts import Conflicts
from indicial.program.vectors.dimensions import Dimensions
from indicial.program.vectors.kinds import Kinds
from indicial.program.vectors.shapes import Shape, steps_of

Open = tuple[int | None, int | None]
"""The indices at the left and at the right end of an expression, by number."""

CLOSED: Open = (None, None)


class Made(ABC):
    """The equations that were made so far, and the identities among them."""

    def __init__(
        self, kinds: Kinds, conflicts: Conflicts, dimensions: Dimensions, identity: bool
    ) -> None:
        self.kinds = kinds
        self.conflicts = conflicts
        self.dimensions = dimensions
        self.identity = identity
        self.identities: dict[int, Span] = {}
        self.ends_of_sums: dict[s.Name, s.Name] = {}
        """The k of `Σ_{j=0}^{k-1} A^j`, which says how far j goes."""
        self.made: dict[s.Expression, s.Equation] = {}
        """Equations for what has no place inside another one: `W [h; x]` needs one for `[h; x]`."""

    @abstractmethod
    def emit(self, node: s.Expression, ends: Open, top: bool = False) -> s.Expression:
        """The expression with the indices at its ends written out."""

    def restart(self) -> None:
        """Before the second walk."""
        self.made.clear()

    def ends(self, shape: Shape, summed: bool = True) -> Open:
        """New indices for the open ends of a shape."""
        left = self.dimensions.new(summed) if shape[0] else None
        return left, self.dimensions.new(summed) if shape[1] else None

    def _scripts(self, parts: tuple[s.Expression, ...]) -> tuple[s.Expression, ...]:
        """The indices that the parts are written with, other than those that a Σ binds."""
        found: dict[str, s.Name] = {}
        bound: set[str] = set()
        for node in (n for part in parts for n in part.walk()):
            if isinstance(node, s.Reduction):
                bound |= {n.base for n in s.every(node.under, s.Name)}
            if not isinstance(node, s.Name | s.Index | s.Call):
                continue
            use = self.kinds.outline.use(node)
            if use is None or use.kind != "tensor":
                continue
            for name in s.every(use.reference.items, s.Name):
                if index_name(name) is not None and not is_capital(name.base):
                    found.setdefault(name_key(name), name)
        return tuple(x for key, x in found.items() if key not in bound)

    # ------------------------------------------------------------------ inverses

    def _inverse(
        self, node: s.Expression, base: s.Expression, ends: Open, mark: s.Expression = INVERSE
    ) -> s.Expression:
        """`(X^⊤ X)^{-1}`, `exp(Δ A)`: what is inverted gets a name, and an equation."""
        base = s.inner(base)
        letters = [e for e in ends if e is not None]
        if base in self.made:
            left = self.made[base].sides[0]
        else:
            name = s.Name(f"matrix{len(self.made) + 1}", span=node.span)
            items = self._scripts((base,))
            with self.dimensions.inside():
                mine = self.ends((True, True), summed=False)
                own = self.indexed(name, name.base, [e for e in mine if e is not None])
                left = replace(own, items=(*items, *own.items))
                body = self.emit(base, mine, top=True)
                self.made[base] = s.Equation((left, body), ("=",), span=node.span)
        assert isinstance(left, s.Index) and isinstance(left.base, s.Name)
        plain = left.base if len(left.items) == 2 else replace(left, items=left.items[:-2])
        return self._inverted(plain, left.base.base, letters, mark)

    def _inverted(
        self, base: s.Expression, key: str, letters: list[int], mark: s.Expression = INVERSE
    ) -> s.Expression:
        """`A^{-1}[i,j]`: a row of the inverse is a column of the matrix, which is square."""
        self.dimensions.join(*letters)
        found = self.indexed(base, key, letters[::-1])
        assert isinstance(found.base, s.Name)
        name = replace(found.base, sup=(*found.base.sup, replace(mark, span=base.span)))
        outer = found.items[: len(found.items) - 2]
        return s.Index(name, (*outer, *self._letters(letters, base.span)), span=base.span)

    def _rooted(
        self, node: s.Expression, base: s.Expression, key: str, letters: list[int]
    ) -> s.Expression:
        """`D^{-1/2}`, of a diagonal D: a matrix of its own, with the powers of what is on the diagonal."""
        power = self.kinds.leaf(node)
        assert power is not None and power.use.reference.power is not None
        if node not in self.made:
            name = s.Name(f"root{len(self.made) + 1}", span=node.span)
            with self.dimensions.inside():
                one, other = (self.dimensions.new(summed=False) for _ in range(2))
                self.dimensions.join(one, other)
                own = self.indexed(name, name.base, [one, other])
                degree = self.indexed(base, key, [one, one])
                exponent = self.emit(power.use.reference.power, CLOSED)
                body = s.Product(
                    (self._identity([one, other], node.span), s.Power(degree, exponent)),
                    span=node.span,
                )
                self.made[node] = s.Equation((own, body), ("=",), span=node.span)
        left = self.made[node].sides[0]
        assert isinstance(left, s.Index) and isinstance(left.base, s.Name)
        self.dimensions.join(*letters)
        return self.indexed(left.base, left.base.base, letters)

    def _powered(
        self, base: s.Expression, key: str, exponent: s.Expression, letters: list[int]
    ) -> s.Expression:
        """`A^{t-i}`: a tensor that begins with the identity, and is multiplied by A at each step."""
        step, span = steps_of(exponent), base.span
        assert step is not None
        step = self.ends_of_sums.get(step, step)
        # Whether a power was written before shows by what it is multiplied by.
        begins, goes_on = (s.Power(base, by) for by in (s.Number("0"), step))
        if begins not in self.made:
            name = s.Name(f"power{len(self.made) + 1}", span=span)
            with self.dimensions.inside():
                one, other = (self.dimensions.new(summed=False) for _ in range(2))
                middle = self.dimensions.new()
                self.dimensions.join(one, other, middle)
                before = s.Add((step, s.Negative(s.Number("1", span=span))), span=span)

                def at(place: s.Expression, *own: int) -> s.Expression:
                    read = self.indexed(name, name.base, [*own])
                    return replace(read, items=(place, *read.items))

                first = at(s.Number("0", span=span), one, other), self._identity([one, other], span)
                factors = at(before, one, middle), self.indexed(base, key, [middle, other])
                then = at(step, one, other), s.Product(factors, span=span)
                self.made[begins] = s.Equation(first, ("=",), span=span)
                self.made[goes_on] = s.Equation(then, ("=",), span=span)
        left = self.made[begins].sides[0]
        assert isinstance(left, s.Index) and isinstance(left.base, s.Name)
        read = self.indexed(left.base, left.base.base, letters)
        return replace(read, items=(s.inner(exponent), *read.items))

    # ------------------------------------------------------------------ indices

    def indexed(self, node: s.Expression, key: str, letters: list[int]) -> s.Index:
        for position, letter in enumerate(letters):
            self.dimensions.meet(key, position, letter, node.span)
        own = self._letters(letters, node.span)
        if isinstance(node, s.Index):
            return replace(node, items=(*node.items, *own))
        return s.Index(node, own, span=node.span)

    def _letters(self, letters: list[int], span: Span) -> tuple[s.Expression, ...]:
        return tuple(self.dimensions.name(letter, span) for letter in letters)

    # ------------------------------------------------------------------ the identity

    def is_identity(self, node: s.Expression) -> bool:
        return self.identity and node == s.Name("I")

    def _identity(self, letters: list[int], span: Span) -> s.Expression:
        dimension = self.dimensions.join(*letters)
        self.identities.setdefault(dimension, span)
        return s.Index(self._unit(dimension, span), self._letters(letters, span), span=span)

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
            letter = self.dimensions.letter(root, span)
            row = self.dimensions.small(letter)
            pair = (row, replace(row, primes=row.primes + 1))
            same = s.Comparison(pair, ("=",), span=span)
            one, zero = s.Number("1", span=span), s.Number("0", span=span)
            body = s.Cases(((one, same), (zero, None)), span=span)
            left = s.Index(self._unit(root, span), pair, span=span)
            made[root] = s.Equation((left, body), ("=",), span=span)
        return list(made.values())
