"""What a training of a comparison came to, and what several of them say together.

>>> Result.read(trial.folder)
Result(model='ugrnn', asked=300000, parameters=299200, seed=0, loss=1.532…, …)
>>> [(group.model, group.asked, group.mean, group.half) for group in groups(results)]
[('ugrnn', 300000, 1.532…, 0.004…), …]

An interval is one of 95 %. It takes the deviation between seeds to be the same everywhere, because
two or three seeds alone say too little about it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any

from indicial.training.folders import write_json

FILE = "result.json"

STUDENT = (
    12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
    2.12, 2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04,
)  # fmt: skip
"""How many standard errors hold 95 %, by degrees of freedom from 1 on (Student 1908)."""
MANY = 1.96


@dataclass(frozen=True)
class Result:
    """One training, done or stopped."""

    model: str
    asked: int
    parameters: int
    seed: int
    sizes: dict[str, int]
    learning_rate: float
    step: int
    of: int
    tokens: int
    seconds: float
    tokens_per_second: float
    loss: float
    """Nats per token of the validation part: of all of it once the training is finished."""
    above_entropy: float | None = None
    """Nats per word, where the data is a world."""
    bits_per_character: float | None = None
    finished: bool = True

    def write(self, folder: Path) -> None:
        write_json(folder / FILE, asdict(self))

    @staticmethod
    def read(folder: Path) -> Result | None:
        """The result of a training that is finished; None if it is not."""
        try:
            found = json.loads((folder / FILE).read_text(encoding="utf-8"))
            return Result.from_json(found)
        except (OSError, ValueError, TypeError, RecursionError):
            return None

    @staticmethod
    def from_json(found: dict[str, Any]) -> Result:
        names = {f.name for f in fields(Result)}
        return Result(**{name: value for name, value in found.items() if name in names})


@dataclass(frozen=True)
class Group:
    """The same model with the same number of parameters, over all seeds."""

    model: str
    asked: int
    results: tuple[Result, ...]
    half: float | None
    """Half of the interval around the mean loss; None with one seed."""

    @property
    def parameters(self) -> int:
        return self.results[0].parameters

    @property
    def mean(self) -> float:
        return fmean(result.loss for result in self.results)

    @property
    def above_entropy(self) -> float | None:
        known = [r.above_entropy for r in self.results if r.above_entropy is not None]
        return fmean(known) if len(known) == len(self.results) else None

    @property
    def tokens_per_second(self) -> float:
        return fmean(result.tokens_per_second for result in self.results)

    @property
    def finished(self) -> bool:
        return all(result.finished for result in self.results)


def groups(results: Sequence[Result]) -> list[Group]:
    """In the order in which models and sizes were first named."""
    apart: dict[tuple[str, int], list[Result]] = {}
    for result in results:
        apart.setdefault((result.model, result.asked), []).append(result)
    deviation, freedom = pooled_deviation([[r.loss for r in group] for group in apart.values()])
    return [
        Group(model, asked, tuple(group), half_width(deviation, freedom, len(group)))
        for (model, asked), group in apart.items()
    ]


def pooled_deviation(samples: Sequence[Sequence[float]]) -> tuple[float, int]:
    """The deviation inside of samples that may have different means, and its degrees of freedom."""
    freedom = sum(len(sample) - 1 for sample in samples)
    if not freedom:
        return math.nan, 0
    squares = sum((x - fmean(sample)) ** 2 for sample in samples for x in sample)
    return math.sqrt(squares / freedom), freedom


def half_width(deviation: float, freedom: int, number: int) -> float | None:
    """Half of the interval around a mean of so many numbers; None if no deviation is known."""
    if not freedom:
        return None
    wide = STUDENT[freedom - 1] if freedom <= len(STUDENT) else MANY
    return wide * deviation / math.sqrt(number)
