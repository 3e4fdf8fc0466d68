"""Pictures and TensorBoard: what is drawn is what was measured."""

import builtins
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from indicial.program.messages import IndicialError
from indicial.program.outputs import save_figure
from indicial.tasks.task import Scores
from indicial.training.curves import Curves, History, Metrics, TensorBoard, _figure, draw_curves
from indicial.training.watchers import Watchers
from tests.training.reports import feed, loss, plan, report, scores, summary

pytestmark = pytest.mark.usefixtures("curves")


def test_pictures(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.jsonl"
    watchers = Watchers([Metrics(metrics), Curves(metrics)])
    feed(watchers, tmp_path, 300, entropy=1.5)
    watchers.ended(summary(tmp_path, 300))
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "curves.svg").read_text(encoding="utf-8")
    assert text.startswith("<?xml") and "<dc:date>" not in text


@pytest.mark.filterwarnings("error")
def test_a_sign_that_no_font_has(tmp_path: Path) -> None:
    figure = Figure()
    figure.suptitle("\x07 \N{CJK UNIFIED IDEOGRAPH-65E5} \U0010fffd")
    save_figure(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_what_is_drawn(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.jsonl"
    feed(Metrics(metrics), tmp_path, 300, entropy=1.5)
    axes = _figure(History.read(metrics), "a title").axes[0]
    raw, smoothed, validation, entropy = axes.lines
    assert [line.get_label() for line in axes.lines] == [
        "training, each step", "training, smoothed", "validation", "entropy of the data",
    ]  # fmt: skip
    assert list(raw.get_xdata()) == list(range(1, 301))
    assert list(raw.get_ydata()) == [report(step).loss for step in range(1, 301)]
    assert list(validation.get_xdata()) == [100, 200, 300]
    assert list(validation.get_ydata()) == [scores(s).per_token for s in (100, 200, 300)]
    assert list(entropy.get_ydata()) == [pytest.approx(1.5 / 4)] * 2
    assert max(abs(y - loss(n)) for n, y in enumerate(smoothed.get_ydata(), 1)) < 0.12
    assert axes.get_xlabel() == "step"
    assert axes.get_ylabel() == "loss (nats per token)"
    low, high = axes.get_ylim()
    assert low < 1.5 / 4 and high > loss(1)


def test_a_few_steps_of_a_loss_that_is_a_sum(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.jsonl"
    watcher = Metrics(metrics)
    watcher.started(plan(tmp_path))
    for step in (1, 2, 3):
        watcher.stepped(report(step, terms={"ℒ_{LM}": 1.0, "ℒ_{focus}": 2.0}))
    watcher.validated(report(3), scores(3))
    figure = _figure(History.read(metrics), "")
    figure.draw_without_rendering()
    axes = figure.axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["0", "1", "2", "3"]
    assert axes.lines[1].get_label() == "training (all terms), smoothed"


def test_a_loss_that_is_not_in_nats(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.jsonl"
    watcher = Metrics(metrics)
    watcher.started(plan(tmp_path))
    watcher.stepped(report(1))
    watcher.validated(report(1), Scores(4.0, 1, probable=False))
    assert _figure(History.read(metrics), "").axes[0].get_ylabel() == "loss"


def test_smoothing_is_the_mean_around_each_step() -> None:
    values = list(np.random.default_rng(0).normal(size=350))
    values[40] = math.nan
    found = History(steps=list(range(350)), loss=values).centred()
    for place in range(350):
        reach = min(3, place)
        around = values[place - reach : place + reach + 1]
        assert found[place] == pytest.approx(np.nanmean(around))


def test_a_loss_that_is_not_finite_is_a_gap(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    metrics.started(plan(tmp_path))
    for step in range(1, 10):
        metrics.stepped(report(step, loss=math.nan, smoothed=math.nan))
    assert draw_curves(metrics.path, tmp_path)


def test_nothing_to_draw(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("")
    assert draw_curves(tmp_path / "metrics.jsonl", tmp_path) == []
    watcher = Curves(tmp_path / "none.jsonl")
    watcher.started(plan(tmp_path))
    watcher.ended(summary(tmp_path, 0))
    assert not (tmp_path / "curves.png").exists()


def test_what_made_it_fail_is_told_and_not_that_there_are_no_curves(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    feed(metrics, tmp_path, 5)
    curves = Curves(metrics.path)
    (tmp_path / "file").touch()
    curves.ended(summary(tmp_path / "file", 5, "failed"))
    with pytest.raises(IndicialError, match="cannot draw the curves: File exists"):
        curves.ended(summary(tmp_path / "file", 5))


def test_tensorboard(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = TensorBoard(tmp_path / "tensorboard")
    board.started(plan(tmp_path))
    for step in (1, 2, 3):
        board.stepped(report(step, terms={"b": 2.0 * step}))
    board.validated(report(3), scores(3))
    board.ended(summary(tmp_path, 3))
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    found = [(e.step, e.value) for e in events.Scalars("train/loss")]
    assert found == [(s, pytest.approx(report(s).loss)) for s in (1, 2, 3)]
    assert [e.value for e in events.Scalars("train/terms/b")] == [2.0, 4.0, 6.0]
    assert events.Scalars("validation/loss")[0].value == pytest.approx(scores(3).per_token)


def test_tensorboard_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if "tensorboard" in name:
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(IndicialError, match=r"pip install 'indicial\[tensorboard\]'"):
        TensorBoard(tmp_path)
