"""The numbers of a training in a file, one line of JSON for each step and each validation; and as pictures.

    {"step": 100, "tokens": 409600, "loss": 2.31, "smoothed": 2.35, "gradient_norm": 0.8, …}
    {"step": 100, "validation": {"loss": 2.29, "perplexity": 9.87, …}}

>>> draw_curves("runs/names-1/metrics.jsonl", "runs/names-1", title="transformer on names.txt")
[PosixPath('runs/names-1/curves.png'), PosixPath('runs/names-1/curves.svg')]

A very long training writes a line for every few steps. Each line is written whole. When a run is
resumed, the lines after its checkpoint are dropped: the file is as if the training had never stopped.

Of a classifier there is a picture of what was taken for what (`confusion.png`): each row is shaded by its
shares, so that rare classes are seen as well as frequent ones. `--tensorboard` writes a log for TensorBoard
beside it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from indicial.data.tokenizers import Ints
from indicial.program.inputs import Unfit, json_of, open_plain
from indicial.program.messages import IndicialError
from indicial.program.outputs import new_figure, written
from indicial.tasks.task import Classes, Scores
from indicial.training.processes import writes
from indicial.training.watchers import (
    COLOURS,
    Plan,
    Report,
    Summary,
    Watcher,
    plain_axes,
    saved,
)

BLUE, ORANGE, GREEN = COLOURS[:3]
"""Of Okabe and Ito (2008)."""
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
    return saved(_figure(history, title), folder, "curves")


def _figure(history: History, title: str) -> Any:
    figure, axes = plain_axes(7, 4.2, title)
    from matplotlib.ticker import MaxNLocator

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
    return saved(_matrix(table, list(scoring.names), title), folder, "confusion")


def _matrix(table: Ints, names: list[str], title: str) -> Any:
    side = 2.2 + 0.32 * len(names)
    figure = new_figure(side + 0.8, side)
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


MOST_STEPS = 10**15
MOST_LINES = 20_000
"""About so many steps are written; 5 MB."""


class Metrics(Watcher):
    """Writes `metrics.jsonl`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file: int | None = None
        self._every = 1

    def started(self, plan: Plan) -> None:
        if not writes():
            return
        self._every = max(1, plan.steps // MOST_LINES)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _keep_until(self.path, plan.first)
        try:
            self._file = open_plain(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        except Unfit as why:
            raise IndicialError(f"cannot write to {self.path}: {why}") from None

    def stepped(self, report: Report) -> None:
        if report.step % self._every == 0 or report.step == report.of:
            self._line({k: v for k, v in report.to_json().items() if k != "terms" or v})

    def validated(self, report: Report, scores: Scores) -> None:
        found = scores.to_json()
        if scores.entropy is not None and scores.count:
            found["entropy"] = scores.entropy * scores.words / scores.count  # nats per token
        self._line({"step": report.step, "validation": found})

    def ended(self, summary: Summary) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _line(self, values: dict[str, Any]) -> None:
        if self._file is None:
            return
        line = (json.dumps(finite(values), ensure_ascii=False) + "\n").encode()
        try:
            whole = os.write(self._file, line) == len(line)  # one call: nobody reads half a line
        except OSError as error:
            raise IndicialError(f"cannot write to {self.path}: {error.strerror}") from error
        if not whole:
            raise IndicialError(f"cannot write to {self.path}: the disk is full")


def read_metrics(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The lines of a file of metrics; a last line that is not whole is left out."""
    with _opened(path) as file:
        for line in file:
            found = _parsed(line)
            if found is not None:
                yield found


def _keep_until(path: Path, step: int) -> None:
    """Drop what was written after a step, and what is not whole."""
    if not path.exists():
        return
    with _opened(path) as old, written(path) as beside, beside.open("w", encoding="utf-8") as new:
        for line in old:
            found = _parsed(line)
            if found is not None and found["step"] <= step:
                new.write(line)


def _opened(path: str | os.PathLike[str]) -> IO[str]:
    try:
        return open(open_plain(path, os.O_RDONLY), encoding="utf-8", errors="replace")
    except Unfit as why:
        raise IndicialError(f"cannot read {path}: {why}") from None


def _parsed(line: str) -> dict[str, Any] | None:
    """What a line says; None where it is cut short, or says what no training does."""
    try:
        found = json_of(line) if line.endswith("\n") else None
    except ValueError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("validation", {}), dict):
        return None
    step = found.get("step")
    return found if type(step) is int and 0 <= step < MOST_STEPS else None


def finite(value: Any) -> Any:
    """JSON has neither nan nor infinity: null stands for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    return [finite(one) for one in value] if isinstance(value, list | tuple) else value


SHOWN = ("loss", "smoothed", "gradient_norm", "clipped", "learning_rate", "tokens_per_second")


class TensorBoard(Watcher):
    """Writes events into `RUN/tensorboard`."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._writer: Any = None
        self._make = summary_writer()

    def started(self, plan: Plan) -> None:
        if writes():
            # TensorBoard hides what was logged after the step that a run goes on from.
            purge = plan.first + 1 if plan.first else None
            self._writer = self._make(log_dir=str(self.folder), purge_step=purge)

    def stepped(self, report: Report) -> None:
        for name in SHOWN:
            self._scalar(f"train/{name}", getattr(report, name), report.step)
        for name, value in report.terms.items():
            self._scalar(f"train/terms/{name}", value, report.step)

    def validated(self, report: Report, scores: Scores) -> None:
        for name, value in scores.to_json().items():
            self._scalar(f"validation/{name}", value, report.step)

    def note(self, text: str) -> None:
        if self._writer is not None:
            self._writer.add_text("notes", text)

    def ended(self, summary: Summary) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _scalar(self, name: str, value: float, step: int) -> None:
        if self._writer is not None:
            self._writer.add_scalar(name, value, step)


def summary_writer() -> Any:
    """What writes events. Asked for before a run is made: it may be missing."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise IndicialError(
            "--tensorboard needs the package tensorboard, which is not installed: "
            "pip install 'indicial[tensorboard]'"
        ) from error
    return SummaryWriter
