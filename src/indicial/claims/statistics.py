"""Claims about a distribution: as many draws as it takes to tell.

    claim std of α[0] ≈ 0.386 within 0.02

    holds: 0.3866 ± 0.0009 (20,000 draws)     ± is the standard error

The draws fall into groups; how much the two sides differ between groups is their sampling error.
Enough draws are made for it to be well below the tolerance. A claim holds or is refuted if that
still stands with four standard errors on the other side; until then it gets more draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from indicial.claims.experiment import (
    EXTREMES,
    HOLDS,
    REFUTED,
    UNDECIDED,
    UNTRIED,
    Counterexample,
    Experiment,
    Sides,
    Verdict,
    is_not,
    listed,
    number,
    with_error,
)
from indicial.claims.running import Array, Random, TooSlow, Truths
from indicial.claims.values import DIFFERENT
from indicial.program.ir import Statistic
from indicial.program.meaning.sample import work

GROUPS = 25
FIRST = 2_500
"""Draws of the first look."""
MOST = 1_000_000
"""Draws at most, unless `--draws` says otherwise."""
BELOW_TOLERANCE = 6
"""How much smaller than the tolerance the sampling error should be."""
SURE = 4.0
"""How many standard errors a verdict keeps away from the other one."""
PLAIN = 20.0
"""So many standard errors on the wrong side need no better figure."""
AT_ONCE = 4_000_000
"""Numbers that a run computes at most at one time."""
MOST_NUMBERS = 1_000_000_000
"""Numbers that all draws compute at most, unless `--draws` says otherwise."""
FOR_EXTREMES = 100_000
"""A largest value has no sampling error that would ask for more draws."""


@dataclass(frozen=True)
class Estimate:
    """Both sides at one corner size: their values, and the error of their difference."""

    sizes: Mapping[str, int]
    draws: int
    left: Array
    right: Array
    error: Array
    missed: Array
    """By how much the claim is missed; negative where it holds."""
    allowed: Array
    tried: Truths

    def undecided(self) -> Truths:
        found: Truths = self.tried & (abs(self.missed) < SURE * self.error)
        return found

    def broken(self) -> Truths:
        found: Truths = self.tried & (self.missed > 0) & (self.missed >= SURE * self.error)
        return found

    def plainly_broken(self) -> bool:
        """Whether a better figure could not change the verdict."""
        return bool((self.tried & (self.missed > PLAIN * self.error)).any())


def try_statistics(
    experiment: Experiment, sizes: list[dict[str, int]], seed: int, draws: int | None
) -> Verdict:
    """Tries a claim about statistics at all these sizes."""
    test = experiment.test
    worst: Estimate | None = None
    made = 0
    for corner_number, corner in enumerate(sizes):
        random = np.random.default_rng([seed, corner_number])
        found = _estimate(experiment, corner, random, draws)
        made += found.draws
        if not found.tried.any():
            continue
        if found.broken().any():  # one element is enough, however near another is
            if not _confirmed(experiment, corner, random):
                return Verdict(test, UNTRIED, DIFFERENT)
            return _refuted(experiment, found, seed)
        if found.undecided().any():
            needed = _needed(found)
            text = f"{_figure(experiment, found)}; it needs about {needed:,} draws"
            return Verdict(test, UNDECIDED, text, seed=seed)
        if worst is None or _slack(found) < _slack(worst):
            worst = found
    if worst is None:
        return Verdict(test, UNTRIED, _nowhere(experiment, sizes))
    text = _figure(experiment, worst)
    if len(sizes) > 1:
        text += f" at {listed([worst.sizes])}"
    text += f", sizes {listed(sizes)}" if sizes[0] else ""
    return Verdict(test, HOLDS, text, seed=seed)


def _nowhere(experiment: Experiment, sizes: list[dict[str, int]]) -> str:
    """Why a claim was tried at no size."""
    tried = listed(sizes)
    if experiment.test.guard is None:
        return "at some draws the figure is taken of something that is not finite, such as √x for x < 0"
    return (
        f"its condition holds at none of the sizes that were tried ({tried or 'there are none'}), "
        f"or a side is not finite there; `size N = 10` or `--set N=10` sets one"
    )


# ---------------------------------------------------------------------- estimates


def _estimate(
    experiment: Experiment, sizes: Mapping[str, int], random: Random, draws: int | None
) -> Estimate:
    """Draws until the verdict is clear, or until there were too many."""
    at_most = MOST_NUMBERS // max(1, work(experiment.code, sizes))
    if at_most < FIRST:
        raise TooSlow("too many numbers for thousands of draws; set smaller sizes with --set")
    most = min(_round_down(at_most), MOST) if draws is None else max(GROUPS * 2, draws)
    count = min(most, FIRST)
    found = _look(experiment, sizes, random, count)
    wanted = _for_tolerance(found)
    if any(summary.operator in EXTREMES for summary in experiment.summaries):
        wanted = max(wanted, FOR_EXTREMES)
    for _ in range(4):
        if found.undecided().any():
            wanted = max(wanted, _needed(found))
        if wanted <= found.draws or found.draws >= most or found.plainly_broken():
            break
        found = _look(experiment, sizes, random, min(most, _round_up(wanted)))
        wanted = 0
    return found


def _look(experiment: Experiment, sizes: Mapping[str, int], random: Random, count: int) -> Estimate:
    """The statistics of `count` draws, and both sides for all draws and for each group."""
    each = max(2, count // GROUPS)
    at_once = max(1, AT_ONCE // max(1, work(experiment.code, sizes)))
    groups: dict[str, list[Array]] = {summary.read: [] for summary in experiment.summaries}
    every: dict[str, list[Array]] = {summary.read: [] for summary in experiment.summaries}
    for _ in range(GROUPS):
        outcomes = _outcomes(experiment, sizes, random, each, at_once)
        for summary in experiment.summaries:
            values = outcomes[summary.name]
            groups[summary.read].append(_group(summary.operator, values))
            every[summary.read].append(np.stack([values.mean(0), values.var(0)]))
    given: dict[str, Array] = {}
    least = 0.0
    for summary in experiment.summaries:
        parts = np.stack(groups[summary.read])
        pooled = _pooled(summary.operator, parts, np.stack(every[summary.read]))
        given[summary.read] = np.concatenate([pooled[None], parts])
        if summary.operator == "probability":  # of several, errors may cancel
            alone = len(experiment.summaries) == 1
            drawn = each * GROUPS
            least = max(least, _error_of_share(pooled, drawn) if alone else 1 / drawn)
    sides = experiment.sides(given, sizes, GROUPS + 1)
    return _judged(experiment, sides, sizes, each * GROUPS, least)


def _outcomes(
    experiment: Experiment, sizes: Mapping[str, int], random: Random, count: int, at_once: int
) -> dict[str, Array]:
    """What statistics are taken of, at `count` draws."""
    parts: list[dict[str, Array]] = []
    left = count
    while left > 0:
        now = min(left, at_once)
        values = experiment.draw(sizes, now, random)
        given = experiment.with_slopes(values, sizes, now)
        parts.append(experiment.inner.run(given, sizes, now))
        left -= now
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _group(operator: str, values: Array) -> Array:
    """A statistic of the draws of one group."""
    if operator in ("std", "variance"):
        return _spread(operator, values.var(0, ddof=1))
    return _over(operator, values)


def _pooled(operator: str, parts: Array, moments: Array) -> Array:
    """The same of all draws, from the groups; all groups are of one size."""
    if operator in ("std", "variance"):
        return _spread(operator, moments[:, 1].mean(0) + moments[:, 0].var(0))
    return _over(operator, parts)


def _spread(operator: str, variance: Array) -> Array:
    root: Array = variance**0.5
    return root if operator == "std" else variance


def _over(operator: str, values: Array) -> Array:
    found: Array = {"max": values.max, "min": values.min}.get(operator, values.mean)(0)
    return found


def _error_of_share(share: Array, draws: int) -> float:
    """The standard error of a share, at least: what was never seen may still be possible.

    Of a few cases the spread between groups tells too little, and of none it tells nothing. Half of
    `SURE`² cases more on both sides (Agresti and Coull) make `SURE` errors hold what they promise.
    """
    more = SURE**2 / 2
    nearer = (share * draws + more) / (draws + 2 * more)
    return float(np.sqrt(nearer * (1 - nearer) / draws).max())


def _judged(
    experiment: Experiment, sides: Sides, sizes: Mapping[str, int], draws: int, least_error: float
) -> Estimate:
    shape = np.broadcast_shapes(sides.left.shape, sides.right.shape)
    left, right = np.broadcast_to(sides.left, shape), np.broadcast_to(sides.right, shape)
    gap = left - right
    error = gap[1:].std(0, ddof=1) / math.sqrt(GROUPS)
    operators = {summary.operator for summary in experiment.summaries}
    error = np.maximum(error, least_error)
    if operators <= set(EXTREMES):
        error = np.zeros_like(error)
    allowed = np.zeros_like(gap[0])
    if sides.tolerance is not None:
        allowed = np.broadcast_to(sides.tolerance[0], gap[0].shape)
    missed = {
        "=": abs(gap[0]), "≈": abs(gap[0]), "≠": -abs(gap[0]),
        "≤": gap[0], "<": gap[0], "≥": -gap[0], ">": -gap[0],
    }[experiment.test.relation] - allowed  # fmt: skip
    tried = np.isfinite(gap[0]) & np.isfinite(error) & sides.guard[0]
    missed = np.where(tried, missed, 0.0)
    return Estimate(sizes, draws, left[0], right[0], error, missed, allowed, tried)


def _for_tolerance(found: Estimate) -> int:
    """Draws for which the error is well below the tolerance."""
    matters = found.tried & (found.allowed > 0)
    if not matters.any():
        return 0
    share = float((found.error[matters] / found.allowed[matters]).max())
    return int(found.draws * (BELOW_TOLERANCE * share) ** 2)


def _needed(found: Estimate) -> int:
    """Draws for which the verdict would be clear, if the figures stayed as they are."""
    doubt = found.undecided()
    if not doubt.any():
        return 0
    far = np.maximum(abs(found.missed[doubt]), 1e-12)
    factor = float(((SURE * found.error[doubt] / far) ** 2).max())
    return _round_up(min(1e12, 1.5 * found.draws * factor))


def _round_up(count: float) -> int:
    """Two digits: 12,345 → 13,000."""
    unit = 10 ** max(0, int(math.log10(max(1.0, count))) - 1)
    return int(math.ceil(count / unit) * unit)


def _round_down(count: int) -> int:
    """Two digits: 12,345 → 12,000."""
    digits = str(count)
    return int(digits[:2] + "0" * (len(digits) - 2))


def _confirmed(experiment: Experiment, sizes: Mapping[str, int], random: Random) -> bool:
    """Whether what statistics were taken of is the interpreter's, at a few draws."""
    values = experiment.draw(sizes, 3, random)
    given = experiment.with_slopes(values, sizes, 3)
    fast = experiment.inner.run(given, sizes, 3)
    for member in range(3):
        slow = experiment.inner.exact({n: v[member] for n, v in given.items()}, sizes)
        for name, value in slow.items():
            if not np.allclose(fast[name][member], value, rtol=1e-6, atol=1e-9, equal_nan=True):
                return False
    return True


