"""What differs from example to example: all that an input enters, and all that knows its own length.

input x[t,k]                            x differs
h[t,j] = tanh(U[j,K] x[t,K])            h differs, because x does
g[t,j] = tanh(a[j] g[t+1,j])            g differs if T does: it begins at an example's own end
f[t,j] = tanh(a[j] f[t-1,j])            f does not: an example that ends early has less of it
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from indicial.program import ir
from indicial.program.rewrite import size_indices, tensors_read
from indicial.program.sizes import Size

Scope = Mapping[str, ir.Index]


def dependent(
    code: ir.Code, changing: frozenset[str], ragged: frozenset[str] = frozenset()
) -> set[str]:
    """The tensors that change with these tensors and sizes, themselves included."""
    result = set(changing)
    if ragged:
        result |= {s.target for s in code.statements if _knows(code, s, ragged)}
    reads = [(s.target, tensors_read([s])) for s in code.statements]
    grows = True
    while grows:
        new = {target for target, read in reads if target not in result and read & result}
        result |= new
        grows = bool(new)
    return result


def stays_inside(place: ir.Affine, indices: Scope, axis: ir.Axis) -> bool:
    """Whether a place lies below the end of an axis wherever its indices are in their ranges.

    `t` and `t-1` do where t has the range of the axis, `t+1` does not. The first element is there.
    """
    if not place.terms:
        at, first = place.offset.number, axis.lower.number
        return at is not None and first is not None and at <= first
    ends = place.known_ends(indices)
    room = None if ends is None else (axis.upper - ends[1]).number
    return room is not None and room >= 0


def varying(code: ir.Code, ragged: Collection[str] = ()) -> set[str]:
    """The tensors that differ between the members of a batch: all that an input or a draw enters.

    With lengths that differ (`ragged`), also what knows where it ends.
    """
    given = (n for n, t in code.tensors.items() if t.role in ("input", "draw"))
    return dependent(code, frozenset(given), frozenset(ragged))


def _knows(code: ir.Code, statement: ir.Statement, ragged: frozenset[str]) -> bool:
    """Whether what a statement says of an element depends on these sizes."""
    scope = statement.scope
    axes = code.tensors[statement.target].axes
    places = zip(statement.left, axes, strict=True)
    if any(_ends_early(place, axis, scope, ragged) for place, axis in places):
        return True
    return any(
        _depends(code, node, inner, ragged)
        for part in (statement.body, statement.guard)
        if part is not None
        for node, inner in _scoped(part, scope)
    )


def _ends_early(
    place: ir.Affine | ir.Flat, axis: ir.Axis, scope: Scope, ragged: frozenset[str]
) -> bool:
    """Whether a left side stands at one of these sizes, or leaves out elements up to one."""
    if isinstance(place, ir.Flat) or not place.terms:
        return _is_told(place, ragged)
    end = axis.lower + axis.extent
    if not end.names & ragged or size_indices(end):
        return False
    return scope[place.terms[0][0]].upper + place.offset != end - 1


def _depends(code: ir.Code, node: ir.Expression, scope: Scope, ragged: frozenset[str]) -> bool:
    """Whether the value of a node depends on these sizes, apart from what is below it."""
    match node:
        case ir.SizeValue(size):
            return bool(size.names & ragged)
        case ir.IndexValue(place):
            return _is_told(place, ragged)
        case ir.Reduce(_, indices, _, _) | ir.Softmax(indices, _, _):
            return any(size.names & ragged for i in indices for size in (i.lower, i.extent))
        case ir.Join(_, parts):
            return any(part.index.extent.names & ragged for part in parts[:-1])
        case ir.Read(tensor, places):
            axes = code.tensors[tensor].axes
            pairs = zip(places, axes, strict=True)
            return any(_may_leave(place, axis, scope, ragged) for place, axis in pairs)
        case _:
            return False


def _may_leave(place: ir.Place, axis: ir.Axis, scope: Scope, ragged: frozenset[str]) -> bool:
    """Whether a read may go beyond an end that differs, where it finds nothing or a start."""
    if _is_told(place, ragged):
        return True
    if not axis.extent.names & ragged:
        return False
    return not isinstance(place, ir.Affine) or not stays_inside(place, scope, axis)


def _is_told(place: ir.Place, ragged: frozenset[str]) -> bool:
    """Whether these sizes enter a place: `T-1`, or the `(k,t)` that is `k·T + t`."""
    if isinstance(place, ir.Gather):
        return False
    sizes: list[Size] = [place.offset] if isinstance(place, ir.Affine) else []
    if isinstance(place, ir.Flat):
        sizes = [index.extent for index in place.indices]
    return any(size.names & ragged for size in sizes)


def _scoped(expression: ir.Expression, scope: Scope) -> Iterator[tuple[ir.Expression, Scope]]:
    """An expression and all below it, each with the indices that are bound there."""
    yield expression, scope
    match expression:
        case ir.Reduce(_, indices, condition, body) | ir.Softmax(indices, condition, body):
            inner = {**scope, **{i.name: i for i in indices}}
            for part in (condition, body):
                if part is not None:
                    yield from _scoped(part, inner)
        case ir.Join(_, parts):
            for piece in parts:
                yield from _scoped(piece.body, {**scope, piece.index.name: piece.index})
        case _:
            for child in expression.children():
                yield from _scoped(child, scope)
