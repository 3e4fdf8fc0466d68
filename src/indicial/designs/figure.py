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

import numpy as np

from indicial.designs.arrays import Array
from indicial.designs.comparison import Comparison
from indicial.inspect.attention_views import clipped
from indicial.inspect.pictures import matrix, save
from indicial.training.chart import new_figure

LABEL = 6
SAME = 1e-9
WIDEST = 24
"""Cells that a matrix has room for; one with more has narrower ones."""


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
    widths = [min(WIDEST, max(3, len(column.columns))) for column in columns]
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
    """Query, key and value of each token and position, and the products."""
    one, other = comparison.circuits
    many = f", pair {head}" if len(comparison.heads) > 1 else ""
    labels = tuple(clipped(label, LABEL) for label in one.labels)
    found = []
    for role in ("query", "key", "value"):
        arrays = one.applied[role][head], other.applied[role][head]
        if arrays[0].shape == arrays[1].shape:
            title = f"{role} ${one.factors[role]}x${many}"
            given = role == "value" and "output" not in one.factors
            rows = _outcomes if given else _numbers
            found.append(Column(title, arrays, rows(len(arrays[0]), comparison), labels))
    products = one.products[head], other.products[head]
    scores = one.scores[head], other.scores[head]
    found.append(Column(f"query times key{many}", products, labels, labels))
    if any(np.abs(p - s).max() > SAME for p, s in zip(products, scores, strict=True)):
        found.append(Column(f"scores as compared{many}", scores, labels, labels))
    if "output" in one.factors:
        values = one.values[head], other.values[head]
        outcomes = _outcomes(len(values[0]), comparison)
        found.append(Column(f"values{many}", values, outcomes, labels))
    return found


def _outputs(comparison: Comparison) -> list[Column]:
    if comparison.text is None:
        return []
    (a, y), (a2, y2) = comparison.shown(0), comparison.shown(1)
    places = tuple(clipped(label, LABEL) for label in comparison.places)
    weights = [
        Column(f"weights on {comparison.text}", (one, other), places, places)
        for one, other in zip(a, a2, strict=True)
    ]
    return [*weights, Column("outputs", (y, y2), places, _outcomes(y.shape[-1], comparison))]


def _numbers(count: int, comparison: Comparison) -> tuple[str, ...]:
    return tuple(map(str, range(count)))


def _outcomes(count: int, comparison: Comparison) -> tuple[str, ...]:
    """What the outputs are called: a head with an output for each token speaks of tokens."""
    tokens = comparison.one.tokens
    if count == len(tokens):
        return tuple(clipped(token, LABEL) for token in tokens)
    return _numbers(count, comparison)
