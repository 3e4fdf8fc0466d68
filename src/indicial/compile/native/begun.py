"""Kept values with their start in front, for adjoint equations that read both.

h[t-1,j]  at t = 0 is the start, which is not among the kept h[0,j], …, h[T-1,j]

h^{all}[-1,j] = h^{start}[j],  h^{all}[t,j] = h[t,j]      and reads of h become reads of h^{all}
"""

from __future__ import annotations

from dataclasses import replace

from indicial.compile.native.scan import Unsupported
from indicial.compile.passes.new_tensors import derived_name
from indicial.program.ir import Affine, Axis, Code, Expression, Index, Read, Statement, Tensor
from indicial.program.rewrite import rebuild, tensors_read


def with_starts(code: Code, forward: Code) -> Code:
    """The adjoint equations, with every kept tensor that has a start extended by it."""
    for name, tensor in code.tensors.items():
        starts = [s for s in forward.of(name) if _is_outside(forward, s)]
        if tensor.role == "input" and starts and name in tensors_read(code.statements):
            code = _extended(code, name, starts)
    return code


def _is_outside(code: Code, statement: Statement) -> bool:
    """Whether it defines an element that is not among those of the tensor's range."""
    axis = _axis(statement)
    if axis is None:
        return False
    own, place = code.tensors[statement.target].axes[axis], statement.left[axis]
    assert isinstance(place, Affine)
    low = (place.offset - own.lower).number
    high = (place.offset - own.lower - own.extent).number
    return (low is not None and low < 0) or (high is not None and high >= 0)


def _axis(statement: Statement) -> int | None:
    """The axis at which a left side has a number."""
    for axis, place in enumerate(statement.left):
        if isinstance(place, Affine) and not place.terms:
            return axis
    return None


def _extended(code: Code, name: str, starts: list[Statement]) -> Code:
    old = code.tensors[name]
    axis = _axis(starts[0])
    assert axis is not None
    own = old.axes[axis]
    lower, upper = own.lower, own.lower + own.extent
    for statement in starts:
        place = statement.left[axis]
        if _axis(statement) != axis or not isinstance(place, Affine):
            raise Unsupported(f"{name} begins along two axes")
        if place.offset == lower - 1:
            lower = lower - 1
        elif place.offset == upper:
            upper = upper + 1
        else:
            raise Unsupported(f"{name} begins at {place.offset}, away from the rest")
    new = derived_name(code.tensors, name, "all")
    axes = list(old.axes)
    axes[axis] = Axis(own.letter, lower, upper - lower)
    indices = tuple(Index(f"{a.letter}°{n}", a.lower, a.extent) for n, a in enumerate(old.axes))
    places = tuple(Affine.of(i) for i in indices)
    whole = Statement(new, places, indices, Read(name, places))
    begun = [replace(s, target=new) for s in starts]

    def leaf(node: Expression) -> Expression:
        if isinstance(node, Read) and node.tensor == name:
            return replace(node, tensor=new)
        return node

    moved = [replace(s, body=rebuild(s.body, leaf=leaf)) for s in code.statements]
    tensors = {**code.tensors, new: Tensor(new, tuple(axes), "defined")}
    return replace(code, tensors=tensors, statements=(*begun, whole, *moved))
