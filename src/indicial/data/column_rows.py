"""Columns on disk → the inputs of some rows.

    data.train.columns["x"].take([3, 5]) →  (2, 12) int64, padded at the end
    buckets = Buckets({"S": lengths of x, "T": lengths of w}, rows=29000, batch_size=64, seed=0)
    buckets.batch(7)                     →  64 row numbers, the same on every machine
    Variation(mirror=True, shift=8).of(pictures, key(seed, step, "pictures"))

Values are memory-mapped. What several rows have in common, an image with five captions, is stored once.

All rows are shuffled in each epoch, one epoch behind the other, so that no row is left over. So many of
them as make some batches are sorted by length and cut into those, which are then shuffled. A batch is a
function of seed and step and of nothing else.

Pictures are changed a little, so that a small set of photographs is not learned by heart: each is mirrored or not, left
and right, and moved by up to `shift` points down and across; what comes in at an edge repeats that edge.

Rows of the training part → how the cells of each input become numbers.

Texts get byte pairs, inputs that share a vocabulary the same ones; labels, words and characters a number each;
numbers that are not of order one are scaled; images get the size that the equations or `--set` say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np

from indicial.data.binding import (
    IMAGE,
    LABEL,
    NUMBERS,
    PLACES,
    SPELLING,
    TEXT,
    UNITS,
    File,
    Row,
    Slot,
)
from indicial.data.codings import (
    Coding,
    Image,
    Label,
    Numbers,
    Places,
    Refused,
    Spelling,
    Text,
    Units,
    coding_of,
    is_picture,
    line_of,
    moments,
    names_of,
    opened_picture,
    parts_of,
)
from indicial.data.corpus import key, shuffled
from indicial.data.prepare_text import SAMPLE, Cut
from indicial.data.tables import Bad
from indicial.data.tokenizers import Ints, Tokenizer, make_tokenizer
from indicial.data.treebanks import is_tree
from indicial.program.inputs import json_of, plain_bytes
from indicial.program.messages import IndicialError
from indicial.program.outputs import write_text

FILE = "columns.json"
FORMAT = 1


@dataclass(frozen=True)
class Held:
    """One column of one part."""

    coding: Coding
    values: Ints
    """All rows one after the other, or one above the other."""
    starts: Ints | None = None
    """Where each row starts, and the end of the last, where rows differ in length."""
    shared: Ints | None = None
    """Which of the values each row has, where several rows may have the same."""

    @staticmethod
    def of(slot: Slot, coding: Coding, rows: Sequence[Ints]) -> Held:
        """A column in memory, from what is stored of each row."""
        if slot.length is None:
            return Held(coding, np.stack(rows))
        return Held(coding, np.concatenate(rows), np.cumsum([0, *map(len, rows)]))

    @cached_property
    def lengths(self) -> Ints | None:
        """Of each row, where they differ."""
        return None if self.starts is None else np.diff(self.starts)

    def row(self, number: int) -> Ints:
        """One row as it is stored."""
        if self.starts is not None:
            return np.asarray(self.values[self.starts[number] : self.starts[number + 1]])
        return np.asarray(self.values[number if self.shared is None else self.shared[number]])

    def take(self, rows: Ints, most: int | None = None) -> tuple[Ints, Ints | None]:
        """Rows as a module reads them, and how long each is; longer ones are cut to `most`."""
        if self.starts is None:
            places = rows if self.shared is None else self.shared[rows]
            return self.coding.numbers(self.values[places]), None
        begins = self.starts[rows]
        lengths = self.starts[rows + 1] - begins
        if most is not None:
            lengths = np.minimum(lengths, most)
        padded = np.zeros(
            (len(rows), int(lengths.max()), *self.values.shape[1:]), self.values.dtype
        )
        for row, begin, length in zip(padded, begins.tolist(), lengths.tolist(), strict=True):
            row[:length] = self.values[begin : begin + length]
        return self.coding.numbers(padded), lengths


@dataclass(frozen=True)
class Part:
    """The training part or the validation part: a row is an example."""

    columns: dict[str, Held]
    """By the names of the inputs."""
    rows: int
    digest: str
    """SHA-256 of all that is stored: a run keeps it, to notice on resume that its data changed."""

    def __len__(self) -> int:
        """How many tokens there are in all texts, or rows if there are none."""
        tokens = [int(h.starts[-1]) for h in self.columns.values() if h.starts is not None]
        return sum(tokens) or self.rows

    @property
    def documents(self) -> int:
        return self.rows


@dataclass(frozen=True)
class Columns:
    """Both parts, how cells became numbers, and what to tell of them."""

    train: Part
    validation: Part
    codings: dict[str, Coding]
    """By the names of the inputs."""
    description: dict[str, Any]
    """JSON: names and counts, for `run.json`."""
    folder: Path | None = None

    @property
    def name(self) -> str:
        return str(self.description["name"])

    def save(self, folder: Path) -> None:
        """Writes `folder/columns.json`: what is needed to read such columns again."""
        save_codings(folder, self.codings)


def save_codings(folder: Path, codings: Mapping[str, Coding]) -> None:
    inputs = {name: coding.to_json() for name, coding in codings.items()}
    write_text(folder / FILE, dumps({"format": FORMAT, "inputs": inputs}) + "\n")


def load_codings(folder: Path) -> dict[str, Coding]:
    """How each input's cells become numbers, as it was saved into a folder."""
    path = folder / FILE
    try:
        found = json_of(plain_bytes(path))
        version, inputs = found["format"], dict(found["inputs"])
    except FileNotFoundError:
        raise IndicialError(f"{path} is missing: is {folder} a run with several inputs?") from None
    except IndicialError:
        raise
    except Exception as error:
        raise IndicialError(f"{path} is damaged: {str(error)[:200]}") from None
    if version != FORMAT:
        raise IndicialError(f"{path} has format {version}, and this version reads {FORMAT}")
    return {str(name): coding_of(content, str(path)) for name, content in inputs.items()}


