"""What was taken for what, as a picture: rows are what is true, columns what the model says.

>>> watchers = [Confusion(run.folder, scoring, "classifier")]     # draws when the training ends

    runs/classifier-reviews-1/confusion.png, confusion.svg

Each row is shaded by its shares, so that rare classes are seen as well as frequent ones; the numbers are counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from indicial.data.tokenizers import Ints
from indicial.program.outputs import save_figure
from indicial.tasks.scoring import Classes
from indicial.training.watchers import Summary, Watcher

FORMATS = ("png", "svg")
MOST_NUMBERS = 25
"""Classes up to which counts are written into the picture."""


class Confusion(Watcher):
    """Draws the confusion of the best step when the training ends."""

    def __init__(self, folder: Path, scoring: Classes, title: str) -> None:
        self.folder, self.scoring, self.title = folder, scoring, title

    def ended(self, summary: Summary) -> None:
        if summary.best is not None and summary.best.tally:
            draw_confusion(self.scoring, np.asarray(summary.best.tally), self.folder, self.title)


def draw_confusion(scoring: Classes, tally: Ints, folder: Path, title: str = "") -> list[Path]:
    """Writes the pictures; none if there are too many classes to count each pair."""
    table = scoring.confusion(tally)
    if table is None:
        return []
    figure = _figure(table, list(scoring.names), title)
    paths = [folder / f"confusion.{ending}" for ending in FORMATS]
    for path in paths:
        save_figure(figure, path)
    return paths


def _figure(table: Ints, names: list[str], title: str) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    side = 2.2 + 0.32 * len(names)
    figure = Figure(figsize=(side + 0.8, side), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    shares = table / np.maximum(1, table.sum(1, keepdims=True))
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    shown = [name if len(name) <= 20 else f"{name[:19]}…" for name in names]
    axes.set_xticks(range(len(names)), shown, rotation=90, fontsize=8)
    axes.set_yticks(range(len(names)), shown, fontsize=8)
    axes.set_xlabel("found")
    axes.set_ylabel("true")
    axes.set_title(title, fontsize=11, loc="left")
    if len(names) <= MOST_NUMBERS:
        for row, column in np.argwhere(table > 0).tolist():
            dark = shares[row, column] > 0.5
            axes.text(
                column, row, f"{table[row, column]:.0f}", ha="center", va="center", fontsize=6,
                color="white" if dark else "black",
            )  # fmt: skip
    return figure
