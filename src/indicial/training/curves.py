"""The curves of a run as pictures: `curves.png` and `curves.svg`, drawn from its metrics.

>>> draw_curves("runs/names-1/metrics.jsonl", "runs/names-1", title="transformer on names.txt")
[PosixPath('runs/names-1/curves.png'), PosixPath('runs/names-1/curves.svg')]

Training loss step by step and smoothed, validation, and the entropy where it is known; all in nats
per token. Blue and orange are told apart by everybody, and the lines differ in more than colour.

What was taken for what, as a picture: rows are what is true, columns what the model says.

>>> watchers = [Confusion(run.folder, scoring, "classifier")]     # draws when the training ends

    runs/classifier-reviews-1/confusion.png, confusion.svg

Each row is shaded by its shares, so that rare classes are seen as well as frequent ones; the numbers are counts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from indicial.data.tokenizers import Ints
from indicial.program.messages import IndicialError
from indicial.program.outputs import save_figure
from indicial.tasks.scoring import Classes
from indicial.training.metrics import read_metrics
from indicial.training.rank import writes
from indicial.training.watchers import Plan, Summary, Watcher

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
"""Of Okabe and Ito (2008)."""
FORMATS = ("png", "svg")
MOST_POINTS = 2000


class Curves(Watcher):
    """Draws when a training ends; `Metrics` comes before it among the watchers."""

    def __init__(self, metrics: str | os.PathLike[str]) -> None:
        self.metrics = Path(metrics)
        self._title = ""

    def started(self, plan: Plan) -> None:
        self._title = f"{plan.model} on {plan.data}"

    def ended(self, summary: Summary) -> None:
        if not (writes() and self.metrics.exists()):
            return
        try:
            draw_curves(self.metrics, summary.folder, self._title)
        except (OSError, IndicialError) as error:
            if summary.reason != "failed":  # what made it fail is worth more than this
                cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
                why = cause.strerror if isinstance(cause, OSError) else cause
                raise IndicialError(f"cannot draw the curves: {why}") from error


@dataclass
class History:
    """The numbers of a file of metrics, as curves."""

    steps: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    smoothed: list[float] = field(default_factory=list)
    validation_steps: list[int] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    entropy: float | None = None
    """Nats per token, as last validated."""
    probable: bool = True
    """Whether a loss of the validation part is in nats: the equations say probabilities."""
    terms: bool = False
    """Whether the loss of training is a sum, of which the validation part counts -ln P alone."""

    @staticmethod
    def read(path: str | os.PathLike[str]) -> History:
        """Null, which stands for what is not finite, becomes nan: a gap in the curve."""
        history = History()
        for line in read_metrics(path):
            validation = line.get("validation")
            if validation is None:
                history.steps.append(line["step"])
                history.loss.append(_number(line.get("loss")))
                history.smoothed.append(_number(line.get("smoothed")))
                history.terms = history.terms or bool(line.get("terms"))
            else:
                history.validation_steps.append(line["step"])
                history.validation.append(_number(validation.get("loss")))
                if isinstance(entropy := validation.get("entropy"), float):
                    history.entropy = entropy
                history.probable = "perplexity" in validation
        return history

    def centred(self) -> list[float]:
        """The mean loss of the steps around each step, a fiftieth of all: it lags behind nothing."""
        import numpy as np

        loss = np.array(self.loss)
        known = np.isfinite(loss)
        sums = np.concatenate([[0.0], np.cumsum(np.where(known, loss, 0.0))])
        counts = np.concatenate([[0], np.cumsum(known)])
        places = np.arange(len(loss))
        reach = np.minimum(len(loss) // 100, places)  # nothing is added to the first, steep fall
        first, last = places - reach, np.minimum(places + reach + 1, len(loss))
        with np.errstate(invalid="ignore"):
            means = (sums[last] - sums[first]) / (counts[last] - counts[first])
        return list(map(float, means))


def draw_curves(
    metrics: str | os.PathLike[str], folder: str | os.PathLike[str], title: str = ""
) -> list[Path]:
    """Write the pictures of one run; nothing if it has no steps."""
    history = History.read(metrics)
    if not history.steps:
        return []
    figure = _figure(history, title)
    paths = [Path(folder) / f"curves.{ending}" for ending in FORMATS]
    for path in paths:
        save_figure(figure, path)
    return paths


def _figure(history: History, title: str) -> Any:
    # Without pyplot nothing is shared and no window is asked for.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    thin = max(1, len(history.steps) // MOST_POINTS)
    training = "training (all terms)" if history.terms else "training"
    axes.plot(
        history.steps[::thin], history.loss[::thin], color=BLUE, alpha=0.25, linewidth=0.6,
        label=f"{training}, each step",
    )  # fmt: skip
    axes.plot(
        history.steps[::thin], history.centred()[::thin], color=BLUE, linewidth=1.6,
        label=f"{training}, smoothed",
    )  # fmt: skip
    if history.validation:
        axes.plot(
            history.validation_steps, history.validation, color=ORANGE, linewidth=1.6, marker="o",
            markersize=4, label="validation", clip_on=False,
        )  # fmt: skip
    if history.entropy is not None:
        axes.axhline(
            history.entropy, color=GREEN, linewidth=1.2, linestyle="--",
            label="entropy of the data",
        )  # fmt: skip
    low, high = _limits(history)
    axes.set_ylim(low, high)
    axes.set_xlim(0, max(history.steps))
    axes.set_xlabel("step")
    axes.set_ylabel("loss (nats per token)" if history.probable else "loss")
    axes.set_title(title, fontsize=11, loc="left")
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.legend(frameon=False)
    return figure


def _limits(history: History) -> tuple[float, float]:
    """From a little below the lowest to where the smoothed loss begins."""
    lines = (history.centred(), history.validation, [history.entropy] if history.entropy else [])
    values = [y for line in lines for y in line if y == y]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    margin = 0.05 * max(high - low, 1e-3)
    return low - margin, high + margin


def _number(value: object) -> float:
    """A number that can be drawn; anything else is a gap."""
    return value if isinstance(value, float | int) and abs(value) < 1e300 else float("nan")


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
    figure = _matrix(table, list(scoring.names), title)
    paths = [folder / f"confusion.{ending}" for ending in FORMATS]
    for path in paths:
        save_figure(figure, path)
    return paths


def _matrix(table: Ints, names: list[str], title: str) -> Any:
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
