"""An array read at places: slices where that is enough, index tensors where it is not.

    x[t-1, k]     F.pad(x, (0, 0, 1, 0))[:, :T]       outside is 0
    x[2t+Δt, k]   take(x, 1, places)                  any index arithmetic
    e[w[t], j]    embedding(w, e)                     no token gives 0
    P[t, w[t]]    P.gather(…)                         no token gives 1

`Array` is an array whose axes begin anywhere: a tensor of the program, a softmax, a join.

The left side of a statement: how a value becomes an array with an axis for each place.

h[t,j] = …          axes as they are
h[-1,j] = …         one more axis, of extent 1, that begins at -1
ĥ[t,(k,i)] = …      two axes flattened into one
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from indicial.compile.emit.nodes import ALL, Node, Slice
from indicial.compile.emit.operations import NEW, ONE, Item, Torch
from indicial.compile.emit.picks import Pick, pick, picked
from indicial.compile.emit.values import Environment, Value, expanded
from indicial.program.cost.conditions import joined
from indicial.program.ir import Affine, Apply, Expression, Flat, Index, IndexValue, Statement
from indicial.program.moving import moved
from indicial.program.sizes import Size

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
    return picked(torch, left.node, names, picks, env, absent)


def _sliced(torch: Torch, array: Array, places: Sequence[Where], env: Environment) -> _Reading:
    """Numbers, indices and flattened indices, each once, are slices; the rest is left to do."""
    items: list[Item] = []
    labels: list[str | tuple[Where, Bounds]] = []
    later: list[tuple[int, Where]] = []
    met = {d for p in places if isinstance(p, Pick) for d in p.position.dims}
    met |= {d for p in places if isinstance(p, Affine) and not _lone(p) for d, _ in p.terms}
    for place, (lower, extent) in zip(places, array.bounds, strict=True):
        item: Item = ALL
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
    total = math.prod((r.extent for r in ranges), start=ONE)
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
        literal(first) if first else None,
        sizes.node(length + first) if last else None,
        length,
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
            index = once(next(i for i in statement.indices if i.name == name))
            left.append(Affine(((index.name, factor),), place.offset))
        else:
            left.append(place)
    if len(indices) == len(statement.indices):
        return statement
    return replace(statement, left=tuple(left), indices=tuple(indices), guard=joined(guards))


def covered(earlier: Statement, later: Statement) -> Expression | None:
    """Where an earlier statement says what the later one need not; None if that is hard to say.

    `y[0] = …` and `y[t] = …` → `t = 0`; `y[t] = … for t > 2` and `y[s] = …` → `s > 2`.
    """
    places: dict[str, Affine] = {}
    tests: list[Expression] = []
    for one, two in zip(earlier.left, later.left, strict=True):
        if isinstance(one, Flat) or isinstance(two, Flat) or any(f != 1 for _, f in one.terms):
            return None
        if not one.terms:
            tests.append(Apply("=", (IndexValue(two), IndexValue(one))))
            continue
        name = one.terms[0][0]
        places[name] = Affine(two.terms, two.offset - one.offset)
        index = next(i for i in earlier.indices if i.name == name)
        same = [i for i in later.indices if two.terms and i.name == two.terms[0][0]]
        if [i.range for i in same] != [index.range]:
            value = IndexValue(places[name])
            tests.append(Apply("≥", (value, IndexValue(Affine((), index.lower)))))
            tests.append(Apply("≤", (value, IndexValue(Affine((), index.upper)))))
    if earlier.guard is not None:
        tests.append(moved(earlier.guard, places))
    return Apply("and", tuple(tests)) if tests else None


def shaped(torch: Torch, value: Value, places: Sequence[Affine | Flat], env: Environment) -> Array:
    """A value as an array with an axis for each place."""
    names = [n for place in places for n in _names(place)]
    node = torch.scalar(expanded(torch, value, names, env))
    items: list[Item] = []
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
    if not place.terms:
        return place.offset, Size.of(1)
    ((name, factor),) = place.terms
    index = env.ranges[name]
    return (index.lower if factor > 0 else -index.upper) + place.offset, index.extent


def _names(place: Affine | Flat) -> list[str]:
    if isinstance(place, Flat):
        return [i.name for i in place.indices]
    return [name for name, _ in place.terms]
