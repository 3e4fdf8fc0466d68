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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np

from indicial.data.binding import Slot
from indicial.data.codings import Coding, coding_of
from indicial.data.corpus import key, shuffled
from indicial.data.tokenizers import Ints
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
