"""Values: nodes whose axes are named by indices; aligning them by name.

    a[t,j] + b[j] + c[t]      →      a + b + c[:, None]

An environment knows the range of every index in scope, and the place at which a loop has fixed an
index.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from indicial.compile.emit.nodes import NUMBER, Node
from indicial.compile.emit.numbers import replaced
from indicial.compile.emit.operations import Torch
from indicial.program.ir import Affine, Flat, Gather, Index, Place
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


def merged(values: Sequence[Value], env: Environment) -> tuple[str, ...]:
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
    dims = merged([a, b], env)
    nodes = aligned(torch, a, dims), aligned(torch, b, dims)
    return Value(torch.graph.binary(sign, *nodes, env.extents(dims), hint), dims)


def expanded(torch: Torch, value: Value, dims: Sequence[str], env: Environment) -> Node:
    """The node with all these axes at their full extent."""
    node = aligned(torch, value, dims)
    return torch.spread(node, env.extents(dims))
