"""The trainings of a comparison: each model with each number of parameters and each seed.

>>> trials = make_trials(contenders(["rnn", "gru"]), [100_000, 300_000], 2, terms, folder)
>>> trials[0].label, trials[0].parameters, trials[0].settings.set
('rnn, 100k, seed 0', 99858, {'J': '85'})

Equal terms: the same data, the same batches for the same seed, as many tokens (or minutes), and the
learning rate by the same rule, from optimizer and width. A model is a name of the library, a file, several
texts joined (`transformer+focus`), or one with something set (`stacked:CELL=gru,L=3`).

The number of parameters is the formula of the program, `2 J² + 2 J K + …`, with every size but the width as
`indicial train` chooses it. Where there is attention, widths go in eights, so that they divide into
heads, and the inner width makes up for the rest.

What a training of a comparison came to, and what several of them say together.

model        parameters  widths        tokens/s  nats/token          above entropy
ugrnn           299,200  J = 176            32k  1.532 ± 0.004               0.244
transformer     300,160  J = 88, …          21k  1.498 ± 0.004               0.210

An interval is one of 95 %. It takes the deviation between seeds to be the same everywhere, because
two or three seeds alone say too little about it.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from indicial.data.binding import asked as asked_of
from indicial.data.column_rows import Columns
from indicial.data.corpus import Data
from indicial.program.meaning.arrays import tied_sizes
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.tasks.forms import form_of
from indicial.tasks.predictions import prediction
from indicial.tasks.programs import Trainable, make_task, trainable
from indicial.training import defaults
from indicial.training.checkpoints import write_json
from indicial.training.defaults import best_device, default_layers
from indicial.training.equations import Equations, roles
from indicial.training.settings import Settings
from indicial.training.watchers import short


@dataclass(frozen=True)
class Contender:
    """One of the models that are compared."""

    name: str
    """What it is called in tables, pictures and folders; no two have the same."""
    what: tuple[str, ...]
    given: dict[str, str] = field(default_factory=dict)

    def trainable(self) -> Trainable:
        return trainable(self.what, self.given)


def contender(text: str) -> Contender:
    """`"stacked:CELL=gru,L=3"` → a model of the library with two things set."""
    if Path(text).exists():
        return Contender(Path(text).stem, (text,))
    models, _, settings = text.partition(":")
    what = tuple(part.strip() for part in models.split("+"))
    given: dict[str, str] = {}
    for setting in filter(None, settings.split(",")):
        name, equals, value = (part.strip() for part in setting.partition("="))
        if not (name and equals and value):
            raise IndicialError(
                f"{text}: after the colon comes NAME=VALUE,…, as in stacked:CELL=gru,L=3"
            )
        given[name] = value
    if not all(what):
        raise IndicialError(f"{text!r} names no model; write ugrnn, cell.eq or transformer+focus")
    name = "+".join(Path(part).stem for part in what)
    return Contender(f"{name}:{settings}" if settings else name, what, given)


def contenders(texts: Sequence[str]) -> list[Contender]:
    """All that are named, each under a name of its own."""
    found = [contender(text) for text in texts]
    names = [one.name for one in found]
    for one, text in zip(found, texts, strict=True):
        if list(texts).count(text) > 1:
            raise IndicialError(
                f"{text} is named twice; several trainings of one model are asked for by --seeds"
            )
        if names.count(one.name) > 1:
            raise IndicialError(f"two models are called {one.name}; one of them is {text}")
    return found


WIDEST = 8192
WITH_HEADS = 8
"""Widths of models with heads are multiples of this."""
NEAR = 0.1
"""How far off a number of parameters may be, as a part of it."""


def sizes_for(
    program: Program, told: Mapping[str, int], given: Mapping[str, int], parameters: int
) -> tuple[dict[str, int], int]:
    """All sizes but those that the data tells (`told`), and how many parameters that makes."""
    code, found = program.code, roles(program.code)

    def sizes(width: int) -> dict[str, int]:
        return found.sizes(width, default_layers(code, found, width), dict(given))

    def count(tried: Mapping[str, int]) -> int:
        return program.cost.parameters.value(tied_sizes(code, {**told, **tried}))

    every = WITH_HEADS if found.heads else 1
    widths = range(every, WIDEST + 1, every)
    above = bisect_left(widths, parameters, key=lambda width: count(sizes(width)))
    near = [sizes(widths[at]) for at in (above - 1, above) if 0 <= at < len(widths)]
    best = min(near, key=lambda tried: abs(count(tried) - parameters))
    free = [name for name in found.inner if name not in given]
    if free:
        wider = {**best, **{name: best[name] + 1 for name in free}}
        each = max(1, count(wider) - count(best))
        more = round((parameters - count(best)) / each)
        best = {**best, **{name: max(1, best[name] + more) for name in free}}
    number = count(best)
    if abs(number - parameters) > NEAR * parameters:
        told_sizes = ", ".join(f"{name} = {value}" for name, value in best.items())
        raise IndicialError(
            f"{program.title} cannot have about {parameters:,} parameters here: the nearest is "
            f"{number:,}, with {told_sizes}"
        )
    return best, number


TOKENS = 1_600_000
"""How many a training sees, unless told otherwise: 24 trainings of up to a million parameters take
about half an hour on two cores."""


@dataclass(frozen=True)
class Trial:
    """One training."""

    label: str
    """What it is called: `ugrnn, 300k, seed 0`, and what is the same for all is left out."""
    model: str
    asked: int
    """About so many parameters."""
    parameters: int
    """And so many it has."""
    seed: int
    settings: Settings
    """As `indicial train` takes them."""
    equations: Equations
    work: float
    """Operations that a token takes: what is long is begun first."""
    data: Data | Columns | None = None
    """What the settings name, prepared already: standard input can be read but once."""
    entropy: float | None = None
    """Nats per token that no model can go below, where the truth is known."""

    def to_json(self) -> dict[str, Any]:
        """What a process is told to train it."""
        told = {"model": self.model, "asked": self.asked, "settings": self.settings.said()}
        if self.data is None:
            return told
        return {**told, "data": [str(self.data.folder), self.data.description]}

    @property
    def folder(self) -> Path:
        assert self.settings.out is not None
        return Path(self.settings.out)


FROM = {"language": "a word from those before it", "blank": "a word from those on both sides"}


def check_comparable(names: Sequence[str], programs: Sequence[Trainable]) -> None:
    """Losses of different things do not belong in one table."""
    for name, made in zip(names, programs, strict=True):
        if prediction(made.program.code) is None:
            raise IndicialError(
                f"{name} says a loss but no probability of a word, so it has no nats per token that "
                "could be compared; train it by itself"
            )
        if _predicts(made) != _predicts(programs[0]):
            raise IndicialError(
                f"{names[0]} predicts {_predicts(programs[0])}, {name} {_predicts(made)}: "
                "their losses are of different things and cannot be compared"
            )
    if programs[0].task == "columns":
        first, *others = (asked_of(form_of(made.program).slots) for made in programs)
        for name, other in zip(names[1:], others, strict=True):
            if other != first:
                raise IndicialError(
                    f"{names[0]} and {name} predict the same from other columns, or share their "
                    "tokens otherwise: they cannot be compared on one set of data"
                )


def _predicts(made: Trainable) -> str:
    """What a model predicts, in words."""
    return FROM[made.task] if made.task in FROM else form_of(made.program).says


def make_trials(
    models: Sequence[Contender],
    parameters: Sequence[int],
    seeds: int,
    terms: Settings,
    data: Data | Columns,
    folder: Path,
    tokens: int | None = TOKENS,
) -> list[Trial]:
    """`terms` is what all have in common; `tokens` is None where they say the minutes. Every width is found:
    nothing is left that could be wrong."""
    device = best_device(terms.device)
    programs = [model.trainable() for model in models]
    check_comparable([model.name for model in models], programs)
    kind = defaults.kind_of(*(made.program.code for made in programs))
    context, rows = defaults.rows(data, terms, device, kind)
    tasks = [
        make_task(made.task, made.program, data, context=context, batch_size=rows)
        for made in programs
    ]
    per_row = tasks[0].about.tokens_per_row
    if tokens is not None:
        steps = max(1, round(tokens / (per_row * rows * (terms.accumulate or 1))))
        terms = replace(terms, max_steps=steps)
    terms = replace(terms, context=context, batch_size=rows)
    found = []
    for model, made, task in zip(models, programs, tasks, strict=True):
        told = {**task.lengths, **task.sizes}
        equations = Equations.of(made.program)
        for asked in parameters:
            sizes, number = sizes_for(made.program, told, made.sizes, asked)
            given = {**model.given, **{name: str(value) for name, value in sizes.items()}}
            work = made.program.cost.work.value(tied_sizes(made.program.code, {**told, **sizes}))
            for seed in range(seeds):
                name = f"{model.name}-{short(asked)}-seed-{seed}"
                out = str(folder / re.sub(r"[^\w.+=-]+", "-", name))
                settings = replace(terms, model=model.what, set=given, seed=seed, out=out)
                label = model.name
                label += f", {short(asked)}" if len(parameters) > 1 else ""
                label += f", seed {seed}" if seeds > 1 else ""
                found.append(
                    Trial(
                        label=label,
                        model=model.name,
                        asked=asked,
                        parameters=number,
                        seed=seed,
                        settings=settings,
                        equations=equations,
                        work=work / per_row,
                        data=data,
                        entropy=task.about.entropy,
                    )
                )
    return found


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
            "tokens/s": short(fmean(result.tokens_per_second for result in group.results)),
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
    fall = f"falls by {min(falls):.3f} to {max(falls):.3f}"
    if min(falls) < 0:  # larger ones may need more steps than there were
        fall = f"changes by {-max(falls):+.3f} to {-min(falls):+.3f}"
    apart = f"{min(between):.3f} to {max(between):.3f}"
    return [
        f"From {first} to {last} parameters the loss {fall}, depending on the model; "
        f"models of one size are {apart} apart."
    ]
