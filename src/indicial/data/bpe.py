"""Byte-level BPE: frequent runs of bytes are tokens; no token crosses a word.

    tokenizer = learn_bpe(["low lower lowest"], vocabulary=300)
    tokenizer.encode("low slow")                   →  [259, 84, 259]   (" low", " s"…)
    learn_words(["the dog sees the cat"], None)    →  each of the four words is one token

A text is cut into words first, each with the blank before it; a text that begins with a word gets a
blank before it, so that a word is the same token wherever it stands. What a word becomes is looked
up in a table, and only a word that is new goes through the merges (the package `tokenizers`), so
encoding runs at the speed of a regular expression.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from indicial.data.tokenizers import END, EOS, Ints, Tokenizer, visible
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    import tokenizers

SPACE = r"\s+(?!\S)|\s+"
CUTS = {
    # As GPT-2 cuts: letters, digits, or other signs, each with the blank before it.
    "mixed": r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|" + SPACE,
    # Whatever stands between blanks, for texts in which punctuation stands apart.
    "blanks": r" ?\S+|" + SPACE,
}

LEAST = 257
"""A token for each byte, and `<EOS>`."""
REMEMBERED = 200_000
"""Words whose tokens are kept; then the table starts afresh (it takes about 50 MB)."""
FED = 1 << 14
"""Characters handed to the learner at a time: it needs many times the memory of its largest piece."""


class BPE(Tokenizer):
    """Words are cut by a pattern of `CUTS` and become bytes, which `merges` join.

    `tokens[n]` is token n + 1, bytes written as in GPT-2 (`Ġ` is a blank). Where there are no
    merges, a word that is no token itself is spelt in bytes.
    """

    kind = "bpe"

    def __init__(self, tokens: list[str], merges: list[list[str]], cut: str) -> None:
        self._tokens, self._merges, self._cut = tokens, merges, cut
        self.size = len(tokens) + 1
        decoded = _byte_of_sign()
        self._bytes = [b"", *(bytes(decoded[sign] for sign in token) for token in tokens)]
        if not set(decoded) <= set(tokens):
            raise ValueError("a byte has no token")
        self._words = re.compile(CUTS[cut]).findall
        self._known = _Known(_merger(tokens, [(a, b) for a, b in merges]))

    def numbers(self, text: str, begins: bool = True) -> Ints:
        # Decoding takes one blank from the beginning, so a text of its own that begins with a
        # blank gets one more; other white space cannot be mistaken for it.
        if begins and text and (text[0] == " " or not text[0].isspace()):
            text = " " + text
        if len(self._known) > REMEMBERED:
            self._known.clear()
        found = chain.from_iterable(map(self._known.__getitem__, self._words(text)))
        return np.fromiter(found, np.uint32)

    def token(self, number: int) -> str:
        if number == EOS:
            return END
        raw = self._bytes[number]
        try:
            return visible(raw.decode())
        except UnicodeDecodeError:
            return "".join(chr(b) if 32 <= b < 127 else f"\\x{b:02x}" for b in raw)

    def _text(self, ids: list[int]) -> str:
        raw = b"".join(map(self._bytes.__getitem__, ids))
        return raw.removeprefix(b" ").decode("utf-8", "replace")

    def _content(self) -> dict[str, Any]:
        return {"tokens": self._tokens, "merges": self._merges, "cut": self._cut}


class _Known(dict[str, tuple[int, ...]]):
    """Word → its tokens; a word that is not there yet is merged."""

    def __init__(self, merger: tokenizers.Tokenizer) -> None:
        self._merger = merger

    def __missing__(self, word: str) -> tuple[int, ...]:
        found = self[word] = tuple(n + 1 for n in self._merger.encode(word).ids)
        return found


def learn_bpe(documents: Iterable[str], vocabulary: int | None) -> BPE:
    """The merges that occur most, until there are `vocabulary` tokens or nothing is left to merge."""
    import tokenizers

    size = _checked(vocabulary or 4096)
    learner = _merger(sorted(_byte_of_sign()), [])
    learner.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Split(tokenizers.Regex(CUTS["mixed"]), "isolated"),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size - 1,
        initial_alphabet=sorted(_byte_of_sign()),
        show_progress=False,
        max_token_length=64,
    )
    learner.train_from_iterator(_small(documents), trainer)
    model = json.loads(learner.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return BPE(tokens, [list(merge) for merge in model["merges"]], "mixed")


def learn_words(documents: Iterable[str], vocabulary: int | None) -> BPE:
    """Each word is a token, the most frequent first as far as `vocabulary` goes; others are spelt."""
    cut = re.compile(CUTS["blanks"]).findall
    counts: Counter[str] = Counter()
    for text in documents:
        counts.update(cut(" " + text))
    bytes_ = sorted(_byte_of_sign())
    signs = {value: sign for sign, value in _byte_of_sign().items()}
    written = ["".join(signs[b] for b in word.encode()) for word, _ in counts.most_common()]
    words = [word for word in written if len(word) > 1]
    if vocabulary is not None:
        words = words[: _checked(vocabulary) - LEAST]
    return BPE(bytes_ + words, [], "blanks")


def _checked(vocabulary: int) -> int:
    if vocabulary < LEAST:
        raise IndicialError(
            f"--vocabulary is {vocabulary}: BPE has a token for each of the 256 bytes and <EOS>, so "
            f"it is at least {LEAST}; --tokens characters or --tokens bytes have fewer"
        )
    return vocabulary


def _small(documents: Iterable[str]) -> Iterator[str]:
    """The same text in small pieces, each beginning with a blank as encoded documents do."""
    for text in documents:
        for begin in range(0, len(text), FED):
            yield " " + text[begin : begin + FED]


def _merger(tokens: list[str], merges: list[tuple[str, str]]) -> tokenizers.Tokenizer:
    """What turns one word into its tokens."""
    import tokenizers

    vocabulary = {token: number for number, token in enumerate(tokens)}
    # With `ignore_merges` a word that is a token is taken whole. BPE that was learned comes to the
    # same by its merges.
    model = tokenizers.models.BPE(vocabulary, merges, ignore_merges=not merges)
    merger = tokenizers.Tokenizer(model)
    merger.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=False
    )
    return merger


def _byte_of_sign() -> dict[str, int]:
    """GPT-2's letters for the bytes, printable all: `a` → 97, `Ġ` → 32."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + n): b for n, b in enumerate(others)}
