"""Things with a shape, a colour and a place → a picture, and the thing that each of its points belongs to.

thing = Thing("circle", "red", "large", row=10.0, column=21.0)
draw([thing], rng).shape                               →  (32, 32, 3)
owners([thing])[10, 21], owners([thing])[0, 0]         →  1, 0

Whether the places of a picture that a word looks at hold what it speaks of.

    score = PointingScore()
    score.add(weights, words, owners)     # weights[t,x,y], the things of each word, and whose each point is
    score.share, score.chance             →  0.93, 0.11

Weights may be coarser than the picture: each stands for a rectangle of it, which holds a thing if one point of it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZE = 32
"""Points along each side of a picture."""
COLOURS = {
    "red": (215, 45, 45),
    "green": (45, 175, 65),
    "blue": (55, 85, 225),
    "yellow": (230, 210, 55),
    "purple": (160, 65, 195),
    "white": (232, 232, 232),
}
SHAPES = ("circle", "square", "triangle", "cross", "ring", "diamond")
RADII = {"small": 3.0, "large": 5.0}
FINE = 4
"""So many times as fine as a picture are its shapes, so that edges are smooth."""

Pixels = np.ndarray[Any, np.dtype[np.uint8]]
Floats = np.ndarray[Any, np.dtype[Any]]
Owners = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Thing:
    shape: str
    colour: str
    size: str
    row: float
    column: float
    """Of the middle; counted in points, from the top and from the left."""
    tint: tuple[int, int, int] = (0, 0, 0)
    """What makes its colour a little different from others of the same name."""

    @property
    def radius(self) -> float:
        return RADII[self.size]

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Top, left, bottom, right, the last two just outside."""
        reach = self.radius + 1
        low = [max(0, round(middle - reach)) for middle in (self.row, self.column)]
        high = [min(SIZE, round(middle + reach) + 1) for middle in (self.row, self.column)]
        return low[0], low[1], high[0], high[1]


def covered(thing: Thing, down: Floats, across: Floats) -> Floats:
    """How much of each point a thing covers, from 0 to 1; rows and columns of points are given."""
    fine = (np.arange(FINE) + 0.5) / FINE - 0.5
    scale = thing.radius + 0.5
    u = ((down[:, None] + fine).ravel()[:, None] - thing.row) / scale
    v = ((across[:, None] + fine).ravel()[None, :] - thing.column) / scale
    match thing.shape:
        case "circle":
            inside = u**2 + v**2 <= 1
        case "square":
            inside = np.maximum(abs(u), abs(v)) <= 0.88
        case "triangle":
            inside = (abs(u) <= 0.9) & (abs(v) <= (u + 1) / 2 * 1.05)
        case "cross":
            inside = (np.minimum(abs(u), abs(v)) <= 0.3) & (np.maximum(abs(u), abs(v)) <= 1)
        case "ring":
            inside = (u**2 + v**2 <= 1) & (u**2 + v**2 >= 0.3)
        case _:
            inside = abs(u) + abs(v) <= 1.05
    blocks = inside.reshape(len(down), FINE, len(across), FINE)
    return np.asarray(blocks.mean(axis=(1, 3)))


def draw(things: Sequence[Thing], rng: np.random.Generator) -> Pixels:
    """The picture: each thing on a dark ground, all a little noisy."""
    noise = rng.normal(0, 6, (SIZE, SIZE, 3))
    picture = np.broadcast_to(rng.integers(0, 56, 3).astype(float), (SIZE, SIZE, 3)).copy()
    for thing in things:
        here, part = _patch(thing)
        under = picture[here]
        under += part[:, :, None] * (np.array(COLOURS[thing.colour]) + thing.tint - under)
    return np.clip(np.rint(picture + noise), 0, 255).astype(np.uint8)


def owners(things: Sequence[Thing]) -> Owners:
    """For each point the number of the thing that it belongs to, counted from 1, or 0."""
    found = np.zeros((SIZE, SIZE), np.int64)
    for number, thing in enumerate(things, 1):
        here, part = _patch(thing)
        found[here][part > 0.5] = number
    return found


def _patch(thing: Thing) -> tuple[tuple[slice, slice], Floats]:
    """Where a thing is, and how much of each point it covers there."""
    top, left, bottom, right = thing.box
    part = covered(thing, np.arange(top, bottom), np.arange(left, right))
    return (slice(top, bottom), slice(left, right)), part


Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass
class PointingScore:
    """Counted over the words of many captions that speak of something."""

    words: int = 0
    hits: int = 0
    """Words whose strongest weight is on what they speak of."""
    area: float = 0.0
    """The share of the picture that it takes up, added up."""

    def add(self, weights: Array, meant: Sequence[Sequence[int]], owners: Owners) -> None:
        """One caption; `weights[t]` is where word t looks. Things are counted from 0, their points from 1."""
        for looks, things in zip(weights, meant, strict=False):
            if things:
                held = holding(owners, [number + 1 for number in things], looks.shape)
                self.words += 1
                self.hits += bool(held.flat[int(np.argmax(looks))])
                self.area += float(held.mean())

    @property
    def share(self) -> float:
        return self.hits / max(1, self.words)

    @property
    def chance(self) -> float:
        """The share of a word that looks anywhere."""
        return self.area / max(1, self.words)


def holding(owners: Owners, things: Sequence[int], shape: tuple[int, ...]) -> Any:
    """Which of the rectangles of a coarser grid hold one of the things: `(8, 8)` booleans."""
    there = np.isin(owners, things)
    found = np.zeros(shape, bool)
    rows = np.arange(owners.shape[0]) * shape[0] // owners.shape[0]
    columns = np.arange(owners.shape[1]) * shape[1] // owners.shape[1]
    down, across = np.nonzero(there)
    found[rows[down], columns[across]] = True
    return found
