"""Expressions of vector style with their indices written out.

    u_b u_b^⊤ x    with the index d on the left    →    u_b[d] u_b[D] x[D]

Every expression has at most two open ends; whoever asks for it says which indices stand there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.program.names.inverses import EXPONENTIAL
from indicial.program.names.letters import ALL, LAST
from indicial.program.names.naming import activates
from indicial.program.vectors import regular
from indicial.program.vectors.conflicts import Outside
from indicial.program.vectors.leaves import (
    JOINING,
    TRACE,
    Leaf,
    chain,
    elementwise,
    labelled,
    numbered,
    roman,
)
from indicial.program.vectors.made import CLOSED, Made, Open
from indicial.program.vectors.shapes import (
    NUMBER,
    align,
    diagonal,
    dotted,
    fits_all,
    gains,
    inverts,
    ones,
    steps_of,
)
from indicial.program.vectors.tables import NORMALISED


class Emission(Made):
    """Writes indices into expressions whose shapes are known."""

    def emit(self, node: s.Expression, ends: Open, top: bool = False) -> s.Expression:
        """The expression with the indices at its ends written out.

        Whoever asks for more ends than it has (a number beside vectors) gets those it has. `top` says
        that it is a whole side, where a join may stand.
        """
        leaf = self.kinds.leaf(node)
        if leaf is not None:
            return self._name(node, leaf, self._fitting(node, ends))
        if derivatives := chain(node):
            assert isinstance(node, s.Product)
            return self._chain(node, derivatives, self._fitting(node, ends))
        if fits_all(node):
            # `1/√d`: a number, whose d may be the size of an index.
            return regular.rebuilt(node, lambda n: self.emit(n, CLOSED))
        match node:
            case s.Transpose(body=body):
                inner = self.emit(body, (ends[1], ends[0]))
                return node if inner == body else inner  # on what is indexed in full it may stay
            case s.Product():
                return self._product(node, self._fitting(node, ends))
            case s.Fraction(above=above, below=below):
                return self._fraction(node, above, below, ends)
            case s.Power(base=base, exponent=exponent):
                square = sum(self.conflicts.shape(base) or NUMBER) == 2
                if inverts(exponent) and square:
                    return self._inverse(node, base, ends)
                leaf = self.kinds.leaf(base)
                if leaf is not None and square and steps_of(exponent) is not None:
                    plain = self._spelt(base, leaf, raised=False)
                    letters = [e for e in self._fitting(node, ends) if e is not None]
                    return self._powered(plain, leaf.key, exponent, letters)
                return replace(
                    node, base=self.emit(base, ends), exponent=self.emit(exponent, CLOSED)
                )
            case s.Norm(body=body):
                return replace(node, body=self._part(body))
            case s.TupleLiteral(items=(one, two)) if node.inner:
                return self._inner(one, two, node.span)
            case s.Reduction():
                return self._reduction(node, ends)
            case s.Index(base=base, items=items):
                return self._element(node, base, items, ends)
            case s.Group(body=s.Join(parts=parts)) | s.Join(parts=parts):
                return self._join(node, parts, ends, top)
            case s.ListLiteral(items=parts):
                return self._list(node, parts, ends, top)
            case s.Group(body=body):
                inner = self.emit(body, ends)
                return node if inner is body else replace(node, body=inner)
            case s.Comparison() | s.Conjunction() | s.Disjunction() | s.Negation():
                return regular.rebuilt(node, lambda n: self.emit(n, CLOSED))
            case s.Call():
                return self._call(node, ends, top)
            case s.Cases(branches=branches):
                pairs = (
                    (self.emit(v, ends), self.emit(c, CLOSED) if c is not None else None)
                    for v, c in branches
                )
                return replace(node, branches=tuple(pairs))
        return regular.rebuilt(node, lambda n: self.emit(n, ends))

    def _fitting(self, node: s.Expression, ends: Open) -> Open:
        """The ends that the node has: a row that is added to a matrix has the right one."""
        shape = self.conflicts.shape(node) or NUMBER
        return ends[0] if shape[0] else None, ends[1] if shape[1] else None

    def _part(self, node: s.Expression) -> s.Expression:
        """An argument, the inside of a norm: a slice of its own."""
        with self.dimensions.inside():
            shape = self.conflicts.shape(node) or NUMBER
            return self.emit(node, self.ends(shape))

    # ------------------------------------------------------------------ products

    def _product(self, node: s.Product, ends: Open) -> s.Expression:
        factors = node.factors
        shapes = [shape or NUMBER for shape in self.conflicts.factors(node)]
        aligned = align(shapes, dotted(node), gains(node))
        found: dict[tuple[int, int], int | None] = {}
        # A capital in the argument of a function that is only named is a slice: Σ is written out.
        # So it is beside a vector of ones, which has no index to show the sum by.
        named = any(map(activates, s.every(factors, s.Call)))
        silent = not named and not any(map(ones, factors))
        with self.dimensions.inside():
            linked: list[int] = []
            for one, two in aligned.links:
                linked.append(self.dimensions.new(summed=silent))
                found[one] = found[two] = linked[-1]
            if aligned.left is not None:
                found[aligned.left] = ends[0]
            if aligned.right is not None:
                found[aligned.right] = ends[1]
            for one, two in aligned.shared:
                found[two] = found[one]
            parts = tuple(
                self.emit(f, (found.get((n, 0)), found.get((n, 1)))) for n, f in enumerate(factors)
            )
            # `W^⊤ diag(u) v`: both sums are taken around the whole of it. A dot may mean anything.
            flat = (
                p.factors if isinstance(p, s.Product) and not dotted(node) else (p,) for p in parts
            )
            product = replace(node, factors=tuple(f for part in flat for f in part))
            if silent or not linked:
                return product
            names = tuple(self.dimensions.name(n, node.span) for n in linked)
            return s.Reduction("sum", names, None, product, span=node.span)

    def _chain(self, node: s.Product, derivatives: list[s.Name], ends: Open) -> s.Expression:
        """`∂L/∂h ∂h/∂W`: the indices of h are summed, whatever the layout."""
        outer = [e for e in ends if e is not None]
        names = [*derivatives[0].ends, *(d.ends[-1] for d in derivatives[1:])]
        shapes = [self.conflicts.end(name) for name in names]
        with self.dimensions.inside():
            places = [[e for e in self.ends(shape) if e is not None] for shape in shapes]
            if len(derivatives[0].ends) == 1:
                places.insert(0, [])
                places[-1] = outer
            else:
                own = len(places[0])
                places[0], places[-1] = outer[:own], outer[own:]
            parts: list[s.Expression] = []
            for number, derivative in reversed([*enumerate(derivatives)]):
                if self.conflicts.is_diagonal(derivative):  # one index for both ends
                    if not number:
                        raise Outside("the derivative of a column by a column is a matrix")
                    places[number] = places[number + 1]
                leaf = self.kinds.leaf(derivative)
                assert leaf is not None
                for name, here in zip(
                    derivative.ends[::-1], places[number + 1 :: -1], strict=False
                ):
                    self._sized_as(name, here)
                letters = list(dict.fromkeys(places[number] + places[number + 1]))
                base = self._spelt(derivative, leaf, raised=False)
                parts.append(self.indexed(base, leaf.key, letters) if letters else base)
        order = parts if node.factors[0] is derivatives[-1] else parts[::-1]
        return replace(node, factors=tuple(order))

    def _sized_as(self, name: s.Name, letters: list[int]) -> None:
        """The indices of a derivative have the sizes of what it is of and by."""
        leaf = self.kinds.leaf(name)
        for position, letter in enumerate(letters):
            assert leaf is not None
            self.dimensions.meet(leaf.key, position, letter, name.span)

    def _inner(self, one: s.Expression, two: s.Expression, span: Span) -> s.Expression:
        """`⟨a, b⟩`: all indices are shared and summed."""
        with self.dimensions.inside():
            ends = self.ends(self.conflicts.shape(one) or NUMBER)
            factors = tuple(_grouped(self.emit(x, ends)) for x in (one, two))
            return s.Product(factors, span=span)

    def _fraction(
        self, node: s.Fraction, above: s.Expression, below: s.Expression, ends: Open
    ) -> s.Expression:
        size = _size_under_root(below)
        if size is not None and name_key(size) not in self.dimensions.sizes:
            self._size_of_sum(above, size)
        return replace(node, above=self.emit(above, ends), below=self.emit(below, ends))

    def _size_of_sum(self, above: s.Expression, size: s.Name) -> None:
        """`q^⊤ k / √d`: d is the size of what the product sums over."""
        above = s.unsigned(above)
        if not isinstance(above, s.Product) or name_key(size) in self.kinds.outline.defined:
            return
        shapes = [shape or NUMBER for shape in self.conflicts.factors(above)]
        links = align(shapes, dotted(above), gains(above)).links
        if not links:
            return
        (number, end), _ = links[-1]
        place = self._size_at(above.factors[number], end)
        if place is not None:
            self.dimensions.call(size, place)

    def _size_at(self, factor: s.Expression, end: int) -> int | None:
        """The size of the rows or columns of a factor: `(Q W)` has the columns of W."""
        factor = s.inner(factor)
        if isinstance(factor, s.Transpose):
            return self._size_at(factor.body, 1 - end)
        if isinstance(factor, s.Product):
            return self._size_at(factor.factors[-1 if end else 0], end)
        leaf = self.kinds.leaf(factor)
        if leaf is None:
            return None
        matrix = sum(self.kinds.shape_of(leaf)) == 2
        return self.dimensions.place(leaf.key, end if matrix else 0)

    # ------------------------------------------------------------------ functions

    def _upper(self, upper: s.Expression | None) -> s.Expression | None:
        """The d of `Σ_{i=1}^d x_i` beside `x ∈ ℝ^d`: the letter of that size."""
        if not isinstance(upper, s.Name) or name_key(upper) not in self.dimensions.sizes:
            return upper
        if not self._counts_something(name_key(upper)):
            return upper
        return self.dimensions.letter(self.dimensions.sizes[name_key(upper)], upper.span)

    def _counts_something(self, size: str) -> bool:
        """Whether a size is one of an index that is read: of what only a sentence declares it is a number."""
        return self.dimensions.is_read(self.dimensions.sizes[size], self._keys)

    @cached_property
    def _keys(self) -> set[str]:
        return {leaf.key for leaf, _ in self.kinds.leaves(*self.kinds.statements)}

    def _reduction(self, node: s.Reduction, ends: Open) -> s.Expression:
        body = node.body
        if node.operator in ("softmax", "argmax", "argmin") and node.under:
            return replace(node, body=self.emit(body, CLOSED))
        if node.operator == "softmax":
            mine = self._fitting(body, ends)
            if mine == CLOSED:
                return replace(node, body=self.emit(body, CLOSED))
            over = mine[1] if mine[1] is not None else mine[0]
            assert over is not None
            name = self.dimensions.name(over, node.span)
            return replace(node, under=(name,), body=self.emit(body, mine))
        if node.under:
            return replace(node, upper=self._upper(node.upper), body=self.emit(body, ends))
        with self.dimensions.inside():
            shape = self.conflicts.shape(body) or NUMBER
            mine = self.ends(shape)
            names = tuple(self.dimensions.name(e, node.span) for e in mine if e is not None)
            return replace(node, under=names, body=self.emit(body, mine))

    def _element(
        self, node: s.Index, base: s.Expression, items: tuple[s.Expression, ...], ends: Open
    ) -> s.Expression:
        """`softmax(o)_i`: one element of what is computed; `(X)_{i,:}`: one row."""
        shape = self.conflicts.shape(base) or NUMBER
        if shape == NUMBER:
            return node
        placed = iter(items)
        with self.dimensions.inside():
            own = []
            for open_, end in zip(shape, self._fitting(node, ends), strict=True):
                item = next(placed) if open_ else ALL
                own.append(end if item == ALL else self.dimensions.new(pinned=item))
            return _grouped(self.emit(s.inner(base), (own[0], own[1])))

    def _call(self, node: s.Call, ends: Open, top: bool) -> s.Expression:
        name = node.word
        if not node.arguments or node.given is not None:
            return node
        if name in NORMALISED:
            return self._normalised(node, self._fitting(node.arguments[0], ends))
        if name == "exp" and self.conflicts.is_exponential(node):
            return self._inverse(node, node.arguments[0], ends, EXPONENTIAL)
        if elementwise(node):
            function = node.function
            if function.sub:
                function = replace(function, sub=tuple(map(roman, function.sub)))
            arguments = tuple(self.emit(a, ends) for a in node.arguments)
            return replace(node, function=function, arguments=arguments)
        if name in JOINING:
            return self._join(node, node.arguments, ends, top)
        if name in ("diag", "Diag") and len(node.arguments) == 1:
            return self._diagonal(node, ends)
        if name in TRACE and len(node.arguments) == 1:
            with self.dimensions.inside():
                one = self.dimensions.new()
                index = self.dimensions.name(one, node.span)
                body = self.emit(node.arguments[0], (one, one))
                return s.Reduction("sum", (index,), None, body, span=node.span)
        return node

    def _normalised(self, node: s.Call, ends: Open) -> s.Expression:
        """`layernorm(x)` is taken over the last index, which is a slice inside."""
        over = ends[1] if ends[1] is not None else ends[0]
        if over is None:
            return node
        with self.dimensions.inside():
            inner = self.dimensions.new()
            self.dimensions.join(inner, over)
            mine: Open = (ends[0], inner) if ends[1] is not None else (inner, None)
            arguments = tuple(self.emit(a, mine) for a in node.arguments)
            call = replace(node, arguments=arguments)
            return s.Index(call, (self.dimensions.name(over, node.span),), span=node.span)

    def _diagonal(self, node: s.Call, ends: Open) -> s.Expression:
        (body,) = node.arguments
        shape = self.conflicts.shape(body) or NUMBER
        if sum(shape) == 2:
            one = ends[0]
            return self.emit(body, (one, one))
        if ends[0] is None or ends[1] is None:
            return node
        # By the end that stays open: in `k diag(exp(g))` the other is summed around the exp.
        end = ends[1] if ends[0] in self.dimensions.summed else ends[0]
        inner: Open = (end, None) if shape[0] else (None, end)
        unit = self._identity([ends[0], ends[1]], node.span)
        return s.Product((unit, _grouped(self.emit(body, inner))), span=node.span)

    # ------------------------------------------------------------------ joins

    def _list(
        self, node: s.ListLiteral, parts: tuple[s.Expression, ...], ends: Open, top: bool
    ) -> s.Expression:
        if any(isinstance(p, s.ListLiteral) for p in parts) or all(fits_all(p) for p in parts):
            return node
        shapes = [self.conflicts.shape(p) or NUMBER for p in parts]
        if all(shape == NUMBER for shape in shapes):
            return replace(node, items=tuple(self.emit(p, CLOSED) for p in parts))
        return self._join(node, parts, ends, top)

    def _join(
        self, node: s.Expression, parts: tuple[s.Expression, ...], ends: Open, top: bool
    ) -> s.Expression:
        """`[h; x]`: the last index of each part is a slice; inside a product it gets a name."""
        shape = self.conflicts.shape(node) or NUMBER
        if shape == NUMBER:
            return node
        heads = numbered(parts)
        if top and heads is None:
            return s.Join(self._parts(parts, self._fitting(node, ends)), span=node.span)
        name = s.Name(f"join{len(self.made) + 1}", span=node.span)
        written = s.Join(parts)
        if written in self.made:
            left = self.made[written].sides[0]
            assert isinstance(left, s.Index) and isinstance(left.base, s.Name)
            name, items = left.base, left.items[: len(left.items) - sum(shape)]
        else:
            items = self._scripts(parts)
            with self.dimensions.inside():
                mine = self.ends(shape, summed=False)
                letters = [e for e in mine if e is not None]
                if heads is None:
                    body: s.Expression = s.Join(self._parts(parts, mine), span=node.span)
                    own = self.indexed(name, name.base, letters)
                else:
                    body, own, items = self._stacked(heads, name, letters)
                left = replace(own, items=(*items, *own.items))
                self.made[written] = s.Equation((left, body), ("=",), span=node.span)
        used = [e for e in self._fitting(node, ends) if e is not None]
        read = self.indexed(name, name.base, used)
        return replace(read, items=(*items, *read.items))

    def _parts(self, parts: tuple[s.Expression, ...], ends: Open) -> tuple[s.Expression, ...]:
        """The parts of a join, each with a slice at its last end."""
        new: list[s.Expression] = []
        for part in parts:
            with self.dimensions.inside():
                if isinstance(part, s.Dots) or (self.conflicts.shape(part) or NUMBER) == NUMBER:
                    new.append(part if isinstance(part, s.Dots) else self.emit(part, CLOSED))
                    continue
                slice_ = self.dimensions.new()
                inner: Open = (ends[0], slice_) if ends[1] is not None else (slice_, None)
                new.append(self.emit(part, inner))
        return tuple(new)

    def _stacked(
        self, heads: tuple[s.Name, s.Name], name: s.Name, letters: list[int]
    ) -> tuple[s.Expression, s.Index, tuple[s.Expression, ...]]:
        """`head_1, …, head_h`: the last index is that of the head and that in the head."""
        head, index = heads
        one = self.kinds.outline.naming.read(replace(head, sub=(index,)))
        # Where no `head_i` is defined, the i of it would be a part of the name.
        key = one.key if one.items else self.kinds.outline.naming.read(replace(head, sub=())).key
        inner = [*letters[:-1], self.dimensions.new(summed=False)]
        part = s.Index(s.Name(key, span=head.span), (index,), span=head.span)
        body = self.indexed(part, key, inner)
        own = self.indexed(name, name.base, letters)
        pair = s.TupleLiteral((index, body.items[-1]), span=name.span)
        return body, replace(own, items=(*own.items[:-1], pair)), ()

    # ------------------------------------------------------------------ names

    def _name(self, node: s.Expression, leaf: Leaf, ends: Open) -> s.Expression:
        call = leaf.use.call
        if call is not None:
            node = replace(call, arguments=tuple(self._part(a) for a in call.arguments))
        letters = [e for e in ends if e is not None]
        power = leaf.use.reference.power
        is_size = leaf.key in self.dimensions.sizes and self._counts_something(leaf.key)
        if not letters and is_size and power is None:
            return self.dimensions.letter(self.dimensions.sizes[leaf.key], node.span)
        if letters and self.is_identity(node):
            return self._identity(letters, node.span)
        base = self._spelt(node, leaf, raised=power is not None)
        if power is not None and len(letters) == 2 and inverts(power):
            return self._inverted(base, leaf.key, letters)
        if power is not None and len(letters) == 2 and diagonal(leaf.base, power):
            return self._rooted(node, base, leaf.key, letters)
        if power is not None and len(letters) == 2:
            return self._powered(base, leaf.key, power, letters)
        if letters:
            base = self.indexed(base, leaf.key, letters)
        if letters and isinstance(node, s.Name) and node.ends:
            whole = len(letters) == 1 or len(node.ends) == 1
            sized = [name for name in node.ends if self.conflicts.end(name) != NUMBER]
            for number, name in enumerate(sized):
                self._sized_as(name, letters if whole else [letters[number]])
        if power is None or (not letters and base is node):
            return base
        return s.Power(base, self.emit(power, CLOSED), span=node.span)

    def _spelt(self, node: s.Expression, leaf: Leaf, raised: bool) -> s.Expression:
        """A name with all its scripts where they belong: `W_{xh}` is one name, `h_t` is `h[t]`.

        What is read next knows more indices than the text, and must not read `b_h` at one of them.
        """
        name, reference = leaf.base, leaf.use.reference
        plain = not name.sub and not (name.sup and not raised)
        if leaf.use.kind != "tensor" or reference.group is not None or isinstance(node, s.Call):
            return node
        if plain and not raised:
            return node
        if plain and isinstance(node, s.Name):
            return replace(name, sup=())
        bare = labelled(name, leaf)
        items = tuple(map(self._last, reference.items))
        return s.Index(bare, items, span=node.span) if items else bare

    def _last(self, item: s.Expression) -> s.Expression:
        """The T of `h_T` in prose, set apart from the T of `W[j,T]`."""
        last = isinstance(item, s.Name) and item.bare and item.base in LAST
        return s.Group(item, span=item.span) if last and self.kinds.outline.document else item


def _size_under_root(below: s.Expression) -> s.Name | None:
    """The d of `√d`, `√d_k`, `d^{1/2}`."""
    below = s.inner(below)
    if isinstance(below, s.Call) and below.function == s.Name("sqrt"):
        below = below.arguments[0]
        if isinstance(below, s.Name) and below.base in ("d", "D") and not below.sup:
            return below
    return None


def _grouped(node: s.Expression) -> s.Expression:
    """What binds less than a product, in brackets."""
    loose = s.Add | s.Negative | s.Hadamard | s.Reduction | s.Product
    return s.Group(node, span=node.span) if isinstance(node, loose) else node
