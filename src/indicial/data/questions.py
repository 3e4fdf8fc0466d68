"""Tables of questions with their answers, and texts beside them → documents.

    open_together(["wiki.txt", "births.tsv"], {"question": "0", "answer": "1"})
        →  "Anna Lind is a painter from Lund .", …, "Where was Anna Lind born?⁇Lund", …

A question with its answer is a document with the sign `⁇` between them (`tokenizers.Marked`): what stands behind
the sign is what counts (tasks/texts.py). Columns are called by their names, or by their numbers from 0 on where
the first line of a table has no names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from indicial.data.columns.binding import Row, Strand, open_by
from indicial.data.columns.tables import Bad
from indicial.data.documents import Piece, kind_of
from indicial.data.reading import File
from indicial.data.sources import Files, Source, open_source
from indicial.data.split import split
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

    def split(self, fraction: float, seed: int) -> tuple[Source, Source, str]:
        """Some of the questions are kept back; what a text says must be read to be known."""
        assert self.asked is not None
        train, validation, how = split(self.asked, fraction, seed)
        return Together(self.texts, train), validation, how.replace("documents", "questions")


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
