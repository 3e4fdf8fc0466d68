"""What `--data` and `--validation` name → the two parts.

    parts = find_parts(["book.txt"], validation=0.1, …)
    train, validation, how = parts.divided

From files: a fraction that is kept back, or files of their own. From a world: sentences of their
own. A sentence of the validation part may also occur among those for training, by chance, as it
may in anything that is said anew; the entropy of the world is that of such sentences.

    how    →  "the last 10 % of the text"   or   "10 % of the documents, chosen by their content"

A few long documents are cut: the first 90 % of each train. Where there are many, each goes to one
side by a hash of its first characters, so two documents that are alike go to the same side,
wherever they stand, and a document stays on its side when others are added. Where all begin alike,
the last of them are for validation.
"""

from __future__ import annotations

import hashlib
from abc import ABC
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from indicial.data.documents import Piece
from indicial.data.questions import Together, open_together
from indicial.data.sources import Files, Sentences, Source, open_source
from indicial.data.world import World
from indicial.program.messages import IndicialError

FEW = 20
"""Fewer documents than this are cut, if they are long."""
LONG = 10_000
"""Characters of a document that is long."""
LOOKED_AT = 4096
"""Characters of a document that decide its side. The first piece of a long document has more."""
MARKS = 1 << 64


@dataclass(frozen=True)
class Survey:
    """What one look at all documents tells."""

    documents: int
    characters: int
    sizes: tuple[int, ...]
    """Characters of the first documents."""
    lowest: int
    highest: int
    """The range of the marks of the documents."""


def survey(pieces: Iterable[Piece], seed: int = 0) -> Survey:
    """Count documents and characters."""
    sizes: list[int] = []
    documents = characters = size = 0
    lowest, highest = MARKS, -1
    for text, ends, _ in pieces:
        if not size:
            here = mark(text, seed)
            lowest, highest = min(lowest, here), max(highest, here)
        size += len(text)
        if ends:
            documents += 1
            characters += size
            if len(sizes) < FEW:
                sizes.append(size)
            size = 0
    return Survey(documents, characters, tuple(sizes), lowest, highest)


def split(source: Source, fraction: float, seed: int) -> tuple[Source, Source, str]:
    """The training part, the validation part, and how they were divided, in words."""
    seen = survey(source.pieces(), seed)
    if not seen.documents:
        raise IndicialError(f"{source.name} has no text in it, only blanks or empty rows")
    percent = f"{100 * fraction:g} %"
    long = seen.documents < FEW and seen.characters >= LONG * seen.documents
    alike = seen.lowest == seen.highest
    if long or seen.documents == 1:
        cuts = tuple(round(size * (1 - fraction)) for size in seen.sizes)
        of = "the text" if seen.documents == 1 else "each document"
        return Cut(source, cuts, False), Cut(source, cuts, True), f"the last {percent} of {of}"
    # At least one document on each side, however few there are.
    if alike:
        first = min(max(1, round(seen.documents * (1 - fraction))), seen.documents - 1)
        how = f"the last {percent} of the documents, which all begin alike"
        return Numbered(source, first, False), Numbered(source, first, True), how
    bound = min(max(round(fraction * MARKS), seen.lowest + 1), seen.highest)
    how = f"{percent} of the documents, chosen by their content"
    return Chosen(source, seed, bound, False), Chosen(source, seed, bound, True), how


@dataclass(frozen=True)
class _Part(Source, ABC):
    """Some of the documents of a source, under its name."""

    source: Source

    @property
    def name(self) -> str:
        return self.source.name


@dataclass(frozen=True)
class Chosen(_Part):
    """The documents of a source whose mark is below a bound (validation), or those whose is not."""

    seed: int
    bound: int
    below: bool

    def pieces(self) -> Iterator[Piece]:
        begins, mine = True, False
        for piece in self.source.pieces():
            if begins:
                mine = (mark(piece.text, self.seed) < self.bound) == self.below
            if mine:
                yield piece
            begins = piece.ends

    def stamp(self) -> object:
        return [self.source.stamp(), self.seed, self.bound, self.below]


@dataclass(frozen=True)
class Numbered(_Part):
    """The first documents of a source, or those `after` them."""

    first: int
    after: bool

    def pieces(self) -> Iterator[Piece]:
        document = 0
        for piece in self.source.pieces():
            if (document >= self.first) == self.after:
                yield piece
            document += piece.ends

    def stamp(self) -> object:
        return [self.source.stamp(), self.first, self.after]


@dataclass(frozen=True)
class Cut(_Part):
    """The first part of each document, or what comes `after` it; `cuts` says where, about."""

    cuts: tuple[int, ...]
    after: bool

    def pieces(self) -> Iterator[Piece]:
        document = place = 0
        found = False
        for piece in self.source.pieces():
            text, ends, item = piece
            cut = self.cuts[document % len(self.cuts)] - place
            if found:
                if self.after:
                    yield piece
            elif cut < len(text):
                found = True
                cut = _boundary(text, max(cut, 0))
                yield (
                    Piece(text[cut:], ends, item) if self.after else Piece(text[:cut], True, item)
                )
            elif not self.after:
                yield piece
            place += len(text)
            if ends:
                document, place, found = document + 1, 0, False

    def stamp(self) -> object:
        return [self.source.stamp(), self.cuts, self.after]


