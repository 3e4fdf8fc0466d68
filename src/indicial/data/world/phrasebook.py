"""A world in two languages: sentences with their exact translations, and which word stands for which.

    book = Phrasebook(world("people"))
    next(book.rows("train", 1))
        →  {"x": "Helen Kowalski wurde in Lund geboren .", "w": "Helen Kowalski was born in Lund .",
            "alignment": "0-0 1-1 2-2 5-3 3-4 4-5 6-6", "log_probability": 0.0, "new": ""}

x is German and w English. Both are said of the same derivation, and no two derivations give the same words
in either, so that translation is a function both ways: the entropy of w given x is 0, and that of x
is the entropy of the world.

The parts have no sentence in common, and training has every word. One pair in ten of a verb and its object is
never together in the training part, though it has each of them with others; the part `new` has a sentence only if
such a pair is in it.

Which words of two texts stand for one another, and how well attention finds them.

    links = read_links("0-0 1-2 2-1 3?1")     # sure with -, possible with ?, as in shared tasks
    score = AlignmentScore()
    score.add(weights, links)                 # weights[t,s]: how much word t looks at word s
    score.error                               →  0.125

The error is that of Och and Ney 2003, §6: with A the links found, S the sure ones and P all of them,
1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|). A word of the target is linked with the word that it looks at most;
a word that stands for none (a comma that only one language has) is not asked.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from indicial.data.world.german import German
from indicial.data.world.grammar import Derivation
from indicial.data.world.world import World
from indicial.program.messages import IndicialError

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
        self.sure += sum(map(len, sure.values()))

    @property
    def error(self) -> float:
        return 1 - (self.found_sure + self.found_possible) / max(1, self.found + self.sure)

    @property
    def share(self) -> float:
        """How many words look most at a word that they stand for."""
        return self.found_possible / max(1, self.found)


PARTS = ("train", "validation", "new")
TOLD_ONCE = ("town", "animal", "thing")
"""Such sentences are few, and have words that no other sentence has (`the piano is made of ebony .`): whoever has not
seen them cannot translate them, so all of them are for training."""
HELD_OUT = 10
"""One pair of a verb and its object of so many, and one sentence of so many for validation."""


class Phrasebook:
    name = "phrasebook"
    inputs = ("x", "w")
    """The columns that equations read; the others are what is known of a row."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._german = German(world.english)

    def rows(self, part: str, count: int, seed: int = 0) -> Iterator[dict[str, Any]]:
        """So many sentences of a part; the same for the same seed."""
        if part not in PARTS:
            raise IndicialError(f"the parts of {self.name} are {', '.join(PARTS)}, not {part}")
        numbers = random.Random(f"{part} of {self.name} {self.world.name} {seed}")
        while count:
            derivation = self.world.grammar.sample(numbers)
            if self.part_of(derivation) == part:
                yield self.row(derivation)
                count -= 1

    def row(self, derivation: Derivation) -> dict[str, Any]:
        words = self._german.words(derivation)
        return {
            "x": " ".join(map(str, words)),
            "w": self._english(derivation),
            "alignment": " ".join(map(str, self.links(derivation))),
            "log_probability": 0.0,  # of w, x being known
            "new": ", ".join(held_out(derivation)),
        }

    def links(self, derivation: Derivation) -> list[Link]:
        """By the words of w, which come second in a link."""
        found = [
            Link(source, target, sure)
            for source, word in enumerate(self._german.words(derivation))
            for sure, targets in ((True, word.sure), (False, word.possible))
            for target in targets
        ]
        return sorted(found, key=lambda link: (link.target, link.source))

    def part_of(self, derivation: Derivation) -> str:
        if held_out(derivation):
            return "new"
        if derivation.rule.name in TOLD_ONCE:
            return "train"
        chosen = zlib.crc32(self._english(derivation).encode()) % HELD_OUT == 0
        return "validation" if chosen else "train"

    def translate(self, english: str) -> str:
        """English into German; IndicialError for what is no sentence of the world."""
        (derivation,) = self.world.parses(english)
        return " ".join(map(str, self._german.words(derivation)))

    def _english(self, derivation: Derivation) -> str:
        return " ".join(self.world.english.words(derivation))


def is_right(translation: str, row: Mapping[str, Any]) -> bool:
    """Whether a translation of x is the one that there is; blanks at its ends do not matter."""
    return translation.split() == str(row["w"]).split()


def held_out(derivation: Derivation) -> list[str]:
    """The verbs with their objects that the training part has not together: `["visit king"]`."""
    return [
        pair
        for pair in _verbs_with_objects(derivation)
        if zlib.crc32(pair.encode()) % HELD_OUT == 0
    ]


def _verbs_with_objects(derivation: Derivation) -> Iterator[str]:
    """`visits the tall king`, and `the king whom she visits`."""
    rule = derivation.rule
    if rule.name in ("does_to", "whom"):
        verb = derivation.part("deed").part("verb").rule.name
        noun = derivation.part("other").part("being").rule.phrase.about
        if rule.name == "whom":
            noun = rule.phrase.about
        yield f"{verb} {noun}"
    for child in derivation.children:
        yield from _verbs_with_objects(child)
