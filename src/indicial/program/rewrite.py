"""Walking and rewriting expressions of the IR.

>>> free_indices(Read("h", (Affine.of("t", -1), Affine.of("j"))))
{'t', 'j'}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from indicial.program.ir import (
    Affine,
    Apply,
    Constant,
    Derivative,
    Expression,
    Flat,
    Gather,
    Growth,
    Index,
    IndexValue,
    Join,
    Part,
    Place,
    Quantity,
    Read,
    Reduce,
    Select,
    SizeValue,
    Softmax,
    Statement,
    Statistic,
)
from indicial.program.sizes import Size, Strided


def size_indices(size: Size) -> set[str]:
    """What the strides in a size depend on: `{"ℓ"}` for `⌈T/2^ℓ⌉`, nothing for `⌈T/2⌉`."""
    return {atom.index for atom in size.atoms if isinstance(atom, Strided) and atom.index}


def free_indices(expression: Expression) -> set[str]:
    """The indices whose values the expression needs: `{"j", "t"}` for `Σ_i W[j,i] h[t-1,i]`.

    The indices of a softmax stay free; those of a reduction and of the parts of a join do not.
    """
    match expression:
        case Constant():
            return set()
        case SizeValue(size):
            return size_indices(size)
        case IndexValue(place):
            return free_in_place(place)
        case Read(_, places):
            return set().union(*map(free_in_place, places))
        case Reduce(_, indices, condition, body):
            return _free_below(indices, condition, body)
        case Softmax(indices, condition, body):
            return _free_below(indices, condition, body) | {i.name for i in indices}
        case Join(place, parts):
            inside = (_free_below((p.index,), None, p.body) for p in parts)
            return free_in_place(place).union(*inside)
        case _:
            return set().union(*map(free_indices, expression.children()))


def tensors_read(statements: Iterable[Statement]) -> set[str]:
    """The tensors that some statements read, in guards and places too."""
    return {
        node.tensor
        for statement in statements
        for part in (statement.body, statement.guard)
        if part is not None
        for node in part.walk()
        if isinstance(node, Read)
    }


def is_constant(expression: Expression) -> bool:
    """Whether it is made of numbers and sizes only: `1/√I`, but not `1/√⌈T/2^ℓ⌉`."""
    inside = (Constant, SizeValue, Apply)
    nodes = expression.walk()
    return all(isinstance(n, inside) for n in nodes) and not free_indices(expression)


def free_in_place(place: Place) -> set[str]:
    """The indices that a place needs: `{"t"}` for `t-1`."""
    if isinstance(place, Gather):
        return free_indices(place.read)
    if isinstance(place, Flat):
        names = {index.name for index in place.indices}
        return names.union(*(size_indices(index.extent) for index in place.indices))
    return {name for name, _ in place.terms} | size_indices(place.offset)


def _free_below(
    indices: tuple[Index, ...], condition: Expression | None, body: Expression
) -> set[str]:
    free = free_indices(body) | (free_indices(condition) if condition is not None else set())
    for index in reversed(indices):  # from the inside out: a range may need an index to its left
        free.discard(index.name)
        free |= size_indices(index.lower) | size_indices(index.extent)
    return free


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
        case Constant() | Quantity():
            result = expression
        case Statistic() | Growth():
            result = replace(expression, body=again(expression.body))
        case Derivative():
            above, below = again(expression.above), again(expression.below)
            assert isinstance(above, Read) and isinstance(below, Read)
            result = replace(expression, above=above, below=below)
        case SizeValue():
            result = replace(expression, size=size(expression.size))
        case IndexValue():
            moved = place(expression.place)
            result = replace(
                expression, place=moved if isinstance(moved, Affine) else expression.place
            )
        case Read():
            places = tuple(again_place(p) for p in expression.places)
            result = Read(expression.tensor, places, span=expression.span)
        case Apply():
            arguments = tuple(again(a) for a in expression.arguments)
            result = Apply(expression.function, arguments, span=expression.span)
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
