"""The loop: it learns, it goes on bit for bit, it says where a nan began."""

from __future__ import annotations

import dataclasses
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from small import CHOICES, small_data, small_module, small_run, small_task

from indicial.tasks.language import Language
from indicial.tasks.task import Scores
from indicial.train.choices import Choices
from indicial.train.loop import train
from indicial.train.metrics import Metrics
from indicial.train.run import Run
from indicial.train.watchers import Report, Summary, Watcher

DATA = small_data()


class Notes(Watcher):
    """Remembers all it is told, and may ask for an end at a step."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.reports: list[Report] = []
        self.scores: dict[int, Scores] = {}
        self.saves: list[int] = []
        self.summary: Summary | None = None
        self.stop_at = stop_at

    def stepped(self, report: Report) -> None:
        self.reports.append(report)
        if report.step == self.stop_at:
            os.kill(os.getpid(), signal.SIGTERM)

    def validated(self, report: Report, scores: Scores) -> None:
        self.scores[report.step] = scores

    def saved(self, step: int, path: Path) -> None:
        self.saves.append(step)

    def ended(self, summary: Summary) -> None:
        assert self.summary is None
        self.summary = summary


def begin(
    folder: Path, *what: str, choices: Choices = CHOICES, **sizes: int
) -> tuple[Language, Any, Run]:
    task = small_task(*what, data=DATA)
    module = small_module(task, **sizes)
    return task, module, small_run(folder, task, module, choices)


def weights(run: Run) -> dict[str, torch.Tensor]:
    found = run.checkpoints.latest()
    assert found is not None
    return found.tensors


def test_it_learns_looks_and_saves(tmp_path: Path) -> None:
    choices = dataclasses.replace(CHOICES, max_steps=60, eval_every=20, save_every=30)
    task, module, run = begin(tmp_path / "run", "ugrnn", choices=choices, J=32)
    notes = Notes()
    summary = train(task, module, choices, run, [notes])
    losses = [r.loss for r in notes.reports]
    assert summary.reason == "finished" and summary.step == 60
    assert sum(losses[-5:]) < 0.6 * sum(losses[:5])
    assert list(notes.scores) == [20, 40, 60]
    assert notes.saves == [0, 20, 30, 40, 60]
    assert notes.summary == summary
    assert summary.best is not None and summary.best_step == 60
    assert summary.best.per_token == min(s.per_token for s in notes.scores.values())
    assert notes.reports[-1].tokens == 60 * 8 * 24
    again = run.module("best")
    torch.testing.assert_close(
        again(w=task.batch(0).inputs["w"]).loss, task.loss(module, task.batch(0))[0]
    )


@pytest.mark.parametrize(
    ("what", "optimizer", "accumulate"),
    [("gpt2", "adamw", 2), ("ugrnn", "muon", 1), ("encoder", "muon", 1)],
)
def test_it_goes_on_bit_for_bit(tmp_path: Path, what: str, optimizer: str, accumulate: int) -> None:
    """gpt2 and the encoder have dropout, the encoder blanks."""
    choices = dataclasses.replace(CHOICES, optimizer=optimizer, accumulate=accumulate)
    whole, parts = Notes(), []
    task, module, run = begin(tmp_path / "whole", what, choices=choices)
    train(task, module, choices, run, [whole, Metrics(run.metrics)])
    for number, stop in enumerate((5, 7, None)):
        task = small_task(what, data=DATA)
        if number == 0:
            _, module, other = begin(tmp_path / "parts", what, choices=choices)
        else:
            other = Run.open(tmp_path / "parts")
            module = small_module(task, seed=99)
        torch.manual_seed(1000 + number)
        parts.append(Notes(stop))
        summary = train(task, module, choices, other, [parts[-1], Metrics(other.metrics)])
        assert summary.reason == ("finished" if stop is None else "stopped")
    assert [r.step for p in parts for r in p.reports] == list(range(1, 13))
    for one, two in zip(whole.reports, [r for p in parts for r in p.reports], strict=True):
        for name in (
            "step",
            "tokens",
            "loss",
            "smoothed",
            "gradient_norm",
            "learning_rate",
            "clipped",
        ):
            assert getattr(one, name) == getattr(two, name), name
    expected, found = weights(run), weights(other)
    assert expected.keys() == found.keys()
    assert all(torch.equal(value, found[name]) for name, value in expected.items())
    looks = {step: s.nats for p in parts for step, s in p.scores.items()}
    assert looks == {step: s.nats for step, s in whole.scores.items()}
