"""Planned anew while it runs: it ends with the time whatever the machine does, and resumes exactly."""

from __future__ import annotations

import dataclasses
import itertools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small import CHOICES, small_data, small_module, small_run, small_task

from indicial.tasks.task import Scores
from indicial.training import defaults, optimizers
from indicial.training.display import summary_lines
from indicial.training.loop import WORSE, train
from indicial.training.optimizers import STILL, Schedule, Stretch
from indicial.training.run import Run
from indicial.training.settings import Choices, Settings
from indicial.training.training import Step, Training
from indicial.training.watchers import Report, Summary, Watcher

DATA = small_data()
BUDGET = 100.0


def simulated(planned: int, seconds_of: Callable[[float], float]) -> tuple[float, Stretch]:
    """The time that a training takes, whose steps take `seconds_of` the time of day."""
    stretch, every = Stretch(end=planned), max(1, planned // 20)
    step, now = 0, 0.0
    while step < stretch.end:
        step, now = step + 1, now + seconds_of(now)
        if step == stretch.mark(every) and step < stretch.end:
            stretch = stretch.in_time(step, now, BUDGET, planned, None)
    return now, stretch


@given(
    st.lists(st.tuples(st.floats(0, 1.2 * BUDGET), st.floats(0.5, 2)), max_size=6),
    st.integers(200, 2000),
)
def test_it_ends_with_the_time_however_the_speed_changes(
    changes: list[tuple[float, float]], planned: int
) -> None:
    """From some times of day on, a step takes between half and twice as long as was measured."""

    def seconds_of(now: float) -> float:
        factor = max(((at, f) for at, f in changes if at <= now), default=(0.0, 1.0))[1]
        return factor * BUDGET / planned

    seconds, stretch = simulated(planned, seconds_of)
    assert seconds == pytest.approx(BUDGET, rel=0.1)
    assert stretch.at(stretch.end) == pytest.approx(planned)


def test_without_changes_all_is_as_planned() -> None:
    assert simulated(400, lambda now: BUDGET / 400)[1].pace == pytest.approx(1, abs=0.01)


def test_the_rate_goes_on_where_it_was_and_falls_to_the_end() -> None:
    schedule, places = Schedule(1.0, 1000, 50), 1000
    old = Stretch(end=places)
    new = old.to(300, 650, places)
    rates = [schedule.at((old if step < 300 else new).at(step)) for step in range(650)]
    assert rates[300] == schedule.at(300) and new.pace == 2
    assert all(a > b for a, b in itertools.pairwise(rates[50:]))
    assert 0 < rates[-1] < 1e-4


def test_the_data_may_end_it_before_the_time() -> None:
    old = Stretch(end=100)
    faster = old.in_time(50, 10.0, BUDGET, 100, None)
    assert faster.end == 500
    assert old.in_time(50, 10.0, BUDGET, 100, 120).end == 120
    ended = faster.ended(200, 100)
    assert (ended.end, ended.ending) == (200 + STILL * 200, True)
    assert ended.in_time(210, 20.0, BUDGET, 100, None).end == ended.end, "no more, once it ends"
    assert ended.in_time(210, 99.9, BUDGET, 100, None).end < ended.end, "but the time is the law"


class FakeTime:
    """Steps that take as long as their number says, and looks that take none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds_of: Callable[[int], float]) -> None:
        self.now = 1000.0
        true = Training.step

        def step(training: Training) -> Step:
            self.now += seconds_of(training.progress.step)
            return true(training)

        monkeypatch.setattr(Training, "step", step)
        monkeypatch.setattr(optimizers, "now", lambda: self.now)


class Last(Watcher):
    """Remembers rates and the end, and may ask for an end at some steps."""

    def __init__(self, *stops: int) -> None:
        self.stops, self.rates = stops, dict[int, float]()
        self.notes: list[str] = []

    def stepped(self, report: Report) -> None:
        self.rates[report.step] = report.learning_rate
        if report.step in self.stops:
            os.kill(os.getpid(), signal.SIGTERM)

    def note(self, text: str) -> None:
        self.notes.append(text)


TIMED = dataclasses.replace(
    CHOICES, max_steps=80, seconds=80.0, mark_every=8, eval_every=None, save_every=None, warmup=4
)


def trained(folder: Path, last: Last, choices: Choices = TIMED) -> tuple[Summary, Run]:
    task = small_task("trigram", data=DATA)
    module = small_module(task)
    there = (folder / "run.json").exists()
    run = Run.open(folder) if there else small_run(folder, task, module, choices)
    return train(task, module, choices, run, [last]), run


def slower(step: int) -> float:
    """One second, and two from step 21 on; sums of these are exact."""
    return 1.0 if step < 21 else 2.0


def test_a_machine_that_becomes_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeTime(monkeypatch, slower)
    last = Last()
    summary, _ = trained(tmp_path / "run", last)
    assert summary.reason == "finished" and summary.step == summary.of < 80
    assert summary.seconds == pytest.approx(80, rel=0.05)
    falling = [last.rates[step] for step in range(5, summary.step + 1)]
    assert falling == sorted(falling, reverse=True) and falling[-1] < 0.1 * falling[0]


def test_a_few_steps_that_were_thought_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeTime(monkeypatch, lambda step: 2.0)
    timed = defaults.amount(TIMED, Settings(), 12.0, 2048, 10**9, seconds=80)
    assert timed.max_steps < 10
    summary, _ = trained(tmp_path / "run", Last(), timed)
    assert summary.seconds == pytest.approx(80, rel=0.1)
    assert not any("of the time is left" in line for line in summary_lines(summary))


def test_one_that_is_planned_anew_goes_on_bit_for_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped before, at and after marks, and where a new stretch was just planned."""
    FakeTime(monkeypatch, slower)
    calm, stopped = Last(), Last(3, 8, 25, 27, 33)
    _, whole = trained(tmp_path / "calm", calm)
    while trained(tmp_path / "stopped", stopped)[0].reason == "stopped":
        pass
    assert stopped.rates == calm.rates
    one, two = (run.checkpoint("last") for run in (whole, Run.open(tmp_path / "stopped")))
    assert one.step == two.step and one.facts["stretch"] == two.facts["stretch"]
    assert all(torch.equal(value, two.tensors[name]) for name, value in one.tensors.items())


def test_it_ends_when_it_no_longer_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third look is the best: the rate falls soon after it, and the rest of the time is left."""
    FakeTime(monkeypatch, lambda step: 0.5)
    looks: list[float] = []

    def validate(training: Training) -> Scores:
        looks.append(abs(len(looks) - 2))
        return Scores(looks[-1], 1)

    monkeypatch.setattr(Training, "validate", validate)
    last = Last()
    summary, run = trained(tmp_path / "run", last)
    best = summary.best_step
    assert best is not None and summary.reason == "finished"
    assert len([note for note in last.notes if f"no better since step {best}," in note]) == 1
    falls = max(step for step, rate in last.rates.items() if rate > 0.9 * last.rates[best])
    assert falls < summary.step < 3 * best and last.rates[summary.step] < 0.1 * last.rates[best]
    assert any("of the time is left" in line for line in summary_lines(summary))
    assert WORSE == 2 and run.checkpoint("last").facts["stretch"]["ending"]


def test_noise_is_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No look is better than the first, but nothing is learned by heart either."""
    FakeTime(monkeypatch, lambda step: 0.5)
    looks: list[float] = []

    def validate(training: Training) -> Scores:
        looks.append(len(looks) * 1e-3)  # far below the loss of what is read
        return Scores(looks[-1], 1)

    monkeypatch.setattr(Training, "validate", validate)
    last = Last()
    summary, run = trained(tmp_path / "run", last)
    assert summary.reason == "finished" and len(looks) > 2 * WORSE
    assert not run.checkpoint("last").facts["stretch"]["ending"]
    assert not any("of the time is left" in line for line in summary_lines(summary))


def test_steps_that_were_said_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `seconds` no clock is asked, and nothing ends it before."""
    FakeTime(monkeypatch, slower)
    said: Any = dataclasses.replace(TIMED, seconds=None, max_steps=30, eval_every=8, save_every=8)
    summary, run = trained(tmp_path / "run", Last(), said)
    assert (summary.step, run.checkpoint("last").facts["stretch"]) == (30, None)
