"""Distributions → tokens: what is cut off and scaled, in Hugging Face's order, then drawn.

>>> choose = Chooser(Decoding(temperature=0.8, top_k=40))
>>> choose(P, seen, uniform)          P: (R, V), one number of [0, 1) for each row → tokens: (R,)

The order is: repetition penalty, repeated n-grams, temperature, top-k, top-p, min-p. Each takes
log-probabilities (R, V) and gives them back; what is cut off is -∞. In NumPy, because at one row its calls cost a third
of PyTorch's.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from indicial.decode.settings import Decoding
from indicial.program.messages import IndicialError

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Chooser:
    """Chooses the next token of each row."""

    def __init__(self, settings: Decoding) -> None:
        self.settings = settings
        self.reads_seen = settings.repetition_penalty != 1
        """Whether it looks at which tokens came before."""
        shaped = settings.temperature != 1 or settings.top_k or settings.top_p < 1 or settings.min_p
        ordered = self.reads_seen or settings.no_repeat_ngram_size
        self.plain = not ordered and not (settings.samples and shaped)
        """Whether the likeliest token is the first choice, and tokens are drawn as likely as they are."""

    def __call__(
        self,
        probabilities: Floats,
        seen: Flags | None,
        uniform: Floats | None,
        tokens: Ints | None = None,
    ) -> Ints:
        """`seen` marks the tokens of each row so far, and `tokens` has them in their order; `uniform`
        draws, and is not read otherwise."""
        values = probabilities if self.plain else self.scores(probabilities, seen, tokens)
        if not self.settings.samples:
            check_finite(values.max(axis=1) if self.plain else probabilities.max(axis=1))
            return np.asarray(values.argmax(axis=1))
        assert uniform is not None
        if not self.plain:
            values = np.exp(values - values.max(axis=1, keepdims=True))
        return drawn(values, uniform)

    def scores(
        self, probabilities: Floats, seen: Flags | None, tokens: Ints | None = None
    ) -> Floats:
        """The log-probabilities, scaled and cut; not normalised."""
        settings = self.settings
        scores = logarithms(probabilities)
        if settings.repetition_penalty != 1 and seen is not None:
            scores = penalised(scores, seen, settings.repetition_penalty)
        if settings.no_repeat_ngram_size and tokens is not None:
            scores = without_repeats(scores, tokens, settings.no_repeat_ngram_size)
        if not settings.samples:
            return scores
        if settings.temperature != 1:
            # From the likeliest down: whatever the temperature is, that one stays finite.
            with np.errstate(over="ignore"):
                scores = (scores - scores.max(axis=1, keepdims=True)) / settings.temperature
        if settings.top_k:
            scores = top_k(scores, settings.top_k)
        if settings.top_p < 1:
            scores = top_p(scores, settings.top_p)
        if settings.min_p > 0:
            scores = min_p(scores, settings.min_p)
        return scores


def logarithms(probabilities: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(probabilities.astype(np.float64))


def penalised(scores: Floats, seen: Flags, penalty: float) -> Floats:
    """Tokens that are there already are less likely (Keskar et al. 2019, §4.1)."""
    lower = np.where(scores < 0, scores * penalty, scores / penalty)
    return np.where(seen, lower, scores)


def without_repeats(scores: Floats, tokens: Ints, size: int) -> Floats:
    """No token that would end a run of `size` tokens which its row has already.

    >>> without_repeats(np.zeros((1, 3)), np.array([[1, 2, 1]]), 2)      1 2 is there, so no 2 now
    array([[  0.,   0., -inf]])
    """
    places = tokens.shape[1] - size + 1
    if places <= 0:
        return scores
    same = np.ones((len(tokens), places), bool)
    for k in range(size - 1):
        same &= tokens[:, k : k + places] == tokens[:, places + k, None]
    rows, ends = np.nonzero(same)
    cut = scores.copy()
    cut[rows, tokens[rows, ends + size - 1]] = -np.inf
    # Where every token would repeat something, one has to.
    return np.where((cut > -np.inf).any(axis=1, keepdims=True), cut, scores)


def top_k(scores: Floats, count: int) -> Floats:
    """The likeliest `count` tokens, and those as likely as the last of them."""
    if count >= scores.shape[1]:
        return scores
    place = scores.shape[1] - count
    last = np.partition(scores, place, axis=1)[:, place, None]
    return np.where(scores < last, -np.inf, scores)


def top_p(scores: Floats, probability: float) -> Floats:
    """The fewest likeliest tokens that have this probability together, and those as likely."""
    rising = np.sort(scores, axis=1)
    cut = (normalised(rising).cumsum(axis=1) <= 1 - probability).sum(axis=1)
    cut = np.minimum(cut, scores.shape[1] - 1)  # one is always kept
    last = np.take_along_axis(rising, cut[:, None], axis=1)
    return np.where(scores < last, -np.inf, scores)


def min_p(scores: Floats, share: float) -> Floats:
    """Tokens that have at least this share of the likeliest token's probability."""
    least = scores.max(axis=1, keepdims=True) + math.log(share)
    return np.where(scores < least, -np.inf, scores)


def normalised(scores: Floats) -> Floats:
    """Log-probabilities → probabilities that add up to 1."""
    values = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def drawn(weights: Floats, uniform: Floats) -> Ints:
    """The token at which the sum of the weights passes `uniform` of the whole; never one of weight 0."""
    sums = weights.cumsum(axis=1, dtype=np.float64)
    whole = sums[:, -1]
    check_finite(whole)
    # Rounded up, a number just below 1 would lie behind the last token that has any weight.
    places = np.minimum(uniform * whole, np.nextafter(whole, 0))
    if len(sums) == 1:
        return np.array([sums[0].searchsorted(places[0], side="right")])
    return np.asarray((sums <= places[:, None]).sum(axis=1))


def check_finite(values: Floats) -> None:
    if not np.isfinite(values).all():
        raise IndicialError(
            "the model gives probabilities that are not numbers: its parameters are damaged, or "
            "training diverged"
        )
