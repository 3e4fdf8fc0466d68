"""Which tensors of a program are attention weights, and what they are on a text.

>>> [found.name for found in attentions(load("encoder_decoder").code)]
['α^E', 'α^Z', 'α^X']
>>> look = attend(Subject.of_run("runs/people", "Anna knows Ben"))[0]
>>> look.title, look.rows.labels
('α, layer 1, head 0', ('·', ' Anna', ' knows', ' Ben'))

Weights are what a softmax over places defines, places of a text or of an image, and a sum over those
places reads. A place of a text is labelled with the token that it reads (`subjects.py`).

What a model says in a world where the truth is known: how much of it is right, and where it looked.

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
from indicial.compile.module.sizes import data_lengths
from indicial.data.binding import Slot
from indicial.data.world import Phrasebook, tables, world_table
from indicial.data.world.scenes import PointingScore, judge, owners
from indicial.data.world.world import AlignmentScore, is_right, read_links
from indicial.decode.answers import Answerer, stacked
from indicial.decode.settings import Decoding
from indicial.inspect.subjects import Subject, shift
from indicial.program import ir
from indicial.program.messages import IndicialError
from indicial.program.sizes import Size, Strided
from indicial.tasks.forms import form_of
from indicial.training.run import Run

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Attention:
    """A tensor of weights: which of its axes are layer and head, who looks, and at what."""

    name: str
    rows: int
    columns: tuple[int, ...]
    """One axis for a text, two for an image."""
    layer: int | None
    heads: tuple[int, ...]


@dataclass(frozen=True)
class Side:
    """The places along one side of a matrix of weights."""

    name: str
    """The input that the places belong to: `w`; for an image the letter of its axis."""
    labels: tuple[str, ...]
    first: int = 0
    """The number of the first place."""

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Look:
    """What one head looks at: `weights[row,column]`; on an image, what one place of the text does."""

    name: str
    layer: int | None
    head: int | None
    weights: Array
    rows: Side
    columns: Side
    at: str | None = None
    """The place of a text that looks at an image: `3 dog`."""

    @property
    def title(self) -> str:
        return title_of(self.name, self.layer, self.head, self.at)

    @property
    def says(self) -> str:
        """What the matrix shows, in words."""
        if self.at is not None:
            return f"where it looks, {self.rows.name} down and {self.columns.name} across"
        if self.rows.name != self.columns.name:
            return f"each row ({self.rows.name}) looks at the columns ({self.columns.name})"
        return "each row looks at the columns"

    def to_json(self) -> dict[str, Any]:
        found = {
            "name": self.name,
            "layer": self.layer,
            "head": self.head,
            "rows": {"of": self.rows.name, "labels": list(self.rows.labels)},
            "columns": {"of": self.columns.name, "labels": list(self.columns.labels)},
            "weights": self.weights.tolist(),
        }
        return found if self.at is None else found | {"place": self.at}


# ---------------------------------------------------------------------- in the equations


def attentions(code: ir.Code) -> list[Attention]:
    """All attention weights that have a name, in the order of the equations."""
    lengths = set(data_lengths(code))
    found: dict[str, Attention] = {}
    for statement in code.statements:
        softmax = next((n for n in statement.body.every(ir.Softmax)), None)
        if softmax is None or statement.target in found:
            continue
        letters = [_letter(place) for place in statement.left]
        over = [index.name for index in softmax.indices]
        if all(_is_long(i.extent, lengths) and i.name in letters for i in softmax.indices):
            columns = tuple(letters.index(name) for name in over)
            made = _axes(code, statement, columns, lengths)
            if made is not None and _read_as_weights(code, statement.target, columns):
                found[statement.target] = made
    return list(found.values())


def _is_long(extent: Size, lengths: set[str]) -> bool:
    """Whether there are as many as places of an input, or as strides leave of them."""
    (atom,) = extent.atoms if len(extent.atoms) == 1 else ("",)
    left = isinstance(atom, Strided) and atom.base in lengths and extent == Size.of(atom)
    return left or extent.name in lengths


def _letter(place: ir.Place) -> str | None:
    return place.terms[0][0] if isinstance(place, ir.Affine) and len(place.terms) == 1 else None


def _axes(
    code: ir.Code, statement: ir.Statement, columns: tuple[int, ...], lengths: set[str]
) -> Attention | None:
    axes = code.tensors[statement.target].axes
    rows = [n for n, a in enumerate(axes) if n not in columns and _is_long(a.extent, lengths)]
    if len(rows) != 1 or len(columns) > 2:
        return None
    rest = [n for n in range(len(axes)) if n not in (*columns, rows[0])]
    layers = [n for n in rest if (axes[n].letter or "").startswith("ℓ")]
    layer = layers[0] if layers else None
    heads = tuple(n for n in rest if n != layer)
    return Attention(statement.target, rows[0], columns, layer, heads)


def _read_as_weights(code: ir.Code, name: str, columns: tuple[int, ...]) -> bool:
    """Whether some sum runs over the places that the weights are for."""
    return any(
        node.operator == "sum"
        and any(
            isinstance(inner, ir.Read)
            and inner.tensor == name
            and _letter(inner.places[columns[0]]) in {index.name for index in node.indices}
            for inner in node.descendants()
        )
        for statement in code.statements
        for node in statement.body.every(ir.Reduce)
    )


# ---------------------------------------------------------------------- on a text


def attend(subject: Subject, *, layer: int | None = None, head: int | None = None) -> list[Look]:
    """What each head looks at; of one layer or one head if it is said."""
    module = subject.module
    found = attentions(module.code)
    if not found:
        raise IndicialError(
            f"{module.title} has no attention: no tensor is a softmax over the places of a text"
        )
    arrays = subject.values([one.name for one in found])
    looks = [look for one in found for look in _looks(subject, one, arrays[one.name])]
    for word, wanted in (("layer", layer), ("head", head)):
        there = sorted({n for look in looks if (n := getattr(look, word)) is not None})
        if wanted is not None and wanted not in there:
            known = f"it has no {word}s"
            if there:
                known = f"there are {there[0]} to {there[-1]}" if there[1:] else f"only {there[0]}"
            raise IndicialError(f"{module.title} has no {word} {wanted}; {known}")
        looks = [look for look in looks if wanted is None or getattr(look, word) == wanted]
    return looks


def _looks(subject: Subject, one: Attention, array: Array) -> list[Look]:
    sides = [_side(subject, one, axis, array.shape[axis]) for axis in (one.rows, *one.columns)]
    return [
        look
        for layer, head, weights in each_head(subject.module, one, array)
        for look in _matrices(Look(one.name, layer, head, weights, sides[0], sides[-1]), sides)
    ]


def each_head(
    module: ProgramModule, one: Attention, array: Array
) -> Iterator[tuple[int | None, int | None, Array]]:
    """The weights of each head, with the number of its layer, as the equations count, and its own; an axis of
    texts stays in front of those that look and are looked at."""
    texts = array.ndim - len(module.code.tensors[one.name].axes)
    outer = [texts + n for n in (one.layer, *one.heads) if n is not None]
    inner = [*range(texts), *(texts + n for n in (one.rows, *one.columns))]
    turned = array.transpose([*outer, *inner])
    for place in np.ndindex(turned.shape[: len(outer)]):
        layer, heads, sizes = None, place, turned.shape[: len(outer)]
        if one.layer is not None:
            layer, heads, sizes = (
                place[0] + _lower(module, one.name, one.layer),
                place[1:],
                sizes[1:],
            )
        yield layer, int(np.ravel_multi_index(heads, sizes)) if heads else None, turned[place]


def title_of(name: str, layer: int | None, head: int | None, at: str | None = None) -> str:
    """`α, layer 1, head 0`."""
    parts = [("layer", layer), ("head", head), ("place", at)]
    named = [f"{word} {n}" for word, n in parts if n is not None]
    return ", ".join([name, *named] if name else named)


def _matrices(look: Look, sides: list[Side]) -> list[Look]:
    """The weights as they are, or an image for each place that looks."""
    if len(sides) == 2:
        return [look]
    rows = sides[0]
    return [
        Look(look.name, look.layer, look.head, weights, sides[1], sides[2], f"{n} {label}".strip())
        for n, (label, weights) in enumerate(
            zip(rows.labels, look.weights, strict=True), rows.first
        )
    ]


def _side(subject: Subject, one: Attention, number: int, count: int) -> Side:
    """The places along an axis, each with the token that it reads."""
    axes = subject.module.code.tensors[one.name].axes
    axis, first = axes[number], _lower(subject.module, one.name, number)
    places = range(first, first + count)
    for text in subject.texts:
        if text.reading.length == axis.extent.name:
            own = number == one.rows and axis.extent not in [axes[n].extent for n in one.columns]
            name = text.reading.steps if own and text.reading.predicted else text.reading.labels
            return Side(text.reading.name, name(text.labels, places), first)
    owners = (t.name for t in subject.module.code.tensors.values() if t.role == "input"
              if axis.extent in [a.extent for a in t.axes])  # fmt: skip
    image = number in one.columns and len(one.columns) > 1
    return Side(axis.letter if image else next(owners, axis.letter), ("",) * count, first)


def _lower(module: ProgramModule, name: str, axis: int) -> int:
    """The index of the first element along an axis."""
    lower, sizes = module.code.tensors[name].axes[axis].lower, module.sizes.known
    return 0 if lower.names - sizes.keys() else lower.value(sizes)


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
