"""`indicial compare`, as typed: processes, resuming, what is refused."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from indicial.cli import main
from indicial.lab import pool
from indicial.lab.pool import Sender, ending, received
from indicial.lab.trials import Result
from indicial.training.loop import train
from indicial.training.run import Run
from indicial.training.watchers import Summary
from tests.decode.runs import make_run
from tests.forked import Forked
from tests.lab.test_views import trials
from tests.training.small import sentences

QUICK = ("--data", "text.txt", "--parameters", "2k", "--context", "16", "--batch-size", "4")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked: Forked) -> Path:
    """A folder with a text, and nothing from elsewhere; trainings start at once."""
    monkeypatch.setattr(pool, "PYTHON", forked.python)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("INDICIAL_NATIVE", "0")  # so little is computed sooner than compiled
    (tmp_path / "text.txt").write_text("\n".join(sentences(120)) + "\n", encoding="utf-8")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["compare", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_compare_and_again(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = (*QUICK, "--tokens-budget", "256", "--seeds", "1", "--samples", "--out", "c")
    status, out, _ = run(capsys, "rnn", "gru", *few)
    assert status == 0
    assert "rnn: loss" in out and "gru: loss" in out and "temperature 0.7" in out
    found = json.loads((here / "c/compare.json").read_text(encoding="utf-8"))["results"]
    assert [one["model"] for one in found] == ["rnn", "gru"]
    assert all(one["finished"] and one["tokens"] == 256 for one in found)
    assert all(abs(one["parameters"] - 2000) < 200 for one in found)
    written = {path.name for path in (here / "c").iterdir()}
    assert {"table.md", "tokens.png", "tokens.svg", "rnn-2k-seed-0"} <= written

    # The same batches: what a run saw does not depend on the model.
    one, two = (Run.open(f"c/{name}-2k-seed-0").description for name in ("rnn", "gru"))
    assert one.data == two.data
    for name in ("context", "batch_size", "max_steps", "seed", "optimizer"):
        assert one.settings[name] == two.settings[name]

    # What is finished is not repeated; a further model is added.
    before = (here / "c/rnn-2k-seed-0/result.json").stat().st_mtime_ns
    status, out, _ = run(capsys, "rnn", "gru", *few)
    assert status == 0 and "2 of them done already" in out
    assert (here / "c/rnn-2k-seed-0/result.json").stat().st_mtime_ns == before

    status, _, err = run(capsys, "rnn", *few, "--learning-rate", "0.5")
    assert status == 2 and "c was begun with no --learning-rate" in err
    (here / "text.txt").write_text("\n".join(sentences(130)) + "\n", encoding="utf-8")
    status, _, err = run(capsys, "rnn", *few)
    assert status == 2 and "the data changed since c was begun" in err


def test_stopped_and_gone_on_with(
    here: Path, undrawn: None, capsys: pytest.CaptureFixture[str], forked: Forked
) -> None:
    call = ["rnn", *QUICK, "--tokens-budget", "10k", "--seeds", "1", "--out", "c"]
    process = subprocess.Popen(
        [*forked.python, "indicial", "compare", *call],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if "step" in line and "/156" in line:
            break
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    assert process.wait() == 130
    assert "stopped at step" in rest and "to go on: the same call with --out c" in rest
    first = Run.open("c/rnn-2k-seed-0").checkpoint("last").step
    assert 0 < first < 156
    assert not (here / "c/rnn-2k-seed-0/result.json").exists()
    capsys.readouterr()
    status, out, _ = run(capsys, *call)
    assert status == 0 and f"going on after step {first:,}" in out
    assert Run.open("c/rnn-2k-seed-0").checkpoint("last").step == 156


def test_standard_input(
    here: Path,
    undrawn: None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It can be read once, and there are several trainings."""
    text = (here / "text.txt").read_bytes()
    few = (*QUICK[2:], "--data", "-", "--tokens-budget", "256", "--seeds", "1", "--out", "c")
    for models in (["rnn"], ["rnn", "gru"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        status, out, err = run(capsys, *models, *few)
        assert status == 0, out + err
    assert "1 of them done already" in out
    piped = Run.open("c/gru-2k-seed-0").description
    assert piped.settings["data"] == ["-"] and piped.data["name"] == "standard input"
    settings = {"model": ["rnn"], "data": ["text.txt"], "max_steps": 1, "set": {"J": 4}}
    pool._run(
        {"model": "rnn", "asked": 2000, "settings": settings | {"out": "file"}},
        Sender(io.BytesIO()),
    )
    named = Run.open("file").description
    assert named.data["train"]["digest"] == piped.data["train"]["digest"]


def test_an_output_that_is_closed_is_as_ctrl_c(here: Path, forked: Forked) -> None:
    """`indicial compare … | head`"""
    call = ["rnn", *QUICK, "--tokens-budget", "100M", "--seeds", "1", "--out", "c"]
    process = subprocess.Popen(
        [*forked.python, "indicial", "compare", *call],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    for line in process.stdout:
        if "step" in line and "/1562500" in line:
            break
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait() == 130
    assert err == (
        "the output cannot be written any more (Broken pipe)\n"
        "stopped; to go on: the same call with --out c\n"
    )
    assert Run.open("c/rnn-2k-seed-0").checkpoint("last").step > 0
    assert "rnn" in (here / "c/table.md").read_text(encoding="utf-8")


def test_stopped_while_it_is_measured(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All steps are done, so there is something to tell, and only the measuring is left to do."""
    settings = {"model": ["rnn"], "data": ["text.txt"], "max_steps": 3, "set": {"J": 8},
                "context": 16, "batch_size": 4, "out": "r"}  # fmt: skip
    told = {"model": "rnn", "asked": 2000, "settings": settings}

    def train_and_stop(*arguments: Any) -> Summary:
        summary = train(*arguments)
        signal.raise_signal(signal.SIGTERM)
        return summary

    def result() -> Result:
        file = io.BytesIO()
        pool._run(told, Sender(file))
        file.seek(0)
        *_, (_, (result,)) = received(file)
        assert isinstance(result, Result)
        return result

    with monkeypatch.context() as stopping:
        stopping.setattr(pool, "train", train_and_stop)
        stopped = result()
    assert (stopped.step, stopped.of, stopped.finished) == (3, 3, False)
    (trial,) = trials("rnn")
    assert ending(trial, stopped, None).startswith(
        f"rnn: trained, but stopped while it was measured, loss {stopped.loss:.3f}"
    )
    assert Result.read(Path("r")) is None
    assert result().finished and Result.read(Path("r")) is not None


def test_a_training_does_not_outlive_the_command(here: Path) -> None:
    call = ["rnn", *QUICK, "--tokens-budget", "100M", "--seeds", "1", "--out", "c"]
    process = subprocess.Popen(
        [sys.executable, "-m", "indicial", "compare", *call], stdout=subprocess.PIPE, text=True
    )
    metrics = here / "c/rnn-2k-seed-0/metrics.jsonl"
    while not (metrics.exists() and metrics.stat().st_size):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    with Run.open("c/rnn-2k-seed-0").folder.joinpath(".claim").open("a") as file:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)  # the child holds it until it has saved and ended
    assert Run.open("c/rnn-2k-seed-0").checkpoint("last").step > 0


def test_the_name_of_a_model_means_the_model(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though there are runs of these names, after `train rnn --out rnn`."""
    for name in ("rnn", "gru"):
        (here / name).mkdir()
        (here / name / "run.json").write_text("{}", encoding="utf-8")
    status, _, err = run(capsys, "rnn", "gru", "--data", "text.txt", "--parameters", "10")
    assert status == 2 and "cannot have about 10 parameters" in err
    make_run(here / "one", "rnn_lm")
    status, _, err = run(capsys, "one", "one")
    assert status == 2 and "has no attention, which is what two designs or runs" in err
    status, _, err = run(capsys, "./rnn", "gru")
    assert status == 2 and "gru is neither a design nor a run" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "text.txt"], "name what to compare"),
        (["rnn", "gru"], "name the data to train on: --data PATH"),
        (["rnn", "gruu", "--data", "text.txt"], "did you mean gru?"),
        (["rnn", "--data", "text.txt", "--parameters", "lots"], "--parameters takes numbers such as"),
        (["rnn", "--data", "text.txt", "--parameters", "10"], "cannot have about 10 parameters"),
        (["rnn", "--data", "text.txt", "--minutes", "1", "--tokens-budget", "1M"], "one of them"),
        (["rnn", "--data", "text.txt", "--seeds", "0"], "--seeds takes a number of at least 1"),
        (["rnn", "--data", "text.txt", "--minutes", "soon"], "--minutes takes a number"),
        (["rnn", "--data", "text.txt", "--workers", "0"], "--workers takes a number of at least 1"),
        (["rnn", "--data", "text.txt", "--out", "."], "holds other things"),
        (["rnn", "blank_rnn", "--data", "text.txt"], "rnn predicts a word from those before it, "
         "blank_rnn a word from those on both sides: their losses are of different things"),
        (["rnn", "own.eq", "--data", "text.txt"], "own says a loss but no probability of a word"),
    ],
)  # fmt: skip
def test_calls_that_are_wrong(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    Path("own.eq").write_text("input w[t] in V\nloss = 1/T Σ_t (a[w[t]] - 1)^2", encoding="utf-8")
    status, _, err = run(capsys, *arguments)
    assert status == 2 and said in err
    assert not (here / "runs").exists()
