"""The numbers of a training in a file: one line of JSON for each step and each validation.

    {"step": 100, "tokens": 409600, "loss": 2.31, "smoothed": 2.35, "gradient_norm": 0.8, …}
    {"step": 100, "validation": {"loss": 2.29, "perplexity": 9.87, …}}

A very long training writes a line for every few steps. Each line is written whole. When a run is
resumed, the lines after its checkpoint are dropped: the file is as if the training had never stopped.

A log for TensorBoard: `indicial train … --tensorboard`, then `tensorboard --logdir RUN`.

    train/loss, train/smoothed, train/gradient_norm, train/learning_rate, train/tokens_per_second
    train/terms/NAME, validation/loss, validation/perplexity, …

TensorBoard is a package of its own; where it is missing, the error says how to get it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from indicial.program.inputs import Unfit, json_of, open_plain
from indicial.program.messages import IndicialError
from indicial.program.outputs import written
from indicial.tasks.task import Scores
from indicial.training.rank import writes
from indicial.training.watchers import Plan, Report, Summary, Watcher

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
        line = (json.dumps(_finite(values), ensure_ascii=False) + "\n").encode()
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


def _finite(value: Any) -> Any:
    """JSON has neither nan nor infinity: null stands for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return value


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
