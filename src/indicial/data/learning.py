"""Rows of the training part → how the cells of each input become numbers.

Texts get byte pairs, inputs that share a vocabulary the same ones; labels, words and characters a number each;
numbers that are not of order one are scaled; images get the size that the equations or `--set` say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

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
    is_picture,
    line_of,
    moments,
    names_of,
    opened_picture,
    parts_of,
)
from indicial.data.prepare_text import SAMPLE, Cut
from indicial.data.tables import Bad
from indicial.data.tokenizers import Ints, Tokenizer, make_tokenizer
from indicial.data.treebanks import is_tree
from indicial.program.messages import IndicialError

ORIENTATION = 0x0112
"""Of EXIF: from 5 on the picture lies on its side."""
SIDE = 64
"""Of images whose size nobody says, if they are not all of one size."""
LOOKED_AT = 200
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
                if sizes.total() < LOOKED_AT and (size := picture_size(cell)):
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
