"""Attention weights as one picture: a row for each layer, a column for each head.

>>> draw_attention(looks, "attention.svg", title="runs/people")
PosixPath('attention.svg')

On an image, each place of the text has a matrix of its own, eight in a row.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indicial.inspect.pictures import matrix, new_figure, save
from indicial.inspect.readings import NOTHING
from indicial.inspect.weights import clipped
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.data.world.alignment import Link
    from indicial.inspect.attention import Look, Side

LABEL = 14
MOST = 64
"""Matrices in one picture; more could not be read."""
ACROSS = 8
"""Images in one row."""


def draw_attention(
    looks: list[Look],
    path: str | os.PathLike[str],
    title: str = "",
    links: Sequence[Link] = (),
) -> Path:
    """All heads of all layers, from 0 (white) to the largest of all weights (purple).

    Where one text looks at another, `links` are framed: the words that stand for one another.
    """
    if len(looks) > MOST:
        raise IndicialError(
            f"{len(looks)} matrices do not fit into one picture; choose some with --layer or --head"
        )
    rows = _rows(looks)
    top = max((float(look.weights.max()) for look in looks if look.weights.max() > 0), default=1.0)
    across = max(map(len, rows))
    widths = max(_inches(look.columns) for look in looks)
    heights = [max(_inches(look.rows) for look in row) + 0.1 for row in rows]
    figure = new_figure(across * widths + 0.8, sum(heights) + 0.5)
    grid = figure.add_gridspec(len(rows), across, height_ratios=heights)
    for number, row in enumerate(rows):
        for place, look in enumerate(row):
            axes = figure.add_subplot(grid[number, place])
            picture = matrix(
                axes, look.weights, _labels(look.rows), _labels(look.columns), top, signed=False
            )
            axes.set_title(clipped(look.title, 40), fontsize=9)
            if look.rows.name != look.columns.name:
                axes.set_ylabel(look.rows.name, fontsize=8)
                axes.set_xlabel(look.columns.name, fontsize=8)
                _frame(axes, look, links)
    figure.colorbar(picture, ax=figure.axes, shrink=0.6, aspect=30, label="weight")
    if title:
        figure.suptitle(clipped(title, 100), fontsize=10)
    return save(figure, path)


def _rows(looks: list[Look]) -> list[list[Look]]:
    """Those of one layer stand side by side; so do the images of one head, as many as fit."""
    found = []
    for _, group in itertools.groupby(
        looks, lambda one: (one.name, one.layer, one.at and one.head)
    ):
        several = list(group)
        most = ACROSS if several[0].at is not None else len(several)
        found += [several[n : n + most] for n in range(0, len(several), most)]
    return found


def framed(look: Look, links: Sequence[Link]) -> Iterator[tuple[int, int, bool]]:
    """Row and column of the true links in a matrix, and whether each is sure; the place that predicts a word
    is known by its label."""
    if not links or not any(" → " in label for label in look.rows.labels):
        return
    first = 0 if look.rows.labels[0].startswith(NOTHING) else 1  # which word the first predicts
    for source, target, sure in links:
        if 0 <= target - first < len(look.rows) and source < len(look.columns):
            yield target - first, source, sure


def _frame(axes: Any, look: Look, links: Sequence[Link]) -> None:
    """Frames around the true links, dotted where a link is possible."""
    from matplotlib.patches import Rectangle

    for place, source, sure in framed(look, links):
        axes.add_patch(
            Rectangle(
                (source - 0.5, place - 0.5), 1, 1, fill=False, edgecolor="#d95f02",
                linewidth=1.1, linestyle="-" if sure else ":",
            )
        )  # fmt: skip


def _inches(side: Side) -> float:
    return min(6.0, 1.6 + 0.16 * len(side))


def _labels(side: Side) -> list[str]:
    if not any(side.labels):
        return [str(side.first + n) for n in range(len(side))]
    # Where one text looks at another, a place is called by the word that it predicts.
    return [clipped(label.split(" → ")[-1], LABEL) for label in side.labels]
