"""Columns on disk → the inputs of some rows.

    data.train.rows                      →  29000
    data.train.columns["x"].lengths      →  array([12, 9, …])
    data.train.columns["x"].take([3, 5]) →  (2, 12) int64, padded at the end

Values are memory-mapped. What several rows have in common, an image with five captions, is stored once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from indicial.data.columns.codings import Coding, coding_of
from indicial.data.columns.slots import Slot
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
    from json import dumps

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
