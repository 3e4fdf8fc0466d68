"""Both parts of the data → a folder with their tokens.

    Making(parts, "auto", None, tell)(folder)
        →  tokenizer.json  train.tokens  train.starts  validation.tokens  validation.starts
           counts.json

Everything that is learned from text (which kind of token to take, the alphabet, the merges of BPE)
is learned from the training part.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from indicial.data.encode import reported, write_tokens
from indicial.data.parts import Parts
from indicial.data.sources import Sentences, Source
from indicial.data.split import survey
from indicial.data.tokenizers import MARK, Marked, Tokenizer, make_tokenizer
from indicial.program.messages import IndicialError

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
