"""Walking and rewriting expressions of the IR.

>>> free_indices(Read("h", (Affine.of("t", -1), Affine.of("j"))))
{'t', 'j'}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from indicial.program.ir import (
    Affine,
    Apply,
    Constant,
    Expression,
    Flat,
    Gather,
    Index,
    IndexValue,
    Join,
    Part,
    Place,
    Read,
    Reduce,
    Select,
    SizeValue,
    Softmax,
)
from indicial.program.sizes import Size, Strided


def free_indices(expression: Expression) -> set[str]:
    """The names of the indices that an expression depends on and does not bind itself."""
    match expression:
        case IndexValue(place=place):
            return place_indices(place)
        case Read(places=places):
            return set().union(*(place_indices(p) for p in places)) if places else set()
        case Reduce(indices=indices, condition=condition, body=body):
            inner = free_indices(body) | (free_indices(condition) if condition else set())
            return (inner | range_indices(indices)) - {i.name for i in indices}
        case Softmax(indices=indices, condition=condition, body=body):
            inner = free_indices(body) | (free_indices(condition) if condition else set())
            return inner | {i.name for i in indices}
        case Join(place=place, parts=parts):
            result = place_indices(place)
            for part in parts:
                result |= free_indices(part.body) - {part.index.name}
            return result
        case _:
            result = set()
            for child in expression.children():
                result |= free_indices(child)
            return result


def place_indices(place: Place) -> set[str]:
    if isinstance(place, Affine):
        return {name for name, _ in place.terms}
    if isinstance(place, Flat):
        return {i.name for i in place.indices}
    return free_indices(place.read)


def range_indices(indices: tuple[Index, ...]) -> set[str]:
    """The indices that the ranges of others depend on (layers of stride 2)."""
    return {
        atom.index
        for index in indices
        for size in (index.lower, index.extent)
        for atom in size.atoms
        if isinstance(atom, Strided) and atom.index
    }


def rebuild(
    expression: Expression,
    *,
    index: Callable[[Index], Index] = lambda i: i,
    place: Callable[[Place], Place] = lambda p: p,
    size: Callable[[Size], Size] = lambda s: s,
    leaf: Callable[[Expression], Expression] = lambda e: e,
) -> Expression:
    """The expression with its indices, places and sizes replaced, and then each node by `leaf`."""

    def again(e: Expression) -> Expression:
        return rebuild(e, index=index, place=place, size=size, leaf=leaf)

    def again_place(p: Place) -> Place:
        if isinstance(p, Gather):
            read = again(p.read)
            return place(Gather(read)) if isinstance(read, Read) else place(p)
        return place(p)

    result: Expression
    match expression:
        case Constant():
            result = expression
        case SizeValue():
            result = replace(expression, size=size(expression.size))
        case IndexValue():
            moved = place(expression.place)
            result = replace(
                expression, place=moved if isinstance(moved, Affine) else expression.place
            )
        case Read():
            result = replace(expression, places=tuple(again_place(p) for p in expression.places))
        case Apply():
            result = replace(expression, arguments=tuple(again(a) for a in expression.arguments))
        case Reduce() | Softmax():
            condition = again(expression.condition) if expression.condition else None
            result = replace(
                expression,
                indices=tuple(index(i) for i in expression.indices),
                condition=condition,
                body=again(expression.body),
            )
        case Select():
            branches = tuple((again(c), again(v)) for c, v in expression.branches)
            result = replace(expression, branches=branches, otherwise=again(expression.otherwise))
        case Join():
            moved = place(expression.place)
            result = replace(
                expression,
                place=moved if isinstance(moved, Affine) else expression.place,
                parts=tuple(Part(index(p.index), again(p.body)) for p in expression.parts),
            )
        case _:
            raise TypeError(f"unknown node {type(expression).__name__}")
    return leaf(result)


def move_place(place: Place, places: Mapping[str, Affine]) -> Place:
    """A place with some indices replaced by places: `t-1` with t → 2s becomes `2s-1`."""
    if isinstance(place, Flat):
        renamed = []
        for i in place.indices:
            target = places.get(i.name)
            shift = target.shift if target is not None else None
            renamed.append(replace(i, name=shift[0]) if shift is not None and shift[1] == 0 else i)
        return Flat(tuple(renamed))
    if isinstance(place, Gather):
        return place
    if not any(name in places for name, _ in place.terms):
        return place
    total: dict[str, int] = {}
    offset = place.offset
    for name, factor in place.terms:
        target = places.get(name, Affine(((name, 1),)))
        for inner, inner_factor in target.terms:
            total[inner] = total.get(inner, 0) + factor * inner_factor
        offset = offset + target.offset * factor
    return Affine(tuple((n, f) for n, f in total.items() if f), offset)


def substitute(expression: Expression, places: Mapping[str, Affine]) -> Expression:
    """The expression with free indices replaced by places.

    A softmax index may only be renamed: its range stays its own.
    """

    def index(i: Index) -> Index:
        target = places.get(i.name)
        shift = target.shift if target is not None else None
        return replace(i, name=shift[0]) if shift is not None and shift[1] == 0 else i

    return rebuild(expression, index=index, place=lambda p: move_place(p, places))