POOLS = (32, 128, 512)
"""Batches that are sorted together: the first of these that pads little."""
LITTLE = 0.08
LOOKED_AT = 512
"""Batches that padding is measured on, about."""


class Buckets:
    """How rows become batches."""

    def __init__(
        self, lengths: Mapping[str, Ints], rows: int, batch_size: int, seed: int = 0
    ) -> None:
        self.lengths = list(lengths.values())
        self.rows, self.batch_size, self.seed = rows, batch_size, seed
        self._known: tuple[int, list[Ints]] | None = None
        for self.pool in POOLS:
            self._known = None
            self.padding = self._padding()
            if self.padding < LITTLE or self.pool * batch_size >= rows:
                break

    def batch(self, step: int, rank: int = 0, of: int = 1) -> Ints:
        """The rows of a step; with several processes, the share of one."""
        number = step // self.pool
        if self._known is None or self._known[0] != number:
            self._known = number, self._batches(number)
        rows = self._known[1][step % self.pool]
        return rows[rank::of]

    def _batches(self, pool: int) -> list[Ints]:
        each = self.pool * self.batch_size
        numbers: Ints = np.arange(pool * each, (pool + 1) * each)
        rows = np.empty(each, np.int64)
        for epoch in range(int(numbers[0]) // self.rows, int(numbers[-1]) // self.rows + 1):
            here = numbers // self.rows == epoch
            of_epoch = key(self.seed, epoch, "rows")
            rows[here] = shuffled(numbers[here] % self.rows, self.rows, of_epoch)
        if self.lengths:
            rows = rows[alike([lengths[rows] for lengths in self.lengths])]
        order = shuffled(np.arange(self.pool), self.pool, key(self.seed, pool, "batches"))
        return [rows[n * self.batch_size : (n + 1) * self.batch_size] for n in order.tolist()]

    def _padding(self) -> float:
        """Of the places in the batches of the first epoch, or of some of them."""
        if not self.lengths:
            return 0.0
        pools = max(1, min(self.rows // self.batch_size, LOOKED_AT) // self.pool)
        batches = [rows for pool in range(pools) for rows in self._batches(pool)]
        return padding([[lengths[rows] for lengths in self.lengths] for rows in batches])


def padding(batches: list[list[Ints]]) -> float:
    """The share of places beyond the end of a row, given the lengths of the rows of each batch."""
    used = sum(int(lengths.sum()) for batch in batches for lengths in batch)
    there = sum(int(lengths.max()) * len(lengths) for batch in batches for lengths in batch)
    return 1 - used / max(1, there)


def alike(lengths: list[Ints]) -> Ints:
    """An order in which neighbours are of like length: by the last of the lengths, then by the one
    before, up and down in turns."""
    *others, last = lengths
    if not others:
        return np.argsort(last, kind="stable")
    turned = [np.where(last % 2 == 0, other, -other) for other in others]
    return np.lexsort((*turned, last))


def in_order(lengths: Mapping[str, Ints], rows: Ints, batch_size: int) -> list[Ints]:
    """Some rows, each in one batch, with those that are of like length."""
    if lengths:
        rows = rows[alike([one[rows] for one in lengths.values()])]
    return [rows[n : n + batch_size] for n in range(0, len(rows), batch_size)]


@dataclass(frozen=True)
class Variation:
    """How pictures may be changed: what is true of one should be true of it afterwards."""

    mirror: bool = False
    shift: int = 0

    def __bool__(self) -> bool:
        return self.mirror or self.shift > 0

    def of(self, pictures: Ints, key: int, rank: int = 0, of: int = 1) -> Ints:
        """New pictures of the same size; one process of several has every so-manieth of the batch."""
        draws = np.random.default_rng(key)
        drawn = len(pictures) * of
        moved = draws.integers(-self.shift, self.shift + 1, (drawn, 2))[rank::of]
        mirrored = draws.random(drawn)[rank::of] < 0.5 * self.mirror
        height, width = (np.arange(size) for size in pictures.shape[1:3])
        found = np.empty_like(pictures)
        for row, (down, across) in enumerate(moved[: len(pictures)].tolist()):
            lines = np.clip(height + down, 0, len(height) - 1)
            places = np.clip(width + across, 0, len(width) - 1)
            places = places[::-1] if mirrored[row] else places
            found[row] = pictures[row][lines[:, None], places[None, :]]
        return found


ASIS = Variation()


ORIENTATION = 0x0112
"""Of EXIF: from 5 on the picture lies on its side."""
SIDE = 64
"""Of images whose size nobody says, if they are not all of one size."""
SAMPLED = 200
"""Images whose sizes are looked at, and rows that the scale of numbers is taken from at least."""
SPELT = 0.98
"""Of the words, so many are spelt in full."""


@dataclass(frozen=True)
class Wishes:
    """What was said about tokens and sizes."""

    tokens: str = "auto"
    vocabulary: int | None = None
    cut: Cut = field(default_factory=Cut)
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Those that were set: `--set X=96`."""
    whole_words: bool = False
    """The texts have few words, and each is to be a token."""

    def to_json(self) -> list[Any]:
        cut = [self.cut.characters_below, self.cut.most]
        return [self.tokens, self.vocabulary, cut, sorted(self.sizes.items()), self.whole_words]


@dataclass
class _Seen:
    """What the rows have, by the vocabularies (texts, names) and by the inputs (the rest)."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    names: dict[str, Counter[str]] = field(default_factory=dict)
    long: dict[str, Counter[int]] = field(default_factory=dict)
    """How many characters words have."""
    trees: dict[str, bool] = field(default_factory=dict)
    """Whether places were the heads of a tree in every row."""
    values: dict[str, list[Any]] = field(default_factory=dict)
    pictures: dict[str, Counter[tuple[int, int]]] = field(default_factory=dict)


def learn(slots: Sequence[Slot], rows: Iterable[Row], wishes: Wishes) -> dict[str, Coding]:
    """A coding for each input."""
    seen = _Seen()
    free = {slot.vocabulary: SAMPLE for slot in slots}
    for _, cells in rows:
        if isinstance(cells, Bad):
            continue
        for slot in slots:
            cell = cells[slot.name]
            shared = slot.vocabulary or ""
            if slot.kind == TEXT and free[shared] > 0:
                text = line_of(cell)
                seen.texts.setdefault(shared, []).append(text)
                free[shared] -= len(text)
            elif slot.kind in (UNITS, LABEL):
                listed = _names(slot, cell)
                seen.names.setdefault(shared, Counter()).update(listed)
            elif slot.kind == SPELLING:
                words = _names(slot, cell)
                seen.names.setdefault(shared, Counter()).update(chain.from_iterable(words))
                seen.long.setdefault(slot.name, Counter()).update(map(len, words))
            elif slot.kind == PLACES:
                seen.trees[slot.name] = seen.trees.get(slot.name, True) and _is_tree(cell)
            elif slot.kind == IMAGE and (isinstance(cell, File) or is_picture(cell)):
                sizes = seen.pictures.setdefault(slot.name, Counter())
                if sizes.total() < SAMPLED and (size := picture_size(cell)):
                    sizes[size] += 1
            elif slot.kind in (NUMBERS, IMAGE):
                try:
                    read = Numbers(len(slot.axes)).encode(cell)
                except Refused:
                    continue
                seen.values.setdefault(slot.name, []).append(read)
    tokenizers = {name: _tokenizer(listed, wishes) for name, listed in seen.texts.items()}
    return {slot.name: _coding(slot, slots, tokenizers, seen, wishes) for slot in slots}


def _coding(
    slot: Slot,
    slots: Sequence[Slot],
    tokenizers: Mapping[str, Tokenizer],
    seen: _Seen,
    wishes: Wishes,
) -> Coding:
    shared = slot.vocabulary or ""
    match slot.kind:
        case _ if slot.kind == PLACES:
            return Places(seen.trees.get(slot.name, False))
        case _ if slot.kind == TEXT and shared in tokenizers:
            return Text(tokenizers[shared])
        case _ if slot.kind == SPELLING and shared in seen.names:
            # Number 0 is no character: what stands behind the end of a word.
            return Spelling(
                ["", *names_of(seen.names[shared], unknown=True)], _long(slot, seen, wishes)
            )
        case _ if slot.kind in (UNITS, LABEL) and shared in seen.names:
            # What is predicted is one of those that were seen; a word that is read may be new.
            known = any(other.predicted for other in slots if other.vocabulary == shared)
            found = names_of(seen.names[shared], unknown=not known)
            return Label(found) if slot.kind == LABEL else Units(found)
        case _ if slot.name in seen.values:
            return Numbers(len(slot.axes), moments(seen.values[slot.name], len(slot.axes)))
        case _ if slot.name in seen.pictures:
            return _image(slot, seen.pictures[slot.name], wishes)
    raise IndicialError(f"no row of the training part has anything for the input {slot.written}")


def _long(slot: Slot, seen: _Seen, wishes: Wishes) -> int:
    """The characters of a word that are read: what was said, or as many as nearly all words have."""
    said = slot.fixed[1] or wishes.sizes.get(slot.axes[1] or "")
    if said is not None:
        return said
    lengths = sorted(seen.long[slot.name].elements())
    return max(1, lengths[int(SPELT * (len(lengths) - 1))])


def _is_tree(cell: object) -> bool:
    try:
        heads = [int(item) for item in parts_of(cell)]
    except (ValueError, TypeError, OverflowError):
        return False  # it is told when it is read
    return all(0 <= head < len(heads) for head in heads) and is_tree(heads)


def _names(slot: Slot, cell: object) -> list[str]:
    if slot.kind == LABEL:
        name = str(cell).strip()
        return [name] if name else []
    return [str(item) for item in parts_of(cell)]


def _tokenizer(texts: Sequence[str], wishes: Wishes) -> Tokenizer:
    kind = "bpe" if wishes.tokens == "auto" else wishes.tokens
    if wishes.whole_words and kind == "bpe":
        words = sorted({word for text in texts for word in text.split()})
        return make_tokenizer(kind, [" ".join(words)], whole_words=True)
    characters = sum(map(len, texts))
    # Sentences are short and read one by one: more tokens than in running text make them shorter.
    size = wishes.vocabulary or min(wishes.cut.most, 2 * wishes.cut.vocabulary(characters))
    return make_tokenizer(kind, texts, size if kind == "bpe" else None)


def picture_size(cell: File | Ints) -> tuple[int, int] | None:
    """Width and height."""
    if not isinstance(cell, File):
        return cell.shape[1], cell.shape[0]
    try:
        with opened_picture(cell) as found:
            lies = found.getexif().get(ORIENTATION, 1) >= 5  # its sides change places
            return (found.height, found.width) if lies else (found.width, found.height)
    except Exception:  # it is told when it is read
        return None


def _image(slot: Slot, seen: Counter[tuple[int, int]], wishes: Wishes) -> Image:
    """Of the size that the equations or `--set` say, else that of the images themselves."""
    width, height = next(iter(seen)) if len(seen) == 1 else (SIDE, SIDE)
    said = [
        fixed if fixed is not None else wishes.sizes.get(name or "")
        for fixed, name in zip(slot.fixed, slot.axes, strict=True)
    ]
    rows, columns, channels = said[0] or height, said[1] or width, said[2] or 3
    if channels not in (1, 3):
        raise IndicialError(
            f"{slot.written} has {channels} channels, and an image has 1 (grey) or 3: give the "
            "values themselves as an array (.npz), or read the image into them by an equation"
        )
    return Image(rows, columns, channels)
