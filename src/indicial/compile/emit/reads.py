"""An array at places: slices where that is enough, index tensors where it is not; and arrays made of values.

    x[t-1, k]       F.pad(x, (0, 0, 1, 0))[:, :T]       outside is 0
    r[k, t_1-t_2]   take(r, 1, t[:, None] - t + 32)     any index arithmetic
    e[w[t], j]      embedding(w, e)                     no token gives 0
    P[t, w[t]]      P.gather(-1, …).squeeze(-1)         no token gives 1

`Array` is an array whose axes begin anywhere: a tensor of the program, a softmax, a join. On a left side a
value becomes one, with an axis for each place: `h[-1,j]` has one of extent 1 that begins at -1, and
`ĥ[t,(k,i)]` one for two indices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from indicial.compile.emit.nodes import ALL, FLOAT, INDEXED, INT, Node, Slice, letter
from indicial.compile.emit.operations import NEW, ONE_ELEMENT, IndexItem, Torch
from indicial.compile.emit.values import (
    Environment,
    Value,
    aligned,
    combined,
    expanded,
    merged_axes,
)
from indicial.program.cost.conditions import joined
from indicial.program.ir import Affine, Apply, Flat, Index, IndexValue, Statement
from indicial.program.sizes import Size


@dataclass(frozen=True)
class Pick:
    """Positions along an axis; where they are inside it, and where there is a token at all."""

    position: Value
    inside: Value | None = None
    present: Value | None = None
    values: Size | None = None
    """Of a token: it is below this."""


Bounds = tuple[Size, Size]
"""The first value of an index, and how many there are."""
Where = Affine | Flat | Pick


@dataclass(frozen=True)
class Array:
    """A node, and for each axis the index values that it holds."""

    node: Node
    bounds: tuple[Bounds, ...]


@dataclass
class _Reading:
    """What is left of the array: for each axis the index that it is, or how it is to be read."""

    node: Node
    labels: list[str | tuple[Where, Bounds]]


def read(
    torch: Torch, array: Array, places: Sequence[Where], env: Environment, absent: float = 0.0
) -> Value:
    """The array at these places; 0 (no token) outside, `absent` where a token is none."""
    left = _sliced(torch, array, places, env)
    picks: dict[int, Pick] = {}
    for axis, label in enumerate(left.labels):
        if not isinstance(label, str):
            place, bounds = label
            picks[axis] = pick(torch, place, bounds, env)
    names = [label if isinstance(label, str) else None for label in left.labels]
    return _Picking(torch, left.node, names, picks, env, absent).value()


def _sliced(torch: Torch, array: Array, places: Sequence[Where], env: Environment) -> _Reading:
    """Numbers, indices and flattened indices, each once, are slices; the rest is left to do."""
    items: list[IndexItem] = []
    labels: list[str | tuple[Where, Bounds]] = []
    later: list[tuple[int, Where]] = []
    met = {d for p in places if isinstance(p, Pick) for d in p.position.dims}
    met |= {d for p in places if isinstance(p, Affine) and not _lone(p) for d, _ in p.terms}
    for place, (lower, extent) in zip(places, array.bounds, strict=True):
        item: IndexItem = ALL
        label: str | tuple[Where, Bounds] = (place, (lower, extent))
        if isinstance(place, Affine) and not place.terms:
            at = place.offset - lower
            if torch.sizes.certain(at) and torch.sizes.certain(extent - 1 - at):
                items.append(torch.sizes.node(at))
                continue
            later.append((len(labels), Affine((), at)))
        elif isinstance(place, Affine) and _lone(place) and place.terms[0][0] not in labels:
            label = place.terms[0][0]
            index = env.ranges[label]
            start = index.lower + place.offset - lower
            cut = _slice(torch, start, index.extent, extent)
            item = cut or ALL
            if cut is None:
                later.append((len(labels), Affine(place.terms, start)))
        elif isinstance(place, Flat) and _whole(
            place, lower, extent, env, met | {*map(str, labels)}
        ):
            later.append((len(labels), place))
        items.append(item)
        labels.append(label)
    node = torch.index(array.node, items)
    for axis, place in reversed(later):
        if isinstance(place, Flat):
            node = torch.unflatten(node, axis, env.extents(i.name for i in place.indices))
            labels[axis : axis + 1] = [i.name for i in place.indices]
        elif isinstance(place, Affine) and place.terms:
            extent = env.ranges[place.terms[0][0]].extent
            node = _window(torch, node, axis, place.offset, extent)
        elif isinstance(place, Affine):
            node = _element(torch, node, axis, place.offset)
            del labels[axis]
    return _Reading(node, labels)


def _lone(place: Affine) -> bool:
    """One index and an offset."""
    return len(place.terms) == 1 and place.terms[0][1] == 1


def _whole(place: Flat, lower: Size, extent: Size, env: Environment, others: set[str]) -> bool:
    """Whether flattened indices cover the axis just so, each an axis that is met nowhere else."""
    names = [i.name for i in place.indices]
    if len(set(names)) < len(names) or any(n not in env.ranges or n in others for n in names):
        return False
    ranges = [env.ranges[n] for n in names]
    same = all(
        r.extent == i.extent and r.lower == i.lower
        for r, i in zip(ranges, place.indices, strict=True)
    )
    total = math.prod((r.extent for r in ranges), start=ONE_ELEMENT)
    return same and lower.number == 0 and (total - extent).number == 0


def _slice(torch: Torch, start: Size, length: Size, extent: Size) -> Slice | None:
    """What a window is if it certainly lies inside."""
    over = start + length - extent
    if start.number == 0 and over.number == 0:
        return ALL
    if not torch.sizes.certain(start) or not torch.sizes.certain(-over):
        return None
    return Slice(
        None if start.number == 0 else torch.sizes.node(start),
        None if over.number == 0 else torch.sizes.node(start + length),
        length,
    )


def _window(torch: Torch, x: Node, axis: int, start: Size, length: Size) -> Node:
    """A window that reaches outside, or may do so."""
    sizes = torch.sizes
    shape = [*x.shape[:axis], length, *x.shape[axis + 1 :]]
    over = start + length - x.shape[axis]
    if start.number is None or over.number is None:
        ends = sizes.node(start), sizes.node(length)
        return torch.helper("window", x, axis, *ends, shape=shape, kind=x.kind, hint="near")
    before, after = max(0, -int(start.number)), max(0, int(over.number))
    literal = torch.graph.literal
    padded = torch.pad(x, axis, Size.of(before), Size.of(after))
    first = int(start.number) + before
    last = int(over.number) < after
    cut = Slice(
        literal(first) if first else None, sizes.node(length + first) if last else None, length
    )
    if not first and not last:
        return padded
    return torch.index(padded, [*[ALL] * axis, cut])


def _element(torch: Torch, node: Node, axis: int, at: Size) -> Node:
    """An element that may lie outside."""
    shape = [*node.shape[:axis], *node.shape[axis + 1 :]]
    place = torch.sizes.node(at)
    return torch.helper("element", node, axis, place, shape=shape, kind=node.kind, hint="found")


def separated(statement: Statement) -> Statement:
    """`A[i,i] = x[i]` → `A[i,i'] = x[i] where i' = i`: each index on the left once."""
    seen: set[str] = set()
    left: list[Affine | Flat] = []
    indices = list(statement.indices)
    guards = [statement.guard] if statement.guard is not None else []

    def once(index: Index) -> Index:
        if index.name not in seen:
            seen.add(index.name)
            return index
        new = replace(index, name=f"{index.name}′{len(indices)}")
        indices.append(new)
        sides = IndexValue(Affine.of(new)), IndexValue(Affine.of(index))
        guards.append(Apply("=", sides))
        return new

    for place in statement.left:
        if isinstance(place, Flat):
            left.append(Flat(tuple(map(once, place.indices))))
        elif place.terms:
            ((name, factor),) = place.terms
            index = once(statement.scope[name])
            left.append(Affine(((index.name, factor),), place.offset))
        else:
            left.append(place)
    if len(indices) == len(statement.indices):
        return statement
    return replace(statement, left=tuple(left), indices=tuple(indices), guard=joined(guards))


def shaped(torch: Torch, value: Value, places: Sequence[Affine | Flat], env: Environment) -> Array:
    """A value as an array with an axis for each place."""
    names = [n for place in places for n in _names(place)]
    node = torch.scalar(expanded(torch, value, names, env))
    items: list[IndexItem] = []
    bounds: list[Bounds] = []
    axis = 0
    for place in places:
        bounds.append(bounds_of(place, env))
        if isinstance(place, Affine) and not place.terms:
            items.append(NEW)
            continue
        if isinstance(place, Flat):
            node = torch.flatten(node, axis, axis + len(place.indices) - 1)
        elif place.terms[0][1] < 0:
            node = torch.flip(node, axis)
        items.append(ALL)
        axis += 1
    return Array(torch.index(node, items), tuple(bounds))


def bounds_of(place: Affine | Flat, env: Environment) -> Bounds:
    """The elements along an axis that a place on the left reaches."""
    if isinstance(place, Flat):
        total = math.prod((env.ranges[i.name].extent for i in place.indices), start=Size.of(1))
        return Size(), total
    low, high = place.ends(env.ranges)
    return low, high - low + 1


def _names(place: Affine | Flat) -> list[str]:
    if isinstance(place, Flat):
        return [i.name for i in place.indices]
    return [name for name, _ in place.terms]


def pick(
    torch: Torch, place: Affine | Flat | Pick, bounds: tuple[Size, Size], env: Environment
) -> Pick:
    """A place as positions along an axis with these bounds."""
    lower, extent = bounds
    if isinstance(place, Pick):
        return _token(torch, place, lower, extent)
    if isinstance(place, Flat):
        # Digits may lie outside their ranges, so nothing is certain about the position.
        position = _moved(torch, _flat(torch, place, env), -lower)
        return Pick(position, inside(torch, position, extent))
    position = positions(torch, Affine(place.terms, place.offset - lower), env)
    low, high = place.ends(env.ranges)
    sizes = torch.sizes
    if sizes.certain(low - lower) and sizes.certain(lower + extent - 1 - high):
        return Pick(position)
    return Pick(position, inside(torch, position, extent))


def inside(torch: Torch, position: Value, extent: Size) -> Value:
    node = position.node
    above = torch.graph.binary(">=", node, torch.graph.literal(0), node.shape, "mask")
    below = torch.graph.binary("<", node, torch.sizes.node(extent), node.shape, "mask")
    both = torch.both(above, below, node.shape)
    assert both is not None
    return Value(both, position.dims)


def _token(torch: Torch, place: Pick, lower: Size, extent: Size) -> Pick:
    """A token as a place: it lies inside an axis that is as long as its vocabulary."""
    position = _moved(torch, place.position, -lower)
    if lower.number == 0 and place.values == extent:
        return Pick(position, None, place.present)
    return Pick(position, inside(torch, position, extent), place.present)


def positions(torch: Torch, place: Affine, env: Environment, kind: str = INT) -> Value:
    """Index arithmetic for all values of its indices: whole numbers, or others."""
    total: Value | None = None
    for name, factor in sorted(place.terms, key=lambda term: term[1] < 0):
        value = Value(torch.arange(*env.ranges[name].range, kind, letter(name)), (name,))
        if abs(factor) != 1:
            times = Value(torch.graph.literal(abs(factor)))
            value = combined(torch, "*", times, value, env, "places")
        if total is not None:
            total = combined(torch, "-" if factor < 0 else "+", total, value, env, "places")
        elif factor < 0:
            total = Value(torch.graph.prefix("-", value.node, "places"), value.dims)
        else:
            total = value
    assert total is not None
    return _moved(torch, total, place.offset)


def _flat(torch: Torch, place: Flat, env: Environment) -> Value:
    """Mixed radix: each index counts from its own lower end."""
    total: Value | None = None
    for index in place.indices:
        if index.name in env.ranges:
            digit = positions(torch, Affine(((index.name, 1),), -index.lower), env)
        else:
            digit = Value(torch.sizes.node(env.fixed[index.name].offset - index.lower))
        if total is not None:
            times = Value(torch.sizes.node(index.extent))
            above = combined(torch, "*", total, times, env, "places")
            digit = combined(torch, "+", above, digit, env, "places")
        total = digit
    assert total is not None
    return total


def _moved(torch: Torch, value: Value, by: Size) -> Value:
    if by.number == 0:
        return value
    node = value.node
    minus = all(coefficient < 0 for _, coefficient in by.terms)
    amount = torch.sizes.node(-by if minus else by)
    moved = torch.graph.binary("-" if minus else "+", node, amount, node.shape, "places")
    return Value(moved, value.dims)


# ---- picking ----


@dataclass
class _Picking:
    """The elements of a node at some positions; an axis without a name is one that is picked along."""

    torch: Torch
    node: Node
    names: Sequence[str | None]
    picks: Mapping[int, Pick]
    env: Environment
    absent: float

    def value(self) -> Value:
        names, picks = self.names, self.picks
        if not picks:
            return Value(self.node, tuple(n for n in names if n is not None))
        taken = {d for p in picks.values() for d in p.position.dims}
        shared = [n for n, name in enumerate(names) if name is not None and name in taken]
        if len(picks) == 1:
            ((axis, only),) = picks.items()
            if not shared:
                return self.along(axis, only)
            if taken <= set(names):
                return self.each(axis, only)
        return self.general(shared)

    def along(self, axis: int, at: Pick) -> Value:
        """One axis, and places that have nothing to do with the others."""
        torch, x, absent = self.torch, self.node, self.absent
        before, after = self.names[:axis], self.names[axis + 1 :]
        dims = tuple(n for n in (*before, *at.position.dims, *after) if n is not None)
        shape = [*x.shape[:axis], *at.position.node.shape, *x.shape[axis + 1 :]]
        position = at.position.node
        token = at.inside is None and at.present is not None and absent == 0
        if token and axis == 0 and x.rank == 2 and x.kind == FLOAT:
            found = torch.helper("embedding", position, x, shape=shape, kind=FLOAT, hint="embedded")
            return Value(found, dims)
        if at.inside is not None and (at.present is None or absent == 0):
            found = torch.helper("take", x, axis, position, shape=shape, kind=x.kind, hint="near")
            return Value(found, dims)
        items: list[IndexItem] = [*[ALL] * axis, self.near(at, x.shape[axis])]
        found = torch.graph.make(INDEXED, x, *items, shape=shape, kind=x.kind, hint="found")
        return self.masked(Value(found, dims))

    def each(self, axis: int, at: Pick) -> Value:
        """One axis, and for each element along the others one place."""
        torch, x = self.torch, self.node
        others = [n for n in self.names if n is not None]
        near = Value(self.near(at, x.shape[axis]), at.position.dims)
        node = aligned(torch, near, others)
        missing = len(others) - node.rank
        node = torch.unsqueeze(node, [axis - missing] if axis >= missing else [])
        dim = -1 if axis == x.rank - 1 else axis
        shape = [s for n, s in enumerate(x.shape) if n != axis]
        if missing:
            node = torch.index(node, [NEW] * (x.rank - node.rank))
        # `take_along_dim` repeats what is missing, but torch.export fixes the sizes that it compares.
        same = [s for n, s in enumerate(node.shape) if n != axis] == shape
        operands = (".gather", x, dim, node) if same else (".take_along_dim", x, node, dim)
        one = [Size.of(1) if n == axis else s for n, s in enumerate(x.shape)]
        found = torch.graph.make(*operands, shape=one, kind=x.kind, hint="found")
        found = torch.view(".squeeze", found, shape, dim)
        return self.masked(Value(found, tuple(others)))

    def general(self, shared: Sequence[int]) -> Value:
        """Several axes at once: those that are picked along go first, with one index tensor each."""
        torch, picks = self.torch, self.picks
        front = sorted([*picks, *shared])
        rest = [n for n in range(self.node.rank) if n not in front]
        x = torch.permute(self.node, [*front, *rest])
        values = []
        for n, axis in enumerate(front):
            if axis in picks:
                values.append(Value(self.near(picks[axis], x.shape[n]), picks[axis].position.dims))
            else:
                name = str(self.names[axis])
                values.append(Value(torch.arange(Size(), x.shape[n], INT), (name,)))
        dims = merged_axes(values, self.env)
        nodes = [aligned(torch, v, dims) for v in values]
        shape = [*self.env.extents(dims), *x.shape[len(front) :]]
        found = torch.graph.make(INDEXED, x, *nodes, shape=shape, kind=x.kind, hint="found")
        return self.masked(Value(found, (*dims, *(str(self.names[n]) for n in rest))))

    def near(self, at: Pick, extent: Size) -> Node:
        """Positions that can be read whatever they are."""
        torch, node = self.torch, at.position.node
        if at.inside is not None:
            last, shape = torch.sizes.node(extent - 1), node.shape
            return torch.graph.make(".clamp", node, 0, last, shape=shape, kind=INT, hint="near")
        return torch.at_least_0(node, "near") if at.present is not None else node

    def masked(self, found: Value) -> Value:
        """0 outside, `absent` where there is no token."""
        literal = self.torch.graph.literal
        outside = literal(-1 if found.node.kind == INT else 0)
        for at in self.picks.values():
            if at.inside is not None:
                found = choose(self.torch, at.inside, found, outside, self.env)
        for at in self.picks.values():
            if at.present is not None:
                value = literal(self.absent) if found.node.kind == FLOAT else outside
                found = choose(self.torch, at.present, found, value, self.env)
        return found


def choose(torch: Torch, mask: Value, value: Value, other: Node, env: Environment) -> Value:
    """The value where the mask holds, elsewhere a number."""
    dims = merged_axes([value, mask], env)
    nodes = aligned(torch, mask, dims), aligned(torch, value, dims)
    return Value(torch.where(*nodes, other, env.extents(dims)), dims)
