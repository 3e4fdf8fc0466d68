"""Where each word of a caption looks: the picture darkened but there, and as blocks in a terminal.

>>> draw_on_picture(looks, picture, "caption.png", title="runs/captions")
PosixPath('caption.png')
>>> print("\\n".join(picture_blocks(looks)))
two               red               circles
░░▒▒              ░░▓▓              ░░▓▓
▒▒████            ▒▒████            ▒▒▓▓

As in Xu et al. 2015: a row of pictures, the first as it is, then one for each word, bright where the word looks.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from indicial.inspect.heatmap import SHADES, WIDTH
from indicial.inspect.pictures import new_figure, save
from indicial.inspect.readings import UNKNOWN
from indicial.inspect.weights import clipped
from indicial.program.messages import columns

if TYPE_CHECKING:
    from indicial.inspect.attention import Look

DARKEST = 0.12
"""What is left of the picture where a word does not look."""
SIDE = 1.25
"""Inches."""
GAP = 2
"""Columns between two maps."""
ACROSS = 10
_GREYS = tuple(range(233, 256, 2))


def word_of(look: Look) -> str:
    """The word that a place predicts: of `3 the → dog` it is `dog`."""
    return (look.at or "").split(" → ")[-1].strip()


def draw_on_picture(
    looks: Sequence[Look], picture: Any, path: str | os.PathLike[str], title: str = ""
) -> Path:
    """A row of pictures for each head, broken where it is long."""
    rows = [row for head in _heads(looks) for row in _broken([None, *head])]
    across = max(map(len, rows))
    figure = new_figure(SIDE * across + 0.2, (SIDE + 0.3) * len(rows) + (0.4 if title else 0.1))
    grid = figure.add_gridspec(len(rows), across)
    for number, row in enumerate(rows):
        for place, look in enumerate(row):
            axes = figure.add_subplot(grid[number, place])
            axes.set_axis_off()
            shown = picture if look is None else lit(picture, look.weights)
            axes.imshow(shown.squeeze(), interpolation="nearest", cmap="gray")
            if look is not None:
                axes.set_title(_safe(clipped(word_of(look), 14)), fontsize=11)
    if title:
        figure.suptitle(_safe(clipped(title, 12 * across)), fontsize=10)
    return save(figure, path)


def lit(picture: Any, weights: Any) -> Any:
    """The picture, darkened where the weights are small."""
    height, width = picture.shape[:2]
    level = _spread(np.asarray(weights, float), height, width)
    level = level / (level.max() or 1.0)
    bright = DARKEST + (1 - DARKEST) * level
    return np.clip(np.rint(picture * bright[:, :, None]), 0, 255).astype(np.uint8)


def _spread(weights: Any, height: int, width: int) -> Any:
    """A coarse map at every point, each weight in the middle of its rectangle, linear between."""
    found = weights
    for axis, size in ((0, height), (1, width)):
        count = found.shape[axis]
        at = (np.arange(size) + 0.5) * count / size - 0.5
        low = np.clip(np.floor(at).astype(int), 0, count - 1)
        high = np.clip(low + 1, 0, count - 1)
        part = np.clip(at - low, 0, 1)
        part = part[:, None] if axis == 0 else part[None, :]
        found = np.take(found, low, axis) * (1 - part) + np.take(found, high, axis) * part
    return found


def picture_blocks(looks: Sequence[Look], *, colour: bool = False, width: int = WIDTH) -> list[str]:
    """Maps of blocks side by side, each below its word, from 0 to the largest weight of the word."""
    lines: list[str] = []
    for head in _heads(looks):
        first = head[0]
        each = 2 * first.weights.shape[1]
        across = max(1, (width + GAP) // (each + GAP))
        named = [("layer", first.layer), ("head", first.head)]
        where = "".join(f", {word} {n}" for word, n in named if n is not None)
        if lines:
            lines.append("")
        lines.append(f"{first.name}{where}: where the model looks as it says each word")
        for start in range(0, len(head), across):
            some = head[start : start + across]
            heads = [clipped(word_of(look), each) for look in some]
            lines.append("".join(h + " " * (each + GAP - columns(h)) for h in heads).rstrip())
            for row in range(first.weights.shape[0]):
                cells = [_blocks(look.weights[row], look.weights.max(), colour) for look in some]
                lines.append((" " * GAP).join(cells).rstrip())
    return lines


def _blocks(row: Any, top: float, colour: bool) -> str:
    levels = [float(value) / (float(top) or 1.0) for value in row]
    if colour:
        shades = [_GREYS[round(level * (len(_GREYS) - 1))] for level in levels]
        return "".join(f"\x1b[48;5;{shade}m  " for shade in shades) + "\x1b[0m"
    last = len(SHADES) - 1
    return "".join(SHADES[min(last, math.ceil(level * last - 0.1))] * 2 for level in levels)


def _heads(looks: Sequence[Look]) -> Iterator[list[Look]]:
    """Those of one head; the place behind the last word says nothing."""
    for _, group in itertools.groupby(looks, lambda one: (one.name, one.layer, one.head)):
        found = [look for look in group if word_of(look) != UNKNOWN]
        if found:
            yield found


def _broken(row: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(row), ACROSS):
        yield row[start : start + ACROSS]


def _safe(label: str) -> str:
    return label.replace("$", r"\$")
