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
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from indicial.data.world.alignment import Link
from indicial.data.world.german import German
from indicial.data.world.grammar import Derivation
from indicial.data.world.world import World
from indicial.program.messages import IndicialError

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
