"""Attention weights as lines of text, and as pictures.

>>> print("\\n".join(weights_map(look)))
α, layer 1, head 0: each row looks at the columns, in percent
             ·  Anna knows
0 ·      █ 100
1 Anna   ▒  37 ▓  63
2 knows  ░   2 ░   4 █  93
>>> draw_attention(looks, "attention.svg", title="runs/people")
PosixPath('attention.svg')

About a dozen places have numbers with a shade, two dozen have numbers alone. With more there is room
for shades only: each row from 0 to its largest weight, which stands in front of it in percent. What
does not fit is left out and said so. A picture has a row for each layer, a column for each head.

On an image each word has a picture of its own, as in Xu et al. 2015: bright where the word looks, or blocks in
a terminal.
"""

from __future__ import annotations

import itertools
import math
import os
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from indicial.data.world.world import Link
from indicial.inspect.attention import Look, Side, title_of
from indicial.inspect.pictures import matrix, safe, save
from indicial.inspect.subjects import NOTHING, UNKNOWN
from indicial.inspect.trial import SHADES, WIDTH
from indicial.program.messages import IndicialError, columns
from indicial.program.outputs import new_figure

LABEL = 12
"""The longest label of a row, and of each token where it names two: `the → dog`."""
RELATIVE = "in shades, from 0 to the largest of its row, which stands in front in percent"
_PURPLE = (255, 189, 183, 141, 99, 55)
"""Colours of the 256-colour palette, from white to full."""


@dataclass(frozen=True)
class Style:
    """How a cell is written: its width, with a number or as a shade alone."""

    cell: int
    numbers: bool
    shades: bool

    @property
    def front(self) -> int:
        """The room in front of a row for its largest weight."""
        return 0 if self.numbers else 4


STYLES = (
    Style(6, numbers=True, shades=True),
    Style(3, numbers=True, shades=False),  # 100 fills it, and then its neighbours are empty
    Style(2, numbers=False, shades=True),
    Style(1, numbers=False, shades=True),
)


