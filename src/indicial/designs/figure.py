"""Two designs as one picture: a row for each, a column for each kind of matrix.

>>> draw(comparison, "both.svg")
PosixPath('both.svg')

The two matrices of a column have one scale, orange below 0 and purple above, white at 0: colours
that everybody can tell apart. Where there is room, the numbers stand in the cells.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from indicial.designs.arrays import Array
from indicial.inspect.pictures import matrix, new_figure, save

if TYPE_CHECKING:
    from indicial.designs.comparison import Comparison


@dataclass(frozen=True)
class Column:
    title: str
    arrays: tuple[Array, Array]
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def draw(comparison: Comparison, path: str | os.PathLike[str]) -> Path:
    """Writes the picture; the ending says whether it is SVG, PNG or PDF."""
    heads = len(comparison.heads)
    columns = [column for head in range(heads) for column in _columns(comparison, head)]
    columns += _outputs(comparison)
    widths = [max(3, len(column.columns)) for column in columns]
    figure = new_figure(0.36 * sum(widths) + 1.1 * len(columns), 6.4)
    grid = figure.add_gridspec(2, len(columns), width_ratios=widths)
    for number, column in enumerate(columns):
        top = max(float(np.abs(array).max()) for array in column.arrays) or 1.0
        for row in (0, 1):
            axes = figure.add_subplot(grid[row, number])
            picture = matrix(axes, column.arrays[row], column.rows, column.columns, top)
            if row == 0:
                axes.set_title(column.title, fontsize=10)
            if number == 0:
                axes.set_ylabel(comparison.names[row], fontsize=11)
        figure.colorbar(picture, ax=figure.axes[-2:], location="bottom", shrink=0.9, aspect=14)
    return save(figure, path)


def _columns(comparison: Comparison, head: int) -> list[Column]:
    """Query, key and value on the features that they read, the scores, and the weights."""
    one, other = comparison.circuits
    many = f", pair {head}" if len(comparison.heads) > 1 else ""
    found = []
    for role in ("query", "key", "value"):
        name = one.factors[role]
        arrays = [
            _of_head(design.arrays[name], at)
            for design, at in zip(
                (comparison.one, comparison.other), comparison.heads[head], strict=True
            )
        ]
        if arrays[0].shape == arrays[1].shape:
            rows, columns = arrays[0].shape
            found.append(
                Column(f"${name}${many}", (arrays[0], arrays[1]), _numbers(rows),
                       _features(comparison, columns))
            )  # fmt: skip
    scores = Column(f"scores{many}", (one.scores[head], other.scores[head]), one.labels, one.labels)
    return [*found, scores]


def _outputs(comparison: Comparison) -> list[Column]:
    if comparison.text is None:
        return []
    (a, y), (a2, y2) = comparison.shown(0), comparison.shown(1)
    places = tuple(comparison.text)
    weights = [
        Column(f"weights on {comparison.text}", (one, other), places, places)
        for one, other in zip(a, a2, strict=True)
    ]
    return [*weights, Column("outputs", (y, y2), places, _numbers(y.shape[-1]))]


def _of_head(array: Array, head: int) -> Array:
    return array[head] if array.ndim == 3 else array


def _features(comparison: Comparison, count: int) -> tuple[str, ...]:
    """Tokens by name, and the elements of a position's vector as p0, p1, …"""
    tokens = comparison.one.tokens
    if not tokens or len(tokens) > count:
        return _numbers(count)
    return (*tokens, *(f"p{n}" for n in range(count - len(tokens))))


def _numbers(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count)))
