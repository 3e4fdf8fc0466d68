"""Pieces of documents → token files, as a stream.

    write_tokens(folder, "train", source.pieces(), tokenizer)
        →  folder/train.tokens   uint16 or uint32, `<EOS>` after each document
           folder/train.starts   int64, where each document starts
           and counts: {"documents": …, "tokens": …, "characters": …, "words": …, "bytes": …}

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
    counts = {"documents": 0, "tokens": 0, "characters": 0, "words": 0, "bytes": 0, "unknown": 0}
    kind = token_type(tokenizer.size)
    end = np.full(1, EOS, kind)
    with (
        (folder / f"{part}.tokens").open("wb") as tokens,
        (folder / f"{part}.starts").open("wb") as starts,
    ):
        written, begun = _Held(tokens, kind), _Held(starts, np.int64)
        begins = True
        for text, ends in pieces:
            if begins:
                begun.add(np.full(1, counts["tokens"], np.int64))
                counts["documents"] += 1
            numbers = tokenizer.numbers(text, begins)
            written.add(numbers)
            if ends:
                written.add(end)
            begins = ends
            counts["tokens"] += len(numbers) + ends
            counts["characters"] += len(text)
            counts["words"] += len(text.split())
            counts["bytes"] += _bytes(text, tokenizer)
            if tokenizer.unknown is not None:
                counts["unknown"] += int((numbers == tokenizer.unknown).sum())
        written.flush()
        begun.flush()
    return counts


class _Held:
    """Arrays on their way into a file."""

    def __init__(self, file: BinaryIO, kind: type[Any]) -> None:
        self._file, self._kind = file, kind
        self._arrays: list[Ints] = []
        self._held = 0

    def add(self, array: Ints) -> None:
        self._arrays.append(array)
        self._held += len(array)
        if self._held > HELD:
            self.flush()

    def flush(self) -> None:
        if self._arrays:
            self._file.write(np.concatenate(self._arrays).astype(self._kind).tobytes())
        self._arrays, self._held = [], 0


def _bytes(text: str, tokenizer: Tokenizer) -> int:
    """The length in UTF-8."""
    if text.isascii():
        return len(text)
    try:
        return len(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        tokenizer.check(text)
        raise


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
