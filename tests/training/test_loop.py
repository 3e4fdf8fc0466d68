"""The loop: it learns, it goes on bit for bit, it says where a nan began."""

from __future__ import annotations

import dataclasses
import math
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from small import CHOICES, small_data, small_module, small_run, small_task

from indicial import IndicialError
from indicial.tasks.language import Language
from indicial.tasks.task import Scores
from indicial.training.curves import Metrics, read_metrics
from indicial.training.loop import train
from indicial.training.run import Run
from indicial.training.settings import Choices
from indicial.training.training import Training
from indicial.training.watchers import Report, Summary, Watcher

DATA = small_data()


class Notes(Watcher):
    """Remembers all it is told, and may ask for an end at a step."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.reports: list[Report] = []
        self.scores: dict[int, Scores] = {}
        self.saves: list[int] = []
        self.notes: list[str] = []
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

    def note(self, text: str) -> None:
        self.notes.append(text)

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
    ("what", "changes"),
    [
        ("gpt2", {"optimizer": "adamw", "accumulate": 2}),
        ("ugrnn", {"average": 4}),
        pytest.param("encoder", {}, marks=pytest.mark.long),
    ],
)
def test_it_goes_on_bit_for_bit(tmp_path: Path, what: str, changes: dict[str, Any]) -> None:
    """gpt2 and the encoder have dropout, the encoder blanks."""
    choices = dataclasses.replace(CHOICES, **changes)
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


def test_the_mean_of_the_weights_is_what_is_looked_at_and_kept() -> None:
    """Training is the same with it and without; the mean is that of the definition."""
    choices = dataclasses.replace(CHOICES, average=4)
    task = small_task("ugrnn", data=DATA)
    plain, averaged = (Training(task, small_module(task), one) for one in (CHOICES, choices))
    mean = {key: p.detach().clone() for key, p in plain.optimizer.parameters.items()}
    for number in range(1, 21):
        assert plain.step() == averaged.step()
        for key, p in plain.optimizer.parameters.items():
            mean[key] += max(1 / 4, 9 / (9 + number)) * (p.detach() - mean[key])
    kept = averaged.checkpoint()
    for key, p in plain.optimizer.parameters.items():
        assert torch.equal(kept.part("trained")[key], p)
        torch.testing.assert_close(kept.part("model")[key], mean[key])
        p.data.copy_(kept.part("model")[key])
    assert plain.validate() == averaged.validate()
    assert averaged.checkpoint().part("trained").keys() == mean.keys()
    without = Training(task, small_module(task, seed=9), CHOICES)  # who drops the mean has the rest
    without.load(kept)
    assert all(
        torch.equal(kept.part("trained")[k], v) for k, v in without.optimizer.parameters.items()
    )


def test_batches_that_are_accumulated_are_one_large_batch() -> None:
    """Four of two rows are eight rows: the same gradient, up to rounding."""
    tasks = [small_task("ugrnn", data=DATA) for _ in range(2)]
    tasks[1].batch_size = 2
    steps = []
    for task, accumulate in zip(tasks, (1, 4), strict=True):
        choices = dataclasses.replace(CHOICES, accumulate=accumulate, optimizer="adamw")
        training = Training(task, small_module(task), choices)
        steps.append([training.step() for _ in range(3)])
        assert training.progress.tokens == 3 * 8 * 24
    for one, two in zip(*steps, strict=True):
        assert one.loss == pytest.approx(two.loss, rel=1e-5)
        assert one.gradient_norm == pytest.approx(two.gradient_norm, rel=1e-4)


def test_clipped_steps_are_counted() -> None:
    task = small_task("ugrnn", data=DATA)
    for clip, clipped in ((1e-6, 3), (0.0, 0), (1e6, 0)):
        training = Training(task, small_module(task), dataclasses.replace(CHOICES, clip=clip))
        norms = [training.step().gradient_norm for _ in range(3)]
        assert training.progress.clipped == clipped and min(norms) > 1e-3


def test_no_better_for_long_is_the_end(tmp_path: Path) -> None:
    choices = dataclasses.replace(CHOICES, learning_rate=1e-12, eval_every=1, patience=3)
    task, module, run = begin(tmp_path / "run", "ugrnn", choices=choices)
    looks: list[float] = []

    def worse(module: Any, most: int | None = None) -> Scores:
        looks.append(1.0)
        return Scores(sum(looks), 1)

    task.validate = worse  # type: ignore[method-assign]
    summary = train(task, module, choices, run)
    assert (summary.reason, summary.step, summary.best_step) == ("patience", 4, 1)
    best, last = run.checkpoints.best(), run.checkpoints.latest()
    assert best is not None and last is not None
    assert (best.step, last.step) == (1, 4)
    notes = Notes()
    again = train(task, module, choices, run, [notes])  # it has not become better since
    assert f"To continue anyway: --resume {run.folder} --patience 8" in notes.notes[0]
    assert (again.reason, again.step, again.best_step) == ("patience", 4, 1)
    more = dataclasses.replace(choices, patience=5)
    assert train(task, module, more, run).step == 6


NAN = """\
input w[t] in V
h[t,j] = W[j,I] h[t-1,I] + e[w[t-1],j]
s[t,j] = √(h[t,j] + B[j])
P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} e[w_t,J] s[t,J]
loss = 1/T Σ_t -ln P(w_t | …)
"""


def test_a_nan_is_traced_to_its_equation(tmp_path: Path) -> None:
    path = tmp_path / "cell.eq"
    path.write_text(NAN, encoding="utf-8")
    task, module, run = begin(tmp_path / "run", str(path))
    with torch.no_grad():
        module.parameter("B").fill_(-100.0)
    notes = Notes()
    with pytest.raises(IndicialError) as error:
        train(task, module, CHOICES, run, [notes])
    text = " ".join(str(error.value).split())
    assert text.startswith("step 1: the loss is nan.")
    assert "cell.eq:3:1: error: s[0,0] of example 0 is nan, and all before it is finite" in text
    assert "The checkpoint of step 0 is as it was" in text and "--learning-rate (it is 0.01" in text
    assert notes.summary is not None and notes.summary.reason == "failed"


@pytest.mark.parametrize("loss", ["1/T Σ_t -ln P(w_t | …)", "1/T Σ_t Σ_j s[t,j]"])
def test_a_nan_in_validation_is_traced_too(tmp_path: Path, loss: str) -> None:
    """The weights of the first step are no good, and no second one shows it."""
    path = tmp_path / "cell.eq"
    text = NAN.replace("1/T Σ_t -ln P(w_t | …)", loss).replace("W[j,I] h[t-1,I] + ", "")
    path.write_text(text, encoding="utf-8")
    choices = dataclasses.replace(CHOICES, learning_rate=1000.0, max_steps=1, optimizer="adamw")
    task, module, run = begin(tmp_path / "run", str(path), choices=choices)
    with torch.no_grad():
        module.parameter("B").fill_(10.0)
    notes = Notes()
    with pytest.raises(IndicialError) as error:
        train(task, module, choices, run, [notes])
    text = " ".join(str(error.value).split())
    assert text.startswith("step 1: the validation loss is nan.")
    assert "cell.eq:3:1: error: s[0," in text and "is nan, and all before it is finite" in text
    assert "The checkpoint of step 0 is as it was" in text and "(it is 1000 here)" in text
    assert notes.summary is not None and notes.summary.reason == "failed"
    assert run.checkpoint("last").step == 0


def test_an_infinite_validation_loss_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Training, "validate", lambda training: Scores(math.inf, 10))
    task, module, run = begin(tmp_path / "run", "ugrnn")
    notes = Notes()
    summary = train(task, module, CHOICES, run, [notes])
    assert [
        n for n in notes.notes if "the probability 0, so its loss is infinite" in n
    ] == notes.notes
    assert len(notes.notes) == 1 and summary.best is None


def test_a_gradient_that_is_nan_alone(tmp_path: Path) -> None:
    path = tmp_path / "cell.eq"
    path.write_text(NAN.replace("√(h[t,j] + B[j])", "√(B[j]) + h[t,j]"), encoding="utf-8")
    task, module, run = begin(tmp_path / "run", str(path))
    with torch.no_grad():
        module.parameter("B").zero_()
    with pytest.raises(IndicialError, match="step 1: the gradient is not finite") as error:
        train(task, module, CHOICES, run)
    assert "All equations are finite; the gradient of B is not" in str(error.value)


def test_a_second_interrupt_ends_at_once(tmp_path: Path) -> None:
    class Impatient(Notes):
        def stepped(self, report: Report) -> None:
            super().stepped(report)
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    task, module, run = begin(tmp_path / "run", "ugrnn")
    notes = Impatient()
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(task, module, CHOICES, run, [notes])
    assert len(notes.reports) == 1 and notes.saves == [0]
    assert notes.summary is not None and notes.summary.reason == "stopped"
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_whoever_asks_for_an_end_gets_a_checkpoint(tmp_path: Path, asked: signal.Signals) -> None:
    class Asking(Watcher):
        def stepped(self, report: Report) -> None:
            if report.step == 5:
                os.kill(os.getpid(), asked)

    task, module, run = begin(tmp_path / "run", "trigram")
    outside = signal.signal(asked, signal.SIG_DFL)  # under nohup one of them is ignored
    try:
        summary = train(task, module, CHOICES, run, [Asking()])
        assert signal.getsignal(asked) is signal.SIG_DFL
    finally:
        signal.signal(asked, outside)
    assert (summary.reason, summary.step, summary.lost) == ("stopped", 5, None)
    assert run.checkpoint("last").step == 5


def test_a_closed_terminal_is_nothing_to_nohup(tmp_path: Path) -> None:
    class Closing(Watcher):
        def stepped(self, report: Report) -> None:
            os.kill(os.getpid(), signal.SIGHUP)

    task, module, run = begin(tmp_path / "run", "trigram")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert train(task, module, CHOICES, run, [Closing()]).reason == "finished"
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("at", ["started", "stepped", "validated", "ended"])
def test_an_output_that_nobody_reads_ends_in_order(tmp_path: Path, at: str) -> None:
    """The others are told all, and what was done is saved."""
    calls: list[str] = []

    def closed(*_: object) -> None:
        calls.append(at)
        raise BrokenPipeError(32, "Broken pipe")

    deaf, notes = Watcher(), Notes()
    setattr(deaf, at, closed)
    task, module, run = begin(tmp_path / "run", "trigram")
    summary = train(task, module, CHOICES, run, [deaf, notes])
    last = {"started": 1, "stepped": 1, "validated": 4, "ended": 12}[at]
    assert calls == [at] and summary.lost == "Broken pipe"
    assert (summary.step, summary.reason) == (last, "finished" if at == "ended" else "stopped")
    assert [report.step for report in notes.reports] == list(range(1, last + 1))
    assert notes.summary is not None and notes.summary.step == last
    assert run.checkpoint("last").step == last


@pytest.mark.parametrize(
    "error",
    [RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), MemoryError("numpy")],
)
def test_a_step_without_memory_says_what_to_make_smaller(error: Exception) -> None:
    def loss(*_: object) -> Any:
        raise error

    task = small_task("trigram", data=DATA)
    training = Training(task, small_module(task), CHOICES)
    task.loss = loss  # type: ignore[method-assign]
    with pytest.raises(IndicialError, match="no memory on cpu for a step of 8 x 24 tokens; make"):
        training.step()


def test_terms_are_in_the_reports(tmp_path: Path) -> None:
    task, module, run = begin(tmp_path / "run", "transformer", "focus")
    notes = Notes()
    train(task, module, CHOICES, run, [notes, Metrics(run.metrics)])
    lines = [line for line in read_metrics(run.metrics) if "loss" in line]
    for report, line in zip(notes.reports, lines, strict=True):
        terms = report.terms
        assert report.loss == pytest.approx(terms["ℒ_{LM}"] + 0.01 * terms["ℒ_{focus}"], rel=1e-5)
        assert line["terms"] == terms


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_narrow_products_learn_too() -> None:
    task = small_task("transformer", data=DATA)
    choices = dataclasses.replace(CHOICES, precision="bfloat16")
    wide, narrow = (Training(task, small_module(task).cuda(), c) for c in (CHOICES, choices))
    first = [training.step().loss for training in (wide, narrow)]
    assert first[0] != first[1] and first[0] == pytest.approx(first[1], rel=0.02)
    assert [narrow.step().loss for _ in range(8)][-1] < first[1] - 0.2
    assert all(p.dtype == torch.float32 for p in narrow.module.parameters())
