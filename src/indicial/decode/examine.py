"""A run whose equations read several inputs, and rows with the truth → how well the model does.

>>> found = examine(Run.open("runs/german"), ["x=val.de", "w=val.en"], {"num_beams": 5})
>>> found.scores.perplexity, found.likeness.figures["BLEU"]
(6.1, 34.2)

What is measured depends on what the equations predict: -ln P of it always; accuracy and macro F1 of labels, R²
of numbers; of texts also how like their references the generated ones are, by sacreBLEU. Where most of what is
read comes several times, as images with five captions do, its rows are one question with several references,
and CIDEr (Vedantam et al. 2015, in the form CIDEr-D) counts as well. Texts are compared as they are read,
detokenised; the signature says how.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from indicial.data.columns.batches import Columns, Held, Part
from indicial.data.columns.binding import Bound, File, Slot, bind, uneven
from indicial.data.columns.codings import Coding, Refused
from indicial.data.columns.preparing import made_parts, true_nats
from indicial.data.columns.tables import Bad, Table
from indicial.data.tokenizers import Ints
from indicial.data.world import tables
from indicial.decode.answers import Answer, Answerer, Cells, Progress
from indicial.decode.settings import Decoding
from indicial.program.messages import IndicialError
from indicial.tasks.columns import ColumnTask
from indicial.tasks.forms import SEQUENCE, Form
from indicial.tasks.task import Scores

if TYPE_CHECKING:
    from indicial.training.run import Run


WORLD = 1000
"""Rows of a built-in world that are made for this."""
TOLD = 5
"""Rows that are left out and are told one by one."""


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
    notes = (
        [
            f"{len(bad):,} of {len(bad) + len(cells):,} rows {'is' if len(bad) == 1 else 'are'} left out:",
            *bad[:TOLD],
        ]
        if bad
        else []
    )
    return Part(held, len(cells), ""), cells, notes


def _encoded(coding: Coding, cell: object, images: dict[str, Ints]) -> Ints:
    """What is stored of a cell; of an image that comes again, what there is already."""
    if not isinstance(cell, File):
        return coding.encode(cell)
    name = str(cell.path)
    if name not in images:
        images[name] = coding.encode(cell)
    return images[name]


NGRAMS = 4
SPREAD = 6.0
"""Of the Gaussian by which CIDEr-D punishes another length, in words."""
WORD = re.compile(r"\w+(?:'\w+)?")

Grams = Counter[tuple[str, ...]]


@dataclass(frozen=True)
class Likeness:
    """Figures by name, from 0 to 100, and CIDEr from 0 to 10; and sacreBLEU's word on how they were made."""

    figures: dict[str, float]
    signature: str


def likeness(
    texts: Sequence[str], references: Sequence[Sequence[str]], lowercase: bool = False
) -> Likeness:
    """Scores of a whole set of texts, each beside its references."""
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ImportError:
        raise IndicialError(
            "BLEU and chrF are computed by sacreBLEU, which is not installed: "
            "pip install 'indicial[scores]'"
        ) from None

    most = max(map(len, references))
    streams: Any = [  # None where a text has fewer references than another
        [several[n] if n < len(several) else None for several in references] for n in range(most)
    ]
    # Whether a full stop stands by itself is how the data are: a note on it is for nobody here.
    bleu, chrf = BLEU(lowercase=lowercase, force=True), CHRF(lowercase=lowercase)
    figures = {
        "BLEU": float(bleu.corpus_score(list(texts), streams).score),
        "chrF": float(chrf.corpus_score(list(texts), streams).score),
    }
    if most > 1:
        figures["CIDEr"] = cider(texts, references)
    return Likeness(figures, str(bleu.get_signature()))


def cider(texts: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """CIDEr-D: cosines of n-grams weighted by how few of the sets of references have them.

    >>> round(cider(["a red cup", "two dogs"], [["a red cup"] * 2, ["two dogs"] * 2]), 6)
    4.166667
    """
    sets = [[_grams(one) for one in several] for several in references]
    having: Grams = Counter(gram for several in sets for gram in set().union(*several))
    whole = math.log(len(sets))

    def weights(grams: Grams) -> list[dict[tuple[str, ...], float]]:
        found: list[dict[tuple[str, ...], float]] = [{} for _ in range(NGRAMS)]
        for gram, count in grams.items():
            found[len(gram) - 1][gram] = count * (whole - math.log(max(1, having[gram])))
        return found

    total = 0.0
    for text, several in zip(texts, sets, strict=True):
        made = _grams(text)
        total += sum(_cosine(made, weights(made), one, weights(one)) for one in several) / len(
            several
        )
    return 10 * total / len(texts)


def _grams(text: str) -> Grams:
    words = WORD.findall(text.lower())
    return Counter(
        tuple(words[n : n + size])
        for size in range(1, NGRAMS + 1)
        for n in range(len(words) - size + 1)
    )


def _cosine(
    made: Grams,
    weighted: list[dict[tuple[str, ...], float]],
    other: Grams,
    others: list[dict[tuple[str, ...], float]],
) -> float:
    """The mean over n of the cosines, what is repeated more often than there counting no more."""
    longer = sum(c for g, c in made.items() if len(g) == 1) - sum(
        c for g, c in other.items() if len(g) == 1
    )
    found = 0.0
    for one, two in zip(weighted, others, strict=True):
        norm = math.sqrt(sum(v * v for v in one.values()) * sum(v * v for v in two.values()))
        if norm:
            found += sum(min(v, two.get(g, 0.0)) * two.get(g, 0.0) for g, v in one.items()) / norm
    return found / NGRAMS * math.exp(-(longer**2) / (2 * SPREAD**2))
