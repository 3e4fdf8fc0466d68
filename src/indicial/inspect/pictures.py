"""Matrices as pictures: a signed scale that everybody can read, files by their ending.

>>> figure = new_figure(4, 3)
>>> matrix(figure.add_subplot(), weights, rows, columns, top=1.0)
>>> save(figure, "weights.svg")

Answers with how sure the model was of each → a picture of how far that is to be believed.

>>> draw_calibration(matches, Path("calibration.png"))

A point on the diagonal is right as often as the model thought; below it stand confident answers that are wrong.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indicial.decode.matching import Matches
from indicial.program.messages import IndicialError
from indicial.program.outputs import save_figure
from indicial.training.chart import plain_axes

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]


SIGNED, POSITIVE = "PuOr", "Purples"
"""Brewer's colours, safe for the colour-blind; weights alone are never below 0."""
ENDINGS = (".svg", ".png", ".pdf")
NUMBERS = 10
"""Up to so many rows and columns the numbers stand in the cells."""
TICKS = 40
"""Up to so many places each has its label."""


def matrix(
    axes: Any,
    values: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    top: float,
    signed: bool = True,
) -> Any:
    """Draws a matrix with labels; `top` is where the scale ends, on both sides if it is signed."""
    low = -top if signed else 0.0
    picture = axes.imshow(
        values, cmap=SIGNED if signed else POSITIVE, vmin=low, vmax=top, aspect="equal"
    )
    for axis, labels in ((axes.xaxis, columns), (axes.yaxis, rows)):
        step = 1 + (len(labels) - 1) // TICKS
        axis.set_ticks(range(0, len(labels), step), [safe(s) for s in labels[::step]], fontsize=8)
    if max(map(len, columns), default=0) > 2:
        axes.tick_params(axis="x", rotation=90)
    if max(values.shape) <= NUMBERS:
        for (row, column), value in _cells(values):
            dark = abs(value) > 0.6 * top
            axes.text(
                column, row, _number(value), ha="center", va="center", fontsize=6,
                color="white" if dark else "black",
            )  # fmt: skip
    return picture


def save(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Writes a figure; the same numbers give the same file."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise IndicialError(
            f"cannot draw {path}: a figure ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        )
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):
        save_figure(figure, target)
    return target


def _cells(values: Array) -> Any:
    import numpy as np

    return np.ndenumerate(values)


def _number(value: float) -> str:
    if abs(value) < 0.005:
        return "0"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.3g}"


def safe(label: str) -> str:
    """A dollar sign would begin a formula."""
    return label.replace("$", r"\$")


def draw_calibration(found: Matches, path: Path) -> None:
    """Writes the picture, PNG or SVG by the end of its name."""
    figure, axes = plain_axes(4.4, 4.0, f"{found.share:.1%} of {len(found.truth):,} right")
    bins = found.calibration
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    axes.plot([b.sure for b in bins], [b.right for b in bins], color="#3366aa", linewidth=1.4)
    sizes = [12 + 220 * b.count / len(found.truth) for b in bins]
    axes.scatter([b.sure for b in bins], [b.right for b in bins], s=sizes, color="#3366aa")
    axes.set_xlabel("how sure the model is of its answer")
    axes.set_ylabel("share of answers that are right")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    save_figure(figure, path)
