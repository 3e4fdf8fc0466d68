"""The left side of a statement: how a value becomes an array with an axis for each place.

h[t,j] = …          axes as they are
h[-1,j] = …         one more axis, of extent 1, that begins at -1
ĥ[t,(k,i)] = …      two axes flattened into one
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from indicial.compile.emit.nodes import ALL
from indicial.compile.emit.operations import NEW, Item, Torch
from indicial.compile.emit.reads import Array, Bounds
from indicial.compile.emit.values import Environment, Value, expanded
from indicial.program.cost.conditions import joined
from indicial.program.ir import Affine, Apply, Expression, Flat, Index, IndexValue, Statement
from indicial.program.moving import moved
from indicial.program.sizes import Size


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
