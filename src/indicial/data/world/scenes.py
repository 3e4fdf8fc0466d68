"""Drawn scenes with captions that are true of them, and the things behind each word.

    row = next(Scenes().rows("train", 1))
    row["I"].shape, row["w"]      →  (32, 32, 3), "two small red circles left of a green cross"
    row["objects"][0]              →  Thing("circle", "red", "small", row=9.2, column=6.8, …)
    judge(text, row["objects"])    →  whether any caption is true of it

I are the points of the picture, from the top and from the left, in red, green and blue from 0 to 255. A caption is
drawn from all that are true, so that its probability given the scene is known, and the entropy of w given I.

Four pairs of a colour and a shape are in no scene of the training part, though it has each with others; every scene of
the part `new` has one of them.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from indicial.data.world.captions import APART, captions, vocabulary
from indicial.data.world.drawing import COLOURS, RADII, SHAPES, SIZE, Thing, draw
from indicial.program.messages import IndicialError

PARTS = ("train", "validation", "new")
HELD_OUT = (("red", "cross"), ("blue", "triangle"), ("green", "ring"), ("yellow", "square"))
USUAL = tuple((c, s) for c in COLOURS for s in SHAPES if (c, s) not in HELD_OUT)
TRIES = 20
CLEAR = 1.5
"""Points by which a place is off the borders where what is said of it would change."""
COUNTS = ((1,), (2,), (3,), (1, 1), (2, 1), (1, 2), (2, 2), (3, 1), (1, 1, 1), (2, 1, 1))
"""How many there are of each kind."""


class Scenes:
    name = "scenes"
    inputs = ("I", "w")
    """The columns that equations read; the others are what is known of a row."""

    @property
    def vocabulary(self) -> list[str]:
        return vocabulary()

    def rows(self, part: str, count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
        """So many scenes of a part; the same for the same seed."""
        if part not in PARTS:
            raise IndicialError(f"the parts of {self.name} are {', '.join(PARTS)}, not {part}")
        numbers = np.random.default_rng([zlib.crc32(part.encode()), seed])
        for _ in range(count):
            yield make_row(_things(numbers, part == "new"), numbers)


def make_row(things: Sequence[Thing], numbers: np.random.Generator) -> dict[str, Any]:
    """A scene drawn, with one of its captions."""
    said = captions(things)
    shares = np.array([caption.probability for caption in said])
    caption = said[int(np.searchsorted(np.cumsum(shares), numbers.random() * shares.sum()))]
    kinds = dict.fromkeys((thing.colour, thing.shape) for thing in things)
    return {
        "I": draw(things, numbers),
        "w": caption.text,
        "objects": list(things),
        "log_probability": math.log(caption.probability),
        "new": ", ".join(" ".join(kind) for kind in kinds if kind in HELD_OUT),
    }


def entropy(things: Sequence[Thing]) -> float:
    """Nats of a caption, the scene being known: exact."""
    shares = [caption.probability for caption in captions(things)]
    return -math.fsum(share * math.log(share) for share in shares)


def _things(numbers: np.random.Generator, new: bool) -> list[Thing]:
    """What there is, and places for it: drawn again until there is room for all and nothing is in doubt."""
    counts = COUNTS[int(numbers.integers(len(COUNTS)))]
    kinds = [USUAL[int(number)] for number in numbers.permutation(len(USUAL))[: len(counts)]]
    if new:
        kinds[int(numbers.integers(len(kinds)))] = HELD_OUT[int(numbers.integers(len(HELD_OUT)))]
    alike = [
        Thing(shape, colour, tuple(RADII)[int(numbers.integers(2))], 0, 0)
        for colour, shape in kinds
    ]
    while True:
        things: list[Thing] = []
        for kind, often in zip(alike, counts, strict=True):
            for _ in range(often):
                _place(kind, things, numbers, alone=counts == (1,))
        if len(things) == sum(counts):
            return things


def _place(kind: Thing, things: list[Thing], numbers: np.random.Generator, alone: bool) -> None:
    """Adds a thing where there is room for it, if some tries find any."""
    red, green, blue = map(int, numbers.integers(-18, 19, 3))
    low, high = kind.radius + 0.5, SIZE - 1.5 - kind.radius
    for row, column in numbers.uniform(low, high, (TRIES, 2)).tolist():
        thing = Thing(kind.shape, kind.colour, kind.size, row, column, (red, green, blue))
        if all(_is_clear(thing, other) for other in things) and not (alone and _in_doubt(thing)):
            things.append(thing)
            return


def _is_clear(thing: Thing, other: Thing) -> bool:
    """They do not touch, and whether one is left of the other is beyond doubt."""
    ways = (abs(thing.row - other.row), abs(thing.column - other.column))
    if max(ways) <= thing.radius + other.radius + 1:
        return False
    alike = (thing.colour, thing.shape) == (other.colour, other.shape)
    return alike or all(abs(way - APART) >= CLEAR for way in ways)


def _in_doubt(thing: Thing) -> bool:
    """Whether it is so near a border between thirds of the picture that one could argue."""
    borders = (SIZE / 3 - 0.5, 2 * SIZE / 3 - 0.5)
    return any(abs(p - border) < CLEAR for p in (thing.row, thing.column) for border in borders)
