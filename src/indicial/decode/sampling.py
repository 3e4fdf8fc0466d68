"""Prompts → continuations, one token after the other: drawn, or the likeliest each time.

>>> sample(Walker(module), [[5, 2], [7]], eos=0, settings=Decoding(max_new_tokens=20, seed=1))
[[Continuation(tokens=[3, 8, 0], ended='eos', …)], [Continuation(tokens=[1, …], …)]]

Prompts of different lengths go in together: while one is still read, a shorter one already goes on,
so that every step is one step for all rows. A text draws from a stream of random numbers of its
own, made of the seed, the prompt and its number, so that it is the same whatever stands beside it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from indicial.decode.choose import Chooser, Flags, Ints
from indicial.decode.continuation import Continuation, Ended, Lookout, repeats
from indicial.decode.settings import Decoding
from indicial.decode.walker import Walker

Told = Callable[[int, int, bool], object]
"""Is told each new token: of which continuation, the token, and whether it is the last."""


@dataclass
class Row:
    """A continuation as far as it is."""

    number: int
    prompt: Sequence[int]
    stream: random.Random
    tokens: list[int] = field(default_factory=list)
    log_probability: float = 0.0
    ended: Ended | None = None
    lookout: Lookout = field(default_factory=Lookout)

    def add(self, token: int, probability: float, eos: int | None, settings: Decoding) -> None:
        self.tokens.append(token)
        self.log_probability += math.log(probability) if probability > 0 else -math.inf
        if token == eos:
            self.ended = "eos"
        elif len(self.tokens) == settings.max_new_tokens:
            self.ended = "length"
        elif settings.stop_at_repeat and self.lookout.look(self.tokens):
            self.ended = "repeat"

    def continuation(self) -> Continuation:
        assert self.ended is not None
        return Continuation(self.tokens, self.ended, self.log_probability, repeats(self.tokens))


def stream(seed: int, prompt: Sequence[int], number: int) -> random.Random:
    """The random numbers of a continuation."""
    return random.Random(f"{seed} {number}: {' '.join(map(str, prompt))}")


def sample(
    walker: Walker,
    prompts: Sequence[Sequence[int]],
    eos: int | None,
    settings: Decoding,
    told: Told | None = None,
) -> list[list[Continuation]]:
    """For each prompt its `num_return_sequences` continuations."""
    seed, copies = settings.seeded(), settings.num_return_sequences
    rows = [
        Row(copies * place + number, prompt, stream(seed, prompt, number))
        for place, prompt in enumerate(prompts)
        for number in range(copies)
    ]
    shared = walker.rows == 1
    walker.select([0 if shared else row.number // copies for row in rows])
    shortest = min(len(prompt) for prompt in prompts)
    walker.extend([row.prompt[:shortest] for row in rows])
    Sampling(walker, rows, eos, settings, told).run()
    made = [row.continuation() for row in rows]
    return [made[n : n + copies] for n in range(0, len(made), copies)]


class Sampling:
    """Rows that grow, side by side."""

    def __init__(
        self,
        walker: Walker,
        rows: list[Row],
        eos: int | None,
        settings: Decoding,
        told: Told | None,
    ) -> None:
        self.walker = walker
        self.rows = rows
        self.eos = eos
        self.settings = settings
        self.told = told
        self.choose = Chooser(settings)
        self.seen = seen_tokens(walker) if self.choose.reads_seen else None

    def run(self) -> None:
        while True:
            tokens = self.next()
            if all(row.ended is not None for row in self.rows):
                return
            self.feed(tokens)
            self._leave_out_ended()

    def feed(self, tokens: Ints) -> None:
        self.walker.feed(tokens)
        if self.seen is not None:
            self.seen[np.arange(len(tokens)), tokens] = True

    def next(self) -> Ints:
        """The next token of each row: of its prompt, chosen, or any for one that has ended."""
        length = self.walker.length
        going = [row.ended is None and length >= len(row.prompt) for row in self.rows]
        tokens = np.zeros(len(self.rows), dtype=np.int64)
        if any(going):
            probabilities = self.walker.probabilities
            uniform = None
            if self.settings.samples:
                pairs = zip(self.rows, going, strict=True)
                uniform = np.array([row.stream.random() if goes else 0.0 for row, goes in pairs])
            tokens = self.choose(probabilities, self.seen, uniform, self.walker.tokens)
        for place, row in enumerate(self.rows):
            if going[place]:
                token = int(tokens[place])
                row.add(token, float(probabilities[place, token]), self.eos, self.settings)
                if self.told is not None:
                    self.told(row.number, token, row.ended is not None)
            elif row.ended is None:
                tokens[place] = row.prompt[length]
        return tokens

    def _leave_out_ended(self) -> None:
        """Once half of the rows have ended: leaving out costs a copy of what is remembered."""
        kept = [place for place, row in enumerate(self.rows) if row.ended is None]
        if 2 * len(kept) > len(self.rows):
            return
        self.walker.select(kept)
        self.rows = [self.rows[place] for place in kept]
        if self.seen is not None:
            self.seen = self.seen[kept]


def seen_tokens(walker: Walker) -> Flags:
    """Which tokens each row has already: (rows, V)."""
    seen = np.zeros((walker.rows, walker.vocabulary), dtype=np.bool_)
    np.put_along_axis(seen, walker.tokens, True, axis=1)
    return seen