def _boundary(text: str, place: int) -> int:
    """A place to cut a text, soon after `place`: behind a line, else behind a blank, else there."""
    soon = place + max(1, (len(text) - place) // 4)
    for sign in "\n", " ":
        found = text.find(sign, place, soon) + 1
        if found and text[found:].strip():
            return found
    return place


def mark(text: str, seed: int) -> int:
    """A number below 2⁶⁴, the same for documents that begin alike."""
    begin = text[:LOOKED_AT].encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(begin, digest_size=8, key=b"%d" % seed).digest()
    return int.from_bytes(digest, "little")


@dataclass(frozen=True)
class Parts:
    """Where the training part comes from, and the validation part, if not from there as well."""

    train: Files | Sentences | Together
    validation: Files | Sentences | Together | float
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.train.name

    @property
    def world(self) -> World | None:
        return self.train.world if isinstance(self.train, Sentences) else None

    @property
    def unit(self) -> str:
        """What a document of plain text is."""
        found = self.train.texts if isinstance(self.train, Together) else self.train
        return found.unit if isinstance(found, Files) else "auto"

    def stamp(self) -> object:
        """JSON that changes when the data do."""
        if isinstance(self.validation, float):
            return [self.train.stamp(), self.validation, self.seed]
        return [self.train.stamp(), self.validation.stamp()]

    @cached_property
    def divided(self) -> tuple[Source, Source, str]:
        """Both parts, and in words how they were divided."""
        if isinstance(self.validation, float):
            if not isinstance(self.train, Together) or self.train.asked is None:
                return split(self.train, self.validation, self.seed)
            # Some of the questions are kept back; what a text says must be read to be known.
            train, validation, how = split(self.train.asked, self.validation, self.seed)
            together = Together(self.train.texts, train)
            return together, validation, how.replace("documents", "questions")
        how = "sentences" if isinstance(self.validation, Sentences) else "files"
        return self.train, self.validation, f"{how} of their own"


def find_parts(
    what: Sequence[str],
    *,
    field: str | None,
    documents: str,
    validation: float | Sequence[str],
    seed: int,
    world_size: int,
    raw: bool,
    columns: Mapping[str, str] | None = None,
) -> Parts:
    """Both parts of the data that were asked for; complains about what does not fit together."""

    def opened(names: Sequence[str]) -> Files | Together | World:
        if columns:  # tables with questions and answers, and texts beside them
            return open_together(names, columns, field, documents, raw)
        return open_source(names, field, documents, raw)

    found, kept_back = opened(what), fraction_or_names(validation)
    if isinstance(found, World):
        if field or documents != "auto" or not isinstance(kept_back, float):
            raise IndicialError(
                f"{found.name} is a built-in world, which makes sentences for both parts: "
                "--field, --documents and files for --validation do not go with it"
            )
        return _of_world(found, kept_back, seed, world_size)
    if isinstance(found, Files):
        found = found.settled()
    if isinstance(kept_back, float):
        return Parts(found, kept_back, seed, found.notes)
    other = opened(kept_back)
    if isinstance(other, World):
        raise IndicialError(
            f"--validation {other.name} is a built-in world, and the training data are files"
        )
    if isinstance(found, Files) and isinstance(other, Files):
        found, other = found.without(other), replace(other, unit=found.unit)
    return Parts(found, other, seed, (*found.notes, *other.notes))


def _of_world(world: World, fraction: float, seed: int, size: int) -> Parts:
    notes = (
        (f"{world.name} is the built-in world; the file of that name is ./{world.name}",)
        if Path(world.name).exists()
        else ()
    )
    if size < 1:
        raise IndicialError(f"a world is asked for {size} sentences; it takes at least 1")
    train = Sentences(world, size, "training", seed)
    return Parts(
        train, Sentences(world, max(1, round(size * fraction)), "validation", seed), seed, notes
    )


def fraction_or_names(validation: float | Sequence[str]) -> float | Sequence[str]:
    """`["0.1"]`, as the command line has it, is a fraction too."""
    names = [validation] if isinstance(validation, str) else validation
    if isinstance(names, float | int):
        return _checked_fraction(float(names))
    if len(names) == 1:
        try:
            return _checked_fraction(float(names[0]))
        except ValueError:
            pass
    return names


def _checked_fraction(fraction: float) -> float:
    if not 0 < fraction < 1:
        raise IndicialError(
            f"--validation is {fraction:g}: it is a fraction between 0 and 1, such as 0.1, or files"
        )
    return fraction
