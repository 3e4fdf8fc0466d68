"""The study `facts`: how often a fact must be read to be known, and how many bits a parameter holds.

>>> people(2, seed=0)
[('Where was Judith Gruber born?', 'Turin'), ('Where was Emil Costa born?', 'York')]

What a model knows of a fact are the bits that it has to be told less: log2 42 + log2 P(town), one of 42 towns.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from indicial.data.tokenizers import EOS, MARK, Marked
from indicial.data.world.lists import FEMALE, MALE, SURNAMES, TOWNS
from indicial.lab.studies.study import Findings, Place, Say, Study, axes_of, curves, training
from indicial.lab.trials import Trial
from indicial.program.messages import IndicialError
from indicial.program.outputs import write_text
from indicial.tasks.predictions import Measure, prediction
from indicial.training.run import Run
from indicial.training.settings import Settings

ASKED = {"question": "0", "answer": "1"}
Pair = tuple[str, str]
BITS = math.log2(len(TOWNS))


@dataclass(frozen=True)
class Plan:
    widths: tuple[int, ...] = (32, 64)
    """Of the models that read facts 1, 2, 4, … times."""
    doublings: int = 7
    each: int = 40
    """People whose facts come equally often."""
    small: tuple[int, ...] = (8,)
    """Widths of the models that are filled with facts."""
    people: tuple[int, ...] = (800, 1600, 3200)
    reads: int = 160
    """How often each of these is read, in batches of `filling`."""
    filling: int = 256
    rows: int = 64
    layers: int = 2
    seed: int = 0


QUICK = Plan(
    widths=(8,), doublings=2, each=3, small=(8,), people=(6,), reads=2, filling=4, rows=4, layers=1
)


def people(number: int, seed: int) -> list[Pair]:
    """So many questions with their answers, the same for the same seed."""
    names = [f"{first} {last}" for first in (*FEMALE, *MALE) for last in SURNAMES]
    if number > len(names):
        raise IndicialError(f"there are {len(names)} names, and {number} people are asked for")
    draw = random.Random(f"facts {seed}")
    towns = list(TOWNS)
    chosen = draw.sample(names, number)
    return [(f"Where was {name} born?", draw.choice(towns)) for name in chosen]


@dataclass(frozen=True)
class Subject:
    """One training: a model, and how often it reads which facts."""

    folder: str
    width: int
    reads: tuple[tuple[int, tuple[Pair, ...]], ...]
    batch: int

    @property
    def rows(self) -> list[Pair]:
        return [pair for times, pairs in self.reads for pair in pairs for _ in range(times)]

    @property
    def pairs(self) -> list[Pair]:
        return [pair for _, pairs in self.reads for pair in pairs]


@dataclass(frozen=True)
class FactsStudy(Study):
    plan: Plan

    name = "facts"

    def often(self) -> list[Subject]:
        plan = self.plan
        every = people(plan.doublings * plan.each, plan.seed)
        groups = tuple(
            (2**n, tuple(every[n * plan.each : (n + 1) * plan.each])) for n in range(plan.doublings)
        )
        return [Subject(f"often-{width}", width, groups, plan.rows) for width in plan.widths]

    def many(self) -> list[Subject]:
        plan = self.plan
        return [
            Subject(
                f"many-{width}-{n}",
                width,
                ((plan.reads, tuple(people(n, plan.seed))),),
                plan.filling,
            )
            for width in plan.small
            for n in plan.people
        ]

    def trials(self, folder: Path) -> list[Trial]:
        return [
            training(one.folder, self._settings(one, folder))
            for one in [*self.often(), *self.many()]
        ]

    def _settings(self, one: Subject, folder: Path) -> Settings:
        """Every row is read once: how often a fact comes is how often it stands in the table."""
        folder.mkdir(parents=True, exist_ok=True)
        read, asked = folder / f"{one.folder}.tsv", folder / f"{one.folder}-asked.tsv"
        for path, rows in ((read, one.rows), (asked, one.pairs)):
            if not path.exists():
                write_text(path, "".join(f"{question}\t{town}\n" for question, town in rows))
        steps = max(1, len(one.rows) // one.batch)
        return Settings(
            model=("transformer",), set={"J": str(one.width), "L": str(self.plan.layers), "K": "2"},
            data=(str(read),), validation=(str(asked),), column=ASKED, tokens="bpe", vocabulary=700,
            context=24, batch_size=one.batch, max_steps=steps, eval_every=steps, seed=self.plan.seed,
            device="cpu", out=str(folder / one.folder),
        )  # fmt: skip

    def find(self, place: Place, say: Say) -> Findings:
        known: dict[str, dict[int, float]] = {}
        held: dict[str, tuple[int, float, int]] = {}
        for one in self.often():
            run = Run.open(place.folder / one.folder)
            known[f"J = {one.width}"] = {
                times: float(np.mean(bits(run, pairs))) for times, pairs in one.reads
            }
        for one in self.many():
            run = Run.open(place.folder / one.folder)
            total = float(np.sum(bits(run, one.pairs)))
            size = sum(tensor.numel() for tensor in run.checkpoint("last").part("model").values())
            held[one.folder] = (len(one.pairs), total, size)
        rows = [
            {"model": label, "facts": f"read {times} times", "parameters": "",
             "bits of a fact": f"{found:.2f} of {BITS:.2f}", "bits by parameter": ""}
            for label, each in known.items()
            for times, found in each.items()
        ]  # fmt: skip
        rows += [
            {"model": f"J = {name.split('-')[1]}", "facts": f"{count:,}, read {self.plan.reads} times",
             "parameters": f"{size:,}", "bits of a fact": f"{total / count:.2f} of {BITS:.2f}",
             "bits by parameter": f"{total / size:.2f}"}
            for name, (count, total, size) in held.items()
        ]  # fmt: skip
        title = f"Facts: who was born in which of {len(TOWNS)} towns"
        numbers = {
            "known": {label: {str(t): b for t, b in each.items()} for label, each in known.items()},
            "held": {name: list(found) for name, found in held.items()},
            "bits": BITS,
        }
        return Findings(title, rows, [NOTE], numbers, lambda: _figure(known, held, title))


NOTE = (
    "Bits of a fact: log2 of the number of towns, and log2 of the probability of the true one; a model that "
    "knows nothing has 0, one that is wrong and sure has less than that. Allen-Zhu and Li 2024 "
    "(arXiv:2404.05405) find 2 bits by parameter where each fact is read a thousand times."
)


def bits(run: Run, pairs: Sequence[Pair]) -> list[float]:
    """What a model knows of each fact."""
    module, tokenizer = run.module("last"), run.tokenizer()
    found = prediction(module.code)
    assert found is not None and isinstance(tokenizer, Marked)
    measure = Measure(module, found)
    by_length: dict[int, list[tuple[int, list[int]]]] = defaultdict(list)
    for number, (question, town) in enumerate(pairs):
        tokens = [*tokenizer.encode(f"{question}{MARK}{town}"), EOS]
        by_length[len(tokens)].append((number, tokens))
    result = [0.0] * len(pairs)
    for several in by_length.values():
        nats = measure({found.token.name: torch.tensor([tokens for _, tokens in several])})
        for (number, tokens), row in zip(several, nats.double().tolist(), strict=True):
            first = tokens.index(tokenizer.mark) + 1
            result[number] = BITS - sum(row[first:-1]) / math.log(2)
    return result


def _figure(
    known: dict[str, dict[int, float]], held: dict[str, tuple[int, float, int]], title: str
) -> Any:
    """Bits of a fact over how often it was read; bits by parameter over how many there are."""
    drawn, (left, right) = axes_of(2, title)
    read = {label: (list(each), list(each.values())) for label, each in known.items()}
    curves(
        left,
        read,
        {"": BITS},
        xlabel="times that a fact is read",
        ylabel="bits of it that are known",
    )
    left.set_xscale("log", base=2)
    sizes: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for name, (count, total, size) in held.items():
        sizes[f"J = {name.split('-')[1]}"].append((BITS * count / size, total / size))
    filled = {label: tuple(zip(*points, strict=True)) for label, points in sizes.items()}
    curves(right, filled, {"": 2}, xlabel="bits that there are to know, by parameter",
           ylabel="bits that are known, by parameter")  # fmt: skip
    return drawn
