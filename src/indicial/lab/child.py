"""One training of a comparison, in a process of its own with one thread.

    python -m indicial.lab.child < trial.json      what it tells goes to standard output, pickled

It begins, or goes on where it was stopped, and leaves `result.json` when it is finished. SIGTERM
while it trains or is measured at the end: what is known of it so far is told.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from indicial.data.columns.batches import Columns
from indicial.data.corpus import Data
from indicial.lab.pool import Sender
from indicial.lab.results import Result
from indicial.program.messages import IndicialError
from indicial.tasks.task import Scores
from indicial.training.curves import Curves, Metrics
from indicial.training.loop import train
from indicial.training.resuming import resume
from indicial.training.run import FILE
from indicial.training.settings import Settings
from indicial.training.shared_data import open_any
from indicial.training.starting import Ready, begin
from indicial.training.watchers import Summary


def main() -> int:
    told = json.load(sys.stdin)
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no event
    torch.set_num_threads(1)
    sender = Sender(pipe)
    try:
        _run(told, sender)
    except IndicialError as error:
        sender.send("failed", str(error))
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
    result = _result(told, ready, summary, scores, sender, finished)
    if finished:
        result.write(ready.run.folder)
    sender.send("result", result)


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


def _result(
    told: dict[str, Any],
    ready: Ready,
    summary: Summary,
    scores: Scores,
    sender: Sender,
    finished: bool,
) -> Result:
    speed = (
        sender.last.tokens_per_second
        if sender.last
        else summary.tokens / max(summary.seconds, 1e-9)
    )
    return Result(
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
        tokens_per_second=speed,
        loss=scores.per_token,
        above_entropy=scores.above_entropy,
        bits_per_character=scores.bits_per_character,
        finished=finished,
    )


if __name__ == "__main__":
    sys.exit(main())
