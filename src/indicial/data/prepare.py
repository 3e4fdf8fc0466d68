"""What `--data` names → `Data`: split, tokenized, on disk.

data = prepare_data(["book.txt"])
data = prepare_data(["people"], world_size=10_000, seed=1)
data = prepare_data(["train.jsonl"], field="text", validation=["dev.jsonl"], tokens="bpe")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from indicial.data.corpus import Data

WORLD_SIZE = 100_000
"""Sentences of a world that are made for training; a tenth as many are made for validation."""


def prepare_data(
    what: Sequence[str],
    *,
    tokens: str = "auto",
    vocabulary: int | None = None,
    field: str | None = None,
    documents: str = "auto",
    validation: float | Sequence[str] | None = None,
    seed: int = 0,
    cache: Path | None = None,
    world_size: int = WORLD_SIZE,
    tell: Callable[[str], None] | None = None,
) -> Data:
    """The data that `what` names, ready to make batches of.

    `tokens` is auto, bytes, characters or bpe; `documents` is auto, file, lines or blank-lines;
    `validation` is a fraction (0.1) or paths. `tell` hears a line now and then while large
    data are encoded.
    """
    raise NotImplementedError
