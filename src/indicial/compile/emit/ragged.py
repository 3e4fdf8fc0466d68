"""Sizes that differ from example to example, or from layer to layer.

    lengths={"T": [3, 7]}       T is (2,) where it is a number; t runs to 7, and t < T is where it counts
    ⌈T/2^ℓ⌉ with ℓ an axis      t runs to T, and t < ⌈T/2^ℓ⌉ is where it counts

A tensor has room for the longest. Beyond an example's own length stands something finite, which
sums, softmaxes and extremes leave out, and which a read that may reach it replaces by 0.

Flattened indices whose extents vary: each example counts with its own.

z[(k,t)] = x[t,k]       of a text of three words, x[t,k] is the element 3k + t
y[t] = z[(k,t)]         and is found there again

The first of the indices may have any extent, as no index counts with it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from indicial.compile.emit.nodes import INT, Node
from indicial.compile.emit.numbers import NotEmitted, replaced, strided
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.reads import Array, Pick, Where, positions, read
from indicial.compile.emit.values import (
    Environment,
    Value,
    aligned,
    combined,
    expanded,
    merged_axes,
)
from indicial.program import ir
from indicial.program.rewrite import size_indices
from indicial.program.sizes import Atom, Size, Strided


class Ragged:
    """What is known of sizes that vary. `lengths` are the nodes of those that examples tell."""

    def __init__(self, torch: Torch, member: str, lengths: Mapping[str, Node]) -> None:
        self.torch = torch
        self.member = member
        self.lengths = dict(lengths)

    def varies(self, size: Size, env: Environment) -> bool:
        """Whether a size is not the same for all elements."""
        told = self.member in env.ranges and bool(size.names & self.lengths.keys())
        return told or any(name in env.ranges for name in size_indices(size))

    def value(self, size: Size, env: Environment) -> Value:
        """The size as a tensor of whole numbers, over what it varies with."""
        size = env.size(size)
        zero = Value(self.torch.graph.literal(0))
        total: Value | None = None
        for monomial, coefficient in sorted(size.terms, key=lambda term: term[1] < 0):
            product: Value | None = None
            for atom, power in monomial:
                for _ in range(power):
                    piece = self._atom(atom, env)
                    product = piece if product is None else self.binary("*", product, piece, env)
            factor = abs(int(coefficient))
            number = Value(self.torch.graph.literal(factor))
            if product is None:
                product = number
            elif factor != 1:
                product = self.binary("*", number, product, env)
            if total is None:
                total = product if coefficient > 0 else self.binary("-", zero, product, env)
            else:
                total = self.binary("-" if coefficient < 0 else "+", total, product, env)
        return total if total is not None else zero

    def _atom(self, atom: Atom, env: Environment) -> Value:
        base = atom if isinstance(atom, str) else atom.base
        if base in self.lengths and self.member in env.ranges:
            whole = Value(self.lengths[base], (self.member,))
        else:
            whole = Value(self.torch.sizes.node(Size.of(base)))
        if not isinstance(atom, Strided):
            return whole
        return self._strided(atom, whole, env)

    def _strided(self, atom: Strided, whole: Value, env: Environment) -> Value:
        torch = self.torch
        if atom.index in env.ranges:
            index = env.ranges[atom.index]
            node = torch.arange(index.lower + atom.offset, index.extent, INT, "depth")
            if not torch.sizes.certain(index.lower + atom.offset):
                node = torch.at_least_0(node)
            depth = Value(node, (atom.index,))
        else:
            size = (Size.of(atom.index) if atom.index else Size()) + atom.offset
            depth = Value(torch.sizes.node(size))
        dims = merged_axes([whole, depth], env)
        nodes = aligned(torch, whole, dims), aligned(torch, depth, dims)
        node = strided(torch.graph, nodes[0], atom.stride, nodes[1], env.extents(dims))
        return Value(node, dims)

    def binary(self, sign: str, a: Value, b: Value, env: Environment) -> Value:
        """Arithmetic of whole numbers."""
        return combined(self.torch, sign, a, b, env, "length")

    def place(self, place: ir.Affine, env: Environment) -> Value:
        """Index arithmetic with such a size in it, in whole numbers."""
        if not place.terms:
            return self.value(place.offset, env)
        moving = positions(self.torch, ir.Affine(place.terms), env)
        if not place.offset.terms:
            return moving
        return self.binary("+", moving, self.value(place.offset, env), env)

    # ---- masks ----

    def within(self, index: ir.Index, env: Environment) -> Value | None:
        """Where an index is in its own range; None if that is everywhere."""
        if self.varies(index.lower, env):
            raise NotEmitted(f"{index.name} begins at {index.lower}, which varies")
        upper = index.lower + index.extent
        if not self.varies(upper, env):
            return None
        place = Value(
            self.torch.arange(env.ranges[index.name].lower, env.ranges[index.name].extent, INT),
            (index.name,),
        )
        return self.below(place, upper, env)

    def below(self, place: Value, upper: Size, env: Environment) -> Value:
        """Where a place is below a size that varies."""
        return combined(self.torch, "<", place, self.value(upper, env), env, "inside")

    def before_end(self, index: ir.Index, env: Environment) -> Value:
        """Where an index, be it fixed, is in its own range, which varies."""
        at = self.place(env.affine(ir.Affine.of(index)), env)
        return self.below(at, index.lower + index.extent, env)

    def inside(
        self, position: Value, axis: ir.Axis, starts: Sequence[Size], env: Environment
    ) -> Value | None:
        """Where a place lies in the range of an axis, or at the start of a recurrence."""
        upper = axis.lower + axis.extent
        if not self.varies(upper, env):
            return None
        mask = self.below(position, upper, env)
        for start in starts:
            at = combined(self.torch, "==", position, self.value(start, env), env, "inside")
            mask = combined(self.torch, "|", mask, at, env, "inside")
        return mask


def at_letters(size: Size, axes: Collection[ir.Axis], places: Sequence[object]) -> Size:
    """A size of an axis, with the letters of the axes replaced by where they are read."""
    for axis, place in zip(axes, places, strict=True):
        if axis.letter in size_indices(size) and isinstance(place, ir.Affine):
            by = place.offset
            if len(place.terms) == 1 and place.terms[0][1] == 1:
                by = by + Size.of(place.terms[0][0])
            elif place.terms:
                raise NotEmitted(f"{size} at {place}")
            size = replaced(size, axis.letter, by)
    return size


def varies(ragged: Ragged, place: ir.Flat, env: Environment) -> bool:
    """Whether an index of the place counts with an extent that is not the same for all."""
    return any(ragged.varies(index.extent, env) for index in place.indices[1:])


def position(ragged: Ragged, place: ir.Flat, env: Environment) -> Value:
    """`k T + t`, with each example's own T."""
    total: Value | None = None
    for index in place.indices:
        at = env.affine(ir.Affine.of(index))
        digit = ragged.place(ir.Affine(at.terms, at.offset - index.lower), env)
        if total is not None:
            above = ragged.binary("*", total, ragged.value(index.extent, env), env)
            digit = ragged.binary("+", above, digit, env)
        total = digit
    assert total is not None
    return total


