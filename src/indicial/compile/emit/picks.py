"""Places that are computed: index tensors, and the elements that they pick.

e[w[t], j]        embedding(w, e)
r[k, t_1-t_2]     take(r, 1, t[:, None] - t + 32)
P[t, w[t]]        P.gather(-1, w.clamp(min=0)[..., None]).squeeze(-1)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from indicial.compile.emit.nodes import ALL, FLOAT, INDEXED, INT, Node, letter
from indicial.compile.emit.operations import NEW, Item, Torch
from indicial.compile.emit.values import Environment, Value, aligned, combined, merged
from indicial.program.ir import Affine, Flat
from indicial.program.sizes import Size


@dataclass(frozen=True)
class Pick:
    """Positions along an axis; where they are inside it, and where there is a token at all."""

    position: Value
    inside: Value | None = None
    present: Value | None = None
    values: Size | None = None
    """Of a token: it is below this."""


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


def picked(
    torch: Torch,
    node: Node,
    names: Sequence[str | None],
    picks: Mapping[int, Pick],
    env: Environment,
    absent: float,
) -> Value:
    """The elements at the positions; an axis without a name is one that is picked along."""
    if not picks:
        return Value(node, tuple(n for n in names if n is not None))
    taken = {d for p in picks.values() for d in p.position.dims}
    shared = [n for n, name in enumerate(names) if name is not None and name in taken]
    if len(picks) == 1:
        ((axis, only),) = picks.items()
        if not shared:
            return _along(torch, node, names, axis, only, env, absent)
        if taken <= set(names):
            return _each(torch, node, names, axis, only, env, absent)
    return _general(torch, node, names, picks, shared, env, absent)


def _along(
    torch: Torch, x: Node, names: Sequence[str | None], axis: int, at: Pick, env: Environment,
    absent: float,
) -> Value:  # fmt: skip
    """One axis, and places that have nothing to do with the others."""
    before, after = names[:axis], names[axis + 1 :]
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
    items: list[Item] = [*[ALL] * axis, _near(torch, at, x.shape[axis])]
    found = torch.graph.make(INDEXED, x, *items, shape=shape, kind=x.kind, hint="found")
    return _masked(torch, Value(found, dims), [at], env, absent)


def _each(
    torch: Torch, x: Node, names: Sequence[str | None], axis: int, at: Pick, env: Environment,
    absent: float,
) -> Value:  # fmt: skip
    """One axis, and for each element along the others one place."""
    others = [n for n in names if n is not None]
    near = Value(_near(torch, at, x.shape[axis]), at.position.dims)
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
    return _masked(torch, Value(found, tuple(others)), [at], env, absent)


def _general(
    torch: Torch, x: Node, names: Sequence[str | None], picks: Mapping[int, Pick],
    shared: Sequence[int], env: Environment, absent: float,
) -> Value:  # fmt: skip
    """Several axes at once: those that are picked along go first, with one index tensor each."""
    front = sorted([*picks, *shared])
    rest = [n for n in range(x.rank) if n not in front]
    x = torch.permute(x, [*front, *rest])
    values = []
    for n, axis in enumerate(front):
        if axis in picks:
            near = _near(torch, picks[axis], x.shape[n])
            values.append(Value(near, picks[axis].position.dims))
        else:
            name = str(names[axis])
            values.append(Value(torch.arange(Size(), x.shape[n], INT), (name,)))
    dims = merged(values, env)
    nodes = [aligned(torch, v, dims) for v in values]
    shape = [*env.extents(dims), *x.shape[len(front) :]]
    found = torch.graph.make(INDEXED, x, *nodes, shape=shape, kind=x.kind, hint="found")
    kept = tuple(str(names[n]) for n in rest)
    return _masked(torch, Value(found, (*dims, *kept)), list(picks.values()), env, absent)


def _near(torch: Torch, at: Pick, extent: Size) -> Node:
    """Positions that can be read whatever they are."""
    node = at.position.node
    if at.inside is not None:
        last = torch.sizes.node(extent - 1)
        return torch.graph.make(".clamp", node, 0, last, shape=node.shape, kind=INT, hint="near")
    if at.present is not None:
        return torch.at_least_0(node, "near")
    return node


def _masked(
    torch: Torch, found: Value, picks: Sequence[Pick], env: Environment, absent: float
) -> Value:
    """0 outside, `absent` where there is no token."""
    outside = torch.graph.literal(-1 if found.node.kind == INT else 0)
    for at in picks:
        if at.inside is not None:
            found = choose(torch, at.inside, found, outside, env)
    for at in picks:
        if at.present is not None:
            value = torch.graph.literal(absent) if found.node.kind == FLOAT else outside
            found = choose(torch, at.present, found, value, env)
    return found


def choose(torch: Torch, mask: Value, value: Value, other: Node, env: Environment) -> Value:
    """The value where the mask holds, elsewhere a number."""
    dims = merged([value, mask], env)
    nodes = aligned(torch, mask, dims), aligned(torch, value, dims)
    return Value(torch.where(*nodes, other, env.extents(dims)), dims)
