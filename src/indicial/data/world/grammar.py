"""Abstract syntax with probabilities: what may be said, before any words.

    grammar = Grammar(Phrase("sentence"), expand)
    derivation = grammar.sample(random.Random(1))
    derivation.log_probability      # the sum over its choices
    grammar.entropy()               # of all derivations, in nats: exact

A phrase is a category with features; a rule makes smaller phrases of it. `expand` says by which
rules, and no phrase may contain itself, so that there are finitely many derivations. Choices are
independent of one another given the phrase. If in addition no two derivations give the same words,
which is for a rendering to see to, then all that is said here of derivations holds of sentences.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple


class Phrase(NamedTuple):
    """What is to be said: `Phrase("fact", "masculine", "Hans Shaw", "born")`."""

    category: str
    form: str = ""
    """What agreement needs to know: masculine, feminine, common (gender unknown) or plural."""
    about: str = ""
    limit: str = ""
    """Whatever else decides which rules there are."""


class Choice(NamedTuple):
    """A rule as it is written down: its weight among those of its phrase, name and parts."""

    weight: float
    name: str
    parts: dict[str, Phrase]


def choice(weight: float, name: str, /, **parts: Phrase) -> Choice:
    """`choice(2, "lies_in", town=…, country=…)`; the parts are drawn in this order."""
    return Choice(weight, name, parts)


@dataclass(frozen=True, eq=False, slots=True)
class Rule:
    phrase: Phrase
    name: str
    probability: float
    log_probability: float
    parts: tuple[str, ...]
    children: tuple[Phrase, ...]


class Derivation(NamedTuple):
    """A rule, and how each of its children goes on."""

    rule: Rule
    children: tuple[Derivation, ...]

    @property
    def log_probability(self) -> float:
        return math.fsum(rule.log_probability for rule in self.rules())

    def rules(self) -> Iterator[Rule]:
        """All choices, from the top."""
        yield self.rule
        for child in self.children:
            yield from child.rules()

    def part(self, name: str) -> Derivation:
        return self.children[self.rule.parts.index(name)]


class Grammar:
    def __init__(self, start: Phrase, expand: Callable[[Phrase], Iterable[Choice]]) -> None:
        self.start = start
        self._expand = expand
        self._known: dict[Phrase, tuple[list[float], tuple[Rule, ...]]] = {}

    def rules(self, phrase: Phrase) -> tuple[Rule, ...]:
        """The ways to say a phrase; their probabilities add up to one."""
        return self._options(phrase)[1]

    def phrases(self) -> list[Phrase]:
        """All that may occur, each behind those that contain it for the first time."""
        found = {self.start: None}
        waiting = [self.start]
        while waiting:
            for rule in self.rules(waiting.pop()):
                fresh = [child for child in rule.children if child not in found]
                found.update(dict.fromkeys(fresh))
                waiting += fresh
        return list(found)

    def sample(self, rng: random.Random) -> Derivation:
        return self._sample(self.start, rng.random)

    def expectation(self, of: Callable[[Rule], float]) -> float:
        """The mean over derivations of the sum of `of(rule)` over their rules, exactly."""
        known: dict[Phrase, float] = {}

        def mean(phrase: Phrase) -> float:
            if phrase not in known:
                known[phrase] = math.fsum(
                    rule.probability * (of(rule) + sum(map(mean, rule.children)))
                    for rule in self.rules(phrase)
                )
            return known[phrase]

        return mean(self.start)

    def entropy(self) -> float:
        """Nats per derivation: by the chain rule the expected surprise of its choices."""
        return self.expectation(lambda rule: -rule.log_probability)

    def _options(self, phrase: Phrase) -> tuple[list[float], tuple[Rule, ...]]:
        if phrase not in self._known:
            choices = [choice for choice in self._expand(phrase) if choice.weight]
            total = math.fsum(choice.weight for choice in choices)
            rules = tuple(_rule(phrase, choice, total) for choice in choices)
            bounds = list(accumulate(rule.probability for rule in rules))
            self._known[phrase] = [*bounds[:-1], 1.0], rules  # whatever the rounding made of 1
        return self._known[phrase]

    def _sample(self, phrase: Phrase, draw: Callable[[], float]) -> Derivation:
        bounds, rules = self._known.get(phrase) or self._options(phrase)
        rule = rules[bisect_right(bounds, draw())] if len(rules) > 1 else rules[0]
        if not rule.children:
            return Derivation(rule, ())
        return Derivation(rule, tuple([self._sample(child, draw) for child in rule.children]))


def _rule(phrase: Phrase, choice: Choice, total: float) -> Rule:
    probability = choice.weight / total
    return Rule(
        phrase,
        choice.name,
        probability,
        math.log(probability),
        tuple(choice.parts),
        tuple(choice.parts.values()),
    )
