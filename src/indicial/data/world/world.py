"""A world: facts, grammar and English together, with exact probabilities.

    w = world("people")
    next(w.sentences(seed=34))                      →  "Carmen Jordan , who likes plums , …"
    w.entropy()                                     →  15.2…, nats per sentence
    w.log_probability("Hans Shaw lives in Lyon .")  →  -8.03

No two derivations give the same sentence, so the probability of a sentence is the product of the
choices of its derivation, and the entropy of derivations is that of sentences.

A `Reader` goes from words to derivations. A way to have got somewhere is what has been chosen so far and the
stack of what is still to be said. Reading a word takes the top of the stack: if it is a phrase, its beginnings
say by which choices it starts with that word and what then remains. Every way is kept, so that probabilities of
beginnings are exact.

A world in two languages: sentences with their exact translations, and which word stands for which.

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

import difflib
import math
import random
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from indicial.data.world.facts import RECIPES, Fact, Facts, Recipe, make_facts
from indicial.data.world.german import German
from indicial.data.world.grammar import Derivation, Grammar, Phrase, Rule, Syntax
from indicial.data.world.rendering import Dependency, Rendering, english
from indicial.program.messages import IndicialError

Stack = tuple["str | Phrase", ...]

END = ""
"""What comes after a whole sentence, among the next words."""


class Way(NamedTuple):
    probability: float
    rules: tuple[Rule, ...]
    """The choices so far, in the order of their words."""
    stack: Stack
    """What is still to be said, the next first."""


class Reader:
    def __init__(self, rendering: Rendering) -> None:
        self.rendering = rendering
        self._beginnings: dict[Phrase, dict[str, list[Way]]] = {}
        self.after = lru_cache(1024)(self._after)
        """The ways behind the words of a beginning; many sentences begin alike."""

    def _read(self, ways: Sequence[Way], word: str) -> list[Way]:
        """The ways that go on with a word."""
        return [
            Way(p * more.probability, rules + more.rules, more.stack + stack[1:])
            for p, rules, stack in ways
            if stack
            for more in self._starting(stack[0]).get(word, ())
        ]

    def _after(self, words: tuple[str, ...]) -> list[Way]:
        if not words:
            return [Way(1.0, (), (self.rendering.grammar.start,))]
        return self._read(self.after(words[:-1]), words[-1])

    def next_words(self, ways: Sequence[Way]) -> dict[str, float]:
        """The distribution of the word that follows, the likeliest first."""
        total = sum(way.probability for way in ways)
        found: dict[str, float] = {}
        for probability, _, stack in ways:
            starting = self._starting(stack[0]) if stack else {END: [Way(1.0, (), ())]}
            for word, more in starting.items():
                share = probability * sum(way.probability for way in more) / total
                found[word] = found.get(word, 0.0) + share
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def derivation(self, rules: Sequence[Rule]) -> Derivation:
        """The choices of a way that has come to its end, put together."""
        return self._build(iter(rules))

    def _build(self, rules: Iterator[Rule]) -> Derivation:
        rule = next(rules)
        children: dict[int, Derivation] = {}
        for part in self.rendering.template(rule).flat:
            if isinstance(part, int):
                children[part] = self._build(rules)
        return Derivation(rule, tuple(children[number] for number in range(len(children))))

    def _starting(self, top: str | Phrase) -> dict[str, list[Way]]:
        """By its first word: how what is on top of the stack begins, and what then remains of it."""
        if isinstance(top, str):
            return {top: [Way(1.0, (), ())]}
        if top not in self._beginnings:
            found: dict[str, list[Way]] = {}
            for rule in self.rendering.grammar.rules(top):
                first, *rest = (
                    part if isinstance(part, str) else rule.children[part]
                    for part in self.rendering.template(rule).flat
                )
                for word, ways in self._starting(first).items():
                    found.setdefault(word, []).extend(
                        Way(rule.probability * p, (rule, *rules), (*stack, *rest))
                        for p, rules, stack in ways
                    )
            self._beginnings[top] = found
        return self._beginnings[top]


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
