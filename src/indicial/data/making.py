"""Both parts of the data → a folder with their tokens.

    Making(parts, "auto", None, tell)(folder)
        →  tokenizer.json  train.tokens  train.starts  validation.tokens  validation.starts
           counts.json

Everything that is learned from text (which kind of token to take, the alphabet, the merges of BPE)
is learned from the training part.

Pieces of documents → token files, as a stream.

    write_tokens(folder, "train", source.pieces(), tokenizer)
        →  folder/train.tokens   uint16 or uint32, `<EOS>` after each document
           folder/train.starts   int64, where each document starts
           and counts: {"documents": …, "tokens": …, "characters": …, "words": …, "bytes": …}; documents
           of each name that was given stand together, and "items" says how many there are

About a million tokens are held at a time, however long the text is.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from indicial.data.corpus import token_type
from indicial.data.documents import Piece
from indicial.data.parts import Parts
from indicial.data.sources import Sentences, Source
from indicial.data.split import survey
from indicial.data.tokenizers import EOS, MARK, Ints, Marked, Tokenizer, make_tokenizer
from indicial.program.messages import IndicialError

HELD = 1 << 20
EVERY = 5.0
"""Seconds between two reports of how far the work is."""


def write_tokens(
    folder: Path, part: str, pieces: Iterable[Piece], tokenizer: Tokenizer
) -> dict[str, Any]:
    """Write the two files of a part; returns what was counted on the way."""
    counts = {"documents": 0, "tokens": 0, "characters": 0, "words": 0, "bytes": 0}
    items: dict[int, int] = {}
    with (
        (folder / f"{part}.tokens").open("wb") as tokens,
        (folder / f"{part}.starts").open("wb") as starts,
    ):
        written = _Written(tokens, starts, tokenizer)
        begins = True
        for text, ends, item in pieces:
            numbers = tokenizer.numbers(text, begins)
            if begins:
                written.starts.append(counts["tokens"])
                counts["documents"] += 1
                items[item] = items.get(item, 0) + 1
            written.add(numbers, ends)
            begins = ends
            counts["tokens"] += len(numbers) + ends
            counts["characters"] += len(text)
            counts["words"] += len(text.split())
            counts["bytes"] += _bytes(text)
        written.flush()
    each = [items.get(item, 0) for item in range(max(items, default=0) + 1)]
    return {**counts, "unknown": written.unknown, "items": each}


class _Written:
    """What is on its way into the two files."""

    def __init__(self, tokens: BinaryIO, starts: BinaryIO, tokenizer: Tokenizer) -> None:
        self._files = tokens, starts
        self._kind = token_type(tokenizer.size)
        self._end = np.full(1, EOS, self._kind)
        self._strange = tokenizer.unknown
        self._arrays: list[Ints] = []
        self._held = 0
        self.starts: list[int] = []
        self.unknown = 0

    def add(self, numbers: Ints, ends: bool) -> None:
        self._arrays.append(numbers)
        if ends:
            self._arrays.append(self._end)
        self._held += len(numbers)
        if self._held > HELD:
            self.flush()

    def flush(self) -> None:
        tokens = np.concatenate([self._end[:0], *self._arrays]).astype(self._kind)
        if self._strange is not None:
            self.unknown += int((tokens == self._strange).sum())
        self._files[0].write(tokens.tobytes())
        self._files[1].write(np.array(self.starts, np.int64).tobytes())
        self._arrays, self._held, self.starts = [], 0, []


def _bytes(text: str) -> int:
    """The length in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


Read = TypeVar("Read")


def reported(
    parts: Iterable[Read], name: str, tell: Callable[[str], None] | None, unit: str = "characters"
) -> Iterator[Read]:
    """The same pieces of text, or rows; says now and then how far they are."""
    last, done = time.monotonic(), 0
    for part in parts:
        yield part
        done += len(part.text) if isinstance(part, Piece) else 1
        if tell and time.monotonic() - last > EVERY:
            last = time.monotonic()
            far = f"{done / 1e6:,.1f} million" if unit == "characters" else f"{done:,}"
            tell(f"reading {name}: {far} {unit} so far")


COUNTS = "counts.json"

SMALL = 1_500_000
"""Characters of training text below which tokens are characters, if there is time enough."""
LARGEST = 1 << 14
"""Tokens of a vocabulary, if there is time enough."""
LEAST = 512
SAMPLE = 1 << 25
"""Characters that BPE is learned from."""


@dataclass(frozen=True)
class Cut:
    """How a text is cut where nobody says it; `training/defaults.py` has it for a time."""

    characters_below: int = SMALL
    """Texts with fewer characters are cut into these, others into byte pairs."""
    most: int = LARGEST
    """Tokens of a vocabulary."""

    def vocabulary(self, characters: int) -> int:
        """For so much text: 1,024 for 150,000 characters, 4,096 for two million, 8,192 for ten."""
        fitting = 1 << round(math.log2(2.3 * math.sqrt(max(1, characters))))
        return min(max(fitting, LEAST), self.most)


@dataclass(frozen=True)
class Making:
    """Fills a folder with the tokens of both parts, the tokenizer, and what was counted."""

    parts: Parts
    tokens: str
    vocabulary: int | None
    tell: Callable[[str], None] | None
    known: Tokenizer | None = None
    """One that is taken as it is, if there is one already: that of a trained model."""
    cut: Cut = field(default_factory=Cut)
    marked: bool = False
    """Whether the tokenizer has a token for what is left out."""

    def __call__(self, folder: Path) -> None:
        stamp = self.parts.stamp()
        train, validation, how = self.parts.divided
        tokenizer = self._tokenizer(train)
        tokenizer.save(folder)
        counts: dict[str, Any] = {"split": how}
        for part, source in (("train", train), ("validation", validation)):
            pieces = reported(source.pieces(), source.name, self.tell)
            counts[part] = write_tokens(folder, part, pieces, tokenizer)
            if not counts[part]["characters"]:
                raise IndicialError(
                    f"{source.name} is too short: nothing of it is left for the {part} part "
                    f"(validation: {how}). Give more text, or other files with --validation"
                )
        if isinstance(validation, Sentences):
            probabilities = (p for _, p in validation.with_probabilities())
            counts["validation"]["nats"] = -math.fsum(probabilities)
        if self.parts.stamp() != stamp:
            raise IndicialError(f"{self.parts.name} changed while it was read: start again")
        (folder / COUNTS).write_text(json.dumps(counts), encoding="utf-8")

    def _tokenizer(self, train: Source) -> Tokenizer:
        """Learned from the training part."""
        if self.known is not None:
            return self.known
        made = self._made(train)
        return Marked(made) if self.marked else made

    def _made(self, train: Source) -> Tokenizer:
        if self.parts.world and self.tokens == "auto":
            # A world has few words, and knows those that did not happen to come up too.
            words = [" ".join(self.parts.world.vocabulary)]
            return make_tokenizer("bpe", words, whole_words=True)
        whole = (piece.text for piece in train.pieces())
        texts = chain.from_iterable(text.split(MARK) for text in whole) if self.marked else whole
        if self.tokens in ("bytes", "characters"):
            return make_tokenizer(self.tokens, texts)
        characters = survey(train.pieces()).characters
        if self.tokens == "auto" and characters < self.cut.characters_below:
            return make_tokenizer("characters", texts)
        every = max(1, math.ceil(characters / SAMPLE))
        sample = (text for number, text in enumerate(texts) if number % every == 0)
        return make_tokenizer("bpe", sample, self.vocabulary or self.cut.vocabulary(characters))
