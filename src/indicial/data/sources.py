"""What `--data` names → documents.

    open_source(["book.txt"])                        one text
    open_source(["texts/"])                          each file of a folder, and of those in it
    open_source(["a.jsonl.gz"], field="text")        each row
    open_source(["-"], documents="lines")            standard input, each line
    open_source(["people"])                          a built-in world, each sentence

A `Source` can be read as often as one likes, and never all at once. The name of a world means the
world; a file of that name is written as a path, `./people`.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import random
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from indicial.compile.ground import private
from indicial.data.documents import (
    CHUNK,
    DOCUMENTS,
    File,
    Piece,
    chunks,
    is_text,
    kind_of,
    lines_are,
    pieces,
)
from indicial.data.world import World, tables, world, worlds
from indicial.program.messages import IndicialError

Names = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""Files, folders or a world, as a person names them in Python."""


class Source(ABC):
    """Documents that can be read again and again."""

    notes: tuple[str, ...] = ()
    """What the user should know of how the data were read."""

    @property
    @abstractmethod
    def name(self) -> str:
        """For messages and reports: `book.txt`, `book.txt and 3 more`, `people`."""

    @abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """The documents, long ones in pieces."""

    def documents(self) -> Iterator[str]:
        """The documents one by one, each whole."""
        parts: list[str] = []
        for text, ends, _ in self.pieces():
            parts.append(text)
            if ends:
                yield "".join(parts)
                parts = []

    @abstractmethod
    def stamp(self) -> object:
        """JSON that changes when the documents do."""


@dataclass(frozen=True)
class Files(Source):
    """Files in order."""

    files: tuple[File, ...]
    field: str | None = None
    unit: str = "auto"
    raw: bool = False
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        rest = len(self.files) - 1
        return self.files[0].name + (f" and {rest} more" if rest else "")

    def pieces(self) -> Iterator[Piece]:
        for file in self.files:
            found = pieces(file, self.field, self.unit, self.raw)
            yield from (p._replace(item=file.item) for p in found) if file.item else found

    def stamp(self) -> object:
        items = [file.item for file in self.files]
        stamps = [file.stamp() for file in self.files]
        return [stamps, self.field, self.unit, self.raw, *([items] if any(items) else [])]

    def without(self, other: Files) -> Files:
        """These files but those of `other`, which are kept back for validation."""
        back = {file.path.resolve() for file in other.files}
        kept = tuple(file for file in self.files if file.path.resolve() not in back)
        if len(kept) == len(self.files):
            return self
        if not kept:
            raise IndicialError(
                f"{self.name} is given for training and for validation: give --validation other "
                "files, or a fraction such as 0.1, which is then kept back"
            )
        note = f"{other.name} is kept back for validation"
        return replace(self, files=kept, notes=(*self.notes, note))

    def settled(self) -> Files:
        """With what a document is decided where nobody said it: by the lines at the beginning."""
        why = lines_are(self._first_lines()) if self.unit == "auto" else None
        if why is None:
            return self
        note = (
            f"each line is a document (--documents lines), since {why}; --documents file reads "
            "them as one text"
        )
        return replace(self, unit="lines", notes=(*self.notes, note))

    def _first_lines(self) -> list[str]:
        """The whole lines of plain text in the first megabyte."""
        found: list[str] = []
        left = CHUNK
        for file in self.files:
            if kind_of(file, self.field) == "text" and left > 0:
                text = next(chunks(file, self.raw), "")[:left]
                *whole, rest = text.split("\n")
                found += whole or [rest]
                left -= len(text)
        return found


@dataclass(frozen=True)
class Sentences(Source):
    """Sentences of a built-in world. Each part has random numbers of its own."""

    world: World
    count: int
    part: str
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.world.name

    def pieces(self) -> Iterator[Piece]:
        for text, _ in self.with_probabilities():
            yield Piece(text, True)

    def with_probabilities(self) -> Iterator[tuple[str, float]]:
        """Each sentence with the logarithm of its probability."""
        numbers = random.Random(f"{self.part} data of {self.world.name} {self.seed}")
        for _ in range(self.count):
            sentence = self.world.sentence(numbers)
            yield str(sentence), sentence.log_probability

    def stamp(self) -> object:
        # The first sentences stand for the world's equations, which another version may change.
        first = hashlib.sha256("\n".join(islice(self.documents(), 100)).encode()).hexdigest()
        return [self.world.name, self.count, self.part, self.seed, first]


def open_source(
    what: Names, field: str | None = None, documents: str = "auto", raw: bool = False
) -> Files | World:
    """The files or the world that `what` names."""
    several = [what] if isinstance(what, str | os.PathLike) else what
    # A path is that of a file, though a world is called so.
    names = [name if isinstance(name, str) else _typed(name) for name in several]
    if documents not in DOCUMENTS:
        raise IndicialError(f"--documents is {', '.join(DOCUMENTS)}; got {documents}")
    if not names:
        raise IndicialError(f"no data: name files, a folder or a world ({', '.join(worlds())})")
    if len(names) == 1 and names[0] in worlds():
        return world(names[0])
    if named := [name for name in names if name in tables()]:
        raise IndicialError(
            f"{named[0]} is a built-in world with several columns, for equations with several inputs; a "
            f"text is one of {', '.join(worlds())}, and a file of that name is ./{named[0]}"
        )
    if named := [name for name in names if name in worlds()]:
        raise IndicialError(
            f"{named[0]} is a built-in world, which cannot be joined with files; "
            f"a file of that name is ./{named[0]}"
        )
    files: list[File] = []
    left_out = 0
    for number, name in enumerate(names):
        found = _files(name, raw)
        left_out += found.count(None)
        files += [replace(file, item=number) for file in found if file is not None]
    kept, again = _each_once(files)
    notes = (*_said(left_out), *_repeated(again))
    source = Files(tuple(kept), field, documents, raw, notes)
    _check(source)
    return source


