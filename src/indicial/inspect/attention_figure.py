"""Attention weights as one picture: a row for each layer, a column for each head.

>>> draw_attention(looks, "attention.svg", title="runs/people")
PosixPath('attention.svg')
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from indicial.inspect.pictures import matrix, new_figure, save
from indicial.inspect.weights import clipped
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.inspect.attention import Look

LABEL = 14
MOST = 64
"""Matrices in one picture; more could not be read."""


def draw_attention(looks: list[Look], path: str | os.PathLike[str], title: str = "") -> Path:
    """All heads of all layers, from 0 (white) to 1 (purple)."""
    if len(looks) > MOST:
        raise IndicialError(
            f"{len(looks)} heads do not fit into one picture; choose some with --layer or --head"
        )
    rows = list(dict.fromkeys((look.name, look.layer) for look in looks))
    across = max(sum((one.name, one.layer) == row for one in looks) for row in rows)
    side = min(6.0, 1.6 + 0.16 * len(looks[0].labels))
    figure = new_figure(across * side + 0.8, len(rows) * side + 0.5)
    labels = [clipped(label, LABEL) for label in looks[0].labels]
    placed = dict.fromkeys(rows, 0)
    for look in looks:
        row = (look.name, look.layer)
        number = rows.index(row) * across + placed[row] + 1
        placed[row] += 1
        axes = figure.add_subplot(len(rows), across, number)
        picture = matrix(axes, look.weights, labels, labels, 1.0, signed=False)
        axes.set_title(look.title, fontsize=9)
    figure.colorbar(picture, ax=figure.axes, shrink=0.6, aspect=30, label="weight")
    if title:
        figure.suptitle(title, fontsize=10)
    return save(figure, path)
