"""Values, nodes whose axes are named by indices: aligned by name, multiplied and summed.

    a[t,j] + b[j] + c[t]                a + b + c[:, None]
    Σ_J W[k,i,J] N[t,J]                 F.linear(N, W.flatten(0, 1)).unflatten(-1, (K, I))
    Σ_T α[k,t,T] Value[k,T,i]           α @ Value
    Σ_{I,J} e[w,I] W[I,J] h[t,J]        first W with h, then e: the fewest multiplications

An environment knows the range of every index in scope, and the place at which a loop has fixed an
index.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from string import ascii_letters

from indicial.compile.emit.nodes import NUMBER, Node
from indicial.compile.emit.numbers import replaced
from indicial.compile.emit.operations import Torch
from indicial.program.ir import Affine, Expression, Flat, Gather, Index, Place
from indicial.program.moving import moved_affine
from indicial.program.rewrite import size_indices
from indicial.program.sizes import Size


@dataclass(frozen=True)
class Value:
    """A node with the names of its axes."""

    node: Node
    dims: tuple[str, ...] = ()


@dataclass(frozen=True)
class Environment:
    """The indices in scope: `ranges` those that are axes, outermost first; `fixed` the others."""

    ranges: dict[str, Index] = field(default_factory=dict)
    fixed: dict[str, Affine] = field(default_factory=dict)
    own: dict[str, Index] = field(default_factory=dict)
    """Their ranges as the program says; in `ranges` one that varies has its largest extent."""
    mask: Value | None = None
    """Where the value counts; elsewhere it may be anything, but nothing that spoils a gradient."""

    def bind(self, indices: Iterable[Index]) -> Environment:
        """With these indices as axes."""
        ranges, fixed, own = dict(self.ranges), dict(self.fixed), dict(self.own)
        mask = self.mask
        for index in indices:
            if mask is not None and index.name in mask.dims:
                mask = None  # it spoke of another index of that name
            lower, extent = self.size(index.lower), self.size(index.extent)
            ranges.pop(index.name, None)
            fixed.pop(index.name, None)
            own[index.name] = Index(index.name, lower, extent)
            ranges[index.name] = Index(index.name, lower, _largest(extent, ranges))
        return Environment(ranges, fixed, own, mask)

    def where(self, mask: Value | None) -> Environment:
        return replace(self, mask=mask)

    def place(self, place: Place) -> Place:
        """A place with the indices that are fixed put in."""
        if isinstance(place, Gather):
            return place
        if isinstance(place, Flat):
            return Flat(
                tuple(Index(i.name, self.size(i.lower), self.size(i.extent)) for i in place.indices)
            )
        return self.affine(place)

    def affine(self, place: Affine) -> Affine:
        """The same of index arithmetic."""
        moved = moved_affine(place, self.fixed)
        return Affine(moved.terms, self.size(moved.offset))

    def size(self, size: Size) -> Size:
        """A size with the depths of its strides put in."""
        for name in size_indices(size):
            if name in self.fixed and not self.fixed[name].terms:
                size = replaced(size, name, self.fixed[name].offset)
        return size

    def extents(self, dims: Iterable[str]) -> list[Size]:
        return [self.ranges[d].extent for d in dims]


def _largest(extent: Size, ranges: Mapping[str, Index]) -> Size:
    """What a stride leaves is most where its depth is least."""
    for name in size_indices(extent):
        if name in ranges:
            extent = replaced(extent, name, ranges[name].lower)
    return extent


def merged_axes(values: Sequence[Value], env: Environment) -> tuple[str, ...]:
    """The axes of an elementwise result: those of a value that has them all, or as in scope."""
    union = dict.fromkeys(d for v in values for d in v.dims)
    for value in sorted(values, key=lambda v: -len(v.dims)):
        if len(value.dims) == len(union):
            return value.dims
    return tuple(d for d in env.ranges if d in union)


def aligned(torch: Torch, value: Value, dims: Sequence[str]) -> Node:
    """The node, with its axes in this order and new ones where it lacks some; none in front."""
    if value.node.kind == NUMBER:
        return value.node
    present = [d for d in dims if d in value.dims]
    node = torch.permute(value.node, [value.dims.index(d) for d in present])
    if not present:
        return node
    first = list(dims).index(present[0])
    missing = [n - first for n, d in enumerate(dims) if n > first and d not in value.dims]
    return torch.unsqueeze(node, missing)


def combined(
    torch: Torch, sign: str, a: Value, b: Value, env: Environment, hint: str = ""
) -> Value:
    """`a + b`, with the axes of both."""
    dims = merged_axes([a, b], env)
    nodes = aligned(torch, a, dims), aligned(torch, b, dims)
    return Value(torch.graph.binary(sign, *nodes, env.extents(dims), hint), dims)


def expanded(torch: Torch, value: Value, dims: Sequence[str], env: Environment) -> Node:
    """The node with all these axes at their full extent."""
    node = aligned(torch, value, dims)
    return torch.spread(node, env.extents(dims))


USUAL = 64
"""How large a size is taken to be where nobody says."""


@dataclass(frozen=True)
class Factor:
    """A factor, or a divisor; a mask is one that is multiplied by choosing."""

    value: Value
    divides: bool = False
    mask: bool = False
    sources: tuple[Expression, ...] = ()
    """The expressions that were multiplied, and whether more was done than to evaluate one."""
    made: bool = True

    @property
    def dims(self) -> set[str]:
        return set(self.value.dims)


MANY = 16
"""Up to so many factors every order is looked at."""


Called = Callable[[Factor, Factor, Collection[str], Environment], Value | None]


@dataclass(frozen=True)
class Contraction:
    """Sums of products, in one environment."""

    torch: Torch
    env: Environment
    usual: dict[str, int]
    called: Called | None = None
    """What a library has a call for."""

    def sum(self, factors: Sequence[Factor], summed: Collection[str]) -> Value:
        """The product of all factors, summed over some indices."""
        left = self._gathered([self._alone(f, factors, summed) for f in self._gathered(factors)])
        while len(left) > 1:
            one, two = self._cheapest(left, summed)
            rest = [f for f in left if f is not one and f is not two]
            outside = set(summed) - {d for f in rest for d in f.dims}
            value = self.pair(one, two, outside & (one.dims | two.dims))
            product = Factor(value, sources=(*one.sources, *two.sources))
            first = min(left.index(one), left.index(two))
            left = [*rest[:first], product, *rest[first:]]
        (last,) = left
        return self._total(self._plain(last), [d for d in last.value.dims if d in summed])

    def _gathered(self, factors: Sequence[Factor]) -> list[Factor]:
        """Of very many, those with the same indices as one factor: all pairs are too many to try."""
        if len(factors) <= MANY:
            return list(factors)
        groups: dict[object, list[Factor]] = {}
        for factor in factors:
            odd = factor.mask or factor.divides
            groups.setdefault(id(factor) if odd else frozenset(factor.dims), []).append(factor)
        for group in groups.values():
            while len(group) > 1:  # two by two, so that no chain is long
                pairs = [group[at : at + 2] for at in range(0, len(group), 2)]
                group[:] = [
                    Factor(self.pair(pair[0], pair[1], ())) if len(pair) > 1 else pair[0]
                    for pair in pairs
                ]
        return [factor for (factor,) in groups.values()]

    def _alone(self, factor: Factor, factors: Sequence[Factor], summed: Collection[str]) -> Factor:
        """Sum over what no other factor has."""
        if factor.mask or factor.divides:
            return factor
        others = {d for f in factors if f is not factor for d in f.dims}
        own = [d for d in factor.value.dims if d in summed and d not in others]
        return Factor(self._total(factor.value, own)) if own else factor

    def _total(self, value: Value, names: Sequence[str]) -> Value:
        if not names:
            return value
        axes = [value.dims.index(d) for d in names]
        kept = tuple(d for d in value.dims if d not in names)
        return Value(self.torch.reduce("sum", value.node, sorted(axes)), kept)

    def _cheapest(self, left: Sequence[Factor], summed: Collection[str]) -> tuple[Factor, Factor]:
        def cost(pair: tuple[Factor, Factor]) -> tuple[float, float]:
            one, two = pair
            rest = {d for f in left if f not in pair for d in f.dims}
            union = one.dims | two.dims
            result = {d for d in union if d not in summed or d in rest}
            # A mask or a divisor goes to a factor, not to another of its kind.
            early = all(factor.mask or factor.divides for factor in pair)
            work = self._volume(union) + (math.inf if early else 0)
            # What is multiplied must be read and what results must be written.
            return work, self._volume(result) - self._volume(one.dims) - self._volume(two.dims)

        return min(combinations(left, 2), key=cost)

    def _volume(self, dims: Collection[str]) -> float:
        return math.prod(self._size(self.env.ranges[d].extent) for d in dims)

    def _size(self, size: Size) -> int:
        if size.number is not None:
            return int(size.number)
        names = {n: self.usual.get(n, USUAL) for n in size.names}
        depths = dict.fromkeys(size.names, 1)
        try:
            return max(1, size.value(names, depths))
        except (KeyError, ValueError):
            return USUAL

    # ---- two factors ----

    def pair(self, one: Factor, two: Factor, summed: Collection[str]) -> Value:
        if one.mask or one.divides:
            one, two = two, one
        if one.value.node.kind == NUMBER:
            one, two = (two, one) if not two.divides else (one, two)
        if two.mask:
            masked = self._masked(one, two)
            return self._total(masked, [d for d in masked.dims if d in summed])
        common = one.dims & two.dims & set(summed)
        if not common or two.divides:
            product = self._times(self._plain(one), two.value, "/" if two.divides else "*")
            return self._total(product, [d for d in product.dims if d in summed])
        product = self._product(self._plain(one), two.value, common)
        found = self.called(one, two, common, self.env) if self.called is not None else None
        if found is None:
            return product
        order = [found.dims.index(d) for d in product.dims]
        return Value(self.torch.permute(found.node, order), product.dims)

    def _plain(self, factor: Factor) -> Value:
        if factor.mask:
            return Value(self.torch.floating(factor.value.node), factor.value.dims)
        if factor.divides:
            one = Value(self.torch.graph.literal(1))
            return self._times(one, factor.value, "/")
        return factor.value

    def _masked(self, one: Factor, mask: Factor) -> Value:
        value = self._plain(one)
        dims = merged_axes([value, mask.value], self.env)
        nodes = [aligned(self.torch, v, dims) for v in (mask.value, value)]
        zero = self.torch.graph.literal(0)
        where = self.torch.where(nodes[0], nodes[1], zero, self.env.extents(dims))
        return Value(where, dims)

    def _times(self, a: Value, b: Value, sign: str) -> Value:
        return combined(self.torch, sign, a, b, self.env, "product")

    def _product(self, a: Value, b: Value, summed: Collection[str]) -> Value:
        both = [d for d in a.dims if d in b.dims and d not in summed]
        if set(a.dims) == set(b.dims):
            return self._total(self._times(a, b, "*"), [d for d in a.dims if d in summed])
        if not both:
            if (self._weight(b), len(a.dims)) < (self._weight(a), len(b.dims)):
                a, b = b, a
            linear = self._linear(a, b, summed)
            if linear is not None:
                return linear
        order = list(self.env.ranges)
        rows, columns = ([order.index(d) for d in v.dims if d not in both] for v in (a, b))
        if both and rows > columns:
            a, b = b, a  # so that the result has its axes as the left side has them
        return self._matmul(a, b, both, summed) or self._einsum(a, b, summed)

    def _weight(self, value: Value) -> bool:
        """Whether it lacks the outermost index, that of the batch."""
        return next(iter(self.env.ranges), None) not in value.dims

    def _linear(self, a: Value, b: Value, summed: Collection[str]) -> Value | None:
        """`F.linear(a, b)`: the summed axes last in a, and first or last in b."""
        torch = self.torch
        order = [d for d in a.dims if d in summed]
        if list(a.dims[-len(order) :]) != order:
            return None
        out = [d for d in b.dims if d not in summed]
        count = len(order)
        x = torch.flatten(a.node, a.node.rank - count, a.node.rank - 1)
        kept = a.dims[:-count]
        shape = [*self.env.extents(kept), math.prod(self.env.extents(out), start=Size.of(1))]
        if list(b.dims) == [*out, *order]:
            w = torch.flatten(b.node, len(out), b.node.rank - 1)
            w = torch.flatten(w, 0, len(out) - 1)
            if not out:
                return Value(self._at(x, w, self.env.extents(kept)), kept)
            node = torch.linear(x, w)
        elif list(b.dims) == [*order, *out]:
            w = torch.flatten(b.node, count, b.node.rank - 1)
            w = torch.flatten(w, 0, count - 1)
            node = self._at(x, w, shape)
        else:
            return None
        if len(out) > 1:
            node = torch.unflatten(node, len(kept), self.env.extents(out))
        return Value(node, (*kept, *out))

    def _at(self, x: Node, w: Node, shape: Sequence[Size]) -> Node:
        return self.torch.graph.binary("@", x, w, shape, "product")

    def _matmul(
        self, a: Value, b: Value, both: Sequence[str], summed: Collection[str]
    ) -> Value | None:
        """`a @ b` where the axes that both keep come first, and in one order."""
        if len(summed) != 1 or not both:
            return None
        (inner,) = summed
        count = len(both)
        if list(a.dims[:count]) != list(both) or list(b.dims[:count]) != list(both):
            return None
        if len(a.dims) != count + 2 or len(b.dims) != count + 2:
            return None
        x = a.node if a.dims[-1] == inner else self.torch.turned(a.node)
        y = b.node if b.dims[-2] == inner else self.torch.turned(b.node)
        rows = next(d for d in a.dims[count:] if d != inner)
        columns = next(d for d in b.dims[count:] if d != inner)
        dims = (*both, rows, columns)
        return Value(self._at(x, y, self.env.extents(dims)), dims)

    def _einsum(self, a: Value, b: Value, summed: Collection[str]) -> Value:
        union = dict.fromkeys((*a.dims, *b.dims))
        dims = tuple(d for d in self.env.ranges if d in union and d not in summed)
        letters = _letters(union)
        left, right, result = ("".join(letters[d] for d in v) for v in (a.dims, b.dims, dims))
        node = self.torch.einsum(a.node, b.node, (left, right, result), self.env.extents(dims))
        return Value(node, dims)


def _letters(names: Collection[str]) -> dict[str, str]:
    """A letter for each index, its own if nobody else has it."""
    found: dict[str, str] = {}
    for name in names:
        wanted = name[0].lower() if name[0].lower() in ascii_letters else ""
        free = [c for c in (wanted, *ascii_letters) if c and c not in found.values()]
        found[name] = free[0]
    return found
