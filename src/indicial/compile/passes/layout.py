"""Axes and left side of a new tensor that belongs to a statement.

For `α[ℓ+1,t_1,t_2] = …` and the indices ℓ, t_1:   new[ℓ+1,t_1], its first axis from 1

So what belongs to a layer has the layer's number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from indicial.program.ir import Affine, Axis, Index, Statement, Tensor
from indicial.program.moving import moved_size


def shifts(statement: Statement) -> dict[str, int]:
    """What a statement adds to its indices on the left: `{"ℓ": 1, "t": 0}`."""
    found = [p.shift for p in statement.left if isinstance(p, Affine)]
    return {shift[0]: shift[1] for shift in found if shift is not None}


def laid_out(
    name: str, indices: Sequence[Index], by: Mapping[str, int]
) -> tuple[Tensor, tuple[Affine, ...]]:
    """A tensor with an axis for each index, and the places of its elements."""
    back = {index.name: Affine.of(index, -by.get(index.name, 0)) for index in indices}
    axes = tuple(
        Axis(
            index.name,
            moved_size(index.lower, back) + by.get(index.name, 0),
            moved_size(index.extent, back),
        )
        for index in indices
    )
    places = tuple(Affine.of(index, by.get(index.name, 0)) for index in indices)
    return Tensor(name, axes, "defined"), places
