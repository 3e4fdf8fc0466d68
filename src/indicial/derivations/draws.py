"""Values for the names that nothing defines, and functions for those that are only named.

>>> draw = Draw(size=3, seed=1)
>>> draw.leaf("A", (), "matrix").shape, draw.leaf("x", (2,), "number")
((3, 3), 0.7)

Numbers have one decimal, so that a counterexample can be recomputed from what is printed. A condition
is what a text may say of its names in words: that vectors are orthogonal, that matrices are symmetric.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]

NUMBER, COLUMN, ROW, MATRIX = "number", "column", "row", "matrix"
ALONE = "alone"
"""A number, though its letter has indices elsewhere."""

WEIGHTS, ONE_HOT, SYMMETRIC, ORTHOGONAL, ORTHONORMAL, FROM_ZERO, FROM_ONE = (
    "weights", "one-hot", "symmetric", "orthogonal", "orthonormal", "from zero", "from one",
)  # fmt: skip
FIXED = "fixed"
_STATED = {
    WEIGHTS: r"one[- ]hot|sums? (up )?to (1|one)|distribution|probabilit",
    ONE_HOT: r"one[- ]hot",
    SYMMETRIC: r"symmetric|hessian|covariance|definite|gram\b|diagonal",
    ORTHOGONAL: r"orthogonal|orthonormal|rotation|unitary",
    ORTHONORMAL: r"orthogonal|orthonormal|perpendicular",
    FROM_ZERO: r"initial|start|begin",
    FROM_ONE: r"initial|start|begin",
}
"""The words in which a text states a condition."""


@dataclass(frozen=True)
class Condition:
    """What a text may say of its names in words: of one of them, or of all vectors."""

    what: str
    name: str = ""
    length: str = ""
    """The number that is the length of orthogonal vectors; 1 if there is none."""

    def stated(self, text: str) -> bool:
        """Whether a text says it, in whatever place."""
        pattern = _STATED.get(self.what)
        return pattern is not None and re.search(pattern, text, re.IGNORECASE) is not None

    def as_said(self, text: str) -> str:
        if self.what not in _STATED:
            return ""
        return ", as the text says" if self.stated(text) else "; the text does not say so"

    def __str__(self) -> str:
        match self.what:
            case "weights":
                return f"the elements of {self.name} sum to 1"
            case "one-hot":
                return f"{self.name} is one-hot"
            case "symmetric":
                return f"{self.name} is symmetric"
            case "orthogonal":
                return f"{self.name} is orthogonal"
            case "fixed":
                return self.name
            case "from zero" | "from one":
                return "what comes before the first step is 0"
        return f"the vectors are orthogonal and of length {self.length or 1}"

    def concerns(self, key: str) -> bool:
        return self.name in ("", key)

    @property
    def rare(self) -> bool:
        """Whether nobody means it who does not say it: that a matrix W is symmetric, and not an H or a Σ."""
        return self.what in (SYMMETRIC, ORTHOGONAL) and self.name[:1] not in "HΣΛKSPDQRUVM"


def conditions(kinds: Mapping[str, str], indexed: Collection[str]) -> Iterator[Condition]:
    """What may be said of names of these kinds; `indexed` are the numbers that have indices."""
    if any(kind in (COLUMN, ROW) for kind in kinds.values()):
        yield Condition(ORTHONORMAL)
        for name, kind in kinds.items():
            if kind == NUMBER and name not in indexed:
                yield Condition(ORTHONORMAL, length=name)
    for name, kind in kinds.items():
        if kind in (COLUMN, ROW) or name in indexed:
            yield Condition(WEIGHTS, name)
            yield Condition(ONE_HOT, name)
        elif kind == MATRIX:
            yield Condition(SYMMETRIC, name)
            yield Condition(ORTHOGONAL, name)
    if indexed:
        yield Condition(FROM_ZERO)
        yield Condition(FROM_ONE)


KEPT = 20_000
"""So many drawn arrays are kept."""


class Exhausted(Exception):
    """A step that takes too long."""


@dataclass
class Budget:
    """How much may still be computed."""

    left: int

    def spend(self, work: int = 1) -> None:
        self.left -= work
        self.allow(0)

    def allow(self, work: int) -> None:
        """Fails before anything is made of which so many could not be computed."""
        if self.left < work:
            raise Exhausted


@dataclass
class Draw:
    """One draw of everything; what is asked for twice is the same."""

    size: int
    seed: int
    condition: Condition | None = None
    positive: bool = False
    fixed: dict[str, float] = field(default_factory=dict)
    """Numbers that are set: those that are only on one side, and those that grow or vanish."""
    growth: float = 0.0
    """What ∞ is the exponential of; 0 where it has no value."""
    close: float = 0.0
    """How near a limit is gone to."""
    other: str = ""
    """A name that is drawn anew, to see what depends on it."""
    drawn: dict[tuple[str, tuple[int, ...]], float | Array] = field(default_factory=dict)
    budget: Budget = field(default_factory=lambda: Budget(1_000_000))
    curves: dict[object, list[Array]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    """The orthogonal vectors that were drawn."""

    def _under(self, key: str) -> str:
        """The condition that a name is under."""
        return self.condition.what if self.condition and self.condition.concerns(key) else ""

    def elements(self, kind: str | None) -> bool:
        """Whether a name that has more indices elsewhere is read as the array of its elements."""
        return kind in (None, NUMBER)

    def starts(self, at: tuple[int, ...], recurrent: bool) -> bool:
        """Whether an element comes before the first: the h_0 of `h_t = f(h_{t-1})`."""
        what = self.condition.what if self.condition else ""
        return (what == FROM_ZERO and recurrent) or (what == FROM_ONE and any(i < 1 for i in at))

    def leaf(self, key: str, at: tuple[int, ...], kind: str) -> float | Array:
        """The value of a free name at some indices."""
        kind = NUMBER if kind == ALONE else kind
        if key in self.fixed and kind == NUMBER:
            return self.fixed[key]
        if (key, at) not in self.drawn:
            self.drawn[key, at] = self._drawn(key, at, kind)
        return self.drawn[key, at]

    def _drawn(self, key: str, at: tuple[int, ...], kind: str) -> float | Array:
        n = self.size
        if kind == NUMBER:
            if self._under(key) in (ONE_HOT, WEIGHTS) and at:
                return self._weight(key, at)
            return float(self._plain(key, at, ()))
        if kind == MATRIX:
            matrix = self._plain(key, at, (n, n))
            if self._under(key) == SYMMETRIC:
                return np.round(matrix + matrix.T, 1)
            if self._under(key) == ORTHOGONAL:
                return np.asarray(np.linalg.qr(matrix)[0])
            return matrix
        column = self._vector(key, at)
        return column if kind == COLUMN else column.T

    def _vector(self, key: str, at: tuple[int, ...]) -> Array:
        n = self.size
        if self.condition is not None and self.condition.what == ORTHONORMAL:
            family = f"{key}{at}"
            if family not in self.order:
                self.order.append(family)
            turned = np.linalg.qr(np.random.default_rng(self.seed).normal(size=(n, n)))[0]
            place = self.order.index(family)
            name = self.condition.length
            length = float(self.leaf(name, (), NUMBER)) if name else 1.0
            return length * turned[:, place % n][:, None]
        if self._under(key) == ONE_HOT:
            return np.eye(n)[:, [int(_generator(self._seed(key, at)).integers(n))]]
        column = self._plain(key, at, (n, 1))
        if self._under(key) == WEIGHTS:
            column = np.abs(column) + 0.1
            return np.asarray(column / column.sum())
        return column

    def _weight(self, key: str, at: tuple[int, ...]) -> float:
        """An element of numbers that sum to 1 along their last index."""
        whole = self._vector(key, at[:-1]).ravel()
        return float(whole[at[-1] % self.size])

    def _plain(self, key: str, at: tuple[int, ...], shape: tuple[int, ...]) -> Array:
        return _numbers(self._seed(key, at), shape, self.positive)

    def _seed(self, key: str, at: tuple[int, ...]) -> str:
        again = "again" if key.removesuffix("()") == self.other.removesuffix("()") else ""
        return f"{key}|{at}|{self.seed}|{self.size}{again}"

    # ------------------------------------------------------------------ functions

    def curve(self, key: str) -> Callable[[Any], Any]:
        """A smooth function of a number."""
        a, b, c = self._kept(f"{key}()", (), (3,))[0]
        return lambda x: (1 + a / 2) * np.sin((1 + b / 2) * x + c) + 0.5 * x

    def function(self, key: str, at: tuple[int, ...], kind: str, of: Array) -> float | Array:
        """A smooth function of many numbers."""
        count = {NUMBER: 1, ALONE: 1, COLUMN: self.size, ROW: self.size, MATRIX: self.size**2}[kind]
        inner, phases = self._kept(f"{key}()", at, (count, 2, of.size), (count, 2))
        made = np.sin(inner @ of + phases).sum(axis=1) + inner[:, 0] @ of
        if count == 1:
            return float(made[0])
        shape = {COLUMN: (-1, 1), ROW: (1, -1)}.get(kind, (-1, self.size))
        return np.asarray(made.reshape(shape))

    def _kept(self, key: str, at: tuple[int, ...], *shapes: tuple[int, ...]) -> list[Array]:
        """Numbers between -1 and 1 that are the same each time."""
        known = (key, at, shapes)
        if known not in self.curves:
            self.curves[known] = _uniform(self._seed(key, at), shapes)
        return self.curves[known]


# Steps are tried in many readings, all on the same few draws: what was drawn once is kept.


def _generator(seed: str) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big"))


@lru_cache(KEPT)
def _numbers(seed: str, shape: tuple[int, ...], positive: bool) -> Array:
    random = _generator(seed)
    numbers = random.integers(1, 20, shape) / 10
    return _fixed(numbers * (1 if positive else random.choice([-1, 1], shape)))


@lru_cache(KEPT)
def _uniform(seed: str, shapes: tuple[tuple[int, ...], ...]) -> list[Array]:
    random = _generator(seed)
    return [_fixed(random.uniform(-1, 1, shape)) for shape in shapes]


def _fixed(values: object) -> Array:
    """Numbers that nobody may change, since others have them too."""
    made = np.asarray(values)
    made.setflags(write=False)
    return made
