"""Who looks on while a model is trained: a display, a file of numbers, curves; and who wants it to end.

    watchers = [Metrics(run), Display()]
    train(task, module, settings, run, watchers)

    started(plan)                what is going to happen
    stepped(report)              after every step
    validated(report, scores)    after every look at the validation part
    saved(step, path)            a checkpoint is on the disk
    note(text)                   a sentence for the reader
    ended(summary)               always the last, also after Ctrl-C and mistakes

A watcher takes what it needs: `Watcher` does nothing at all of these. Of Ctrl-C, SIGTERM and a closed terminal the
first asks, and a second Ctrl-C ends (`Interrupts`). Only the main thread can listen; elsewhere nothing is ever asked.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from indicial.tasks.task import About, Scores


@dataclass(frozen=True, kw_only=True)
class Plan(About):
    """What is going to happen, known before the first step."""

    model: str
    """The title of the program: `transformer + focus`."""
    task: str
    folder: Path
    parameters: int
    sizes: Mapping[str, int]
    batch_size: int
    accumulate: int
    context: int
    first: int
    """The steps that are done already: 0, or where a run is resumed."""
    steps: int
    """The number of the last step."""
    seconds: float | None
    """How long the steps to come will take, as measured on a few of them."""
    optimizer: str
    learning_rate: float
    device: str
    precision: str

    @property
    def tokens_per_step(self) -> float:
        return self.batch_size * self.accumulate * (self.tokens_per_row or self.context)

    @property
    def epochs(self) -> float:
        """How often each token is seen."""
        return self.steps * self.tokens_per_step / max(1, self.tokens)


@dataclass(frozen=True)
class Report:
    """One step, just done."""

    step: int
    """The number of steps done, 1 after the first."""
    of: int
    tokens: int
    """Tokens seen so far, those before a resume included."""
    loss: float
    smoothed: float
    terms: Mapping[str, float]
    gradient_norm: float
    """Before clipping."""
    clipped: int
    """How many steps were clipped so far."""
    learning_rate: float
    tokens_per_second: float
    seconds: float
    """Time spent so far, that before a resume included."""
    seconds_left: float

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "terms": dict(self.terms)}


@dataclass(frozen=True)
class Summary:
    """How it ended."""

    reason: str
    """`finished`, `stopped` (Ctrl-C), `patience` (no better for long) or `failed`."""
    step: int
    of: int
    seconds: float
    tokens: int
    folder: Path
    best: Scores | None = None
    best_step: int | None = None
    last: Scores | None = None
    clipped: int = 0
    notes: tuple[str, ...] = field(default=())
    budget: float | None = None
    """The seconds that there were for it, if it was the data that ended it and not the time."""
    lost: str | None = None
    """Why somebody who looked on could be told no more: `Broken pipe`."""


class Watcher:
    """Looks on and does nothing. Those that do something change some of it; those that do the same with all that
    they are told change `heard`: `heard("stepped", report)`."""

    def heard(self, event: str, *values: Any) -> None:
        """Whatever is told, by the name of what it was told by."""

    def started(self, plan: Plan) -> None:
        """Before the first step."""
        self.heard("started", plan)

    def stepped(self, report: Report) -> None:
        """After every step."""
        self.heard("stepped", report)

    def validated(self, report: Report, scores: Scores) -> None:
        """After every look at the validation part."""
        self.heard("validated", report, scores)

    def saved(self, step: int, path: Path) -> None:
        """A checkpoint is on the disk."""
        self.heard("saved", step, path)

    def note(self, text: str) -> None:
        """A sentence for the reader."""
        self.heard("note", text)

    def ended(self, summary: Summary) -> None:
        """The last call, whatever happened."""
        self.heard("ended", summary)


class Watchers(Watcher):
    """Several as one: each is told everything, in order.

    One that cannot write any more (`indicial train … | head`, a terminal that was closed) is told
    no more, and the others go on. Why it could not is in `lost`.
    """

    def __init__(self, watchers: Iterable[Watcher] = ()) -> None:
        self.all = list(watchers)
        self.lost: OSError | None = None

    def heard(self, event: str, *values: Any) -> None:
        for watcher in tuple(self.all):
            try:
                getattr(watcher, event)(*values)
            except OSError as error:
                self.all.remove(watcher)
                self.lost = error


class Interrupts:
    """Whether somebody wants the training to end."""

    def __init__(self) -> None:
        self.asked: signal.Signals | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {one: signal.signal(one, self._heard) for one in _heeded()}
        return self

    def __exit__(self, *_: object) -> None:
        for one, before in self._before.items():
            signal.signal(one, before)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self.asked is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = signal.Signals(number)


def _heeded() -> list[signal.Signals]:
    """All of them; but `nohup` has a process ignore that its terminal was closed."""
    found = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        found.append(signal.SIGHUP)  # Windows has none
    return found
