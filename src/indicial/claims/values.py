"""Claims about values: they should hold at every draw, at every size, at every index.

    claim α[n] ≥ 0       200 draws over all corner sizes; the least margin is told
    claim α[n] ≤ 1/N     does not hold: the draw that breaks it, made small

A claim is tried on compiled draws; what breaks it there counts only if the interpreter agrees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from indicial.claims.experiment import Experiment, Sides
from indicial.claims.running import Array, TooSlow, Truths
from indicial.claims.verdict import (
    HOLDS,
    REFUTED,
    UNTRIED,
    Counterexample,
    Verdict,
    apart,
    is_not,
    listed,
    number,
    shown,
)
from indicial.program.meaning.sample import work

ROUNDING = 1e-9
"""What `=` and `≤` allow, for sides of about 1; of larger sides this share."""
UNLIKE = 10
"""So many times what is allowed is no matter of rounding."""
DIFFERENT = "the compiled values are not those of the interpreter; please report this text"
AT_ONCE = 20_000_000
"""Numbers that the draws at one corner size compute at most."""
MOST_CONFIRMED = 100_000
"""Numbers that the interpreter computes to confirm a claim that holds."""
LEAST_DRAWS = 8
"""At each corner size."""


@dataclass(frozen=True)
class Judged:
    """How a claim fares at each element: by how much it is missed, and what is allowed."""

    missed: Array
    allowed: Array
    rounding: Array
    """What is no more than rounding: another processor finds another number there."""
    broken: Truths
    tried: Truths
    """Where both sides are finite and the guard holds."""
    undefined: Truths
    """Where the guard holds and a side is no finite number: nothing is said about that."""


def judge(relation: str, sides: Sides) -> Judged:
    """Compares both sides element by element."""
    left, right = sides.left, sides.right
    with np.errstate(invalid="ignore", over="ignore"):
        finite = np.isfinite(left) & np.isfinite(right)
        tried = finite & sides.guard
        gap = np.where(tried, left - right, 0.0)
        scale = np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
    allowed = rounding = ROUNDING * np.where(tried, scale, 1.0)
    if sides.tolerance is not None:
        allowed = np.broadcast_to(sides.tolerance, gap.shape) + 1e-3 * rounding
    missed = {
        "=": np.abs(gap), "≈": np.abs(gap), "≠": np.abs(gap),
        "≤": gap, "<": gap, "≥": -gap, ">": -gap,
    }[relation]  # fmt: skip
    if relation == "≠":
        broken = missed <= allowed
    elif relation in ("<", ">"):
        # Strict: where the sides are equal it does not hold, whatever rounding did.
        broken = missed >= (0.0 if sides.tolerance is None else allowed)
    else:
        broken = missed > allowed
    return Judged(missed, allowed, rounding, broken & tried, tried, sides.guard & ~finite)


@dataclass
class _Tally:
    """The nearest that a claim came to breaking, so far."""

    draws: int = 0
    undefined: int = 0
    """Of these, those at which a side is no finite number somewhere."""
    sizes: list[dict[str, int]] = field(default_factory=list)
    tried: bool = False
    missed: float = -math.inf
    allowed: float = 0.0

    def add(self, judged: Judged, relation: str) -> None:
        self.undefined += int(judged.undefined.reshape(len(judged.undefined), -1).any(1).sum())
        if not judged.tried.any():
            return
        self.tried = True
        sign = -1.0 if relation == "≠" else 1.0
        missed = np.where(np.abs(judged.missed) <= judged.rounding, 0.0, judged.missed)
        share = sign * missed / (1.0 if relation in ("≤", "<", "≥", ">") else judged.allowed)
        share = np.where(judged.tried, share, -np.inf)
        worst = np.unravel_index(int(np.argmax(share)), share.shape)
        near = sign * float(missed[worst])
        if near > self.missed:
            self.missed, self.allowed = near, float(judged.allowed[worst])


def try_values(
    experiment: Experiment, sizes: list[dict[str, int]], seed: int, draws: int
) -> Verdict:
    """Tries a claim at all these sizes."""
    from indicial.claims.shrink import shrink

    test, tally = experiment.test, _Tally()
    for corner_number, corner in enumerate(sizes):
        each = max(LEAST_DRAWS, math.ceil(draws / len(sizes)))
        each = min(each, max(1, AT_ONCE // work(experiment.code, corner)))
        each = each if experiment.reads() else 1
        random = np.random.default_rng([seed, corner_number])
        values = experiment.draw(corner, each, random)
        try:
            sides = experiment.sides(values, corner, each)
        except TooSlow:
            continue
        judged = judge(test.relation, sides)
        tally.draws += each
        tally.sizes.append(corner)
        for member in _breaking(judged):
            one = {name: array[member] for name, array in values.items()}
            broken = exactly(experiment, one, corner)
            if broken is not None:
                small, least = shrink(experiment, one, corner, seed)
                return _refuted(experiment, small, least, seed)
        if (judged.broken & (judged.missed > UNLIKE * judged.allowed)).any():
            return Verdict(test, UNTRIED, DIFFERENT)
        tally.add(judged, test.relation)
    if not tally.tried:
        return Verdict(test, UNTRIED, _nowhere(tally))
    if not _confirmed(experiment, sizes[0], seed):
        return Verdict(test, UNTRIED, DIFFERENT)
    return Verdict(test, HOLDS, _held(test.relation, tally), None, seed, tally.undefined)


def _nowhere(tally: _Tally) -> str:
    """Why a claim was tried nowhere."""
    sizes = listed(tally.sizes)
    where = f"at none of {tally.draws:,} draws" + (f", sizes {sizes}," if sizes else "")
    if tally.undefined:
        return f"{where} are both sides finite numbers"
    return (
        f"{where} does its condition hold; write one that draws meet (`≥` in place of `=`), "
        f"or set sizes with --set"
    )


def _breaking(judged: Judged) -> list[int]:
    """Draws at which a claim seems to break, a few of them, the clearest first."""
    flat = np.where(judged.broken, judged.missed - judged.allowed, -np.inf)
    worst = flat.reshape(len(flat), -1).max(axis=1) if flat.size else np.empty(0)
    found = [int(member) for member in np.argsort(-worst) if worst[member] > -np.inf]
    return found[:3]


def exactly(
    experiment: Experiment, values: Mapping[str, Array], sizes: Mapping[str, int]
) -> tuple[tuple[int, ...], float, float] | None:
    """Where a claim breaks at one draw, with both sides; by the interpreter. None if it holds."""
    sides = experiment.exact_sides(values, sizes)
    judged = judge(experiment.test.relation, sides)
    if not judged.broken.any():
        return None
    flat = np.where(judged.broken, judged.missed - judged.allowed, -np.inf)
    place = np.unravel_index(int(np.argmax(flat)), flat.shape)
    left = np.broadcast_to(sides.left, flat.shape)[place]
    right = np.broadcast_to(sides.right, flat.shape)[place]
    return tuple(int(p) for p in place[1:]), float(left), float(right)


def _confirmed(experiment: Experiment, sizes: Mapping[str, int], seed: int) -> bool:
    """Whether the compiled sides are the interpreter's, at one draw of the smallest size."""
    if work(experiment.code, sizes) > MOST_CONFIRMED:
        return True
    values = experiment.draw(sizes, 1, np.random.default_rng([seed, 0]))
    fast = experiment.sides(values, sizes, 1)
    slow = experiment.exact_sides({n: v[0] for n, v in values.items()}, sizes)
    pairs = ((fast.left, slow.left), (fast.right, slow.right))
    return all(np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True) for a, b in pairs)