# ---------------------------------------------------------------------- in words


def _slack(found: Estimate) -> float:
    return float(-found.missed[found.tried].max())


def _worst(found: Estimate) -> tuple[int, ...]:
    place = np.unravel_index(
        int(np.argmax(np.where(found.tried, found.missed, -np.inf))), found.missed.shape
    )
    return tuple(int(p) for p in place)


def _figure(experiment: Experiment, found: Estimate) -> str:
    """`0.3866 ± 0.0009 (20,000 draws)`: the side that was drawn, at its worst element."""
    place = _worst(found)
    error = float(found.error[place])
    test = experiment.test
    drawn_left, drawn_right = test.left.every(Statistic), test.right.every(Statistic)
    left, right = float(found.left[place]), float(found.right[place])
    if drawn_left and drawn_right:
        value = f"{with_error(left, error)} against {number(right)}"
    else:
        value = with_error(left if drawn_left else right, error)
    return f"{value} ({found.draws:,} draws)"


def _refuted(experiment: Experiment, found: Estimate, seed: int) -> Verdict:
    place = _worst(found)
    test = experiment.test
    at = experiment.places(place, found.sizes)
    left, right = float(found.left[place]), float(found.right[place])
    error = float(found.error[place])
    shown_left = with_error(left, error) if test.left.every(Statistic) else number(left)
    shown_right = with_error(right, error) if test.right.every(Statistic) else number(right)
    sizes = {n: v for n, v in found.sizes.items() if n in experiment.code.sizes}
    gap = with_error(abs(left - right), error)
    broken = Counterexample(shown_left, shown_right, gap, at, sizes, labels=experiment.labels(at))
    text = f"{shown_left} ({found.draws:,} draws) {is_not(test)} {shown_right}"
    return Verdict(test, REFUTED, text, broken, seed)
