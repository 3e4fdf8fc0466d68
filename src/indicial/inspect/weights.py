"""Attention weights as lines of text: who looks at whom, at 80 columns.

>>> print("\\n".join(weights_map(look)))
α, layer 1, head 0: each row looks at the columns, in percent
             ·  Anna knows
0 ·      █ 100
1 Anna   ▒  37 ▓  63
2 knows  ░   2 ░   4 █  93

About a dozen places have numbers with a shade, two dozen have numbers alone. With more there is room
for shades only: each row from 0 to its largest weight, which stands in front of it in percent. What
does not fit is left out and said so.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indicial.inspect.heatmap import SHADES, WIDTH
from indicial.program.messages import columns

if TYPE_CHECKING:
    from indicial.inspect.attention import Look, Side

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
