"""Trainings that never were: plans, reports and scores for the watchers."""

import math
from pathlib import Path
from typing import Any

from indicial.tasks.task import Scores
from indicial.training.watchers import Plan, Report, Summary, Watcher


def plan(folder: Path, **changed: Any) -> Plan:
    values: dict[str, Any] = {
        "model": "transformer",
        "task": "language",
        "folder": folder,
        "parameters": 1_234_567,
        "sizes": {"V": 28, "J": 128},
        "data": "names.txt, 32,033 documents",
        "tokenizer": "characters, V = 28",
        "tokens": 200_000,
        "validation_tokens": 20_000,
        "batch_size": 32,
        "accumulate": 2,
        "context": 64,
        "first": 0,
        "steps": 2000,
        "seconds": 290.0,
        "optimizer": "muon",
        "learning_rate": 0.003,
        "device": "cpu",
        "precision": "float32",
    }
    return Plan(**{**values, **changed})


def report(step: int, of: int = 2000, **changed: Any) -> Report:
    values: dict[str, Any] = {
        "step": step,
        "of": of,
        "tokens": 2048 * step,
        "loss": loss(step) + 0.1 * math.sin(step),
        "smoothed": loss(step),
        "terms": {},
        "gradient_norm": 0.83,
        "clipped": step // 10,
        "learning_rate": 1.8e-3,
        "tokens_per_second": 12_345.6,
        "seconds": 0.145 * step,
        "seconds_left": 0.145 * (of - step),
    }
    return Report(**{**values, **changed})


def loss(step: int) -> float:
    return 1.95 + 1.4 * math.exp(-step / 300)


def scores(step: int, entropy: float | None = None) -> Scores:
    words = 5000.0 if entropy is not None else 0.0
    return Scores((loss(step) + 0.05) * 20_000, 20_000, 21_000.0, words, entropy)


def feed(
    watcher: Watcher, folder: Path, last: int, entropy: float | None = None, first: int = 0
) -> None:
    """Steps first + 1 … last, with a validation at every hundredth."""
    watcher.started(plan(folder, first=first))
    for step in range(first + 1, last + 1):
        watcher.stepped(report(step))
        if step % 100 == 0:
            watcher.validated(report(step), scores(step, entropy))


def summary(folder: Path, step: int, reason: str = "finished", best: Any = None) -> Summary:
    return Summary(reason, step, 2000, 0.145 * step, 2048 * step, folder, best, step)
