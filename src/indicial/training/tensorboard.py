"""A log for TensorBoard: `indicial train … --tensorboard`, then `tensorboard --logdir RUN`.

    train/loss, train/smoothed, train/gradient_norm, train/learning_rate, train/tokens_per_second
    train/terms/NAME, validation/loss, validation/perplexity, …

TensorBoard is a package of its own; where it is missing, the error says how to get it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from indicial.program.messages import IndicialError
from indicial.tasks.task import Scores
from indicial.training.rank import writes
from indicial.training.watchers import Plan, Report, Summary, Watcher

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
