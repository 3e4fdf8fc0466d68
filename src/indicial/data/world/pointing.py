"""Whether the places of a picture that a word looks at hold what it speaks of.

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

from indicial.data.world.drawing import Owners

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass
class PointingScore:
    """Counted over the words of many captions that speak of something."""

    words: int = 0
    hits: int = 0
    """Words whose strongest weight is on what they speak of."""
    weight: float = 0.0
    """The share of attention on what is meant, added up."""
    area: float = 0.0
    """The share of the picture that it takes up, added up."""

    def add(self, weights: Array, meant: Sequence[Sequence[int]], owners: Owners) -> None:
        """One caption; `weights[t]` is where word t looks. Things are counted from 0, their points from 1."""
        for looks, things in zip(weights, meant, strict=False):
            if things:
                held = holding(owners, [number + 1 for number in things], looks.shape)
                self.words += 1
                self.hits += bool(held.flat[int(np.argmax(looks))])
                self.weight += float(looks[held].sum() / looks.sum())
                self.area += float(held.mean())

    @property
    def share(self) -> float:
        return self.hits / max(1, self.words)

    @property
    def mean_weight(self) -> float:
        return self.weight / max(1, self.words)

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
