"""What `--data` names → `Data`: split, tokenized, on disk.

    data = prepare_data(["book.txt"])
    data = prepare_data(["people"], world_size=10_000)
    data = prepare_data(["train.jsonl"], field="text", validation=["dev.jsonl"], tokens="bpe")

The work is done once: what comes of it stays on disk (store.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from indicial.data.columns.batches import Columns
from indicial.data.corpus import Corpus, Data
from indicial.data.making import COUNTS, Cut, Making
from indicial.data.parts import Parts, find_parts
from indicial.data.store import checksums, find, stored
from indicial.data.tokenizers import FILE, KINDS, MARK, Marked, Tokenizer, load_tokenizer
from indicial.data.world import world
from indicial.program.messages import IndicialError

WORLD_SIZE = 100_000
"""Sentences of a world that are made for training; a tenth as many are made for validation."""
FRACTION = 0.1
"""How much is kept back for validation."""

FORMAT = 3
"""Of what is stored: to be raised when the same data would be stored differently."""


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


Prepared = TypeVar("Prepared", Data, Columns)


def find_again(
    description: Mapping[str, Any],
    opened: Callable[[Path, dict[str, Any]], Prepared],
    cache: Path | None = None,
) -> Prepared | None:
    """What a run describes, as it was prepared for it, if it is still on disk; `opened` opens such."""
    key = description.get("stored")
    folder = find(key, cache) if isinstance(key, str) else None
    if folder is None:
        return None
    data = opened(folder, dict(description))
    known = [description[part]["digest"] for part in ("train", "validation")]
    return data if known == [data.train.digest, data.validation.digest] else None


def open_data(folder: Path, description: dict[str, Any]) -> Data:
    """Data that are prepared already, perhaps by another process: its `folder` and `description`."""
    tokenizer = load_tokenizer(folder)
    counts = _counts(folder)
    train, validation = (
        _corpus(folder, part, counts[part], tokenizer) for part in ("train", "validation")
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


def _corpus(folder: Path, part: str, counts: dict[str, Any], tokenizer: Tokenizer) -> Corpus:
    sums = checksums(folder)
    both = sums[f"{part}.tokens"] + sums[f"{part}.starts"]
    digest = hashlib.sha256(both.encode()).hexdigest()
    return Corpus.opened(folder, part, counts, tokenizer.size, digest)


def _description(parts: Parts, counts: dict[str, Any], tokenizer: Tokenizer) -> dict[str, Any]:
    """What a run keeps of its data, but for the counts of each part."""
    told: dict[str, Any] = {
        "name": parts.name,
        "split": counts["split"],
        "documents": parts.unit,
        "tokens": tokenizer.kind,
        "vocabulary": tokenizer.size,
        "notes": list(parts.notes),
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
