"""A module and prompts of tokens → more tokens, drawn or searched for.

>>> generate_tokens(module, [[5, 2], [7]], eos=0, settings=Decoding(max_new_tokens=20, seed=1))
[[Continuation(tokens=[3, 8, 0], ended='eos', …)], [Continuation(tokens=[1, …], …)]]

Prompts of different lengths go in together: while one is still read, a shorter one already goes on,
so that every step is one step for all rows. A text draws from a stream of random numbers of its
own, made of the seed, the prompt and its number, so that it is the same whatever stands beside it.

Beam search is as Hugging Face defines it. Each step looks at the best `2 num_beams` ways to go on. Those that end
among the best `num_beams` of them are finished, with the score log-probability / length^penalty; the
best `num_beams` that do not end go on. Without `early_stopping` it ends when the best that goes on
could not beat the worst of `num_beams` finished texts if it ended here; with "never", if it ended at
any length. The beams of several prompts are rows of one walker: a step is one step of the module for all of them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import NamedTuple

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.stepping.state import State
from indicial.decode.settings import (
    Chooser,
    Continuation,
    Decoding,
    Ended,
    Flags,
    Floats,
    Ints,
    Lookout,
    check_finite,
    logarithms,
    repeats,
)
from indicial.decode.walker import Walker
from indicial.program.messages import IndicialError

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


def beam_search(
    walker: Walker, prompts: Sequence[Sequence[int]], eos: int | None, settings: Decoding
) -> list[list[Continuation]]:
    """For each prompt the best `num_return_sequences` texts, the best first.

    `walker` has a row for each prompt; prompts are as long as each other.
    """
    walker.extend([list(prompt) for prompt in prompts])
    choose = Chooser(settings)
    searches = [Search(len(prompts[0]), eos, settings) for _ in prompts]
    going = searches
    while going:
        ways = best_ways(walker, choose, 2 * settings.num_beams)
        first = 0
        origins: list[int] = []
        for search in going:
            mine = ways.rows(first, first + search.width)
            made = walker.tokens[first : first + search.width]
            origins += [first + row for row in search.step(mine, made)]
            first += len(made)
        going = [search for search in going if search.width]
        if going:
            walker.feed(np.concatenate([search.last for search in going]), origins)
    return [search.finished[: settings.num_return_sequences] for search in searches]


class Ways(NamedTuple):
    """The best ways to go on from each row, (rows, count): tokens, log-probabilities as they are
    scored, and as the model gives them."""

    tokens: Ints
    scores: Floats
    likelihoods: Floats

    def rows(self, start: int, stop: int) -> Ways:
        at = slice(start, stop)
        return Ways(self.tokens[at], self.scores[at], self.likelihoods[at])


def best_ways(walker: Walker, choose: Chooser, count: int) -> Ways:
    """Of each row, the `count` best tokens."""
    probabilities = walker.probabilities
    check_finite(probabilities.max(axis=1))
    if choose.plain:
        tokens = highest(probabilities, count)
        scores = likelihoods = logarithms(np.take_along_axis(probabilities, tokens, axis=1))
    else:
        seen = seen_tokens(walker) if choose.reads_seen else None
        every = choose.scores(probabilities, seen, walker.tokens)
        tokens = highest(every, count)
        scores = np.take_along_axis(every, tokens, axis=1)
        likelihoods = logarithms(np.take_along_axis(probabilities, tokens, axis=1))
    return Ways(tokens, scores, likelihoods)


def highest(values: Floats, count: int) -> Ints:
    """The places of the `count` highest values of each row, in the order of the places.

    >>> highest(np.array([[0.1, 0.3, 0.2]]), 2)
    array([[1, 2]])
    """
    count = min(count, values.shape[1])
    return torch.from_numpy(values).topk(count, sorted=False).indices.sort().values.numpy()


class Search:
    """The beams of one prompt, and its texts that are finished, the best first."""

    def __init__(self, start: int, eos: int | None, settings: Decoding) -> None:
        self.start = start
        self.eos = eos
        self.settings = settings
        self.length = 0
        """How many new tokens there are."""
        self.finished: list[Continuation] = []
        self.last: Ints = np.zeros(1, np.int64)
        """The newest token of each beam."""
        self._scores: Floats = np.zeros(1)
        self._likelihoods: Floats = np.zeros(1)

    @property
    def width(self) -> int:
        """How many beams go on."""
        return len(self.last)

    def step(self, ways: Ways, made: Ints) -> list[int]:
        """Every beam, gone on with in the best ways: from which of them each new one comes.

        `made` has the tokens of the beams so far.
        """
        self.length += 1
        scores = self._scores[:, None] + ways.scores
        likelihoods = self._likelihoods[:, None] + ways.likelihoods
        going: list[tuple[int, int]] = []
        for rank, (row, way) in enumerate(best(scores, 2 * self.settings.num_beams)):
            token = int(ways.tokens[row, way])
            if token == self.eos or self.length == self.settings.max_new_tokens:
                if rank < self.settings.num_beams:
                    tokens = [*made[row, self.start :].tolist(), token]
                    self._finish(tokens, float(scores[row, way]), float(likelihoods[row, way]))
            elif len(going) < self.settings.num_beams:
                going.append((row, way))
        rows, at = [row for row, _ in going], [way for _, way in going]
        self._scores, self._likelihoods = scores[rows, at], likelihoods[rows, at]
        if self._ended():
            rows, at = [], []
        self.last = ways.tokens[rows, at]
        return rows

    def _finish(self, tokens: list[int], score: float, likelihood: float) -> None:
        scaled = score / self.length**self.settings.length_penalty
        ended: Ended = "eos" if tokens[-1] == self.eos else "length"
        found = Continuation(tokens, ended, likelihood, repeats(tokens), scaled)
        self.finished = sorted([*self.finished, found], key=_by_score)[: self.settings.num_beams]

    def _ended(self) -> bool:
        """Whether nothing goes on, or nothing that goes on would be any better."""
        settings = self.settings
        if not len(self._scores):
            return True
        if len(self.finished) < settings.num_beams:
            return False
        if settings.early_stopping is True:
            return True
        longest = settings.early_stopping == "never" and settings.length_penalty > 0
        length = settings.max_new_tokens if longest else self.length
        return bool(
            -self._scores[0] / length**settings.length_penalty >= _by_score(self.finished[-1])
        )


def _by_score(one: Continuation) -> float:
    assert one.score is not None
    return -one.score


def best(scores: Floats, count: int) -> list[tuple[int, int]]:
    """Row and column of the highest scores, the highest first; none at -∞.

    >>> best(np.log([[0.1, 0.3], [0.2, 0.0]]), 3)
    [(0, 1), (1, 0), (0, 0)]
    """
    flat = scores.ravel()
    places = np.argpartition(-flat, count)[:count] if count < len(flat) else np.arange(len(flat))
    places = places[np.lexsort((places, -flat[places]))]
    width = scores.shape[1]
    return [divmod(int(place), width) for place in places if flat[place] > -np.inf]


TOGETHER = 32
"""Prompts that are searched for side by side, each with its beams."""


def generate_tokens(
    module: ProgramModule,
    prompts: Sequence[Sequence[int]],
    eos: int | None = None,
    settings: Decoding | None = None,
    *,
    told: Told | None = None,
    begun: State | None = None,
) -> list[list[Continuation]]:
    """For each prompt its `num_return_sequences` continuations; fewer if a search finds no more.

    `told(number, token, last)` is called for each new token as it is made; of beam search, at the end.
    `begun` is `module.begin(x=…)` of a model that reads more than its own tokens; it has one member,
    or one for each prompt.
    """
    settings = settings or Decoding()
    module.eval()
    walker = Walker(module, begun)
    starts = [started(walker, list(prompt), eos) for prompt in prompts]
    if not settings.slide:
        check_room(walker.room, max(map(len, starts)), settings.max_new_tokens)
    if settings.num_beams == 1:
        found = sample(walker, starts, eos, settings, told)
    else:
        found = search(module, begun, starts, eos, settings)
        if told is not None:
            tell(found, settings.num_return_sequences, told)
    return [
        [replace(one, window=outgrown(walker.room, len(start), len(one.tokens))) for one in several]
        for start, several in zip(starts, found, strict=True)
    ]


def search(
    module: ProgramModule,
    begun: State | None,
    prompts: Sequence[Sequence[int]],
    eos: int | None,
    settings: Decoding,
) -> list[list[Continuation]]:
    """Beam search for each prompt; those that are as long as each other go in together."""
    found: dict[int, list[Continuation]] = {}
    order = sorted(range(len(prompts)), key=lambda number: len(prompts[number]))
    for _, several in groupby(order, key=lambda number: len(prompts[number])):
        for numbers in batched(several, TOGETHER):
            walker = Walker(module, begun)
            walker.select([0 if walker.rows == 1 else number for number in numbers])
            texts = beam_search(walker, [prompts[number] for number in numbers], eos, settings)
            found.update(zip(numbers, texts, strict=True))
    return [found[number] for number in range(len(prompts))]


def batched(items: Iterable[int], count: int) -> Iterator[list[int]]:
    """`batched([1, 2, 3], 2)`: [1, 2], [3]."""
    every = iter(items)
    while some := list(islice(every, count)):
        yield some


def tell(found: Sequence[Sequence[Continuation]], copies: int, told: Told) -> None:
    """What a search found, as if it were made now."""
    for prompt, several in enumerate(found):
        for number, one in enumerate(several):
            for place, token in enumerate(one.tokens, 1):
                told(copies * prompt + number, token, place == len(one.tokens))


def started(walker: Walker, prompt: list[int], eos: int | None) -> list[int]:
    """The prompt; an empty one is the end of another text, if the model needs something to go on from."""
    if prompt or walker.speaks_first:
        return prompt
    if eos is None:
        raise IndicialError("this model predicts from what came before: give it a prompt")
    return [eos]


def outgrown(room: int | None, prompt: int, new: int) -> int | None:
    """The room, if the text is longer: everything but the last token is read."""
    return room if room is not None and prompt + new - 1 > room else None


def check_room(room: int | None, prompt: int, new: int) -> None:
    if room is None or outgrown(room, prompt, new) is None:
        return
    fits = room - prompt + 1
    advice = f"ask for {fits} new tokens at most" if fits > 0 else "shorten the prompt"
    raise IndicialError(
        f"{prompt} tokens of the prompt and {new} new ones are more than the {room + 1} that the "
        f"model has positions for: {advice}, or let the window slide"
    )
