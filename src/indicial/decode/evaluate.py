"""A run and a text → how well the model predicts the text.

>>> found = evaluate("runs/book", ["other.txt"])
>>> found.scores.per_token, found.scores.perplexity, found.bits_per_byte
(1.482, 4.40, 2.10)

Every token of the text is counted once, the end of each document too, and predicted from the
`context - stride` tokens before it at least, where its document has so many. A context is what the
model was trained with, unless it is said; a stride is half of it.

A run whose equations read several inputs, and rows with the truth → how well the model does.

>>> found = examine(Run.open("runs/german"), ["x=val.de", "w=val.en"], {"num_beams": 5})
>>> found.scores.perplexity, found.likeness.figures["BLEU"]
(6.1, 34.2)

What is measured depends on what the equations predict: -ln P of it always; accuracy and macro F1 of labels, R²
of numbers; of texts also how like their references the generated ones are, by sacreBLEU. Where most of what is
read comes several times, as images with five captions do, its rows are one question with several references.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from indicial.compile.ground import private
from indicial.compile.module.module import ProgramModule
from indicial.data.binding import Bound, File, Slot, bind, uneven
from indicial.data.codings import Coding, Refused
from indicial.data.column_rows import Columns, Held, Part
from indicial.data.corpus import Corpus, Data
from indicial.data.documents import DOCUMENTS
from indicial.data.prepare_columns import left_out, made_parts, true_nats
from indicial.data.prepare_text import write_tokens
from indicial.data.sources import Files, Names, Sentences, open_source
from indicial.data.tables import Bad, Table
from indicial.data.tokenizers import Ints, Tokenizer
from indicial.data.world import World, tables
from indicial.decode.answers import Answer, Answerer, Cells, Progress
from indicial.decode.matching import Likeness, likeness
from indicial.decode.settings import Decoding
from indicial.program.messages import IndicialError, counted
from indicial.tasks.columns import ColumnTask
from indicial.tasks.forms import SEQUENCE, Form
from indicial.tasks.language import Language
from indicial.tasks.programs import text_task
from indicial.tasks.task import Scores
from indicial.training.run import Run

WORLD = 1000
"""Rows of a built-in world that are made for this."""


@dataclass(frozen=True)
class Examination:
    """What was measured, on what."""

    name: str
    rows: int
    form: Form
    scores: Scores
    likeness: Likeness | None
    """Of generated texts and their references."""
    answers: tuple[Answer, ...]
    """The generated texts, one for each question."""
    settings: Decoding | None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        found = {
            "data": self.name,
            "rows": self.rows,
            "task": self.form.says,
            **self.scores.to_json(),
        }
        if self.likeness is not None:
            found |= {**self.likeness.figures, "signature": self.likeness.signature}
        return found

    def __str__(self) -> str:
        """As `indicial evaluate` prints it."""
        scores = self.scores
        lines = [f"{self.name}: {counted(self.rows, 'row')}", f"  {self.form.says}"]
        if scores.probable:
            lines.append(
                f"  {scores.per_token:.4f} nats per {scores.each}, perplexity {scores.perplexity:.2f}"
            )
        else:
            lines.append(f"  loss {scores.per_token:.4f}")
        if scores.above_entropy is not None:
            lines.append(f"  {scores.above_entropy:.4f} nats per word above the entropy")
        lines += [f"  {name} {value:.4f}" for name, value in scores.figures.items()]
        if self.likeness is not None and self.settings is not None:
            digits = {"CIDEr": 3}  # which is from 0 to 10
            figures = ", ".join(
                f"{name} {value:.{digits.get(name, 1)}f}"
                for name, value in self.likeness.figures.items()
            )
            beams = self.settings.num_beams
            how = "the likeliest token each time" if beams == 1 else f"{beams} beams"
            lines.append(f"  {figures} of {counted(len(self.answers), 'text')}, {how}")
            lines.append(f"  {self.likeness.signature}")
        return "\n".join(lines)


def examine(
    run: Run,
    data: Sequence[str],
    decoding: Mapping[str, Any] | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    checkpoint: str = "best",
    lowercase: bool = False,
    texts: bool = True,
    world_size: int | None = None,
    world_seed: int = 0,
    progress: Progress | None = None,
) -> Examination:
    """How well the model of a run does on data with the truth in them; `texts=False` generates none."""
    answerer = Answerer.of(run, checkpoint)
    form = answerer.form
    bound = bind(form.slots, _sources(data, world_size, world_seed), columns or {})
    part, cells, notes = _read(bound, form.slots, answerer.codings)
    known = {"nats": true_nats(bound)}
    told = {"name": bound.name, "train": known, "validation": known}
    both = Columns(part, part, dict(answerer.codings), told)
    task = ColumnTask(
        run.program,
        both,
        context=answerer.context,
        batch_size=run.number("batch_size", 32),
        seed=run.number("seed", 0),
    )
    scores = task.validate(answerer.module)
    made: tuple[Answer, ...] = ()
    found: Likeness | None = None
    settings: Decoding | None = None
    if form.kind == SEQUENCE and texts:
        assert form.target is not None
        asked = questions(cells, form)
        settings = answerer.settings(decoding or {})
        if settings.num_return_sequences > 1:
            raise IndicialError("one answer to each row is scored: leave num_return_sequences out")
        made = tuple(answerer.answers([one for one, _ in asked], settings, progress=progress))
        found = likeness([str(one) for one in made], [refs for _, refs in asked], lowercase)
    lines = (*notes, *(note for note in task.notes if "validation" in note))
    return Examination(bound.name, part.rows, form, scores, found, made, settings, lines)


def _sources(data: Sequence[str], size: int | None, seed: int) -> list[str | Table]:
    """Files as they are; of a built-in world, rows that no training has."""
    made = made_parts(data, 1.0, size or WORLD if data[0] in tables() else size, seed)
    return list(data) if made is None else [made[1]]


def questions(rows: Sequence[Cells], form: Form) -> list[tuple[Cells, list[str]]]:
    """What is asked, each with its references: rows that read the same are one question, where that is
    the rule and no accident."""
    assert form.target is not None
    target = form.target.name
    names = [slot.name for slot in form.given]
    asked: dict[str, tuple[Cells, list[str]]] = {}
    for cells in rows:
        key = repr([_known_by(cells[name]) for name in names])
        asked.setdefault(key, (cells, []))[1].append(str(cells[target]).strip())
    if 2 * len(asked) > len(rows):
        return [(cells, [str(cells[target]).strip()]) for cells in rows]
    return list(asked.values())


def _known_by(cell: object) -> object:
    if isinstance(cell, File):
        return str(cell.path)
    return cell.tobytes() if isinstance(cell, np.ndarray) else cell


def _read(
    bound: Bound, slots: Sequence[Slot], codings: Mapping[str, Coding]
) -> tuple[Part, list[Cells], list[str]]:
    """All rows in memory: as a task takes them, and their cells; and what to tell of those left out."""
    values: dict[str, list[Ints]] = {slot.name: [] for slot in slots}
    images: dict[str, Ints] = {}
    cells: list[Cells] = []
    bad: list[str] = []
    for row in bound.rows():
        if isinstance(row.cells, Bad):
            bad.append(f"{row.where}: {row.cells.why}")
            continue
        try:
            read = {
                slot.name: _encoded(codings[slot.name], row.cells[slot.name], images)
                for slot in slots
            }
            if why := uneven(slots, read):
                raise Refused(why)
        except Refused as error:
            bad.append(f"{row.where}: {error}")
            continue
        cells.append(row.cells)
        for name, value in read.items():
            values[name].append(value)
    if not cells:
        raise IndicialError(f"no row of {bound.name} can be read" + (f": {bad[0]}" if bad else ""))
    held = {s.name: Held.of(s, codings[s.name], values[s.name]) for s in slots}
    notes = [left_out(bad, len(bad), len(bad) + len(cells))] if bad else []
    return Part(held, len(cells), ""), cells, notes


def _encoded(coding: Coding, cell: object, images: dict[str, Ints]) -> Ints:
    """What is stored of a cell; of an image that comes again, what there is already."""
    if not isinstance(cell, File):
        return coding.encode(cell)
    name = str(cell.path)
    if name not in images:
        images[name] = coding.encode(cell)
    return images[name]


SENTENCES = 10_000
"""How many sentences of a world are made for this; none of them from training or validation."""
MOST_SENTENCES = 10**9

Each = Callable[[int, int, float], object]
"""Hears each counted token: its place in the text, the token, its nats."""


@dataclass(frozen=True)
class Evaluation:
    """What was measured, on what, and how."""

    name: str
    scores: Scores
    tokens: int
    """All that were read; where words are left blank, only those are counted in `scores`."""
    documents: int
    characters: int
    bytes: int
    unknown: int
    """Characters that the tokenizer does not know."""
    context: int
    stride: int
    layout: str
    notes: tuple[str, ...] = ()
    """What to know of how the data were read."""

    @property
    def bits_per_byte(self) -> float:
        whole = self.scores.characters / self.characters  # 1 but where only blanks are counted
        return self.scores.nats / math.log(2) / (self.bytes * whole)

    def to_json(self) -> dict[str, Any]:
        names = ("documents", "characters", "bytes", "unknown", "context", "stride", "layout")
        return {
            "data": self.name,
            **self.scores.to_json(),
            "bits_per_byte": self.bits_per_byte,
            **{name: getattr(self, name) for name in names},
        }

    def __str__(self) -> str:
        """As `indicial evaluate` prints it."""
        scores = self.scores
        blank = f", {scores.count:,} of them left blank" if scores.count < self.tokens else ""
        lines = [
            f"{self.name}: {counted(self.tokens, 'token')} in {counted(self.documents, 'document')}{blank}",
            f"  {scores.per_token:.4f} nats per token, perplexity {scores.perplexity:.2f}",
            f"  {scores.bits_per_character:.4f} bits per character, "
            f"{self.bits_per_byte:.4f} bits per byte",
        ]
        if scores.above_entropy is not None:
            lines.append(
                f"  {scores.per_word:.4f} nats per word, {scores.above_entropy:.4f} above the entropy"
            )
        if self.unknown:
            lines.append(
                f"  {counted(self.unknown, 'character')} that the model does not know, each one "
                "token and 20 bits that say which"
            )
        rows = "whole documents" if self.layout == "documents" else "running text"
        lines.append(f"context {self.context}, stride {self.stride}, rows of {rows}")
        return "\n".join(lines)


def evaluate(
    run: str | os.PathLike[str] | Run, data: Names, **settings: Any
) -> Evaluation | Examination:
    """How well the model of a run predicts some data: files, a folder, or a world.

    >>> evaluate("runs/book", "other.txt", stride=64)
    >>> evaluate("runs/german", ["x=val.de", "w=val.en"], num_beams=5, lowercase=True)

    Settings are those of `evaluate_text`; of a model that reads several inputs those of `examine`, and
    how its texts are made by the names of `Decoding`.
    """
    run = Run.open(run)
    if run.description.task != "columns":
        return evaluate_text(run, data, **settings)
    named = {name: settings.pop(name) for name in EXAMINED if name in settings}
    given = [data] if isinstance(data, str | os.PathLike) else list(data)
    return examine(run, list(map(str, given)), settings, **named)


EXAMINED = ("columns", "checkpoint", "lowercase", "texts", "world_size", "world_seed", "progress")
"""The settings of `examine`; all others say how texts are made."""


def evaluate_text(
    run: Run,
    data: Names,
    *,
    checkpoint: str = "best",
    context: int | None = None,
    stride: int | None = None,
    field: str | None = None,
    documents: str | None = None,
    sentences: int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    each: Each | None = None,
) -> Evaluation:
    """How well a model that reads one text predicts some.

    `sentences` (10,000) and `seed` (0) say which sentences of a world. What a document of plain text
    is, it is as in training, unless `documents` says otherwise.
    """
    tokenizer, module = run.tokenizer(), run.module(checkpoint)
    found = open_for(run, tokenizer, data, field, documents)
    source = _source(found, sentences, seed)
    with tempfile.TemporaryDirectory(dir=private.temporary()) as folder:
        corpus = encoded(source, tokenizer, Path(folder))
        told = {"name": source.name, "validation": truth(source)}
        world = found if isinstance(found, World) else None
        both = Data(corpus, corpus, tokenizer, world, told)
        task = task_on(both, run, module, context)
        if task.prediction is None:
            raise IndicialError(
                f"the equations of {run.folder} say a loss but no probability of a word, such as "
                "P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} …, so there are no nats to count"
            )
        stride = max(1, task.checked.context // 2) if stride is None else stride
        scores = measured(task, module, stride, progress, each)
        return Evaluation(
            source.name,
            scores,
            len(corpus),
            corpus.documents,
            corpus.characters,
            corpus.bytes,
            corpus.unknown,
            task.context,
            stride,
            task.checked.layout,
            source.notes,
        )


def open_for(
    run: Run, tokenizer: Tokenizer, data: Names, field: str | None, documents: str | None
) -> Files | World:
    """Data for a model that is trained: a text is cut into documents as in training, if nobody says."""
    raw = tokenizer.kind == "bytes"
    if documents is not None:
        return open_source(data, field, documents, raw)
    found = open_source(data, field, raw=raw)
    kept = run.description
    said = kept.data.get("documents", kept.settings.get("documents"))
    return replace(found, unit=said) if isinstance(found, Files) and said in DOCUMENTS else found


def _source(found: Files | World, sentences: int | None, seed: int | None) -> Files | Sentences:
    """What is counted: of a world, some of its sentences."""
    if isinstance(found, World):
        if sentences is not None and not 1 <= sentences <= MOST_SENTENCES:
            raise IndicialError(
                f"--sentences {sentences}: give a number from 1 to {MOST_SENTENCES:,}"
            )
        count = SENTENCES if sentences is None else sentences
        return Sentences(found, count, "evaluation", seed or 0)
    for flag, said in (("--sentences", sentences), ("--seed", seed)):
        if said is not None:
            raise IndicialError(
                f"{flag} {said} is for the sentences of a built-in world, and {found.name} is none: "
                "leave it out"
            )
    return found


def encoded(source: Files | Sentences, tokenizer: Tokenizer, folder: Path) -> Corpus:
    """All of the data, as tokens of the run."""
    counts = write_tokens(folder, "all", source.pieces(), tokenizer)
    if counts["tokens"] < 2 or not counts["characters"]:
        raise IndicialError(f"there is no text in {source.name}")
    return Corpus.opened(folder, "all", counts, tokenizer.size)


def task_on(data: Data, run: Run, module: ProgramModule, context: int | None) -> Language:
    """The task of the run, on other data."""
    length = run.number("context") if context is None else context
    task = text_task(
        run.description.task,
        run.program,
        data,
        context=length,
        batch_size=run.number("batch_size", 8),
        seed=run.number("seed", 0),
    )
    most = min((module.sizes.known.get(name, length) for name in task.lengths), default=length)
    if length > most:
        raise IndicialError(
            f"the context is {length} tokens, and the model has positions for {most}: say "
            f"--context {most}, or less"
        )
    return task


def measured(
    task: Language, module: ProgramModule, stride: int, progress: Progress | None, each: Each | None
) -> Scores:
    """Every token once; `progress` and `each` are told on the way."""
    nats, count, done = 0.0, 0, 0
    total = len(task.data.validation)
    device = next(module.parameters()).device
    for number, block in enumerate(task.checked.in_order(task.batch_size, stride)):
        batch = task.of_block(block, number).to(device)
        found, counted = task.surprise(module, batch), batch.weights
        assert counted is not None
        nats += float(found[counted].double().sum())
        count += int(counted.sum())
        shown = np.ones(block.tokens.shape, bool) if block.counted is None else block.counted
        if each is not None:
            # The tokens that are shown here are the next ones of the text, in order.
            also = counted.cpu().numpy()[shown]
            places = done + np.flatnonzero(also)
            values = found.cpu().numpy()[shown][also].tolist()
            tokens = block.tokens[shown][also].tolist()
            for place, token, value in zip(places.tolist(), tokens, values, strict=True):
                each(place, token, value)
        done += int(shown.sum())
        if progress is not None:
            progress(done, total)
    if not math.isfinite(nats):
        raise IndicialError(
            "the model gives probabilities that are 0 or not numbers: its parameters are damaged, "
            "or training diverged"
        )
    return task.scores(nats, count)


def truth(source: Files | Sentences) -> dict[str, float]:
    """The nats that a perfect model has on these very sentences, where they are of a world."""
    if not isinstance(source, Sentences):
        return {}
    return {"nats": -math.fsum(probability for _, probability in source.with_probabilities())}
