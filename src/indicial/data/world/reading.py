"""Words → derivations: all of them, with what may come next after each beginning.

    reader = Reader(rendering)
    ways = reader.after(("Hans", "Shaw", "was"))   # every way to have got there
    reader.next_words(ways)                        →  {"born": 1.0}

A way is what has been chosen so far and the stack of what is still to be said. Reading a word takes
the top of the stack: if it is a phrase, its beginnings say by which choices it starts with that word
and what then remains. Every way is kept, so that probabilities of beginnings are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from indicial.data.world.grammar import Derivation, Phrase, Rule
from indicial.data.world.rendering import Rendering

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
