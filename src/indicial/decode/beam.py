"""Beam search: the likeliest texts that a search of some width finds.

>>> beam_search(Walker(module), [[5, 2]], eos=0, settings=Decoding(num_beams=4, max_new_tokens=20))
[[Continuation(tokens=[3, 8, 0], ended='eos', log_probability=-2.9, score=-0.97)]]

As Hugging Face defines it. Each step looks at the best `2 num_beams` ways to go on. Those that end
among the best `num_beams` of them are finished, with the score log-probability / length^penalty; the
best `num_beams` that do not end go on. Without `early_stopping` it ends when the best that goes on
could not beat the worst of `num_beams` finished texts if it ended here; with "never", if it ended at
any length.

The beams of several prompts are rows of one walker: a step is one step of the module for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from indicial.decode.choose import Chooser, Floats, Ints, check_finite, logarithms
from indicial.decode.continuation import Continuation, Ended, repeats
from indicial.decode.sampling import seen_tokens
from indicial.decode.settings import Decoding
from indicial.decode.walker import Walker


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
            walker.select(origins)
            walker.feed(np.concatenate([search.last for search in going]))
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
