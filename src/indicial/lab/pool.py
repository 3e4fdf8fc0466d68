"""Trainings in processes of their own, a few at a time, each with one thread.

>>> outcomes = run_trials(trials, workers=2, view=view)
>>> outcomes[trials[0].label].result.loss
1.532…

    python -m indicial.lab.pool < trial.json      what it tells goes to standard output, pickled

One that was stopped goes on, and leaves `result.json` when it is finished. Ctrl-C, or an output that nobody reads any
more, ends all in order: each saves, and what is known of it so far comes back.

What a person sees while several models are trained: boards side by side, or lines.

with make_view(trials, console) as view:
    watcher = view.watcher(trial)      is told everything of one training
    view.ended(trial, result, None)
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import torch
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from indicial.data.column_rows import Columns
from indicial.data.corpus import Data
from indicial.lab.trials import Result, Trial
from indicial.program.messages import IndicialError
from indicial.tasks.task import Scores
from indicial.training.curves import Curves, Metrics
from indicial.training.display import (
    Board,
    Output,
    Picture,
    PlainLines,
    clock,
    is_round,
    side_by_side,
)
from indicial.training.folders import FILE
from indicial.training.loop import train
from indicial.training.run import Run
from indicial.training.settings import Settings
from indicial.training.shared_data import open_any
from indicial.training.starting import Ready, begin
from indicial.training.train import resume
from indicial.training.watchers import Interrupts, Plan, Report, Summary, Watcher, short

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


PAUSE = 0.2
"""Seconds between two steps that are told, but for round ones."""


class Sender(Watcher):
    """Writes what it is told into a pipe. If nobody reads it any more, the training ends in order."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.pipe = pipe
        self.last: Report | None = None
        self.summary: Summary | None = None
        self._said = 0.0
        self._broken = False

    def stepped(self, report: Report) -> None:
        self.last = report
        now = time.monotonic()
        if now - self._said > PAUSE or is_round(report.step) or report.step == report.of:
            self._said = now
            super().stepped(report)

    def ended(self, summary: Summary) -> None:
        self.summary = summary
        super().ended(summary)

    def heard(self, event: str, *values: Any) -> None:
        if self._broken:
            return
        try:
            pickle.dump((event, values), self.pipe)
            self.pipe.flush()
        except OSError:
            self._broken = True
            signal.raise_signal(signal.SIGTERM)


