"""Contenders side by side: who is faster, by how much, and how sure that is.

>>> race = run_race([Contender("ours", ours), Contender("theirs", theirs)], rounds=5)
>>> race.ratio("theirs", "ours")
Spread(median=2.6, low=2.4, high=2.7)

A round lets each contender run for a moment, and the order turns from round to round. A ratio is
taken inside a round, where both had the same machine, and the median over the rounds is reported:
what slows the machine down for a while slows both.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Contender:
    """A name and one step of its work."""

    name: str
    run: Callable[[], object]


@dataclass(frozen=True)
class Spread:
    """The median of several measurements, with the smallest and the largest."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Iterable[float]) -> Spread:
        known = sorted(values)
        return Spread(statistics.median(known), known[0], known[-1])


@dataclass(frozen=True)
class Race:
    """Seconds a step, by contender; one number for each round."""

    seconds: dict[str, list[float]]

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])

    def ratio(self, slower: str, faster: str) -> Spread:
        """How many times as long `slower` takes, from the two times of each round."""
        pairs = zip(self.seconds[slower], self.seconds[faster], strict=True)
        return Spread.of(slow / fast for slow, fast in pairs)


@dataclass(frozen=True)
class Pace:
    """How long to measure: rounds, and seconds for each contender in a round."""

    rounds: int = 7
    window: float = 0.3
    pause: float = 0.02


def run_race(contenders: Sequence[Contender], pace: Pace | None = None) -> Race:
    """Everybody's seconds in every round."""
    pace = pace or Pace()
    seconds: dict[str, list[float]] = {c.name: [] for c in contenders}
    for number in range(pace.rounds):
        start = number % len(contenders)
        for contender in [*contenders[start:], *contenders[:start]]:
            # Threads of the one before may still be spinning in the hope of more work.
            time.sleep(pace.pause)
            seconds[contender.name].append(_burst(contender.run, pace.window))
    return Race(seconds)


def _burst(run: Callable[[], object], window: float) -> float:
    """The median of the calls that fit into the window, at least two, after one for the caches."""
    run()
    taken: list[float] = []
    end = time.perf_counter() + window
    while len(taken) < 2 or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def geometric_mean(values: Iterable[float]) -> float:
    """The mean for ratios: 2× and ½× make 1×."""
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs))
