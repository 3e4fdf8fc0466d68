"""Trainings that are started from the page: on what was listed, one at a time, and they save."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from indicial.page.runs import Trainings
from indicial.page.server import beginning
from indicial.program.messages import IndicialError
from indicial.training.run import Run

CELL = "input x[t,k]\nh[t,j] = tanh(W[j,I] h[t-1,I] + U[j,K] x[t,K])\n"


def asked(**change: Any) -> Any:
    question = {"text": CELL, "data": "village", "columns": {}, "minutes": 5,
                "sizes": {"J": 8}}  # fmt: skip
    return {**question, **change}


@pytest.mark.parametrize(
    "change",
    [
        {"data": "/etc/passwd"},
        {"data": "book.txt"},
        {"data": "../book.txt"},
        {"data": "--out=/tmp/x"},
        {"columns": {"x": "a\0b"}},
        {"sizes": {"J": 0}},
        {"sizes": {"J": 10**9}},
        {"sizes": {"--out /tmp/x": 3}},
        {"text": "x" * 300_000},
    ],
)
def test_what_may_not_be_trained(tmp_path: Path, change: dict[str, Any]) -> None:
    trainings = Trainings([str(tmp_path)])
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
    trainings = Trainings([str(tmp_path)], ["--world-size", "500", "--context", "16"])
    try:
        told = trainings.start(asked())
        assert (told["run"], told["running"], told["said"]) == ("lab-1", True, "")
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
    trainings = Trainings([str(tmp_path)])
    trainings.start(asked(text="y[j] = ("))
    wait(lambda: not trainings.running)
    assert "y[j] = (" in trainings.status()["said"]
    trainings.close()


def test_data_are_the_files_of_the_folders(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    (texts / "deeper.txt").mkdir(parents=True)
    for name in ("book.txt", "pairs.TSV.gz", "weights.bin", ".env"):
        (texts / name).write_text("a b c\n")
    (texts / "secret.txt").symlink_to("/etc/passwd")
    trainings = Trainings([str(tmp_path / "runs"), str(texts)])
    listed = trainings.status()["data"]
    assert [name for name in listed if "/" in name] == ["texts/book.txt", "texts/pairs.TSV.gz"]
    for name in ("texts/secret.txt", "texts/../texts/book.txt", str(texts / "book.txt")):
        with pytest.raises(IndicialError, match="there is no"):
            trainings.start(asked(data=name))


@pytest.mark.long
def test_a_file_of_ones_own_is_trained_on(tmp_path: Path) -> None:
    table = tmp_path / "data" / "pairs.tsv"
    table.parent.mkdir()
    table.write_text("first\tsecond\n" + "".join(f"{n % 7}\t{2 * (n % 7)}\n" for n in range(200)))
    text = "input x\ninput y\nz = a x + b\nloss = (z - y)^2\n"
    trainings = Trainings([str(tmp_path / "runs"), str(table.parent)], ["--max-steps", "20"])
    try:
        columns = {"x": "first", "y": "second"}
        trainings.start(asked(text=text, data="data/pairs.tsv", columns=columns, sizes={}))
        wait(lambda: not trainings.running)
    finally:
        trainings.close()
    assert trainings.status()["said"] == ""
    assert Run.open(tmp_path / "runs" / "lab-1").checkpoint("last").step == 20


def test_a_folder_has_runs_or_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("texts", "mine/one", "empty"):
        Path(name).mkdir(parents=True)
    Path("texts/book.txt").write_text("a b c\n")
    Path("mine/one/run.json").write_text("{}")

    def begun(*words: str) -> tuple[str, str, list[str]]:
        start, folders, _ = beginning(words)
        return start["view"], start["run"], [os.path.relpath(folder) for folder in folders]

    assert begun() == ("equations", "", ["runs"])
    assert begun("texts") == ("equations", "", ["runs", "texts"])
    assert begun("mine/one") == ("runs", "one", ["runs", "mine/one"])
    assert begun("texts", "mine") == ("runs", "", ["mine", "texts"])
    with pytest.raises(IndicialError, match="neither a run in empty nor data"):
        begun("empty")
