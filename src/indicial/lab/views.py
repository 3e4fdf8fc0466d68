"""What a person sees while several models are trained: boards side by side, or lines.

with make_view(trials, console) as view:
    watcher = view.watcher(trial)      is told everything of one training
    view.ended(trial, result, None)
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from indicial.lab.trials import Result, Trial
from indicial.tasks.task import Scores
from indicial.training.chart import short
from indicial.training.display import Board, Output, Picture, PlainLines, clock, side_by_side
from indicial.training.watchers import Plan, Report, Summary, Watcher

NARROWEST = 36
"""Columns that a board takes at least."""
MANY = 4
"""More trainings than this are told of in fewer lines."""


class View:
    """Both ways of showing; on its own it shows nothing."""

    def __init__(self, trials: Sequence[Trial], console: Console) -> None:
        self.trials = trials
        self.console = console
        self.share: dict[str, float] = {}
        """How much of each training is done."""
        self.begun = time.monotonic()
        self.lost: OSError | None = None
        """Why nobody can be told any more: `indicial compare … | head`, a closed terminal."""

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Whatever is said in here may not be heard; then nothing is said any more."""
        try:
            yield
        except OSError as error:
            self.lost = error
            self.console.quiet = True

    def __enter__(self) -> View:
        self.begun = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def watcher(self, trial: Trial) -> Watcher:
        return Watcher()

    def ended(self, trial: Trial, result: Result | None, mistake: str | None) -> None:
        self.share[trial.label] = 1.0
        self.say(ending(trial, result, mistake))

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def left(self) -> float | None:
        """Seconds until all are done, by the work of those that were seen so far."""
        whole = sum(trial.work for trial in self.trials)
        done = sum(trial.work * self.share.get(trial.label, 0.0) for trial in self.trials)
        passed = time.monotonic() - self.begun
        return passed * (whole - done) / done if done > 0.01 * whole else None


def ending(trial: Trial, result: Result | None, mistake: str | None) -> str:
    """`ugrnn, 300k, seed 0: loss 1.532, 0.244 nats/word above the entropy, 31k tokens/s`."""
    if mistake is not None:
        return f"{trial.label}: {mistake}"
    if result is None:
        return f"{trial.label}: stopped before it had begun"
    stopped = f"stopped at step {result.step:,} of {result.of:,}, "
    if result.finished:
        stopped = ""
    elif result.step == result.of:
        stopped = "trained, but stopped while it was measured, "
    above = result.above_entropy
    entropy = "" if above is None else f", {above:.3f} nats/word above the entropy"
    rate = short(result.tokens_per_second)
    return f"{trial.label}: {stopped}loss {result.loss:.3f}{entropy}, {rate} tokens/s"


class Lines(View):
    """A line now and then, each with the training that it is about."""

    def watcher(self, trial: Trial) -> Watcher:
        return _TrialLines(trial, self)


class _TrialLines(PlainLines):
    """Of many trainings each says something once a minute, and how it ended."""

    def __init__(self, trial: Trial, view: View) -> None:
        super().__init__(view.console)
        self.trial = trial
        self.many = len(view.trials) > MANY

    def started(self, plan: Plan) -> None:
        if plan.first:
            self._say(f"going on after step {plan.first:,}")

    def stepped(self, report: Report) -> None:
        if not self.many or self._silent():
            super().stepped(report)

    def validated(self, report: Report, scores: Scores) -> None:
        if not self.many:
            super().validated(report, scores)

    def ended(self, summary: Summary) -> None:
        pass  # the result says it

    def _say(self, line: str) -> None:
        super()._say(f"{self.trial.label}: {line}")


class Boards(View):
    """Boards side by side, as many as there is room for; a line below says how far all are."""

    def __init__(self, trials: Sequence[Trial], console: Console) -> None:
        super().__init__(trials, console)
        self.boards: list[_TrialBoard] = []
        self.picture = _Several(self)

    def __enter__(self) -> View:
        self.picture.__enter__()
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        with self.telling():
            self.picture.__exit__()

    def watcher(self, trial: Trial) -> Watcher:
        board = _TrialBoard(trial, self)
        board.changed = self.picture.refresh
        # The last picture stays: a board goes when its place is needed.
        done = [old for old in self.boards if self.share.get(old.trial.label) == 1.0]
        place = self.boards.index(done[0]) if done else len(self.boards)
        self.boards[place : place + 1] = [board]
        return board


class _TrialBoard(Board):
    def __init__(self, trial: Trial, view: View) -> None:
        super().__init__()
        self.trial = trial
        self.view = view

    def started(self, plan: Plan) -> None:
        super().started(plan)
        self.plan = replace(plan, model=self.trial.label, data=plan.data.partition(",")[0])

    def stepped(self, report: Report) -> None:
        self.view.share[self.trial.label] = min(0.99, report.step / max(1, report.of))
        super().stepped(report)


class _Several(Picture):
    def __init__(self, view: Boards) -> None:
        super().__init__([], view.console)
        self.view = view

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = self.view.boards[: max(1, options.max_width // NARROWEST)]
        if shown:
            yield side_by_side(shown)
        of = len(self.view.trials)
        done = sum(share == 1.0 for share in self.view.share.values())
        if of > len(shown):
            left = self.view.left()
            time_ = f", about {clock(left)} left" if left is not None else ""
            yield Text(f"{done} of {of} trainings done{time_}", style="dim")


def make_view(trials: Sequence[Trial], console: Console | None = None) -> View:
    """Boards where there is a terminal, lines where there is none."""
    console = console or Output()
    if console.is_terminal and not console.is_dumb_terminal:
        return Boards(trials, console)
    return Lines(trials, console)
