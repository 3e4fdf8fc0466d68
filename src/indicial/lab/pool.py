"""Trainings in processes of their own, a few at a time.

>>> outcomes = run_trials(trials, workers=2, view=view)
>>> outcomes[trials[0].label].result.loss
1.532…

One that was stopped goes on. Ctrl-C, or an output that nobody reads any more, ends all in order:
each saves, and what there is comes back.
`finished` finds those that need not be run again.

What a training tells in its own process → the same in the process that looks on.

child    train(…, watchers=[Sender(pipe)])      ("stepped", (Report(step=17, …),)), pickled
parent   for event, values in received(pipe): getattr(board, event)(*values)
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
from dataclasses import dataclass
from typing import IO, Any

from indicial.lab.results import Result
from indicial.lab.trials import Trial
from indicial.lab.views import View
from indicial.program.messages import IndicialError
from indicial.tasks.task import Scores
from indicial.training.display import is_round
from indicial.training.interrupts import Interrupts
from indicial.training.run import FILE, Run
from indicial.training.watchers import Plan, Report, Summary, Watcher

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

    def started(self, plan: Plan) -> None:
        self.send("started", plan)

    def stepped(self, report: Report) -> None:
        self.last = report
        now = time.monotonic()
        if now - self._said > PAUSE or is_round(report.step) or report.step == report.of:
            self._said = now
            self.send("stepped", report)

    def validated(self, report: Report, scores: Scores) -> None:
        self.send("validated", report, scores)

    def note(self, text: str) -> None:
        self.send("note", text)

    def ended(self, summary: Summary) -> None:
        self.summary = summary
        self.send("ended", summary)

    def send(self, event: str, *values: Any) -> None:
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
CHILD = "indicial.lab.child"
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
