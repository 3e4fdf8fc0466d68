"""The study `shaping`: what a term of the loss that shapes the attention does to a small transformer.

Each seed has the same first weights and the same batches for every λ, so the losses of one seed are compared with each
other: the difference varies less than the losses do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from indicial.inspect.findings import texts_for
from indicial.inspect.structures import weights_of
from indicial.lab.studies.study import (
    Findings,
    Mean,
    Place,
    Say,
    Study,
    Terms,
    axes_of,
    curves,
    through,
    training,
)
from indicial.lab.trials import Result, Trial
from indicial.training.run import Run
from indicial.training.settings import Settings

ALONE = "none"
"""What the transformer without a term is called."""
TEXTS = 64
"""Rows of the validation part on which the heads are looked at."""
FAR = 100.0
"""ℒ_{max} of the library's `near`."""


@dataclass(frozen=True)
class Plan(Terms):
    """What is trained. λ of `near` are a thirtieth: a squared distance is a larger number."""

    focus: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3)
    near: tuple[float, ...] = (0.0003, 0.001, 0.003, 0.01)
    seeds: int = 3
    steps: int = 600
    layers: int = 2
    heads: int = 4


FEW = Plan(
    focus=(0.03, 0.1), near=(0.001, 0.003), seeds=4, steps=500, world_size=2000, context=32,
)  # fmt: skip
"""Two thousand sentences, seen about ten times over."""
QUICK = Plan(
    focus=(0.1,), near=(0.01,), seeds=2, steps=4, data="village", world_size=2000,
    context=32, batch_size=4, width=8, heads=2,
)  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """A term and its λ."""

    term: str
    weight: float

    @property
    def label(self) -> str:
        return f"{self.term}, λ = {self.weight:g}" if self.weight else "without a term"

    @property
    def folder(self) -> str:
        return f"{self.term}-λ={self.weight:g}" if self.weight else ALONE


@dataclass(frozen=True)
class Measured:
    """One training."""

    loss: float
    """Nats per token of the whole validation part, without the term."""
    above_entropy: float | None
    entropy: float
    """Nats, the mean over heads and places: ℒ_{focus}."""
    distance: float
    """The mean distance in words, over all heads and places."""
    distance_below: float
    """That of the layers below the top one, which `near` acts on."""
    near: float
    """ℒ_{near}."""

    def term(self, name: str) -> float:
        return self.entropy if name == "focus" else self.near


@dataclass(frozen=True)
class Shaping(Study):
    plan: Plan

    name = "shaping"

    @property
    def settings(self) -> list[Setting]:
        plan = self.plan
        return [
            Setting(ALONE, 0.0),
            *(Setting("focus", weight) for weight in plan.focus),
            *(Setting("near", weight) for weight in plan.near),
        ]

    def trials(self, folder: Path) -> list[Trial]:
        return [
            training(f"{setting.label}, seed {seed}", self._settings(setting, seed, folder))
            for setting in self.settings
            for seed in range(self.plan.seeds)
        ]

    def _settings(self, setting: Setting, seed: int, folder: Path) -> Settings:
        plan = self.plan
        sizes: dict[str, object] = {"J": plan.width, "L": plan.layers, "K": plan.heads}
        terms = [setting.term] if setting.weight else []
        if terms:
            sizes["λ"] = f"{setting.weight:g}"
        out = folder / f"{setting.folder}-seed-{seed}"
        return plan.settings(out, "transformer", *terms, sizes=sizes, steps=plan.steps, seed=seed)

    # ------------------------------------------------------------------ what came of it

    def _done(self, folder: Path) -> list[Setting]:
        return self.finished(folder, {setting: self._names(setting) for setting in self.settings})

    def _names(self, setting: Setting) -> list[str]:
        return [f"{setting.folder}-seed-{seed}" for seed in range(self.plan.seeds)]

    def enough(self, folder: Path) -> bool:
        done = self._done(folder)
        return len(done) > 1 and done[0].term == ALONE

    def find(self, place: Place, say: Say) -> Findings:
        settings = self._done(place.folder)

        def measured(name: str) -> Measured:
            told = f"looking at the heads of {name}"
            return Measured(
                **place.once(name, lambda: asdict(measure(place.folder / name)), say, told)
            )

        found = {setting: list(map(measured, self._names(setting))) for setting in settings}
        rows = [summary(setting, found) for setting in settings]
        terms = dict.fromkeys(setting.term for setting in settings if setting.weight)
        plan = self.plan
        title = (
            f"Shaping: {plan.data}, {plan.steps:,} steps of {plan.batch_size} x {plan.context} "
            f"tokens, {plan.layers} layers of {plan.heads} heads, width {plan.width}, "
            f"{plan.seeds} seeds"
        )
        return Findings(
            title,
            [row.cells() for row in rows],
            [NOTE, *(said for term in terms for said in told(term, rows))],
            {row.setting.folder: row.to_json() for row in rows},
            lambda: figure(rows, title),
        )


