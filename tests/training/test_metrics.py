"""The file of metrics: whole lines, and after a resume as if nothing had happened."""

import json
import math
import os
from pathlib import Path

import pytest

from indicial.program.messages import IndicialError
from indicial.training import curves as module
from indicial.training.curves import Metrics, read_metrics
from tests.training.reports import feed, plan, report, summary


def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "new" / "metrics.jsonl"
    metrics = Metrics(path)
    feed(metrics, tmp_path, 100, entropy=1.5)
    lines = [json.loads(line) for line in path.read_text().splitlines()]  # also before the end
    metrics.ended(summary(tmp_path, 100))
    assert [line["step"] for line in lines] == [*range(1, 101), 100]
    assert lines[4]["loss"] == report(5).loss
    assert lines[4]["clipped"] == 0 and "terms" not in lines[4]
    assert lines[-1]["validation"]["loss"] == pytest.approx(report(100).smoothed + 0.05)
    # 1.5 nats for each of 5000 words, in 20,000 tokens
    assert lines[-1]["validation"]["entropy"] == pytest.approx(1.5 * 5000 / 20_000)


@pytest.mark.parametrize("torn", ["", '{"step": 3', '{"step": 151, "loss": 2.0}', "\x00\x00"])
def test_a_resumed_run_has_the_file_of_one_that_never_stopped(tmp_path: Path, torn: str) -> None:
    calm, stopped = tmp_path / "calm.jsonl", tmp_path / "stopped.jsonl"
    feed(Metrics(calm), tmp_path, 200)
    feed(Metrics(stopped), tmp_path, 150)
    with stopped.open("a") as file:
        file.write(torn)
    feed(Metrics(stopped), tmp_path, 200, first=120)
    assert stopped.read_bytes() == calm.read_bytes()


def test_a_new_run_starts_with_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    feed(Metrics(path), tmp_path, 10)
    feed(Metrics(path), tmp_path, 3)
    assert [line["step"] for line in read_metrics(path)] == [1, 2, 3]


def test_what_is_not_finite_is_null(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    metrics = Metrics(path)
    metrics.started(plan(tmp_path))
    metrics.stepped(report(1, loss=math.nan, smoothed=math.inf, terms={"ℒ_1": math.nan, "b": 2.0}))
    text = path.read_text(encoding="utf-8")
    (line,) = read_metrics(path)
    assert (line["loss"], line["smoothed"], line["terms"]) == (None, None, {"ℒ_1": None, "b": 2.0})
    assert "NaN" not in text and "Infinity" not in text


def test_only_the_first_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "writes", lambda: False)
    feed(Metrics(tmp_path / "metrics.jsonl"), tmp_path, 5)
    assert not list(tmp_path.iterdir())


def test_a_very_long_training_writes_fewer_lines(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    metrics = Metrics(path)
    metrics.started(plan(tmp_path, steps=100_001))
    for step in (1, 4, 5, 6, 99_999, 100_000, 100_001):
        metrics.stepped(report(step, of=100_001))
    assert [line["step"] for line in read_metrics(path)] == [5, 100_000, 100_001]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    metrics.started(plan(tmp_path))
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, line: real(file, line[:20]))
    with pytest.raises(IndicialError, match=r"metrics.jsonl: the disk is full"):
        metrics.stepped(report(1))
    monkeypatch.undo()
    assert list(read_metrics(metrics.path)) == []
