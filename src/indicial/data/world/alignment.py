"""Which words of two texts stand for one another, and how well attention finds them.

    links = read_links("0-0 1-2 2-1 3?1")     # sure with -, possible with ?, as in shared tasks
    score = AlignmentScore()
    score.add(weights, links)                 # weights[t,s]: how much word t looks at word s
    score.error                               →  0.125

The error is that of Och and Ney 2003, §6: with A the links found, S the sure ones and P all of them,
1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|). A word of the target is linked with the word that it looks at most;
a word that stands for none (a comma that only one language has) is not asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]


class Link(NamedTuple):
    source: int
    target: int
    sure: bool = True

    def __str__(self) -> str:
        return f"{self.source}{'-' if self.sure else '?'}{self.target}"


def read_links(text: str) -> list[Link]:
    """`"0-0 3?1"` → `[Link(0, 0, True), Link(3, 1, False)]`."""
    found = []
    for word in text.split():
        sign = "-" if "-" in word else "?"
        source, target = word.split(sign)
        found.append(Link(int(source), int(target), sign == "-"))
    return found


@dataclass
class AlignmentScore:
    """Counted over many texts."""

    found: int = 0
    """|A|, a link for each word that stands for something."""
    found_sure: int = 0
    found_possible: int = 0
    sure: int = 0
    weight: float = 0.0
    """The share of attention that lies on words that are meant, added up over the words."""

    def add(self, weights: Array, links: Iterable[Link]) -> None:
        """One pair of texts; rows of weights behind the last linked word do not matter."""
        sure: dict[int, set[int]] = {}
        possible: dict[int, set[int]] = {}
        for source, target, certain in links:
            possible.setdefault(target, set()).add(source)
            if certain:
                sure.setdefault(target, set()).add(source)
        for target, meant in possible.items():
            looked = int(np.argmax(weights[target]))
            self.found += 1
            self.found_sure += looked in sure.get(target, ())
            self.found_possible += looked in meant
            self.weight += float(sum(weights[target][source] for source in meant))
        self.sure += sum(map(len, sure.values()))

    @property
    def error(self) -> float:
        return 1 - (self.found_sure + self.found_possible) / max(1, self.found + self.sure)

    @property
    def share(self) -> float:
        """How many words look most at a word that they stand for."""
        return self.found_possible / max(1, self.found)

    @property
    def mean_weight(self) -> float:
        return self.weight / max(1, self.found)
