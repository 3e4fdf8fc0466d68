"""Tokens on disk, and what is known about them.

    data = prepare_data(["book.txt"])          # planned.py
    data.train.tokens[:5]                  →  array([18, 47, 56, 57, 58], dtype=uint16)
    data.train.starts                      →  array([0])     (one document)
    data.tokenizer.decode(data.train.tokens[:5])   →  "First"

A `Corpus` is one part, training or validation. Its two arrays are memory-mapped, so a corpus may be
larger than the memory; what was read counts as memory of the process until `release`. Each document
ends in `<EOS>`; document d is `tokens[starts[d] : starts[d+1]]`.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from indicial.data.tokenizers import Ints, Tokenizer
from indicial.data.world import World


@dataclass(frozen=True)
class Corpus:
    """One part of the data as tokens: `len(corpus)` of them, in `corpus.documents` documents."""

    tokens: Ints
    """uint16 or uint32, memory-mapped; `<EOS>` after each document."""
    starts: Ints
    """int64, memory-mapped: where each document starts; the first is 0."""
    characters: int
    bytes: int
    words: int
    unknown: int
    """How many characters the tokenizer did not know (validation only, tokens = characters)."""
    digest: str
    """SHA-256 of tokens and starts: a run keeps it, to notice on resume that its data changed."""
    items: tuple[int, ...] = ()
    """How many documents each file or folder has that was named; they stand in this order."""

    def __len__(self) -> int:
        return len(self.tokens)

    def release(self) -> None:
        """Let the system take back the memory of what was read; it is read again when needed."""
        for array in (self.tokens, self.starts):
            mapped = getattr(array.base, "obj", None)  # numpy looks at it through a memoryview
            if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)

    @property
    def documents(self) -> int:
        return len(self.starts)


@dataclass(frozen=True)
class Data:
    """Both parts, the tokenizer that was learned from the training part, and what to tell of them."""

    train: Corpus
    validation: Corpus
    tokenizer: Tokenizer
    world: World | None
    """The built-in world that the documents come from, or None."""
    description: dict[str, Any]
    """JSON: names and counts, for `run.json` and for choosing defaults."""
    folder: Path | None = None
    """Where it is stored (store.py)."""

    @property
    def name(self) -> str:
        """`book.txt`, or the name of a world."""
        return str(self.description["name"])

    def save(self, folder: Path) -> None:
        """Writes what a run keeps of them, `folder/tokenizer.json`."""
        self.tokenizer.save(folder)

    @property
    def entropy(self) -> float | None:
        """Nats per document that no model can do without, its end included; None but for a world."""
        return None if self.world is None else self.world.entropy()

    @property
    def entropy_per_token(self) -> float | None:
        """Nats per token of a perfect model, the ends of documents counted as tokens.

        A token is a word where every word has one; else its share of a document is measured on
        the validation part.
        """
        if self.world is None:
            return None
        return self.world.entropy() * self.validation.documents / len(self.validation)

    @property
    def sampled_entropy_per_token(self) -> float | None:
        """Nats per token of a perfect model on this very validation part.

        It differs from `entropy_per_token` by chance only, as the loss of any model does on these
        sentences. So the distance to it is the better measure of how far a model is from perfect.
        """
        nats = self.description["validation"].get("nats")
        return None if nats is None else nats / len(self.validation)


def open_array(path: Path, kind: type[Any]) -> Ints:
    """The numbers in a file, memory-mapped."""
    with path.open("rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), kind)
