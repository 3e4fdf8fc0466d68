"""A world: facts, grammar and English together, with exact probabilities.

    w = world("people")
    next(w.sentences(seed=34))                      →  "Carmen Jordan , who likes plums , …"
    w.entropy()                                     →  15.2…, nats per sentence
    w.log_probability("Hans Shaw lives in Lyon .")  →  -8.03

No two derivations give the same sentence, so the probability of a sentence is the product of the
choices of its derivation, and the entropy of derivations is that of sentences.
"""

from __future__ import annotations

import difflib
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from indicial.data.world.english import english
from indicial.data.world.facts import RECIPES, Fact, Facts, Recipe, make_facts
from indicial.data.world.grammar import Derivation, Grammar
from indicial.data.world.reading import Reader, Way
from indicial.data.world.rendering import Dependency, Rendering
from indicial.data.world.syntax import Syntax
from indicial.program.messages import IndicialError


@dataclass(frozen=True)
class Sentence:
    words: list[str]
    log_probability: float
    derivation: Derivation

    def __str__(self) -> str:
        return " ".join(self.words)


class World:
    def __init__(self, recipe: Recipe) -> None:
        self.name = recipe.name
        self.knowledge: Facts = make_facts(recipe)
        syntax = Syntax(self.knowledge)
        self.grammar = Grammar(syntax.start, syntax.expand)
        self.english = Rendering(self.grammar, english)
        self._reader = Reader(self.english)

    def __repr__(self) -> str:
        return f"World({self.name!r})"

    @property
    def facts(self) -> list[Fact]:
        """What is true: `Fact("Hans Shaw", "born_in", "York")`, …"""
        return self.knowledge.records

    @cached_property
    def vocabulary(self) -> list[str]:
        """All words, the full stop among them, sorted."""
        return self.english.vocabulary()

    def sentence(self, rng: random.Random) -> Sentence:
        """One sentence, with its probability and how it was made."""
        derivation = self.grammar.sample(rng)
        return Sentence(self.english.words(derivation), derivation.log_probability, derivation)

    def sentences(self, seed: int) -> Iterator[str]:
        """Sentences without end, their words separated by blanks; the same for the same seed."""
        rng = random.Random(f"sentences of {self.name} {seed}")
        while True:
            yield " ".join(self.english.words(self.grammar.sample(rng)))

    def entropy(self) -> float:
        """Nats per sentence, its end included: no model's mean loss is lower."""
        return self._entropy

    def words_per_sentence(self) -> float:
        """The mean number of words, the full stop among them, the end of the text not."""
        return self._words_per_sentence

    def nats_per_word(self) -> float:
        """The entropy for each token that a model predicts: the words, and the end of the text."""
        return self.entropy() / (self.words_per_sentence() + 1)

    def log_probability(self, text: str) -> float:
        """Exact; IndicialError where the text stops being a sentence of the world."""
        return math.log(math.fsum(way.probability for way in self._read_whole(text)))

    def parses(self, text: str) -> list[Derivation]:
        """How a sentence can have been made: in one way."""
        return [self._reader.derivation(way.rules) for way in self._read_whole(text)]

    def dependencies(self, derivation: Derivation) -> list[Dependency]:
        """For each word its head, counted from 1 with 0 for the root, and its relation to it."""
        return self.english.dependencies(derivation)

    def next_words(self, prefix: str) -> dict[str, float]:
        """The true distribution of the word after a beginning, the likeliest first.

        The empty text has the first words of sentences; after a whole sentence comes `""`.
        """
        return self._reader.next_words(self._read(prefix))

    @cached_property
    def _entropy(self) -> float:
        return self.grammar.entropy()

    @cached_property
    def _words_per_sentence(self) -> float:
        return self.english.words_per_sentence()

    def _read(self, text: str) -> list[Way]:
        words = tuple(text.split())
        for length in range(1, len(words) + 1):
            if not self._reader.after(words[:length]):
                raise IndicialError(self._refusal(words[: length - 1], words[length - 1]))
        return self._reader.after(words)

    def _read_whole(self, text: str) -> list[Way]:
        ways = [way for way in self._read(text) if not way.stack]
        if not ways:
            raise IndicialError(self._refusal(tuple(text.split()), ""))
        return ways

    def _refusal(self, before: tuple[str, ...], word: str) -> str:
        """What stands where it cannot, behind what, and what could stand there."""
        expected = list(self._reader.next_words(self._reader.after(before)))
        likely = " or ".join(repr(other or "the end") for other in expected[:3])
        others = f" (or {len(expected) - 3} other words)" if len(expected) > 3 else ""
        what = f"word {len(before) + 1}, {word!r}, cannot come" if word else "it cannot end"
        where = f"after {' '.join(before)!r}" if before else "at the start"
        return (
            f"this is not a sentence of the world {self.name!r}: {what} {where}; "
            f"what can is {likely}{others}"
        )


def worlds() -> list[str]:
    """The names of the built-in worlds, the full one first."""
    return list(RECIPES)


@cache
def world(name: str) -> World:
    """A built-in world; made once, and the same every time."""
    if name not in RECIPES:
        close = difflib.get_close_matches(name, RECIPES, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise IndicialError(f"there is no world {name!r}, only {' and '.join(RECIPES)}{hint}")
    return World(RECIPES[name])