def received(pipe: IO[bytes]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """What is sent, until nobody sends any more; what a process was ended over is no event."""
    with suppress(EOFError, pickle.UnpicklingError):
        while True:
            yield pickle.load(pipe)


PYTHON = (sys.executable, "-m")
CHILD = "indicial.lab.pool"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
LAST_LINES = 3


@dataclass
class Outcome:
    """How a training ended."""

    result: Result | None = None
    mistake: str | None = None


class _Running:
    """A process that trains, and the thread that reads what it tells."""

    def __init__(self, trial: Trial, told: queue.Queue[tuple[_Running, Any]]) -> None:
        self.trial = trial
        self.outcome = Outcome()
        self.watcher = Watcher()
        self.printed: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `end`)
        # Ctrl-C in the terminal reaches us alone: we pass it on once, as SIGTERM.
        self.process = subprocess.Popen(
            [*PYTHON, CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.printed,
            env={**os.environ, **ONE_THREAD},
            start_new_session=True,
        )
        threading.Thread(target=self._read, args=(told,), daemon=True).start()

    def _read(self, told: queue.Queue[tuple[_Running, Any]]) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        # It may end before it reads anything; why is in `printed`.
        with suppress(OSError), self.process.stdin as stdin:
            stdin.write(json.dumps(self.trial.to_json()).encode())
        for event in received(self.process.stdout):
            told.put((self, event))
        self.process.wait()
        told.put((self, None))

    def hears(self, event: str, values: tuple[Any, ...]) -> None:
        if event == "result":
            (self.outcome.result,) = values
        elif event == "failed":
            (self.outcome.mistake,) = values
        else:
            getattr(self.watcher, event)(*values)

    def end(self, asked: bool) -> Outcome:
        """What came of it; a process that died unasked is a mistake."""
        if self.process.returncode and not asked and self.outcome.mistake is None:
            self.printed.seek(0)
            lines = self.printed.read().decode(errors="replace").strip().splitlines()
            said = "\n  ".join(lines[-LAST_LINES:]) or "it said nothing"
            self.outcome.mistake = f"ended with status {self.process.returncode}:\n  {said}"
        self.printed.close()
        return self.outcome


def run_trials(trials: Sequence[Trial], workers: int, view: View) -> dict[str, Outcome]:
    """All of them, the longest first; the outcomes by label."""
    outcomes = {trial.label: Outcome() for trial in trials}
    left = list(reversed(trials))
    if len(left) > workers:
        left.sort(key=lambda trial: trial.work)
    told: queue.Queue[tuple[_Running, Any]] = queue.Queue()
    running: list[_Running] = []
    with view, Interrupts() as interrupts, _killed(running):
        asked = False
        while running or (left and not asked):
            while left and len(running) < workers and not asked:
                one = _Running(left.pop(), told)
                one.watcher = view.watcher(one.trial)
                running.append(one)
            wanted = interrupts.asked is not None or view.lost is not None
            if wanted and not asked:
                asked = True
                for one in running:
                    one.process.send_signal(signal.SIGTERM)
            try:
                source, found = told.get(timeout=0.2)
            except queue.Empty:
                continue
            if found is not None:
                with view.telling():
                    source.hears(*found)
                continue
            running.remove(source)
            outcome = outcomes[source.trial.label] = source.end(asked)
            with view.telling():
                view.ended(source.trial, outcome.result, outcome.mistake)
    return outcomes


@contextmanager
def _killed(running: list[_Running]) -> Iterator[None]:
    """Nothing goes on once we are gone, whatever the reason."""
    try:
        yield
    finally:
        for one in running:
            one.process.kill()


def finished(trial: Trial) -> Result | None:
    """The result of a trial that is finished; a folder that was never made whole is cleared away."""
    folder = trial.folder
    if not (folder / FILE).exists():
        if folder.exists():
            shutil.rmtree(folder)
        return None
    if Run.open(folder).description.equations != trial.equations:
        raise IndicialError(
            f"{folder} was trained with other equations for {trial.model}; remove it, or choose "
            "another --out"
        )
    return Result.read(folder)


def main() -> int:
    told = json.load(sys.stdin)
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no event
    torch.set_num_threads(1)
    sender = Sender(pipe)
    try:
        _run(told, sender)
    except IndicialError as error:
        sender.heard("failed", str(error))
        return 1
    except Stopped:
        return 128 + signal.SIGTERM
    return 0


class Stopped(Exception):
    """SIGTERM where there is nothing to be saved."""


def _run(told: dict[str, Any], sender: Sender) -> None:
    settings = Settings.read(told["settings"])
    assert settings.out is not None
    begun, data = (Path(settings.out) / FILE).exists(), _data(told)
    ready = resume(settings.out, Settings(), data=data) if begun else begin(settings, data=data)
    summary, scores, finished = _trained(ready, sender)
    speed = summary.tokens / max(summary.seconds, 1e-9)
    result = Result(
        model=told["model"],
        asked=told["asked"],
        parameters=ready.plan.parameters,
        seed=ready.choices.seed,
        sizes=dict(ready.plan.sizes),
        learning_rate=ready.choices.learning_rate,
        step=summary.step,
        of=summary.of,
        tokens=summary.tokens,
        seconds=summary.seconds,
        tokens_per_second=sender.last.tokens_per_second if sender.last else speed,
        loss=scores.per_token,
        above_entropy=scores.above_entropy,
        bits_per_character=scores.bits_per_character,
        finished=finished,
    )
    if finished:
        result.write(ready.run.folder)
    sender.heard("result", result)


def _data(told: dict[str, Any]) -> Data | Columns | None:
    """As the process that asks has prepared them."""
    if "data" not in told:
        return None
    folder, description = told["data"]
    return open_any(Path(folder), description)


def _trained(ready: Ready, sender: Sender) -> tuple[Summary, Scores, bool]:
    """How it ended, how good it is, and whether that is the last word."""
    metrics, task, choices = ready.run.metrics, ready.task, ready.choices
    watchers = [Metrics(metrics), Curves(metrics), sender]
    with _breaking_off():
        try:
            summary = train(task, ready.module, choices, ready.run, watchers, ready.plan)
            torch.manual_seed(choices.seed)
            if summary.reason == "stopped":
                known = summary.best or task.validate(ready.module, choices.eval_tokens)
                return summary, known, False
            # The best weights, on the whole validation part.
            return summary, task.validate(ready.run.module("best", device=choices.device)), True
        except Stopped:
            ended = sender.summary
            last = None if ended is None else ended.best or ended.last
            if ended is None or last is None:
                raise
            return ended, last, False


@contextmanager
def _breaking_off() -> Iterator[None]:
    """SIGTERM raises `Stopped`; not while steps are made, for `train` listens itself, and saves."""

    def heard(*_: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGTERM, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
