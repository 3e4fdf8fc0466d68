"""Means with intervals, shares with intervals, exponents.

>>> str(Mean.of([1.50, 1.52, 1.54]))
'1.520 ± 0.050'
>>> share_interval(0, 200)
(0.0, 0.0188…)
>>> exponent([64, 128, 256], [1.0, 2.0, 4.0])
1.0

Intervals are of 95 %.

What the figures of studies share.

>>> figure, (left, right) = axes_of(2, "Repetition: people")
>>> bars(left, [0, 0.5, 1], means, label="trigram")
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression
from textwrap import fill
from typing import Any

from indicial.lab.results import half_width, pooled_deviation
from indicial.training.chart import COLOURS, MARKS, new_figure

NORMAL = 1.959964
"""How many standard deviations hold 95 %."""


@dataclass(frozen=True)
class Mean:
    """The mean of a few numbers, and half of Student's interval around it (None for one number)."""

    mean: float
    half: float | None
    values: tuple[float, ...]

    @staticmethod
    def of(values: Sequence[float]) -> Mean:
        deviation, freedom = pooled_deviation([values])
        return Mean(fmean(values), half_width(deviation, freedom, len(values)), tuple(values))

    @property
    def sign(self) -> int:
        """1 or -1 if the whole interval lies above or below 0, else 0."""
        if self.half is None or abs(self.mean) <= self.half:
            return 0
        return 1 if self.mean > 0 else -1

    def written(self, digits: int = 3, signed: bool = False) -> str:
        sign = "+" if signed else ""
        half = "" if self.half is None else f" ± {self.half:.{digits}f}"
        return f"{self.mean:{sign}.{digits}f}{half}"

    def __str__(self) -> str:
        return self.written()

    def to_json(self) -> dict[str, object]:
        return {"mean": self.mean, "half": self.half, "values": list(self.values)}


def share_interval(hits: int, of: int) -> tuple[float, float]:
    """Where a probability may lie of which `hits` of `of` trials are a sample (Wilson 1927)."""
    share, z = hits / of, NORMAL**2 / of
    middle = (share + z / 2) / (1 + z)
    half = math.sqrt(z * share * (1 - share) + z * z / 4) / (1 + z)
    # Rounding must not put a share of 1 outside of its interval.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def share_written(hits: int, of: int) -> str:
    """`0.25 [0.18, 0.34]`: a share with its interval."""
    low, high = share_interval(hits, of)
    return f"{hits / of:.2f} [{low:.2f}, {high:.2f}]"


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The p of value ≈ c · size^p: the slope of the line through the logarithms."""
    return linear_regression(list(map(math.log, sizes)), list(map(math.log, values))).slope


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