def weights_map(
    look: Look, *, first: int = 0, last: int | None = None, colour: bool = False, width: int = WIDTH
) -> list[str]:
    """The lines for one head; `first` and `last` are the places to be shown."""
    down, across = _chosen(look.rows, first, last), _chosen(look.columns, first, last)
    named = [_row_label(look.rows, n) for n in down]
    margin = max(columns(name) for name in named) + 1
    room = width - margin
    style = next((s for s in STYLES if s.front + len(across) * s.cell <= room), STYLES[-1])
    across = across[: max(1, (room - style.front) // style.cell)]
    same = look.rows == look.columns
    if same:  # a place that cannot be looked at is not shown as one that looks either
        down = down[: len(across)]
    unit = "in percent" if style.numbers else RELATIVE
    lines = textwrap.wrap(f"{look.title}: {look.says}, {unit}", width)
    lines.append((" " * (margin + style.front) + _header(look.columns, across, style)).rstrip())
    for name, row in zip(named, down, strict=False):
        front = name + " " * (margin - columns(name))
        lines.append((front + _row(look, row, across, style, colour)).rstrip())
    if not same and style is not STYLES[0]:
        lines += _legend(look.columns, across, width)
    left = [textwrap.wrap(line, width) for line in _left_out(look, down, across)]
    return [*lines, *(piece for pieces in left for piece in pieces)]


def clipped(label: str, most: int) -> str:
    """A token for a label: without blanks around it, cut with a `…`."""
    text = label.strip() or ("␣" if label else "")
    while columns(text) > most:
        text = text.removesuffix("…")[:-1] + "…"
    return text


def _chosen(side: Side, first: int, last: int | None) -> range:
    """The places of a side that were asked for; all of them if it has none of those."""
    stop = len(side) if last is None else min(last + 1 - side.first, len(side))
    start = max(0, first - side.first)
    return range(start, stop) if start < stop else range(len(side))


def _row_label(side: Side, number: int) -> str:
    digits = len(str(side.first + len(side) - 1))
    label = " → ".join(clipped(part, LABEL) for part in side.labels[number].split(" → "))
    return f"{side.first + number:>{digits}} {label}".rstrip()


def _header(side: Side, across: range, style: Style) -> str:
    """The tokens above the columns, or the numbers of the places where a token has no room."""
    if style is STYLES[0] and any(side.labels):
        heads = [clipped(side.labels[n], style.cell - 1) for n in across]
        return "".join(" " * (style.cell - columns(head)) + head for head in heads)
    if style.numbers:
        return "".join(str(side.first + n).rjust(style.cell) for n in across)
    line, every = "", 10 // style.cell
    for n in across:
        at = style.cell * (n - across.start)
        number = str(side.first + n)
        room = at >= len(line) and at + len(number) <= style.cell * len(across)
        if (side.first + n) % every == 0 and room:
            line += " " * (at - len(line)) + number
    return line


def _row(look: Look, row: int, across: range, style: Style, colour: bool) -> str:
    weights = look.weights[row]
    top = 1.0
    front = ""
    if not style.numbers:
        top = float(weights.max()) or 1.0
        front = f"{_percent(top):>3} "
    return front + "".join(_cell(float(weights[n]), top, style, colour) for n in across)


def _cell(value: float, top: float, style: Style, colour: bool) -> str:
    if not math.isfinite(value):
        return ("nan" if style.numbers else "?").rjust(style.cell)
    level = value / top
    text = _percent(value) if style.numbers else ""
    if colour:
        shade = _PURPLE[min(len(_PURPLE) - 1, round(level * (len(_PURPLE) - 1)))]
        front = 15 if level > 0.7 else 16
        return f"\x1b[48;5;{shade};38;5;{front}m{text.rjust(style.cell)}\x1b[0m"
    sign = SHADES[min(len(SHADES) - 1, math.ceil(level * (len(SHADES) - 1) - 0.04))]
    if not style.shades:
        return text.rjust(style.cell)
    return f" {sign}{text.rjust(style.cell - 2)}" if style.numbers else sign * style.cell


def _percent(value: float) -> str:
    """Less than half a percent is nothing."""
    if not math.isfinite(value):
        return "nan"
    return str(round(100 * value)) if round(100 * value) else ""


def _legend(side: Side, across: range, width: int) -> list[str]:
    """The tokens of the columns, where they have no room above them."""
    if not any(side.labels):
        return []
    told = [f"{side.first + n} {clipped(side.labels[n], LABEL)}" for n in across]
    # A number stays with its token: the blank between them is one that is not broken at.
    text = "  ".join(one.replace(" ", "\u00a0") for one in ["columns:", *told])
    return [line.replace("\u00a0", " ") for line in textwrap.wrap(text, width)]


def _left_out(look: Look, down: range, across: range) -> Iterator[str]:
    both = look.rows == look.columns
    first = "rows and columns" if both else "rows"
    for side, shown, word in ((look.rows, down, first), (look.columns, across, "columns")):
        ends = [(0, shown.start - 1), (shown.stop, len(side) - 1)]
        said = [
            f"{a + side.first} to {b + side.first}" if a < b else str(a + side.first)
            for a, b in ends
            if a <= b
        ]
        if said:
            yield f"… {word} {' and '.join(said)} left out (--places FIRST-LAST, or --figure)"
        if both:
            return


FIGURE_LABEL = 14
MOST = 64
"""Matrices in one picture; more could not be read."""
IMAGES_ACROSS = 8
"""Images in one row."""


def draw_attention(
    looks: list[Look], path: str | os.PathLike[str], title: str = "", links: Sequence[Link] = ()
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
        most = IMAGES_ACROSS if several[0].at is not None else len(several)
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
    return [clipped(label.split(" → ")[-1], FIGURE_LABEL) for label in side.labels]


DARKEST = 0.12
"""What is left of the picture where a word does not look."""
SIDE = 1.25
"""Inches."""
GAP = 2
"""Columns between two maps."""
MAPS_ACROSS = 10
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
                axes.set_title(safe(clipped(word_of(look), 14)), fontsize=11)
    if title:
        figure.suptitle(safe(clipped(title, 12 * across)), fontsize=10)
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
        title = title_of(first.name, first.layer, first.head)
        if lines:
            lines.append("")
        lines.append(f"{title}: where the model looks as it says each word")
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
    for start in range(0, len(row), MAPS_ACROSS):
        yield row[start : start + MAPS_ACROSS]
