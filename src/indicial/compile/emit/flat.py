"""Flattened indices whose extents vary: each example counts with its own.

z[(k,t)] = x[t,k]       of a text of three words, x[t,k] is the element 3k + t
y[t] = z[(k,t)]         and is found there again

The first of the indices may have any extent, as no index counts with it.
"""

from __future__ import annotations

import math

from indicial.compile.emit.graph import INT
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.picks import Pick
from indicial.compile.emit.ragged import Ragged
from indicial.compile.emit.reads import Array, Where, read
from indicial.compile.emit.values import Environment, Value, expanded
from indicial.program.ir import Affine, Flat, Index
from indicial.program.sizes import Size


def varies(ragged: Ragged, place: Flat, env: Environment) -> bool:
    """Whether an index of the place counts with an extent that is not the same for all."""
    return any(ragged.varies(index.extent, env) for index in place.indices[1:])


def position(ragged: Ragged, place: Flat, env: Environment) -> Value:
    """`k T + t`, with each example's own T."""
    total: Value | None = None
    for index in place.indices:
        at = env.place(Affine.of(index))
        assert isinstance(at, Affine)
        digit = ragged.place(Affine(at.terms, at.offset - index.lower), env)
        if total is not None:
            above = ragged.binary("*", total, ragged.value(index.extent, env), env)
            digit = ragged.binary("+", above, digit, env)
        total = digit
    assert total is not None
    return total


def moved_together(
    torch: Torch, ragged: Ragged, value: Value, place: Flat, env: Environment, flat: str
) -> tuple[Value, Environment]:
    """A value over several indices as one over `flat`: the elements of each example, then zeros."""
    names = [index.name for index in place.indices]
    others = [d for d in value.dims if d not in names]
    dims = [*others, *names]
    node = torch.flatten(expanded(torch, value, dims, env), len(others), len(dims) - 1)
    total = math.prod(env.extents(names), start=Size.of(1))
    env = env.bind([Index(flat, Size(), total)])
    rest = Value(torch.arange(Size(), total, INT), (flat,))
    at: Value | None = None
    stride = Size.of(1)
    for name in reversed(names):
        digit = rest
        if name != names[0]:
            own = ragged.value(env.own[name].extent, env)
            digit, rest = ragged.binary("%", rest, own, env), ragged.binary("//", rest, own, env)
        if stride.number != 1:
            digit = ragged.binary("*", digit, Value(torch.sizes.node(stride)), env)
        at = digit if at is None else ragged.binary("+", digit, at, env)
        stride = stride * env.ranges[name].extent
    assert at is not None
    places: list[Where] = [*map(Affine.of, others), Pick(at)]
    bounds = [(env.ranges[d].lower, env.ranges[d].extent) for d in others]
    return read(torch, Array(node, (*bounds, (Size(), total))), places, env), env
