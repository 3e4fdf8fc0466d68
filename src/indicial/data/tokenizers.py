"""Text ↔ tokens.

tokenizer = make_tokenizer("characters", ["ab", "ba"])
tokenizer.encode("abba")         →  [2, 3, 3, 2]
tokenizer.decode([2, 3, 3, 2])   →  "abba"
tokenizer.eos                    →  0
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path

FILE = "tokenizer.json"


class Tokenizer(ABC):
    """Text ↔ tokens 0 … size-1, one of which is the end of a document."""

    kind: str
    """`bytes`, `characters` or `bpe`."""
    size: int
    eos: int

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The tokens of a text, without `<EOS>`."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens; `<EOS>` is written as `<EOS>`."""

    @abstractmethod
    def token(self, number: int) -> str:
        """One token for display."""

    def save(self, folder: Path) -> None:
        """Write `folder/tokenizer.json`."""
        raise NotImplementedError


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a run."""
    raise NotImplementedError


def make_tokenizer(kind: str, documents: Iterable[str], vocabulary: int | None = None) -> Tokenizer:
    """A tokenizer made for these documents."""
    raise NotImplementedError
