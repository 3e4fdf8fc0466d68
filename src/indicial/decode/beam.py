"""Beam search: the likeliest texts that a search of some width finds.

>>> beam_search(Walker(module), [5, 2], eos=0, settings=Decoding(num_beams=4, max_new_tokens=20))
[Continuation(tokens=[3, 8, 0], ended='eos', log_probability=-2.9, score=-0.97)]

As Hugging Face defines it. Each step looks at the best `2 num_beams` ways to go on. Those that end
among the best `num_beams` of them are finished, with the score log-probability / length^penalty; the
best `num_beams` that do not end go on. Without `early_stopping` it ends when the best that goes on
could not beat the worst of `num_beams` finished texts if it ended here; with "never", if it ended at
any length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from indicial.decode.choose import Chooser, Floats, check_finite, logarithms
from indicial.decode.continuation import Continuation, Ended
from indicial.decode.repeats import repeats
from indicial.decode.sampling import seen_tokens
from indicial.decode.settings import Decoding
from indicial.decode.walker import Walker


def beam_search(
    walker: Walker, prompt: Sequence[int], eos: int | None, settings: Decoding
) -> list[Continuation]:
    """The best `num_return_sequences` texts, the best first; `walker` has one row."""
    walker.extend([prompt])
    beams = Beams(walker, len(prompt), eos, settings)
    while not beams.ended():
        beams.step()
    return beams.finished[: settings.num_return_sequences]


class Beams:
    """The beams that go on, rows of the walker, and the texts that are finished, best first."""

    def __init__(self, walker: Walker, start: int, eos: int | None, settings: Decoding) -> None:
        self.walker = walker
        self.start = start
        self.eos = eos
        self.settings = settings
        self.length = 0
        """How many new tokens there are."""
        self.finished: list[Continuation] = []
        self._choose = Chooser(settings)
        self._scores: Floats = np.zeros(1)
        self._likelihoods: Floats = np.zeros(1)
        self._going: list[tuple[int, int]] = []
        """Which row goes on with which token; it is fed when the next step comes."""

    def step(self) -> None:
        """Every beam, gone on with in the best ways."""
        self._feed()
        self.length += 1
        probabilities = self.walker.probabilities
        check_finite(probabilities.max(axis=1))
        seen = seen_tokens(self.walker) if self._choose.reads_seen else None
        scores = self._scores[:, None] + self._choose.scores(probabilities, seen)
        likelihoods = self._likelihoods[:, None] + logarithms(probabilities)
        self._going = []
        for rank, (row, token) in enumerate(best(scores, 2 * self.settings.num_beams)):
            if token == self.eos or self.length == self.settings.max_new_tokens:
                if rank < self.settings.num_beams:
                    self._finish(row, token, scores[row, token], likelihoods[row, token])
            elif len(self._going) < self.settings.num_beams:
                self._going.append((row, token))
        at = [row for row, _ in self._going], [token for _, token in self._going]
        self._scores, self._likelihoods = scores[at], likelihoods[at]

    def _feed(self) -> None:
        if self._going:
            self.walker.select([row for row, _ in self._going])
            self.walker.feed(np.array([token for _, token in self._going]))

    def _finish(self, row: int, token: int, score: float, likelihood: float) -> None:
        tokens = [*self.walker.tokens[row, self.start :].tolist(), token]
        scaled = float(score) / self.length**self.settings.length_penalty
        ended: Ended = "eos" if token == self.eos else "length"
        found = Continuation(tokens, ended, float(likelihood), repeats(tokens), scaled)
        self.finished = sorted([*self.finished, found], key=_by_score)[: self.settings.num_beams]

    def ended(self) -> bool:
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
    """Row and token of the highest scores, the highest first; none at -∞.

    >>> best(np.log([[0.1, 0.3], [0.2, 0.0]]), 3)
    [(0, 1), (1, 0), (0, 0)]
    """
    flat = scores.ravel()
    places = np.argpartition(-flat, count)[:count] if count < len(flat) else np.arange(len(flat))
    places = places[np.lexsort((places, -flat[places]))]
    width = scores.shape[1]
    return [divmod(int(place), width) for place in places if flat[place] > -math.inf]
