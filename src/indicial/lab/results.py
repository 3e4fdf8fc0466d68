"""What a training of a comparison came to, and what several of them say together.

model        parameters  widths        tokens/s  nats/token          above entropy
ugrnn           299,200  J = 176            32k  1.532 ± 0.004               0.244
transformer     300,160  J = 88, …          21k  1.498 ± 0.004               0.210

An interval is one of 95 %. It takes the deviation between seeds to be the same everywhere, because
two or three seeds alone say too little about it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean

from indicial.training.chart import short
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
            names = {f.name for f in fields(Result)}
            return Result(**{name: value for name, value in found.items() if name in names})
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return None


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


RIGHT = ("parameters", "tokens/s", "nats/token", "above entropy")


def rows(groups: Sequence[Group]) -> list[dict[str, str]]:
    """A row for each model and number of parameters; every row has the same columns."""
    world = all(group.above_entropy is not None for group in groups)
    found = []
    for group in groups:
        row = {
            "model": group.model,
            "parameters": f"{group.parameters:,}",
            "tokens/s": short(group.tokens_per_second),
            "nats/token": loss(group),
        }
        if world and group.above_entropy is not None:
            row["above entropy"] = f"{group.above_entropy:.3f}"
        found.append(row)
    return found


def loss(group: Group) -> str:
    """`1.532 ± 0.004`; a star if a training was stopped."""
    half = f" ± {group.half:.3f}" if group.half is not None else ""
    return f"{group.mean:.3f}{half}{'' if group.finished else '*'}"


def plain(table: Sequence[dict[str, str]], right: Collection[str] = RIGHT) -> str:
    """Columns for a terminal; those named in `right` end at one place."""
    columns = list(table[0])
    wide = {name: max(len(name), *(len(row[name]) for row in table)) for name in columns}
    lines = []
    for row in [dict(zip(columns, columns, strict=True)), *table]:
        cells = [
            row[name].rjust(wide[name]) if name in right else row[name].ljust(wide[name])
            for name in columns
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown(table: Sequence[dict[str, str]], right: Collection[str] = RIGHT) -> str:
    columns = list(table[0])
    lines = [columns, ["---:" if name in right else "---" for name in columns]]
    lines += [list(row.values()) for row in table]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def notes(groups: Sequence[Group]) -> list[str]:
    """What the table does not say by itself."""
    found = []
    if any(group.half is not None for group in groups):
        found.append(
            "±: 95 % for the mean over seeds, from the deviation between seeds everywhere."
        )
    if not all(group.finished for group in groups):
        found.append("*: stopped before the end.")
    return [*found, *spread(groups)]


def spread(groups: Sequence[Group]) -> list[str]:
    """What matters more, the number of parameters or the model; where there are several of both."""
    numbers = sorted({group.asked for group in groups})
    models = {group.model for group in groups}
    if len(numbers) < 2 or len(models) < 2 or len(groups) < len(numbers) * len(models):
        return []
    by = {(group.model, group.asked): group.mean for group in groups}
    falls = [by[model, numbers[0]] - by[model, numbers[-1]] for model in models]
    between = [
        max(by[model, number] for model in models) - min(by[model, number] for model in models)
        for number in numbers
    ]
    first, last = short(numbers[0]), short(numbers[-1])
    fall = f"{min(falls):.3f} to {max(falls):.3f}"
    apart = f"{min(between):.3f} to {max(between):.3f}"
    return [
        f"From {first} to {last} parameters the loss falls by {fall}, depending on the model; "
        f"models of one size are {apart} apart."
    ]
