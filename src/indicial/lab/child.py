"""One training of a comparison, in a process of its own with one thread.

    python -m indicial.lab.child < trial.json > events.jsonl

It begins, or goes on where it was stopped, and leaves `result.json` when it is finished.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

from indicial.lab.events import Sender
from indicial.lab.results import Result
from indicial.program.messages import IndicialError
from indicial.tasks.task import Scores
from indicial.train.curves import Curves
from indicial.train.loop import train
from indicial.train.metrics import Metrics
from indicial.train.resuming import resume
from indicial.train.run import FILE
from indicial.train.settings import Settings
from indicial.train.starting import Ready, begin
from indicial.train.watchers import Summary


def main() -> int:
    told = json.load(sys.stdin)
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed is no event
    torch.set_num_threads(1)
    sender = Sender(pipe)
    try:
        _run(told, sender)
    except IndicialError as error:
        sender.send("failed", text=str(error))
        return 1
    return 0


def _run(told: dict[str, Any], sender: Sender) -> None:
    settings = Settings.read(told["settings"])
    assert settings.out is not None
    begun = (Path(settings.out) / FILE).exists()
    ready = resume(settings.out, Settings()) if begun else begin(settings)
    metrics = ready.run.metrics
    watchers = [Metrics(metrics), Curves(metrics), sender]
    summary = train(ready.task, ready.module, ready.choices, ready.run, watchers, ready.plan)
    finished = summary.reason != "stopped"
    result = _result(told, ready, summary, _scores(ready, summary), sender, finished)
    if finished:
        result.write(ready.run.folder)
    sender.send("result", result=result.__dict__)


def _scores(ready: Ready, summary: Summary) -> Scores:
    """The best weights on the whole validation part; of what was stopped, what is known of it."""
    task, choices = ready.task, ready.choices
    torch.manual_seed(choices.seed)
    if summary.reason != "stopped":
        return task.validate(ready.run.module("best", device=choices.device))
    return summary.best or task.validate(ready.module, choices.eval_tokens)


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
