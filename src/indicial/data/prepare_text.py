"""What `--data` names → `Data`: split, tokenized, on disk.

    data = prepare_data(["book.txt"])
    data = prepare_data(["people"], world_size=10_000)
    data = prepare_data(["train.jsonl"], field="text", validation=["dev.jsonl"], tokens="bpe")

The work is done once: what comes of it stays on disk (corpus.py), a folder with

    tokenizer.json                       learned from the training part, as all that is learned from text
    train.0.values, validation.0.values  uint16 or uint32, `<EOS>` after each document: one column
    train.0.starts, validation.0.starts  int64, where each document starts, and the end of the last
    counts.json                          documents, tokens, characters, words, bytes; documents of each name that was
                                         given stand together, and "items" says how many there are

About a megabyte is held at a time, however long the text is.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from indicial.data.corpus import FORMAT, Column, Corpus, Data, digest_of, stored, token_type
from indicial.data.documents import Piece
from indicial.data.parts import Parts, find_parts, survey
from indicial.data.sources import Sentences, Source
from indicial.data.tokenizers import (
    EOS,
    FILE,
    KINDS,
    MARK,
    Marked,
    Tokenizer,
    load_tokenizer,
    make_tokenizer,
)
from indicial.data.world import world
from indicial.program.messages import IndicialError

EVERY = 5.0
"""Seconds between two reports of how far the work is."""


def write_tokens(
    folder: Path, part: str, pieces: Iterable[Piece], tokenizer: Tokenizer
) -> dict[str, Any]:
    """Write the one column of a part; returns what was counted on the way."""
    counts = {"documents": 0, "tokens": 0, "characters": 0, "words": 0, "bytes": 0, "unknown": 0}
    items: Counter[int] = Counter()
    kind, begins = token_type(tokenizer.size), True
    end = np.full(1, EOS, kind)
    with closing(Column(folder, f"{part}.0", "starts")) as column:
        for text, ends, item in pieces:
            numbers = tokenizer.numbers(text, begins).astype(kind)
            if begins:
                column.put(np.array(counts["tokens"], np.int64), "starts")
                counts["documents"] += 1
                items[item] += 1
            column.put(numbers)
            column.put(end[: int(ends)])
            begins = ends
            counts["tokens"] += len(numbers) + ends
            counts["characters"] += len(text)
            counts["words"] += len(text.split())
            counts["bytes"] += _bytes(text)
            if tokenizer.unknown is not None:
                counts["unknown"] += int((numbers == tokenizer.unknown).sum())
        column.put(np.array(counts["tokens"], np.int64), "starts")
    return {**counts, "items": [items[item] for item in range(max(items, default=0) + 1)]}


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
SHORT = 4_000
"""Characters of a document below which a text is a list of them."""
SAMPLE = 1 << 25
"""Characters that BPE is learned from."""


@dataclass(frozen=True)
class Cut:
    """How a text is cut where nobody says it; `training/defaults.py` has it for a time."""

    characters_below: int = SMALL
    """Texts with fewer characters are cut into these, others into byte pairs."""
    most: int = LARGEST
    """Tokens of a vocabulary."""

    def vocabulary(self, characters: int, documents: int = 1) -> int:
        """For so much text: 1,024 for 150,000 characters, 4,096 for two million, 8,192 for ten; 4,096 for
        one million if it is a list of short texts."""
        often = 3.2 if characters < SHORT * documents else 2.3
        fitting = 1 << round(math.log2(often * math.sqrt(max(1, characters))))
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
        seen = survey(train.pieces())
        characters = seen.characters
        if self.tokens == "auto" and characters < self.cut.characters_below:
            return make_tokenizer("characters", texts)
        every = max(1, math.ceil(characters / SAMPLE))
        sample = (text for number, text in enumerate(texts) if number % every == 0)
        return make_tokenizer(
            "bpe", sample, self.vocabulary or self.cut.vocabulary(characters, seen.documents)
        )


WORLD_SIZE = 100_000
"""Sentences of a world that are made for training; a tenth as many are made for validation."""
FRACTION = 0.1
"""How much is kept back for validation."""


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
    tokenizer: Path | None = None,
    cut: Cut | None = None,
    marked: bool = False,
    columns: Mapping[str, str] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Data:
    """The data that `what` names, ready to make batches of.

    `tokens` is auto, bytes, characters or bpe; `documents` is auto, file, lines or blank-lines;
    `validation` is a fraction (0.1) or files. `seed` decides which documents are kept back and
    which sentences a world says; runs that are compared want the same one. `tokenizer` is a folder
    with one that is to be used as it is, that of a run; `cut` says which one to make, if `tokens` and
    `vocabulary` do not. `marked`: with a token for what is left out; `columns` are those of tables that
    hold questions and answers. `tell` hears how far the work is, every few
    seconds.
    """
    tokens = _checked_kind(tokens, vocabulary)
    known = None if tokenizer is None else load_tokenizer(tokenizer)
    parts = find_parts(
        what,
        field=field,
        documents=documents,
        validation=FRACTION if validation is None else validation,
        seed=seed,
        world_size=world_size,
        raw="bytes" in (tokens, known and known.kind),
        columns=columns,
    )
    taken = [] if tokenizer is None else [(tokenizer / FILE).read_text(encoding="utf-8")]
    cut = cut or Cut()
    if known is not None and marked and not isinstance(known, Marked):
        raise IndicialError(
            "its tokens have no sign for what is left out, so it can learn no questions and no spans: "
            "train it anew with --objective language"
        )
    if marked and known is None:
        taken = [MARK]
    made_from = json.dumps([FORMAT, parts.stamp(), tokens, vocabulary, asdict(cut), *taken])
    key = hashlib.sha256(made_from.encode()).hexdigest()
    folder = stored(key, Making(parts, tokens, vocabulary, tell, known, cut, marked), cache)
    return _described(open_data(folder, {}), parts, cut)


def open_data(folder: Path, description: dict[str, Any]) -> Data:
    """Data that are prepared already, perhaps by another process: its `folder` and `description`."""
    tokenizer = load_tokenizer(folder)
    counts = _counts(folder)
    train, validation = (
        Corpus.opened(folder, part, counts[part], tokenizer.size, digest_of(folder, part))
        for part in ("train", "validation")
    )
    made = world(description["world"]["name"]) if "world" in description else None
    return Data(train, validation, tokenizer, made, description, folder)


def _checked_kind(tokens: str, vocabulary: int | None) -> str:
    if tokens not in ("auto", *KINDS):
        raise IndicialError(f"--tokens is auto, {', '.join(KINDS)}; got {tokens}")
    if vocabulary is None:
        return tokens
    if tokens == "auto":
        return "bpe"
    if tokens != "bpe":
        raise IndicialError(
            f"--vocabulary is for --tokens bpe; {tokens} make their own, so leave it out"
        )
    return tokens


def _described(data: Data, parts: Parts, cut: Cut) -> Data:
    """The data of a stored folder, with where they come from."""
    assert data.folder is not None
    counts = _counts(data.folder)
    told = {**_description(parts, counts, data.tokenizer), "stored": data.folder.name}
    told["cut"] = asdict(cut)
    for part, corpus in (("train", data.train), ("validation", data.validation)):
        told[part] = {
            **{name: count for name, count in counts[part].items() if name != "items"},
            "tokens_per_document": len(corpus) / corpus.documents,
            "digest": corpus.digest,
        }
    return replace(data, world=parts.world, description=told)


def _counts(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / COUNTS).read_text(encoding="utf-8"))
    return found


def _description(parts: Parts, counts: dict[str, Any], tokenizer: Tokenizer) -> dict[str, Any]:
    """What a run keeps of its data, but for the counts of each part."""
    told: dict[str, Any] = {
        "name": parts.name,
        "split": counts["split"],
        "documents": parts.unit,
        "tokens": tokenizer.kind,
        "vocabulary": tokenizer.size,
        "notes": list(parts.notes),
        "format": FORMAT,
    }
    for part, name in (("train", "training"), ("validation", "validation")):
        if unknown := counts[part]["unknown"]:
            told["notes"].append(
                f"{unknown:,} of the {counts[part]['characters']:,} characters of the {name} part "
                "are none that the tokens know; each counts as unknown, and 20 bits more for saying "
                "which one it is"
            )
    if parts.world is not None:
        told["world"] = {
            "name": parts.world.name,
            "entropy": parts.world.entropy(),
            "words_per_sentence": parts.world.words_per_sentence(),
        }
    return told
