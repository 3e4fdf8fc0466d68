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
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from indicial.data.columns.batches import Columns
from indicial.data.columns.binding import asked as asked_of
from indicial.data.corpus import Data
from indicial.program.explain.facts import tied_sizes
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.tasks.forms import form_of
from indicial.tasks.predictions import prediction
from indicial.tasks.programs import Trainable, make_task, trainable
from indicial.training import defaults
from indicial.training.chart import short
from indicial.training.defaults import best_device, default_layers
from indicial.training.equations import Equations
from indicial.training.roles import roles
from indicial.training.settings import Settings


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


FROM = {
    "language": "a word from those before it",
    "blank": "a word from those on both sides",
}


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
    """`terms` is what all have in common; `tokens` is None where they say the minutes."""
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
