"""Drawn scenes with captions that are true of them, and the things behind each word.

    row = next(Scenes().rows("train", 1))
    row["I"].shape, row["w"]      →  (32, 32, 3), "two small red circles left of a green cross"
    row["objects"][0]              →  Thing("circle", "red", "small", row=9.2, column=6.8, …)
    captions(row["objects"])       →  all of it, the probabilities add up to 1
    judge("two red circles", row["objects"]).true     →  False, since there is one

I are the points of the picture, from the top and from the left, in red, green and blue from 0 to 255. A caption
names every thing of the scene, with its number and colour, some with their size; one thing may be placed, and
of two groups one may be said to be left of the other. It is drawn from all that are true, so that its
probability given the scene is known, and the entropy of w given I. Any statement of these forms that is true
counts as true, whether it names everything or not. Numbers are exact: `a red circle` is false of two.

Four pairs of a colour and a shape are in no scene of the training part, though it has each with others; every
scene of the part `new` has one of them.

Things with a shape, a colour and a place → a picture, and the thing that each of its points belongs to.

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

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from typing import Any

import numpy as np

from indicial.program.messages import IndicialError

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


@dataclass
class PointingScore:
    """Counted over the words of many captions that speak of something."""

    words: int = 0
    hits: int = 0
    """Words whose strongest weight is on what they speak of."""
    area: float = 0.0
    """The share of the picture that it takes up, added up."""

    def add(self, weights: Floats, meant: Sequence[Sequence[int]], owners: Owners) -> None:
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


NUMBERS = ("a", "two", "three")
RELATIONS = {"left of": (0, 1), "right of": (0, -1), "above": (1, 0), "below": (-1, 0)}
"""The way from the one to the other, down and across."""
APART = 5.0
"""Points by which one thing must be left of another for this to be said."""
PLACES = {
    (0, 0): "in the top left", (0, 1): "at the top", (0, 2): "in the top right",
    (1, 0): "on the left", (1, 1): "in the middle", (1, 2): "on the right",
    (2, 0): "in the bottom left", (2, 1): "at the bottom", (2, 2): "in the bottom right",
}  # fmt: skip
RELATED = PLACED = 0.6
"""How often a relation is told, or a place, where one could be."""


@dataclass(frozen=True)
class Caption:
    words: tuple[str, ...]
    probability: float
    meant: tuple[tuple[int, ...], ...]
    """For each word the numbers of the things that it speaks of, counted from 0."""

    @property
    def text(self) -> str:
        return " ".join(self.words)


@dataclass(frozen=True)
class Judgement:
    true: bool
    why: str = ""
    """What is wrong with it."""
    complete: bool = False
    """Whether it names all there is."""
    meant: tuple[tuple[int, ...], ...] = field(default=())
    """As in a caption, as far as the things are there."""

    def __bool__(self) -> bool:
        return self.true


def vocabulary() -> list[str]:
    """All words of captions."""
    named = [*NUMBERS, *COLOURS, *RADII, *SHAPES, *map(_plural, SHAPES)]
    joining = [*RELATIONS, *PLACES.values(), "and", ","]
    return sorted({word for phrase in [*named, *joining] for word in phrase.split()})


def place_of(thing: Thing) -> str:
    """In which third of the picture a thing is, down and across: `in the top left`."""
    down, across = (min(2, int(3 * (at + 0.5) / SIZE)) for at in (thing.row, thing.column))
    return PLACES[down, across]


def related(relation: str, one: Thing, other: Thing) -> bool:
    down, across = RELATIONS[relation]
    way = down * (other.row - one.row) + across * (other.column - one.column)
    return way >= APART


# ---------------------------------------------------------------------- what is said


def captions(things: Sequence[Thing]) -> list[Caption]:
    """All captions of a scene with their probabilities."""
    groups = _groups(things)
    orders = list(permutations(groups))
    found = []
    for order, sizes in product(orders, product((False, True), repeat=len(groups))):
        share = 1 / len(orders) / 2 ** len(groups)
        named = [_named(group, things, size) for group, size in zip(order, sizes, strict=True)]
        for weight, joined in _joined(order, named, things):
            words = tuple(word for word, _ in joined)
            found.append(Caption(words, share * weight, tuple(meant for _, meant in joined)))
    return found


_Phrase = list[tuple[str, tuple[int, ...]]]
"""Words with what they speak of."""


def _groups(things: Sequence[Thing]) -> list[tuple[int, ...]]:
    """The numbers of things that are alike."""
    found: dict[tuple[str, str], list[int]] = {}
    for number, thing in enumerate(things):
        found.setdefault((thing.colour, thing.shape), []).append(number)
    return [tuple(group) for group in found.values()]


def _named(group: tuple[int, ...], things: Sequence[Thing], size: bool) -> _Phrase:
    thing = things[group[0]]
    noun = thing.shape if len(group) == 1 else _plural(thing.shape)
    words = [NUMBERS[len(group) - 1], *([thing.size] if size else []), thing.colour, noun]
    return [(word, group) for word in words]


def _plural(noun: str) -> str:
    return noun + ("es" if noun.endswith("s") else "s")


def _joined(
    order: Sequence[tuple[int, ...]], named: Sequence[_Phrase], things: Sequence[Thing]
) -> Iterator[tuple[float, _Phrase]]:
    """Phrases as a caption: a list, or with a place, or with a relation."""

    def plain(text: str) -> _Phrase:
        return [(word, ()) for word in text.split()]

    listed: _Phrase = list(named[0])
    for number, phrase in enumerate(named[1:], 2):
        listed += plain("and" if number == len(named) else ",") + phrase
    others: list[_Phrase] = []
    share = 0.0
    if len(order) == 1 and len(order[0]) == 1:
        thing = things[order[0][0]]
        others = [named[0] + plain(place_of(thing))]
        share = PLACED
    elif len(order) == 2:
        told = [r for r in RELATIONS if _all_related(r, order[0], order[1], things)]
        others = [named[0] + plain(relation) + named[1] for relation in told]
        share = RELATED if others else 0.0
    yield 1 - share, listed
    for phrase in others:
        yield share / len(others), phrase


def _all_related(
    relation: str, ones: Sequence[int], others: Sequence[int], things: Sequence[Thing]
) -> bool:
    return all(related(relation, things[a], things[b]) for a in ones for b in others)


# ---------------------------------------------------------------------- whether it is true


def judge(text: str, things: Sequence[Thing]) -> Judgement:
    """Whether a text is a caption that is true of the things."""
    words = text.split()
    reader = _Reader(words, things)
    fault = reader.read()
    complete = len({n for meant in reader.meant for n in meant}) == len(things)
    return Judgement(not fault, fault, not fault and complete, tuple(reader.meant))


class _Reader:
    """Reads a caption from the left; the first thing that is wrong is told."""

    def __init__(self, words: Sequence[str], things: Sequence[Thing]) -> None:
        self.words, self.things = words, things
        self.at = 0
        self.meant: list[tuple[int, ...]] = [()] * len(words)

    def read(self) -> str:
        """What is wrong, or nothing."""
        fault, first = self._phrase()
        if fault or self.at == len(self.words):
            return fault
        rest = " ".join(self.words[self.at :])
        if rest in PLACES.values():
            return self._placed(rest, first)
        relation = next((r for r in RELATIONS if f"{rest} ".startswith(f"{r} ")), None)
        if relation is not None:
            self.at += len(relation.split())
            fault, second = self._phrase()
            if fault or self.at < len(self.words):
                return fault or f"it goes on with {self.words[self.at]}"
            if not set(first) & set(second) and _all_related(relation, first, second, self.things):
                return ""
            return f"not {relation}"
        return self._listed(first)

    def _listed(self, seen: tuple[int, ...]) -> str:
        joint = ""
        while self.at < len(self.words):
            if joint == "and" or self.words[self.at] not in ("and", ","):
                return f"it goes on with {self.words[self.at]}"
            joint = self.words[self.at]
            self.at += 1
            fault, more = self._phrase()
            if fault:
                return fault
            if set(more) & set(seen):
                return "something is named twice"
            seen = (*seen, *more)
        return "" if joint == "and" else "a list ends in and"

    def _placed(self, where: str, named: tuple[int, ...]) -> str:
        thing = self.things[named[0]]
        if len(named) == 1 and place_of(thing) == where:
            return ""
        return f"not {where}"

    def _phrase(self) -> tuple[str, tuple[int, ...]]:
        """`two small red rings`: what is wrong, and the things that are meant."""
        start = self.at
        number = self._next(NUMBERS)
        size = self._next(tuple(RADII))
        colour = self._next(tuple(COLOURS))
        one = number == "a"
        nouns = SHAPES if one else tuple(map(_plural, SHAPES))
        noun = self._next(nouns)
        said = " ".join(self.words[start : self.at])
        if not (number and colour and noun):
            missing = self.words[self.at] if self.at < len(self.words) else "the end"
            return f"{missing} cannot come after {said or 'nothing'}", ()
        shape = SHAPES[nouns.index(noun)]
        found = tuple(
            n
            for n, thing in enumerate(self.things)
            if (thing.colour, thing.shape) == (colour, shape) and size in ("", thing.size)
        )
        self.meant[start : self.at] = [found] * (self.at - start)
        if len(found) != NUMBERS.index(number) + 1:
            return f"not {said}: there {_count(len(found))}", found
        return "", found

    def _next(self, among: Sequence[str]) -> str:
        if self.at < len(self.words) and self.words[self.at] in among:
            self.at += 1
            return self.words[self.at - 1]
        return ""


def _count(number: int) -> str:
    return "is none" if not number else "is one" if number == 1 else f"are {number}"


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