def _typed(path: os.PathLike[str]) -> str:
    name = os.fspath(path)
    return f".{os.sep}{name}" if name in (*worlds(), *tables(), "-") else name


def _said(left_out: int) -> tuple[str, ...]:
    if not left_out:
        return ()
    return (f"{left_out} file{'s are' if left_out > 1 else ' is'} not text and left out",)


def _each_once(files: Sequence[File]) -> tuple[list[File], list[File]]:
    """The files, and those that were named before: what is read twice would count twice."""
    kept: list[File] = []
    again: list[File] = []
    seen: set[Path] = set()
    for file in files:
        place = file.path.resolve()
        (again if place in seen else kept).append(file)
        seen.add(place)
    return kept, again


def _repeated(again: Sequence[File]) -> tuple[str, ...]:
    if not again:
        return ()
    rest = f" and {len(again) - 1} more" if len(again) > 1 else ""
    return (f"{again[0].name}{rest}: named twice, and read once",)


def _files(name: str, raw: bool) -> list[File | None]:
    """The files that a name stands for; None for each that was left out."""
    if name == "-":
        return [_standard_input()]
    path = Path(name).expanduser()
    try:
        if path.is_dir():
            return _folder(path, name, raw)
        if not path.exists():
            if path.is_symlink():
                raise IndicialError(f"{name} is a link that leads nowhere: name the file itself")
            raise IndicialError(missing(name, path, "file, folder or world", worlds()))
        if not path.is_file():
            raise IndicialError(
                f"{name} is neither a file nor a folder; standard input is --data -"
            )
        if not path.stat().st_size:
            raise IndicialError(f"{name} is empty: give a file with text in it")
    except OSError as error:
        raise IndicialError(f"{name} cannot be read: {error.strerror}") from None
    return [File(path, name)]


def absolute(name: str) -> str:
    """`book.txt` → `/home/anna/book.txt`, `x=train.de` → `x=/home/anna/train.de`; a world, standard
    input and what is not there stay."""
    before, name = _of_input(name)
    path = Path(name).expanduser()
    known = name != "-" and name not in (*worlds(), *tables()) and os.path.exists(path)
    return before + (os.path.abspath(path) if known else name)


def _of_input(name: str) -> tuple[str, str]:
    """`x=train.de` → `("x=", "train.de")`: what is named for an input of the equations."""
    input_, equals, path = name.partition("=")
    return (input_ + equals, path) if equals and not os.path.exists(name) else ("", name)


def is_gone(name: str) -> bool:
    """Whether a name is that of a file or folder that is not there; a number is a part of the data."""
    _, name = _of_input(name)
    if name in ("-", *worlds(), *tables()) or name.replace(".", "", 1).isdigit():
        return False
    return not os.path.exists(Path(name).expanduser())


def _folder(path: Path, name: str, raw: bool) -> list[File | None]:
    """All files below a folder in the order of their names, but hidden, empty and binary ones."""
    found: list[File | None] = []
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for entry in sorted(n for n in names if not n.startswith(".")):
            inner = Path(folder) / entry
            if inner.is_file() and inner.stat().st_size:
                file = File(inner, str(Path(name) / inner.relative_to(path)))
                found.append(file if raw or is_text(file) else None)
    if not any(found):
        held = (
            f"the {len(found)} files in it are not text (a model trained with --tokens bytes reads "
            "any file)"
            if found
            else "it has no files with anything in them"
        )
        raise IndicialError(f"the folder {name} has no text: {held}")
    return found


def _standard_input() -> File:
    """A copy of standard input, because data are read more than once; gone when the process ends."""
    if sys.stdin is None:
        raise IndicialError("standard input is closed: pipe a text into it, or name a file")
    checksum = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=private.temporary(), delete=False) as copy:
        while data := sys.stdin.buffer.read(CHUNK):
            checksum.update(data)
            copy.write(data)
        if not copy.tell():
            raise IndicialError("standard input is empty: pipe a text into it, or name a file")
    return File(Path(copy.name), "standard input", checksum.hexdigest())


def missing(name: str, path: Path, what: str, others: Sequence[str]) -> str:
    """There is no such file: what there is, with nearly that name; `others` are built in."""
    if "://" in name:
        return f"{name} is an address, not a file: download it first, and name the file"
    if path.exists():
        return f"{name} is neither a file nor a folder, but a pipe or a device: write it to a file first"
    folder = path.parent
    while not folder.is_dir():
        path, folder = folder, folder.parent
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        names = []
    close = [str(folder / n) for n in difflib.get_close_matches(path.name, names, 2, 0.75)]
    if os.sep not in name:
        close += difflib.get_close_matches(name, others, 1)
    built_in = f"; built-in are {', '.join(others)}" if others else ""
    meant = f"; did you mean {' or '.join(close)}?" if close else built_in
    return f"there is no {what} {name}{meant}"


def _check(source: Files) -> None:
    """Options that nothing would heed are a misunderstanding."""
    texts = [file for file in source.files if kind_of(file, source.field) == "text"]
    if source.field and len(texts) == len(source.files):
        raise IndicialError(
            f"--field {source.field} is for .jsonl, .csv and .tsv, and {source.name} is plain text"
        )
    if source.unit != "auto" and not texts:
        raise IndicialError(
            f"--documents {source.unit} is for plain text; in {source.name} each row is a document"
        )
