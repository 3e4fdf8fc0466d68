"""Arrays as heat maps in a terminal.

>>> print("\\n".join(heatmap(np.array([[0.1, -0.9], [0.5, 0.0]]), "h", ("t", "j"))))
h[t,j]  2×2, from -0.9 to 0.5
       j=0     1
t=0  ░+0.10 █-0.90
t=1  ▒+0.50  +0.00

A cell is its number with a shade that says how large it is; on a coloured terminal the background
says it, blue below 0 and red above. What is too wide for numbers is shown in shades alone, with a
sign in front. An array of more than two indices is shown in slices.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from indicial.program.messages import columns

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

SHADES = " ░▒▓█"
WIDTH = 80
SLICES = 4
ROWS = 12

_RED = (255, 224, 217, 210, 203, 196)
_BLUE = (255, 195, 153, 111, 69, 27)
"""Colours of the 256-colour palette, from white to full."""


def heatmap(
    values: Array,
    name: str,
    letters: Sequence[str],
    *,
    lowers: Sequence[int] = (),
    remark: str = "",
    whole: bool = False,
    colour: bool = False,
    width: int = WIDTH,
    slices: int | None = SLICES,
    rows: int = ROWS,
    labels: Sequence[str] = (),
) -> list[str]:
    """The lines of a picture of `values`, which has an axis for each letter.

    `lowers` are the index values of the first elements, `whole` says that the numbers are whole
    (tokens), `slices` how many slices of an array with more than two indices are shown at most
    (None: all), `rows` how many rows of each; `labels` are words for the rows.
    """
    picture = _Picture(values, letters, lowers or [0] * values.ndim, whole, colour, width)
    picture.slices, picture.rows, picture.labels = slices, rows, labels
    if values.ndim == 0:
        return [f"{name} = {_plain(float(values), whole)}" + (f"  ({remark})" if remark else "")]
    signature = f"{name}[{','.join(letters)}]"
    shape = "×".join(str(n) for n in values.shape)
    facts = [
        shape,
        *([picture.span()] if values.size else ["empty"]),
        *([remark] if remark else []),
    ]
    title = f"{signature}  {', '.join(facts)}"
    if values.ndim > 2:
        return [title, *picture.slices_of(name)]
    return [title, *picture.grid(values)]


class _Picture:
    def __init__(
        self,
        values: Array,
        letters: Sequence[str],
        lowers: Sequence[int],
        whole: bool,
        colour: bool,
        width: int,
    ) -> None:
        self.values, self.letters, self.lowers = values, letters, lowers
        self.whole, self.colour, self.width = whole, colour, width
        self.slices: int | None = SLICES
        self.rows: int = ROWS
        self.labels: Sequence[str] = ()
        finite = [abs(float(v)) for v in values.flat if math.isfinite(v)]
        self.top = max(finite, default=0.0)
        signed = any(v < 0 for v in values.flat)
        texts = {float(v): _number(float(v), self.top, whole) for v in values.flat}
        self.texts = texts if signed else {v: t.lstrip("+") for v, t in texts.items()}
        self.cell = max((len(t) for t in self.texts.values()), default=1) + (0 if colour else 1)

    def span(self) -> str:
        """`from -0.9 to 0.5`."""
        finite = [float(v) for v in self.values.flat if math.isfinite(v)]
        if not finite:
            return "no numbers"
        low, high = min(finite), max(finite)
        if low == high:
            return f"all {_plain(low, self.whole)}"
        return f"from {_plain(low, self.whole)} to {_plain(high, self.whole)}"

    def slices_of(self, name: str) -> Iterator[str]:
        outer = self.values.shape[:-2]
        total = math.prod(outer)
        limit = total if self.slices is None else self.slices
        for place in itertools.islice(itertools.product(*map(range, outer)), limit):
            fixed = [
                f"{letter}={low + at}"
                for letter, low, at in zip(self.letters, self.lowers, place, strict=False)
            ]
            yield f"  {name}[{','.join([*fixed, *self.letters[-2:]])}]"
            yield from ("  " + line for line in self.grid(self.values[place], 2))
        if total > limit:
            rest = total - limit
            yield f"  … {rest} more slice{'' if rest == 1 else 's'} of {name} left out"

    def grid(self, values: Array, margin: int = 0) -> Iterator[str]:
        """One or two axes: a vector is a row."""
        if values.size == 0:
            return
        matrix = values.reshape(1, -1) if values.ndim == 1 else values
        across, low = self.letters[-1], self.lowers[-1]
        heads = [""]
        if values.ndim == 2:
            down, first = self.letters[-2], self.lowers[-2]
            heads = [f"{down}={first + n}" for n in range(len(matrix))]
            if self.labels:
                widest = max(map(columns, heads))
                heads = [
                    f"{head}{' ' * (widest - columns(head))} {word}".rstrip()
                    for head, word in zip(heads, self.labels, strict=True)
                ]
        label = max(columns(head) for head in heads[: self.rows])
        room = self.width - margin - label - 2
        shown = matrix.shape[1]
        numbers = shown * (self.cell + 1) <= room
        step = self.cell + 1 if numbers else 2
        if shown * step > room:
            shown = max(1, room // step)
        yield from self._header(across, low, shown, label, step)
        for row, head in itertools.islice(zip(matrix, heads, strict=True), self.rows):
            cells = [self._cell(float(v), numbers) for v in row[:shown]]
            joint = " " if numbers else ""
            yield (head + " " * (label - columns(head)) + "  " + joint.join(cells)).rstrip()
        left = [(len(matrix) - self.rows, "row"), (matrix.shape[1] - shown, "column")]
        said = [f"{n} more {word}{'' if n == 1 else 's'}" for n, word in left if n > 0]
        if said:
            yield f"… {' and '.join(said)} left out"

    def _header(self, letter: str, low: int, shown: int, label: int, step: int) -> Iterator[str]:
        """The index values above the columns; every so many where they are narrow."""
        every = 1 if step > 4 else 5
        line = " " * (label + 2)
        for n in range(0, shown, every):
            at = label + 2 + n * step
            text = f"{letter}={low + n}" if n == 0 else str(low + n)
            if step > 4:
                at += max(0, step - 1 - columns(text))
            line += " " * (at - columns(line)) + text if columns(line) <= at else ""
        yield line

    def _cell(self, value: float, numbers: bool) -> str:
        if not math.isfinite(value):
            text = self.texts.get(value) or "·"
            return text.rjust(self.cell) if numbers else "· "
        level = abs(value) / self.top if self.top else 0.0
        if self.colour:
            ramp = _RED if value >= 0 else _BLUE
            shade = ramp[min(len(ramp) - 1, round(level * (len(ramp) - 1)))]
            text = self.texts[value].rjust(self.cell) if numbers else "  "
            front = 15 if level > 0.85 else 16
            return f"\x1b[48;5;{shade};38;5;{front}m{text}\x1b[0m"
        shade_sign = SHADES[min(len(SHADES) - 1, math.ceil(level * (len(SHADES) - 1) - 0.01))]
        if numbers:
            return shade_sign + self.texts[value].rjust(self.cell - 1)
        sign = "-" if value < 0 else "+" if level > 0.01 else " "
        return sign + shade_sign


def _number(value: float, top: float, whole: bool) -> str:
    if math.isnan(value):
        return "·"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if whole:
        return str(int(value))
    if top >= 1000 or (0 < top < 0.01):
        return f"{value:+.1e}"
    return f"{value:+.2f}" if top < 100 else f"{value:+.1f}"


def _plain(value: float, whole: bool) -> str:
    return str(int(value)) if whole and math.isfinite(value) else f"{value:.4g}"