def moved_together(
    torch: Torch, ragged: Ragged, value: Value, place: ir.Flat, env: Environment, flat: str
) -> tuple[Value, Environment]:
    """A value over several indices as one over `flat`: the elements of each example, then zeros."""
    names = [index.name for index in place.indices]
    others = [d for d in value.dims if d not in names]
    dims = [*others, *names]
    node = torch.flatten(expanded(torch, value, dims, env), len(others), len(dims) - 1)
    total = math.prod(env.extents(names), start=Size.of(1))
    env = env.bind([ir.Index(flat, Size(), total)])
    rest = Value(torch.arange(Size(), total, INT), (flat,))
    at: Value | None = None
    stride = Size.of(1)
    for name in reversed(names):
        digit = rest
        if name != names[0]:
            own = ragged.value(env.own[name].extent, env)
            digit, rest = ragged.binary("%", rest, own, env), ragged.binary("//", rest, own, env)
        if stride.number != 1:
            digit = ragged.binary("*", digit, Value(torch.sizes.node(stride)), env)
        at = digit if at is None else ragged.binary("+", digit, at, env)
        stride = stride * env.ranges[name].extent
    assert at is not None
    places: list[Where] = [*map(ir.Affine.of, others), Pick(at)]
    bounds = [(env.ranges[d].lower, env.ranges[d].extent) for d in others]
    return read(torch, Array(node, (*bounds, (Size(), total))), places, env), env
