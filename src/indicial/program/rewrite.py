"""Walking and rewriting expressions of the IR.

>>> free_indices(ir.Read("h", (Affine.of("t", -1), Affine.of("j"))))
{'t', 'j'}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from indicial.program import ir
from indicial.program.sizes import Size, Strided

N = TypeVar("N")
Scope = dict[str, ir.Index]
"""Indices by name, each after those that its range needs."""


def size_indices(size: Size) -> set[str]:
    """What the strides in a size depend on: `{"ℓ"}` for `⌈T/2^ℓ⌉`, nothing for `⌈T/2⌉`."""
    return {atom.index for atom in size.atoms if isinstance(atom, Strided) and atom.index}


def free_indices(expression: ir.Expression) -> set[str]:
    """The indices whose values the expression needs: `{"j", "t"}` for `Σ_i W[j,i] h[t-1,i]`.

    The indices of a softmax stay free; those of a reduction and of the parts of a join do not.
    """
    match expression:
        case ir.Constant():
            return set()
        case ir.SizeValue(size):
            return size_indices(size)
        case ir.IndexValue(place):
            return free_in_place(place)
        case ir.Read(_, places):
            return set().union(*map(free_in_place, places))
        case ir.Reduce(_, indices, condition, body):
            return _free_below(indices, condition, body)
        case ir.Softmax(indices, condition, body):
            return _free_below(indices, condition, body) | {i.name for i in indices}
        case ir.Join(place, parts):
            inside = (_free_below((p.index,), None, p.body) for p in parts)
            return free_in_place(place).union(*inside)
        case _:
            return set().union(*map(free_indices, expression.children()))


def tensors_read(statements: Iterable[ir.Statement]) -> set[str]:
    """The tensors that some statements read, in guards and places too."""
    return {read.tensor for statement in statements for read in statement.reads()}


def read_besides(statements: Iterable[ir.Statement], some: Iterable[ir.Statement]) -> set[str]:
    """The tensors that statements read which are not among `some`."""
    own = {statement.number for statement in some}
    return tensors_read(s for s in statements if s.number not in own)


def reached(first: Iterable[N], below: Callable[[N], Iterable[N]]) -> set[N]:
    """Some things and all that is found from them: of a name, say, what it is computed from."""
    found: set[N] = set()
    waiting = list(first)
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            waiting.extend(below(here))
    return found


def needed_names(statements: Iterable[ir.Statement], wanted: Iterable[str]) -> set[str]:
    """The tensors that the wanted ones are computed from, themselves included."""
    reads: dict[str, set[str]] = {}
    for statement in statements:
        reads.setdefault(statement.target, set()).update(r.tensor for r in statement.reads())
    return reached(wanted, lambda name: reads.get(name, ()))


def sizes_in(code: ir.Code) -> Iterator[Size]:
    """All sizes of a program, in order of appearance."""
    for tensor in code.tensors.values():
        for axis in tensor.axes:
            yield from (axis.extent, axis.lower)
        if tensor.values is not None:
            yield tensor.values
    for statement in code.statements:
        yield from _ends(statement.indices)
        yield from _sizes_inside(statement.parts)
    for test in code.tests:
        yield from _ends(test.indices)
        yield from _sizes_inside(test.parts)
    yield from _sizes_inside(argument for draw in code.draws for argument in draw.arguments)


def _ends(indices: Iterable[ir.Index]) -> Iterator[Size]:
    return (size for index in indices for size in (index.extent, index.lower))


def _sizes_inside(expressions: Iterable[ir.Expression]) -> Iterator[Size]:
    for node in (node for expression in expressions for node in expression.walk()):
        if isinstance(node, ir.SizeValue):
            yield node.size
        elif isinstance(node, ir.Reduce | ir.Softmax):
            yield from _ends(node.indices)


def is_constant(expression: ir.Expression) -> bool:
    """Whether it is made of numbers and sizes only: `1/√I`, but not `1/√⌈T/2^ℓ⌉`."""
    inside = (ir.Constant, ir.SizeValue, ir.Apply)
    nodes = expression.walk()
    return all(isinstance(n, inside) for n in nodes) and not free_indices(expression)


def free_in_place(place: ir.Place) -> set[str]:
    """The indices that a place needs: `{"t"}` for `t-1`."""
    if isinstance(place, ir.Gather):
        return free_indices(place.read)
    if isinstance(place, ir.Flat):
        names = {index.name for index in place.indices}
        return names.union(*(size_indices(index.extent) for index in place.indices))
    return {name for name, _ in place.terms} | size_indices(place.offset)


def _free_below(
    indices: tuple[ir.Index, ...], condition: ir.Expression | None, body: ir.Expression
) -> set[str]:
    free = free_indices(body) | (free_indices(condition) if condition is not None else set())
    for index in reversed(indices):  # from the inside out: a range may need an index to its left
        free.discard(index.name)
        free |= size_indices(index.lower) | size_indices(index.extent)
    return free


def with_reads(
    expression: ir.Expression, change: Callable[[ir.Read], ir.Expression]
) -> ir.Expression:
    """The expression with something in the place of each read."""
    return rebuild(
        expression, leaf=lambda node: change(node) if isinstance(node, ir.Read) else node
    )


def indexed(statement: ir.Statement, index: ir.Index, tensors: Collection[str]) -> ir.Statement:
    """One more index in front of some tensors: `h[t] = x[t] W` is `h[b,t] = x[b,t] W`."""
    here = ir.Affine.of(index)

    def change(read: ir.Read) -> ir.Read:
        return replace(read, places=(here, *read.places)) if read.tensor in tensors else read

    changed = statement.rebuild(partial(with_reads, change=change))
    if statement.target not in tensors:
        return changed
    return replace(changed, left=(here, *statement.left), indices=(index, *statement.indices))


def inside(
    node: ir.Expression, scope: Scope, change: Callable[[ir.Expression, Scope], ir.Expression]
) -> ir.Expression:
    """A node with the expressions directly below it changed, each where some indices are in scope."""
    match node:
        case ir.Reduce() | ir.Softmax():
            inner = {**scope, **{i.name: i for i in node.indices}}
            return node.rebuild(lambda below: change(below, inner))
        case ir.Join():
            parts = (
                ir.Part(p.index, change(p.body, {**scope, p.index.name: p.index}))
                for p in node.parts
            )
            return replace(node, parts=tuple(parts))
    return node.rebuild(lambda below: change(below, scope))


def rebuild(
    expression: ir.Expression,
    *,
    index: Callable[[ir.Index], ir.Index] = lambda i: i,
    place: Callable[[ir.Place], ir.Place] = lambda p: p,
    size: Callable[[Size], Size] = lambda s: s,
    leaf: Callable[[ir.Expression], ir.Expression] = lambda e: e,
) -> ir.Expression:
    """The expression with its indices, places and sizes replaced, and then each node by `leaf`."""

    def again(e: ir.Expression) -> ir.Expression:
        fields = {name: e.__dict__[name] for name in e.__dataclass_fields__}
        new = {n: value if n == "span" else changed(value) for n, value in fields.items()}
        return leaf(e.__class__(**new))

    def changed(value: Any) -> Any:
        match value:
            case ir.Expression():
                return again(value)
            case tuple():
                return tuple(map(changed, value))
            case ir.Index():
                return index(value)
            case ir.Gather(read):
                new = again(read)
                return place(ir.Gather(new) if isinstance(new, ir.Read) else value)
            case ir.Affine() | ir.Flat():
                return place(value)
            case ir.Part(at, body):
                return ir.Part(index(at), again(body))
            case Size():
                return size(value)
        return value

    return again(expression)
