"""Built-in worlds as tables: rows that are made rather than read.

    train, validation = made_parts(["phrasebook"], 0.1, size=None, seed=0)
    train.columns, next(train.rows())    →  ("x", "w"), (1, {"x": "Oslo liegt …", "w": "Oslo lies …", …})

Each part has rows of its own. What the true distribution would lose on them is known: `nats`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from indicial.data.columns.tables import Rows, Table
from indicial.data.prepare import FRACTION
from indicial.data.world import Phrasebook, Scenes, tables, world_table
from indicial.program.messages import IndicialError

SIZES = {"phrasebook": 50_000, "scenes": 20_000}
"""Rows for training, if nobody says how many."""
KNOWN_BY = 100
"""Rows that stand for a world in its stamp."""


@dataclass(frozen=True)
class Made(Table):
    """Rows of one part of a world."""

    world: Phrasebook | Scenes
    part: str
    count: int
    seed: int

    @property
    def name(self) -> str:
        return self.world.name

    @property
    def folder(self) -> Path:
        return Path()

    @property
    def columns(self) -> tuple[str, ...]:
        return self.world.inputs

    @cached_property
    def made(self) -> list[dict[str, Any]]:
        """All rows with all that is known of them."""
        return list(self.world.rows(self.part, self.count, self.seed))

    def rows(self) -> Rows:
        yield from enumerate(self.made, 1)

    @property
    def nats(self) -> float:
        """What the true distribution of w, given what else a row has, would lose on these rows."""
        return -math.fsum(row["log_probability"] for row in self.made)

    def stamp(self) -> object:
        # The first rows stand for how they are made, which another version may change.
        first = list(self.world.rows(self.part, min(self.count, KNOWN_BY), self.seed))
        told = "\n".join(str(row[name]) for row in first for name in self.columns)
        known = hashlib.sha256(told.encode()).hexdigest()
        return [self.name, self.part, self.count, self.seed, known]


def made_parts(
    what: Sequence[str | Table],
    validation: float | Sequence[str | Table] | None,
    size: int | None,
    seed: int,
) -> tuple[Made, Made] | None:
    """Both parts of the world that is named; None if the data are files."""
    named = [name for name in what if isinstance(name, str) and name in tables()]
    if not named:
        if size is not None:
            raise IndicialError(
                f"--world-size is for a built-in world ({', '.join(tables())}), and "
                f"{' '.join(map(str, what))} is none"
            )
        return None
    name = named[0]
    if len(what) > 1:
        raise IndicialError(
            f"{name} is a built-in world, which cannot be joined with files; a file of that name is "
            f"./{name}"
        )
    if validation is not None and not isinstance(validation, float):
        raise IndicialError(
            f"{name} is a built-in world, which makes rows for both parts: files for --validation do "
            "not go with it"
        )
    count = size or SIZES[name]
    kept = max(1, round(count * (FRACTION if validation is None else validation)))
    world = world_table(name)
    return Made(world, "train", count, seed), Made(world, "validation", kept, seed)
