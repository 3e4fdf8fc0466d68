"""How text is made: names and meanings as in Hugging Face's `generate`.

>>> Decoding(temperature=0.8, top_p=0.9)      each token is drawn, from what is likely
>>> Decoding(temperature=0)                   each token is the likeliest: greedy
>>> Decoding(num_beams=4)                     beam search for a likely text
>>> Chooser(Decoding(top_k=40))(P, seen, uniform)     P: (R, V), one number of [0, 1) for each row → tokens: (R,)

Nothing is cut off unless it is asked for: `top_k` is 0 here, which is off, and 50 in some versions there. The
order is: repetition penalty, repeated n-grams, temperature, top-k, top-p, min-p. Each takes log-probabilities
(R, V) and gives them back; what is cut off is -∞. In NumPy, because at one row its calls cost a third of
PyTorch's.

>>> str(repeats([7, 3, *[1, 2] * 10]))
'repeats every 2 tokens from token 2'

A text repeats if its end goes three times round and 16 tokens are as they were a round before. Of all such ends the
longest is meant, and of its periods the shortest: in `x y a a a x y a a a …` the round is `x y a a a`.
"""

from __future__ import annotations

import difflib
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from indicial.program.messages import IndicialError

PENALTY = 50
"""A length to a higher power than this may be no number any more."""
MOST_BEAMS = 10_000
OTHER_NAMES = {"max_length": "max_new_tokens", "num_samples": "num_return_sequences"}
"""What others call it; only used to say how it is called here."""

BOUNDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("max_new_tokens", "num_return_sequences"),
        (lambda number: number >= 1, "a whole number from 1"),
    ),
    "num_beams": (
        lambda number: 1 <= number <= MOST_BEAMS,
        f"a whole number from 1 to {MOST_BEAMS}",
    ),
    "top_k": (lambda number: number >= 0, "how many tokens are kept, 0 for all"),
    "no_repeat_ngram_size": (lambda number: number >= 0, "a number of tokens, 0 for off"),
    **dict.fromkeys(("top_p", "min_p"), (lambda p: 0 <= p <= 1, "a probability, from 0 to 1")),
    "temperature": (lambda number: 0 <= number < math.inf, "0 (greedy) or more"),
    "repetition_penalty": (lambda x: 0 < x < math.inf, "more than 0, and 1 for none"),
    # Not so for nan.
    "length_penalty": (lambda x: abs(x) <= PENALTY, f"a number from -{PENALTY} to {PENALTY}"),
    "early_stopping": (lambda said: said in (True, False, "never"), "true, false or never"),
    "seed": (lambda number: number is None or number >= 0, "a whole number from 0"),
}
"""Which values each setting may have, and how that is said."""


