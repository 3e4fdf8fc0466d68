"""Attention weights as lines of text: who looks at whom, at 80 columns.

>>> print("\\n".join(weights_map(look)))
α, layer 1, head 0: each row looks at the columns, in percent
             ·  Anna knows
0 ·      █ 100
1 Anna   ▒  37 ▓  63
2 knows  ░   2 ░   4 █  93

With many places there is room for shades alone. What does not fit is left out and said so.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from indicial.inspect.heatmap import SHADES, WIDTH
from indicial.program.messages import columns

if TYPE_CHECKING:
    from indicial.inspect.attention import Look

CELL = 6
"""Of a number with its shade; the label of a column is cut to it."""
LABEL = 12
_PURPLE = (255, 189, 183, 141, 99, 55)
"""Colours of the 256-colour palette, from white to full."""


def weights_map(
    look: Look, *, first: int = 0, last: int | None = None, colour: bool = False, width: int = WIDTH
) -> list[str]:
    """The lines for one head; `first` and `last` are the places to be shown."""
    total = len(look.labels)
    stop = total if last is None else min(last + 1, total)
    digits = len(str(stop - 1))
    named = [f"{n:>{digits}} {clipped(look.labels[n], LABEL)}" for n in range(total)]
    margin = max(columns(name) for name in named[first:stop]) + 1
    room = width - margin
    numbers = (stop - first) * CELL <= room
    stop = min(stop, first + room // (CELL if numbers else 2))
    unit = ", in percent" if numbers else f", from 0{SHADES}1"
    lines = [
        f"{look.title}: each row looks at the columns{unit}",
        _header(look, first, stop, margin, numbers),
    ]
    for row in range(first, stop):
        cells = [_cell(float(v), numbers, colour) for v in look.weights[row, first:stop]]
        name = named[row]
        lines.append((name + " " * (margin - columns(name)) + "".join(cells)).rstrip())
    left = [(0, first - 1), (stop, total - 1)]
    said = [f"{a} to {b}" if a < b else str(a) for a, b in left if a <= b]
    if said:
        lines.append(f"… places {' and '.join(said)} left out (--places FIRST-LAST, or --figure)")
    return lines


def _header(look: Look, first: int, stop: int, margin: int, numbers: bool) -> str:
    if numbers:
        heads = [clipped(look.labels[n], CELL - 1) for n in range(first, stop)]
        line = "".join(" " * (CELL - columns(head)) + head for head in heads)
        return (" " * margin + line).rstrip()
    line = ""
    for n in range(first, stop):
        at = 2 * (n - first)
        if n % 5 == 0 or n == first:
            line += " " * (at - len(line)) + str(n) if len(line) <= at else ""
    return " " * margin + line


def clipped(label: str, most: int) -> str:
    """A token for a label: without blanks around it, cut with a `…`."""
    text = label.strip() or ("␣" if label else "")
    while columns(text) > most:
        text = text.removesuffix("…")[:-1] + "…"
    return text


def _cell(value: float, numbers: bool, colour: bool) -> str:
    if not math.isfinite(value):
        return ("nan" if numbers else "?").rjust(CELL if numbers else 2)
    percent = round(100 * value)
    text = str(percent) if percent else ""
    if colour:
        shade = _PURPLE[min(len(_PURPLE) - 1, round(value * (len(_PURPLE) - 1)))]
        front = 15 if value > 0.7 else 16
        body = text.rjust(CELL - 1) + " " if numbers else "  "
        return f"\x1b[48;5;{shade};38;5;{front}m{body}\x1b[0m"
    level = min(len(SHADES) - 1, math.ceil(value * (len(SHADES) - 1) - 0.04))
    if numbers:
        return f" {SHADES[level]}{text.rjust(CELL - 2)}"
    return SHADES[level] * 2
