"""What a model says in a world where the truth is known: how much of it is right, and where it looked.

>>> found = true_of("runs/bahdanau-phrasebook-1", count=500)
>>> found[0].part, found[0].right, found[0].looks[0].error
('validation', 0.994, 0.021)

A translation is right if it is the one that there is; a caption is right if it is true of the picture, whichever
it is. Attention is scored against the words that stand for one another, or against the things that a word names: of
several heads, each by itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.binding import Slot
from indicial.data.world import Phrasebook, tables, world_table
from indicial.data.world.phrasebook import AlignmentScore, is_right, read_links
from indicial.data.world.scenes import PointingScore, judge, owners
from indicial.decode.answers import Answerer, stacked
from indicial.decode.settings import Decoding
from indicial.inspect.attention import Attention, attentions, each_head, title_of
from indicial.inspect.subjects import shift
from indicial.program.messages import IndicialError
from indicial.tasks.forms import form_of
from indicial.training.run import Run

PARTS = {
    "validation": "rows that training has not",
    "new": "rows with pairs that training never has together",
}
AT_ONCE = 100
"""Rows in a batch."""
SHOWN = 3
"""Of what is wrong."""


@dataclass(frozen=True)
class Said:
    """What a model said of one row."""

    row: Mapping[str, Any]
    text: str
    right: bool
    why: str = ""
    """What is wrong with it, where that is known."""


@dataclass(frozen=True)
class Looked:
    """How well one head looks where it should."""

    title: str
    score: AlignmentScore | PointingScore

    @property
    def quality(self) -> float:
        return self.score.share


@dataclass(frozen=True)
class Truth:
    """How a model does on one part of a world."""

    world: str
    part: str
    said: list[Said]
    looks: list[Looked] = field(default_factory=list)
    """The best head first."""

    @property
    def right(self) -> float:
        return sum(one.right for one in self.said) / len(self.said)

    def to_json(self) -> dict[str, Any]:
        best = self.looks[0] if self.looks else None
        found: dict[str, Any] = {"part": self.part, "rows": len(self.said), "right": self.right}
        if best is not None:
            found |= {"looks": best.title, "looks_right": best.quality}
            if isinstance(best.score, AlignmentScore):
                found["alignment_error"] = best.score.error
            else:
                found["by_chance"] = best.score.chance
        return found


def true_of(
    run: str | os.PathLike[str] | Run,
    decoding: Mapping[str, Any] | None = None,
    *,
    count: int = 500,
    seed: int = 1,
    parts: Sequence[str] = tuple(PARTS),
    checkpoint: str = "best",
) -> list[Truth]:
    """What the model of a run says in its world, part by part; `{"num_beams": 5}` says how it is found."""
    run = Run.open(run)
    name = str(run.description.data.get("name"))
    form = form_of(run.program)
    if name not in tables() or form.prediction is None or form.target is None:
        raise IndicialError(
            f"{run.folder} was not trained on {' or '.join(tables())}, where the truth is known"
        )
    columns = {k: str(v) for k, v in dict(run.description.data.get("columns", {})).items()}
    if any(columns.get(slot.name, slot.name) != slot.name for slot in form.slots):
        raise IndicialError(f"{run.folder} reads the columns of {name} the other way round")
    answerer = Answerer.of(run, checkpoint)
    settings = answerer.settings(decoding or {})
    reader = _Reader(answerer, settings)
    world = world_table(name)
    return [reader.truth(world, part, list(world.rows(part, count, seed))) for part in parts]


@dataclass
class _Reader:
    answerer: Answerer
    settings: Decoding

    def truth(self, world: Any, part: str, rows: Sequence[Mapping[str, Any]]) -> Truth:
        said: list[Said] = []
        kind = AlignmentScore if isinstance(world, Phrasebook) else PointingScore
        scores: dict[str, AlignmentScore | PointingScore] = {}
        for first in range(0, len(rows), AT_ONCE):
            some = rows[first : first + AT_ONCE]
            inputs, lengths = self._inputs(some, self.answerer.form.given)
            answers = self.answerer.answers(some, self.settings)
            told = [_judged(world, row, one.text) for row, one in zip(some, answers, strict=True)]
            said += told
            for title, number, weights in self._weights(inputs, lengths, some, told):
                score, row = scores.setdefault(title, kind()), told[number].row
                if isinstance(score, AlignmentScore):
                    score.add(weights, read_links(row["alignment"]))
                else:
                    meant = judge(told[number].text, row["objects"]).meant
                    score.add(weights, meant, owners(row["objects"]))
        looks = [Looked(title, score) for title, score in scores.items()]
        return Truth(world.name, part, said, sorted(looks, key=lambda one: -one.quality))

    def _inputs(
        self, rows: Sequence[Mapping[str, Any]], slots: Sequence[Slot]
    ) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        """What the module reads of some rows, padded, with the length of each."""
        codings = self.answerer.codings
        stored = [{s.name: codings[s.name].encode(row[s.name]) for s in slots} for row in rows]
        return stacked(slots, codings, stored)

    def _weights(
        self,
        inputs: Mapping[str, torch.Tensor],
        lengths: Mapping[str, torch.Tensor],
        rows: Sequence[Mapping[str, Any]],
        said: Sequence[Said],
    ) -> Iterator[tuple[str, int, Any]]:
        """For each head and row the weights of the words: of the given translation, or of the caption
        that the model said."""
        module, form = self.answerer.module, self.answerer.form
        assert form.prediction is not None
        code, target = module.code, form.prediction.token
        found = [one for one in attentions(code) if _is_across(module, one, target.name)]
        if not found:
            return
        truth = "x" in inputs
        spoken = [row["w"] for row in rows] if truth else [one.text or "a" for one in said]
        texts = [{"w": text} for text in spoken]
        slots = [slot for slot in form.slots if slot.name == target.name]
        given, own = self._inputs(texts, slots)
        with torch.no_grad():
            arrays = module(
                **inputs, **given, lengths={**lengths, **own}, want=[one.name for one in found]
            )
        later = -1 - shift(code, target.name)  # the place that predicts word n is n + later
        for one in found:
            for layer, head, several in each_head(module, one, arrays[one.name].double().numpy()):
                title = title_of(one.name, layer, head)
                for row, weights in enumerate(several):
                    if truth:
                        weights = weights[:, : int(next(iter(lengths.values()))[row])]
                    # Where no place predicts the first word, it looks nowhere in particular.
                    before = np.full((max(0, -later), *weights.shape[1:]), 1 / weights[0].size)
                    yield title, row, np.concatenate([before, weights[max(0, later) :]])


def _is_across(module: ProgramModule, one: Attention, target: str) -> bool:
    """Whether it is the target that looks, at something else."""
    axes = module.code.tensors[one.name].axes
    own = module.code.tensors[target].axes[0].extent
    return axes[one.rows].extent == own and all(axes[n].extent != own for n in one.columns)


def _judged(world: Any, row: Mapping[str, Any], text: str) -> Said:
    if isinstance(world, Phrasebook):
        return Said(row, text, is_right(text, row))
    judged = judge(text, row["objects"])
    return Said(row, text, judged.true, judged.why)


def truth_page(found: Sequence[Truth]) -> list[str]:
    """What was found, in lines."""
    lines = []
    for truth in found:
        word = "right" if truth.world == Phrasebook.name else "true"
        lines.append(f"{truth.world}, {len(truth.said):,} {PARTS[truth.part]}")
        lines.append(f"  {100 * truth.right:.1f} % {word}")
        lines += [f"  {looked.title}: {_told(looked.score)}" for looked in truth.looks[:1]]
        for one in [one for one in truth.said if not one.right][:SHOWN]:
            why = f" ({one.why})" if one.why else ""
            lines.append(f"  wrong: {one.text or '(nothing)'}{why}")
            if not why:
                lines.append(f"      is: {one.row['w']}")
    return lines


def _told(score: AlignmentScore | PointingScore) -> str:
    share = f"{100 * score.share:.1f} % of the words look most at"
    if isinstance(score, AlignmentScore):
        return f"alignment error {score.error:.3f}; {share} what they stand for"
    return f"{share} what they name ({100 * score.chance:.0f} % by chance)"