@dataclass(frozen=True)
class Decoding:
    """`do_sample` is None for: draw, unless the temperature is 0 or there are beams."""

    max_new_tokens: int = 200
    do_sample: bool | None = None
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    """No run of so many tokens comes twice; 0 is off."""
    num_beams: int = 1
    length_penalty: float = 1.0
    early_stopping: bool | Literal["never"] = False
    num_return_sequences: int = 1
    seed: int | None = None
    """None takes a new one each time."""
    slide: bool = True
    """Beyond the model's last position it goes on from the later half of what it saw."""
    stop_at_repeat: bool = False

    @staticmethod
    def read(values: Mapping[str, Any]) -> Decoding:
        """Settings by name; None says nothing, and a name that is not known is refused."""
        names = list(Decoding.__dataclass_fields__)
        for name in values:
            if name not in names:
                near = OTHER_NAMES.get(name, name)
                close = difflib.get_close_matches(near, [*names, "prompt"], 1, 0.6)
                meant = f"did you mean {close[0]}?" if close else f"there are {', '.join(names)}"
                raise IndicialError(f"there is no setting {name}; {meant}")
        return Decoding(**{name: value for name, value in values.items() if value is not None})

    def __post_init__(self) -> None:
        self._check_kinds()
        self._check_numbers()
        self._check_together()

    def _check_kinds(self) -> None:
        """Numbers of any kind, NumPy's too; `top_k="5"` and `max_new_tokens=True` are none."""
        for one in fields(self):
            whole = str(one.type).startswith("int")
            value, kind = getattr(self, one.name), cast(Any, Integral if whole else Real)
            if (value is None and one.default is None) or not (whole or one.type == "float"):
                continue
            if not isinstance(value, kind) or isinstance(value, bool):
                words = "a whole number" if whole else "a number"
                raise IndicialError(f"{one.name} is {value!r}; it is {words}")
            if not isinstance(value, int | float):  # as JSON takes it
                object.__setattr__(self, one.name, int(value) if whole else float(value))

    def _check_numbers(self) -> None:
        for name, (fits, words) in BOUNDS.items():
            if not fits(value := getattr(self, name)):
                the = "the " if name in ("temperature", "seed") else ""
                raise IndicialError(f"{the}{name} is {value}; it is {words}")

    def _check_together(self) -> None:
        if self.num_beams > 1:
            self._check_beams()
        elif self.num_return_sequences > 1 and not self.samples:
            count = self.num_return_sequences
            raise IndicialError(
                f"without sampling there is one likeliest text, not {count}: raise the temperature "
                f"above 0, or search with num_beams={count}"
            )
        if self.samples and self.temperature == 0:
            raise IndicialError("at temperature 0 nothing is drawn: leave do_sample out")

    def _check_beams(self) -> None:
        if self.num_return_sequences > self.num_beams:
            raise IndicialError(
                f"{self.num_beams} beams cannot return {self.num_return_sequences} texts: "
                f"num_return_sequences is num_beams at most"
            )
        drawn = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
        for name, off in drawn.items():
            if (value := getattr(self, name)) != off:
                raise IndicialError(
                    f"beam search draws nothing, so {name}={value} has no meaning: leave it out, "
                    "or leave num_beams out"
                )
        if self.do_sample:
            raise IndicialError("beam search draws nothing: leave do_sample or num_beams out")
        if self.stop_at_repeat:
            raise IndicialError("stop_at_repeat is for one text at a time, not for beam search")

    def idle(self) -> dict[str, str]:
        """What was said and has no effect beside the rest, and why: `{"top_k": "at temperature …"}`."""
        found: dict[str, str] = {}
        if self.num_beams == 1:
            for name in ("length_penalty", "early_stopping"):
                found[name] = "it is for beam search, and num_beams is 1"
        if not self.samples:
            greedy = "at temperature 0 the likeliest token is taken"
            why = greedy if self.num_beams == 1 else "beam search draws nothing"
            found |= dict.fromkeys(("top_k", "top_p", "min_p", "seed"), why)
        plain = Decoding.__dataclass_fields__
        return {n: why for n, why in found.items() if getattr(self, n) != plain[n].default}

    @property
    def samples(self) -> bool:
        """Whether tokens are drawn."""
        if self.do_sample is None:
            return self.temperature > 0 and self.num_beams == 1
        return self.do_sample

    def seeded(self) -> int:
        """The seed, or a new one."""
        return secrets.randbelow(2**32) if self.seed is None else self.seed


ROUNDS = 3
"""Twice may be chance, or a refrain."""
LEAST = 16
"""So many tokens are the same as a round before; a row of dots or blanks is shorter."""


@dataclass(frozen=True)
class Repeat:
    """From token `start` on, each token is the one `period` tokens before; both count from 0."""

    start: int
    period: int

    def __str__(self) -> str:
        every = "the same token" if self.period == 1 else f"every {self.period} tokens"
        return f"repeats {every} from token {self.start}"


def repeats(tokens: Sequence[int], rounds: int = ROUNDS, least: int = LEAST) -> Repeat | None:
    """The loop at the end of the tokens, or None."""
    found: Repeat | None = None
    matches = matches_backwards(tokens)
    for period in range(1, len(tokens) // rounds + 1):
        same = matches[period]
        if same < max((rounds - 1) * period, least):
            continue
        start = len(tokens) - period - same
        # A multiple of a period starts where the period does, so the first of a start is kept.
        if found is None or start < found.start:
            found = Repeat(start, period)
    return found


def matches_backwards(tokens: Sequence[int]) -> list[int]:
    """For each distance: how many last tokens equal those so far before them. The Z-algorithm.

    >>> matches_backwards([5, 1, 2, 1, 2])
    [5, 0, 2, 0, 0]
    """
    text = list(reversed(tokens))
    count = len(text)
    same = [0] * count
    if count:
        same[0] = count
    left = right = 0  # the stretch that ends furthest on and is the same as the beginning
    for at in range(1, count):
        known = min(right - at, same[at - left]) if at < right else 0
        while at + known < count and text[known] == text[at + known]:
            known += 1
        same[at] = known
        if at + known > right:
            left, right = at, at + known
    return same


class Lookout:
    """Looks for a loop while a text grows: seldom enough to cost little, and a little late."""

    def __init__(self) -> None:
        self._next = LEAST

    def look(self, tokens: Sequence[int]) -> Repeat | None:
        if len(tokens) < self._next:
            return None
        self._next = len(tokens) + max(8, len(tokens) // 16)
        return repeats(tokens)


Ended = Literal["eos", "length", "repeat"]


@dataclass(frozen=True)
class Continuation:
    """`tokens` are the new ones, with the end-of-text token where there is one.

    `log_probability` is what the model gives them in nats, whatever was cut off or scaled; `score` is
    what beam search ranks by. `repeat` is the loop in which they end. `window` is how many tokens the
    model sees at most, where the text outgrew that.
    """

    tokens: list[int]
    ended: Ended
    log_probability: float
    repeat: Repeat | None = None
    score: float | None = None
    window: int | None = None


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