def _held(relation: str, tally: _Tally) -> str:
    if relation in ("=", "≈"):
        near = f"worst {tally.missed:.1g} of {tally.allowed:.1g} allowed"
        near = near if tally.missed else "equal but for rounding"
    elif relation == "≠":
        near = f"never nearer than {-tally.missed:.2g}"
    else:
        near = f"least margin {max(0.0, -tally.missed):.2g}"
        if relation in ("<", ">") and not tally.missed:
            near = "least margin within rounding"
    tried = listed(tally.sizes)
    count = f"{tally.draws:,} draw{'' if tally.draws == 1 else 's'}"
    if tally.undefined:
        count += f" (at {tally.undefined:,} of them a side is not a number somewhere)"
    return f"{near}, {count}" + (f", sizes {tried}" if tried else "")


def _refuted(
    experiment: Experiment, values: Mapping[str, Array], sizes: Mapping[str, int], seed: int
) -> Verdict:
    found = exactly(experiment, values, sizes)
    assert found is not None  # `shrink` keeps only what breaks the claim
    place, left, right = found
    test = experiment.test
    at = experiment.places(place, sizes)
    gap = number(abs(left - right))
    broken = Counterexample(
        *apart(left, right),
        gap,
        at,
        {n: v for n, v in sizes.items() if n in experiment.code.sizes},
        {name: shown(array, experiment.labels_of(name)) for name, array in values.items()},
        experiment.labels(at),
    )
    text = f"{broken.left} {is_not(test)} {broken.right} (they differ by {gap})"
    return Verdict(test, REFUTED, text, broken, seed)