NOTE = (
    "±: 95 % for the mean over seeds (Student). `more`: how much larger the loss is than that of the "
    "same seed without a term. `at most`: what it could be at true minima, λ times the fall of the "
    "term. entropy, distance: means over all heads, in nats and in words."
)


def measure(folder: Path) -> Measured:
    """The loss of a run, and what its heads do on rows of the validation part."""
    result = Result.read(folder)
    assert result is not None, f"{folder} is not finished"
    run = Run.open(folder)
    module = run.module()
    heads = weights_of(module, texts_for(run, module, count=TEXTS).inputs)
    top = max(head.layer or 0 for head in heads)
    below = [head for head in heads if head.layer != top] or heads
    return Measured(
        loss=result.loss,
        above_entropy=result.above_entropy,
        entropy=float(np.mean([head.entropy().mean() for head in heads])),
        distance=float(np.mean([head.distance().mean() for head in heads])),
        distance_below=float(np.mean([head.distance().mean() for head in below])),
        near=float(np.mean([np.minimum(FAR, head.distance(2)).mean() for head in below])),
    )


@dataclass(frozen=True)
class Row:
    """A term with its λ, over all seeds."""

    setting: Setting
    loss: Mean
    more: Mean | None
    """Than the same seed without a term."""
    bound: float | None
    """λ times the fall of the term: what `more` could be at most if both were true minima."""
    entropy: Mean
    distance: Mean
    distance_below: Mean

    def cells(self) -> dict[str, str]:
        weight = self.setting.weight
        return {
            "term": self.setting.term,
            "λ": f"{weight:g}",
            "nats/token": self.loss.written(),
            "more": "" if self.more is None else self.more.written(signed=True),
            "at most": "" if self.bound is None else f"{self.bound:.3f}",
            "entropy": self.entropy.written(2),
            "distance": self.distance.written(1),
        }

    def to_json(self) -> dict[str, Any]:
        means = {
            "loss": self.loss,
            "more": self.more,
            "entropy": self.entropy,
            "distance": self.distance,
            "distance_below": self.distance_below,
        }
        known = {name: mean.to_json() for name, mean in means.items() if mean is not None}
        return {"term": self.setting.term, "λ": self.setting.weight, "at_most": self.bound, **known}


def summary(setting: Setting, found: Mapping[Setting, list[Measured]]) -> Row:
    own, alone = found[setting], found[Setting(ALONE, 0.0)]
    more = bound = None
    if setting.weight:
        pairs = list(zip(own, alone, strict=True))
        more = Mean.of([one.loss - other.loss for one, other in pairs])
        falls = [other.term(setting.term) - one.term(setting.term) for one, other in pairs]
        bound = setting.weight * float(np.mean(falls))
    return Row(
        setting,
        Mean.of([one.loss for one in own]),
        more,
        bound,
        Mean.of([one.entropy for one in own]),
        Mean.of([one.distance for one in own]),
        Mean.of([one.distance_below for one in own]),
    )


def told(term: str, rows: list[Row]) -> list[str]:
    """What the numbers say of a term, from the numbers alone."""
    alone = rows[0]
    own = [row for row in rows if row.setting.term == term]
    said = []
    for word, sign in (("larger", 1), ("smaller", -1)):
        listed = [f"{row.setting.weight:g}" for row in own if row.more and row.more.sign == sign]
        if listed:
            said.append(f"{word} at λ = {', '.join(listed)}")
    unclear = [f"{row.setting.weight:g}" for row in own if row.more and not row.more.sign]
    if unclear:
        said.append(f"not told apart from that without at λ = {', '.join(unclear)}")
    last = own[-1]
    where, far = "all heads look", (alone.distance, last.distance)
    if term == "near":
        where, far = "below the top layer heads look", (alone.distance_below, last.distance_below)
    return [
        f"{term}: the loss is {'; '.join(said)}.",
        f"{term}: at λ = {last.setting.weight:g} the entropy is {last.entropy.mean:.2f} nats, "
        f"{alone.entropy.mean:.2f} without the term, and {where} {far[1].mean:.1f} words back, "
        f"{far[0].mean:.1f} without it.",
    ]


def figure(rows: list[Row], title: str) -> Any:
    """Three panels over λ: the loss, the entropy, the distance; the dashed line is without a term."""
    drawn, panels = axes_of(3, title)
    alone = rows[0]
    wanted = [
        ("more", "more loss (nats per token)", 0.0),
        ("entropy", "entropy of a head (nats)", alone.entropy.mean),
        ("distance", "distance (words)", alone.distance.mean),
    ]
    terms = dict.fromkeys(row.setting.term for row in rows[1:])
    for axes, (name, label, level) in zip(panels, wanted, strict=True):
        lines = {}
        for term in terms:
            own = [row for row in rows if row.setting.term == term]
            lines[term] = through(
                [row.setting.weight for row in own], [getattr(row, name) for row in own]
            )
        curves(axes, lines, {"without a term": level}, xscale="log", xlabel="λ", ylabel=label)
    return drawn
