"""Pieces of documents → token files, as a stream.

    write_tokens(folder, "train", source.pieces(), tokenizer)
        →  folder/train.tokens   uint16 or uint32, `<EOS>` after each document
           folder/train.starts   int64, where each document starts
           and counts: {"documents": …, "tokens": …, "characters": …, "words": …, "bytes": …}; documents
           of each name that was given stand together, and "items" says how many there are

About a million tokens are held at a time, however long the text is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from indicial.data.documents import Piece
from indicial.data.tokenizers import EOS, Ints, Tokenizer

HELD = 1 << 20
EVERY = 5.0
"""Seconds between two reports of how far the work is."""


def token_type(size: int) -> type[np.uint16] | type[np.uint32]:
    """The smallest type that holds a vocabulary of this size."""
    return np.uint16 if size <= 1 << 16 else np.uint32


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


def reported(
    pieces: Iterable[Piece], name: str, tell: Callable[[str], None] | None
) -> Iterator[Piece]:
    """The same pieces; says now and then how far they are."""
    last, done = time.monotonic(), 0
    for piece in pieces:
        yield piece
        done += len(piece.text)
        if tell and time.monotonic() - last > EVERY:
            last = time.monotonic()
            tell(f"reading {name}: {done / 1e6:,.1f} million characters so far")
