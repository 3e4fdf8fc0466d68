"""Tables of questions with their answers, and texts beside them → documents.

    open_together(["wiki.txt", "births.tsv"], {"question": "0", "answer": "1"})
        →  "Anna Lind is a painter from Lund .", …, "Where was Anna Lind born?⁇Lund", …

A question with its answer is a document with the sign `⁇` between them (`tokenizers.Marked`): what stands behind
the sign is what counts (tasks/texts.py). Columns are called by their names, or by their numbers from 0 on where
the first line of a table has no names.

Pages to look answers up in, and questions with answers → rows of a question, its page, and its answer.

    --data wiki.txt --data births.tsv --column question=0 --column answer=1

    Paged(…).rows()  →  1, {"question": "Where was Anna Lind born?", "answer": "Lund",
                            "page": "| Anna Lind is a painter from Lund .",
                            "asked": "Where was Anna Lind born? ⁇ Lund"}

Nobody says which page a question is about. It is taken to be the one that has most of the question's words and
pairs of words, rare ones counting more; of pages that have about as many, one with the answer in it. That is how rows
for training are found; the model learns to find pages without knowing the answer.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from indicial.data.binding import Row, Slot, Strand, named, open_by
from indicial.data.documents import File, Piece, kind_of
from indicial.data.sources import Files, Source, open_source
from indicial.data.tables import Bad, Cells, Rows, Table
from indicial.data.tokenizers import MARK
from indicial.data.world import World
from indicial.program.messages import IndicialError

QUESTION, ANSWER = "question", "answer"
NAMES = (QUESTION, ANSWER)


@dataclass(frozen=True)
class Questions(Source):
    """Rows of tables, one after the other."""

    strand: Strand
    before: int = 0
    """How many names of texts there are, whose documents come first."""

    @property
    def name(self) -> str:
        return self.strand.name

    def rows(self) -> Iterator[tuple[str, str]]:
        """Each question with its answer."""
        for row in self.strand.rows():
            yield _cell(row, QUESTION), _cell(row, ANSWER)

    def pieces(self) -> Iterator[Piece]:
        for number, table in enumerate(self.strand.tables, self.before):
            for question, answer in Questions(replace(self.strand, tables=(table,))).rows():
                yield Piece(f"{question}{MARK}{answer}", True, number)

    def stamp(self) -> object:
        return self.strand.stamp()


def _cell(row: Row, name: str) -> str:
    if isinstance(row.cells, Bad):
        raise IndicialError(f"{row.where}: {row.cells.why}")
    text = str(row.cells[name]).replace(MARK, "??").strip()
    if not text:
        raise IndicialError(f"{row.where}: the {name} is empty")
    return text


@dataclass(frozen=True)
class Together(Source):
    """Texts, and behind them questions; or one of the two."""

    texts: Source | None
    asked: Source | None

    @property
    def sources(self) -> list[Source]:
        return [source for source in (self.texts, self.asked) if source is not None]

    @property
    def name(self) -> str:
        return " and ".join(source.name for source in self.sources)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(note for source in self.sources for note in source.notes)

    def questions(self) -> Iterator[tuple[str, str]]:
        """Each question with its answer, where they are whole tables."""
        if isinstance(self.asked, Questions):
            yield from self.asked.rows()

    def pieces(self) -> Iterator[Piece]:
        for source in self.sources:
            yield from source.pieces()

    def stamp(self) -> object:
        return [source.stamp() for source in self.sources]


def open_together(
    what: Sequence[str],
    columns: Mapping[str, str],
    field: str | None = None,
    documents: str = "auto",
    raw: bool = False,
) -> Together:
    """Files with rows hold questions, all others are texts."""
    named = {name: columns.get(name, name) for name in NAMES}
    tables = [name for name in what if not is_text(name)]
    others = [name for name in what if is_text(name)]
    texts = open_source(others, field, documents, raw) if others else None
    if isinstance(texts, World):
        raise IndicialError(f"{texts.name} is a built-in world, which cannot be joined with files")
    return Together(
        texts.settled() if isinstance(texts, Files) else None,
        Questions(_strand(tables, named), len(others)) if tables else None,
    )


def is_text(name: str) -> bool:
    """Whether it holds texts: a folder, or a file that is no table."""
    return Path(name).is_dir() or kind_of(File(Path(name), name), None) == "text"


def as_read(what: Sequence[str], asked: bool) -> list[int]:
    """The numbers of the names in the order in which their documents are read: of tables with questions, last."""
    return sorted(range(len(what)), key=lambda number: asked and not is_text(what[number]))


def _strand(names: Sequence[str], columns: Mapping[str, str]) -> Strand:
    tables = tuple(open_by(name, columns.values()) for name in names)
    for table in tables:
        if lacking := [c for c in columns.values() if c not in table.columns]:
            said = ", ".join(table.columns)
            if len(table.columns) < len(NAMES):
                raise IndicialError(
                    f"{table.name} has one column, {said}: questions with answers are two, divided by tabs in "
                    ".tsv and by commas in .csv"
                )
            raise IndicialError(
                f"{table.name} has no column {lacking[0]}; it has {said}. Say which hold the questions and "
                f"the answers: --column question={table.columns[0]} --column answer={table.columns[-1]}; "
                "if the first line has no names, --column question=0 --column answer=1"
            )
    return Strand(tables, dict(columns))


PAGE, ASKED = "page", "asked"
NEARLY = 0.9
"""Pages that have so much of what the best one has are as good, if the answer stands in them."""
COMMON = 0.2
"""Words that so many of the pages have tell none from another."""
LOOKED_AT = 20


def between(question: str, answer: str = "") -> str:
    """A question and its answer as one text; without the answer, its beginning."""
    return f"{question} {MARK} {answer}".strip()


def opened(page: str) -> str:
    """A page as it is read: behind a sign, so that its first word has the same tokens as anywhere else."""
    return f"| {page}"


def parted(text: str) -> tuple[str, str]:
    """`"Where …? ⁇ Lund"` → question and answer."""
    question, _, answer = text.partition(MARK)
    return question.strip(), answer.strip()


class Index:
    """Pages by their words, and by the pairs of words in them."""

    def __init__(self, pages: Sequence[str]) -> None:
        self.pages = pages
        found: dict[str, set[int]] = defaultdict(set)
        for number, page in enumerate(pages):
            for word in _words(page):
                found[word].add(number)
        most = max(1.0, COMMON * len(pages))
        self._with = {word: there for word, there in found.items() if len(there) <= most}

    def find(self, question: str, answer: str = "") -> int:
        """The number of the page that a question is about."""
        scores: dict[int, float] = {}
        for word in _words(question):
            there = self._with.get(word, set())
            weight = math.log(1 + len(self.pages) / max(1, len(there)))
            for number in there:
                scores[number] = scores.get(number, 0.0) + weight
        best = sorted(scores, key=lambda number: (-scores[number], number))[:LOOKED_AT]
        if not best:
            return 0
        enough = NEARLY * scores[best[0]]
        fits = (n for n in best if scores[n] >= enough and answer and answer in self.pages[n])
        return next(fits, best[0])


def _words(text: str) -> set[str]:
    words = re.findall(r"\w+", text.lower())
    return {*words, *map(" ".join, pairwise(words))}


@dataclass(frozen=True)
class Paged(Table):
    """Rows of questions, each with its page."""

    questions: Questions
    pages: Source
    folder = Path()
    columns = (QUESTION, ANSWER, PAGE, ASKED)

    @property
    def name(self) -> str:
        return f"{self.questions.name} with {self.pages.name}"

    @cached_property
    def _index(self) -> Index:
        return Index(list(self.pages.documents()))

    @cached_property
    def _rows(self) -> list[Cells]:
        found: list[Cells] = []
        for question, answer in self.questions.rows():
            page = self._index.pages[self._index.find(question, answer)]
            asked = between(question, answer)
            found.append({QUESTION: question, ANSWER: answer, PAGE: opened(page), ASKED: asked})
        return found

    def rows(self) -> Rows:
        yield from enumerate(self._rows, 1)

    def stamp(self) -> object:
        return [self.questions.stamp(), self.pages.stamp(), opened("")]


def looked_up(
    slots: Sequence[Slot], what: Sequence[Any], columns: Mapping[str, str], documents: str = "auto"
) -> tuple[list[Any], dict[str, str]]:
    """The data of equations that choose a page: questions with their pages, and what each input reads.

    Candidates are pages; what is predicted is the question and its answer, as one text; of the other
    inputs the first is the question, and any other the page that belongs to it.
    """
    given, said = list(what), dict(columns)
    texts = [name for name in given if isinstance(name, str) and is_text(name)]
    inputs = [slot.name for slot in slots]
    if not any(slot.candidate for slot in slots) or any(named(n, inputs)[0] for n in texts):
        return given, said
    if not texts and said.keys() & {*NAMES}:
        raise IndicialError(
            "answers are looked up in pages: name a text or a folder beside the questions, such as --data pages.txt "
            f"{' '.join(map(str, given))}"
        )
    if not texts or len(texts) == len(given):
        return given, said
    asked = {n: c for n, c in said.items() if n in NAMES}
    together = open_together(given, asked, documents=documents)
    assert isinstance(together.asked, Questions) and together.texts is not None
    reads = dict.fromkeys((s.name for s in slots if s.candidate), PAGE)
    reads |= dict.fromkeys((s.name for s in slots if s.predicted), ASKED)
    rest = [slot.name for slot in slots if slot.name not in reads]
    reads |= {name: QUESTION if number == 0 else PAGE for number, name in enumerate(rest)}
    own = {name: column for name, column in said.items() if name not in NAMES}
    return [Paged(together.asked, together.texts)], {**reads, **own}
