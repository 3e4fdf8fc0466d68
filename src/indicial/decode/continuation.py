"""What was generated: new tokens, why they end, how likely they are.

>>> Continuation(tokens=[5, 2, 0], ended="eos", log_probability=-3.2)

The loop that a text has fallen into: greedy decoding often ends in one.

>>> repeats([7, 3, *[1, 2] * 10])
Repeat(start=2, period=2)
>>> str(repeats([7, 3, *[1, 2] * 10]))
'repeats every 2 tokens from token 2'

A text repeats if its end goes three times round and 16 tokens are as they were a round before. Of
all such ends the longest is meant, and of its periods the shortest: in `x y a a a x y a a a …` the
round is `x y a a a`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

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
