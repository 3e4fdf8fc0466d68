"""Tokens → rows of one length.

rows = Rows(data.train, context=128, seed=0)
rows.batch(step=7, batch_size=32).tokens     →  (32, 128) int64, the same on every machine
for block in Rows(data.validation, 128).in_order(batch_size=32): …   # each token counted once
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from indicial.data.corpus import Corpus, Ints


@dataclass(frozen=True)
class Block:
    """Rows of tokens: `tokens[b,t]`. A row is never padded, so lengths are all alike."""

    tokens: Ints
    """(B, T) int64."""
    lengths: Ints | None = None
    """(B,) int64: how much of each row is text; None: all of it."""
    counted: Ints | None = None
    """(B, T) bool: the tokens that evaluation counts here; None: all of them."""


class Rows:
    """How a corpus becomes rows of one length; `layout` is auto, documents or stream."""

    layout: str

    def __init__(self, corpus: Corpus, context: int, seed: int = 0, layout: str = "auto") -> None:
        raise NotImplementedError

    def batch(self, step: int, batch_size: int, rank: int = 0, of: int = 1) -> Block:
        """The rows of one step, a pure function of (seed, step); `rank` of `of` gets its share."""
        raise NotImplementedError

    def in_order(self, batch_size: int = 1, stride: int | None = None) -> Iterator[Block]:
        """All tokens in order, each counted exactly once; the last block may be smaller."""
        raise NotImplementedError
