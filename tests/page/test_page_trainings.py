"""Trainings that are started from the page: on a built-in world, one at a time, and they save."""

import time
from pathlib import Path
from typing import Any

import pytest

from indicial.page.trainings import Trainings
from indicial.program.messages import IndicialError
from indicial.training.run import Run

CELL = "input x[t,k]\nh[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])\n"


def asked(**change: Any) -> Any:
    question = {"text": CELL, "data": "village", "minutes": 5, "sizes": {"J": 8}}
    return {**question, **change}


@pytest.mark.parametrize(
    "change",
    [
        {"data": "/etc/passwd"},
        {"data": "book.txt"},
        {"data": "--out=/tmp/x"},
        {"sizes": {"J": 0}},
        {"sizes": {"J": 10**9}},
        {"sizes": {"--out /tmp/x": 3}},
        {"text": "x" * 300_000},
    ],
)
def test_what_may_not_be_trained(tmp_path: Path, change: dict[str, Any]) -> None:
    trainings = Trainings(str(tmp_path))
    with pytest.raises(IndicialError):
        trainings.start(asked(**change))
    assert list(tmp_path.iterdir()) == []


def wait(holds: Any) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.long
def test_a_training_is_started_stopped_and_goes_on(tmp_path: Path) -> None:
    trainings = Trainings(str(tmp_path), ["--world-size", "500", "--context", "16"])
    try:
        told = trainings.start(asked())
        assert told == {"run": "lab-1", "running": True, "said": ""}
        with pytest.raises(IndicialError, match="stop it first"):
            trainings.start(asked())
        metrics = tmp_path / "lab-1" / "metrics.jsonl"
        wait(lambda: metrics.exists() and metrics.read_text().count("\n") > 3)
        trainings.stop()
        wait(lambda: not trainings.running)
        assert trainings.status()["said"] == ""
        stopped = Run.open(tmp_path / "lab-1").checkpoint("last").step
        assert stopped > 0
        trainings.go_on("lab-1", tmp_path / "lab-1")
        wait(lambda: f'"step": {stopped + 2},' in metrics.read_text())
    finally:
        trainings.close()
    assert not trainings.running


@pytest.mark.long
def test_a_training_that_fails_says_why(tmp_path: Path) -> None:
    trainings = Trainings(str(tmp_path))
    trainings.start(asked(text="y[j] = ("))
    wait(lambda: not trainings.running)
    assert "y[j] = (" in trainings.status()["said"]
    trainings.close()
