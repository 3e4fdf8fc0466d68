"""What the figures of studies share.

>>> figure, (left, right) = axes_of(2, "Repetition: people")
>>> bars(left, [0, 0.5, 1], means, label="trigram")
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

from indicial.inspect.pictures import new_figure
from indicial.lab.figures import COLOURS, MARKS
from indicial.lab.studies.numbers import Mean

LINES = tuple(zip(COLOURS, MARKS, strict=True))
"""Colour and mark of each line, by its number."""


def axes_of(number: int, title: str) -> tuple[Any, list[Any]]:
    """A figure with panels side by side."""
    width = 4.2 * number if number > 1 else 6.5
    figure = new_figure(width, 3.6)
    figure.suptitle(fill(title, round(14 * width)), fontsize=10, x=0.01, ha="left")
    panels = [figure.add_subplot(1, number, place + 1) for place in range(number)]
    for axes in panels:
        axes.grid(alpha=0.25, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def bars(axes: Any, x: Sequence[float], means: Sequence[Mean], **style: Any) -> None:
    """A line through means, with their intervals."""
    halves = [mean.half or 0.0 for mean in means]
    axes.errorbar(
        x, [mean.mean for mean in means], yerr=halves, linewidth=1.6, markersize=6, capsize=4,
        **style,
    )  # fmt: skip
