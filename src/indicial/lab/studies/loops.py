"""The study `loops`: how often neural language models run in circles, by temperature, size and training.

A trigram must run in circles at temperature 0: it sees two words, and there are finitely many pairs
(`repetition`). A state of numbers, or a window of words, may take much longer to come back.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from indicial.data.world import world
from indicial.decode.settings import LEAST, ROUNDS, Repeat, repeats
from indicial.lab.studies.repetition import SHARES, beginnings, contains_loop, written
from indicial.lab.studies.study import (
    Findings,
    Place,
    Say,
    Study,
    Terms,
    axes_of,
    curves,
    share_written,
    training,
)
from indicial.lab.trials import Trial
from indicial.training.run import Run
from indicial.training.settings import Settings


@dataclass(frozen=True)
class Plan(Terms):
    models: tuple[str, ...] = ("ugrnn", "transformer")
    widths: tuple[int, ...] = (16, 64)
    steps: tuple[int, ...] = (100, 400)
    temperatures: tuple[float, ...] = (0, 0.25, 0.5, 0.75, 1)
    texts: int = 100
    words: int = 200


QUICK = Plan(
    models=("ugrnn",), widths=(8,), steps=(4,), data="village", world_size=2000, context=32,
    batch_size=4, temperatures=(0, 1), texts=6, words=60,
)  # fmt: skip


class Subject(NamedTuple):
    """One model that is trained."""

    model: str
    width: int
    steps: int

    @property
    def label(self) -> str:
        return f"{self.model}, J = {self.width}, {self.steps:,} steps"

    @property
    def folder(self) -> str:
        return f"{self.model}-{self.width}-{self.steps}"


@dataclass(frozen=True)
class Loops(Study):
    plan: Plan

    name = "loops"

    @property
    def subjects(self) -> list[Subject]:
        plan = self.plan
        return [Subject(m, w, s) for m in plan.models for w in plan.widths for s in plan.steps]

    def trials(self, folder: Path) -> list[Trial]:
        return [training(one.label, self._settings(one, folder)) for one in self.subjects]

    def _settings(self, one: Subject, folder: Path) -> Settings:
        sizes = {"J": one.width}
        return self.plan.settings(
            folder / one.folder, one.model, sizes=sizes, steps=one.steps, looks=2
        )

    def find(self, place: Place, say: Say) -> Findings:
        plan, own = self.plan, world(self.plan.data)
        hits: dict[str, dict[float, int]] = {}
        coldest: dict[str, list[Repeat]] = {}
        number = 0
        for one in self.subjects:
            run = Run.open(place.folder / one.folder)
            module, tokenizer = run.module(), run.tokenizer()
            prompts = beginnings(own, tokenizer, plan.texts)
            number = len(prompts)
            hits[one.label] = {}
            for temperature in plan.temperatures:
                texts = written(module, prompts, temperature, plan.words)
                hits[one.label][temperature] = sum(map(contains_loop, texts))
                if not temperature:
                    coldest[one.label] = [loop for text in texts if (loop := repeats(text))]
            say(f"{one.label}: {hits[one.label][plan.temperatures[0]]} of {number} texts loop")
        title = f"Loops: {number} texts of {plan.words} words on {plan.data}, by temperature"
        return Findings(
            title,
            [_row(one.label, hits[one.label], coldest[one.label], number) for one in self.subjects],
            [NOTE],
            {
                "texts": number,
                "looping": {
                    label: {f"{t:g}": n for t, n in found.items()} for label, found in hits.items()
                },
                "loops": {
                    label: [[loop.start, loop.period] for loop in loops]
                    for label, loops in coldest.items()
                },
            },
            lambda: _figure(hits, number, title),
        )


NOTE = (
    f"A text loops if it contains {ROUNDS} rounds of the same words in a row at least, of which {LEAST} "
    "words at least are as they were a round before; in brackets 95 % (Wilson). Behind the shares, of "
    "the texts at temperature 0 that end in a loop: the median word at which it begins, the median and "
    "the largest number of words in a round."
)


def _row(label: str, hits: dict[float, int], coldest: list[Repeat], of: int) -> dict[str, str]:
    found = {"model": label}
    for temperature, count in hits.items():
        found[f"τ = {temperature:g}"] = share_written(count, of)
    starts, lengths = [loop.start for loop in coldest], [loop.period for loop in coldest]
    found["begins"] = f"{median(starts):g}" if starts else ""
    found["round"] = f"{median(lengths):g}, at most {max(lengths)}" if lengths else ""
    return found


def _figure(hits: dict[str, dict[float, int]], of: int, title: str) -> Any:
    """The share of texts with a loop over the temperature, a line for each model."""
    drawn, (axes,) = axes_of(1, title)
    lines = {
        label: (list(found), [n / of for n in found.values()]) for label, found in hits.items()
    }
    curves(axes, lines, **SHARES)
    return drawn
