"""Tokens on disk, and what is known about them.

    data = prepare_data(["book.txt"])          # prepare.py
    data.train.tokens[:5]                  →  array([18, 47, 56, 57, 58], dtype=uint16)
    data.train.starts                      →  array([0])     (one document)
    data.tokenizer.decode(data.train.tokens[:5])   →  "First"

A `Corpus` is one part, training or validation. Its two arrays are memory-mapped, so a corpus may be
larger than the memory. Each document ends in `<EOS>`; document d is
`tokens[starts[d] : starts[d+1]]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from indicial.data.tokenizers import Tokenizer

if TYPE_CHECKING:
    from indicial.data.world import World

Ints: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


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

    def __len__(self) -> int:
        return len(self.tokens)

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

    @property
    def entropy(self) -> float | None:
        """Nats per document that no model can do without, its end included; None but for a world."""
        return None if self.world is None else self.world.entropy()

    @property
    def entropy_per_token(self) -> float | None:
        """The same for each token: what the loss per token of a perfect model comes to."""
        if self.world is None:
            return None
        return self.world.entropy() * self.validation.documents / len(self.validation)
