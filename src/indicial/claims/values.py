"""Claims about values: they should hold at every draw, at every size, at every index.

    claim α[n] ≥ 0       200 draws over all corner sizes; the least margin is told
    claim α[n] ≤ 1/N     does not hold: the draw that breaks it, made small

A claim is tried on compiled draws; what breaks it there counts only if the interpreter agrees.

A draw that breaks a claim → a smaller one: first the sizes, then zeros and round numbers.

T = 7, x = [0.31, -1.2, …]   →   T = 1, x = [1]

Only what the interpreter finds broken is kept, and only values that could be drawn: rows stay
orthonormal, what is uniform stays between its ends.

The sizes that a claim is tried at: 1, 2, 3, all different, and each alone small or large.

>>> corners(code, 300_000)                  # sizes T and J, both open
[{"T": 1, "J": 1}, {"T": 2, "J": 2}, {"T": 1, "J": 3}, {"T": 3, "J": 3}, {"T": 4, "J": 5}, …]
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from indicial.claims.experiment import (
    HOLDS,
    REFUTED,
    UNTRIED,
    Counterexample,
    Experiment,
    Sides,
    Verdict,
    apart,
    is_not,
    listed,
    number,
    shown,
)
from indicial.claims.running import OPEN, Array, TooSlow, Truths
from indicial.program.ir import Code
from indicial.program.meaning.arrays import tie
from indicial.program.meaning.sample import extent_value, least_sizes, work
from indicial.program.messages import IndicialError
from indicial.program.names.outline import NORMAL

Draw = dict[str, Array]

TRIES = 64
"""Draws at each smaller size."""
SIMPLE = (0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5)
MOST_SECONDS = 2.0
"""A counterexample need not be the smallest there is."""


def shrink(
    experiment: Experiment, values: Mapping[str, Array], sizes: Mapping[str, int], seed: int
) -> tuple[Draw, dict[str, int]]:
    """A small draw and its sizes, at which the claim still breaks."""
    end = time.thread_time() + MOST_SECONDS
    draw, least = _smaller_sizes(experiment, dict(values), dict(sizes), seed, end)
    return _rounder(experiment, draw, least, end), least


def _smaller_sizes(
    experiment: Experiment, draw: Draw, sizes: dict[str, int], seed: int, end: float
) -> tuple[Draw, dict[str, int]]:
    ties = tie(experiment.code)
    open_ = [n for n, value in experiment.code.sizes.items() if value is None and n not in ties]
    for name in sorted((n for n in open_ if n in sizes), key=lambda n: -sizes[n]):
        for value in range(experiment.least.get(name, 1), sizes[name]):
            smaller = {**sizes, name: value}
            smaller |= {t: value for t, letter in ties.items() if letter == name and t in sizes}
            if any(smaller[n] < least for n, least in experiment.least.items() if n in smaller):
                continue
            found = _broken_draw(experiment, smaller, seed)
            if found is not None:
                draw, sizes = found, smaller
                break
            if time.thread_time() > end:
                return draw, sizes
    return draw, sizes


def _broken_draw(experiment: Experiment, sizes: Mapping[str, int], seed: int) -> Draw | None:
    """A draw at these sizes that breaks the claim, if one of some does."""
    try:
        values = experiment.draw(sizes, TRIES, np.random.default_rng([seed, *sizes.values()]))
        broken = judge(experiment.test.relation, experiment.sides(values, sizes, TRIES)).broken
        for member in np.flatnonzero(broken.reshape(TRIES, -1).any(axis=1))[:2]:
            one = {name: array[member] for name, array in values.items()}
            if exactly(experiment, one, sizes) is not None:
                return one
    except (IndicialError, ValueError, np.linalg.LinAlgError):
        return None  # no such sizes: rows that cannot be orthonormal, an element that is not there
    return None


def _rounder(experiment: Experiment, draw: Draw, sizes: Mapping[str, int], end: float) -> Draw:
    """Zeros and round numbers, as many as the claim allows and still breaks."""
    for name in [name for name in draw if name not in experiment.world.held]:
        kind = experiment.world.kinds.get(name, OPEN)
        low, high = _ends(experiment, name)
        for simpler in _simpler(kind, draw[name], low < high):
            if low < high and not _between(low, high, simpler):
                continue
            tried = {**draw, name: simpler}
            if exactly(experiment, tried, sizes) is not None:
                draw = tried
                break
        for place in np.ndindex(*draw[name].shape) if low < high else ():
            if time.thread_time() > end:
                return draw
            draw = _rounder_element(experiment, draw, sizes, name, place)
    return draw


def _rounder_element(
    experiment: Experiment, draw: Draw, sizes: Mapping[str, int], name: str, place: tuple[int, ...]
) -> Draw:
    value = float(draw[name][place])
    rounded = (round(value), round(value, 1), round(value, 2), float(f"{value:.4g}"))
    for simpler in dict.fromkeys((*SIMPLE, *rounded)):  # the last is what `shown` prints
        if simpler == value:
            return draw
        if not _between(*_ends(experiment, name), simpler):
            continue
        changed = np.array(draw[name])
        changed[place] = simpler
        tried = {**draw, name: changed}
        if exactly(experiment, tried, sizes) is not None:
            return tried
    return draw


def _ends(experiment: Experiment, name: str) -> tuple[float, float]:
    """Between which numbers each element could have been drawn; (0, 0) if not any in between."""
    if experiment.world.kinds.get(name, OPEN) in (OPEN, "normal", *NORMAL):
        return -math.inf, math.inf
    return experiment.world.bounds.get(name, (0.0, 0.0))


def _between(low: float, high: float, values: Array | float) -> bool:
    return bool(np.all((low <= np.asarray(values)) & (np.asarray(values) <= high)))


def _simpler(kind: str, values: Array, numbers: bool) -> Iterator[Array]:
    """The whole array made simple; `numbers` says that its elements may be any."""
    if kind == "orthonormal":
        yield np.broadcast_to(np.eye(*values.shape[-2:]), values.shape).copy()
    elif kind == "permutation":
        yield np.broadcast_to(np.arange(values.shape[-1], dtype=float), values.shape).copy()
        yield np.broadcast_to(np.arange(values.shape[-1], dtype=float)[::-1], values.shape).copy()
    elif kind == "tokens":
        yield np.zeros_like(values)
    elif numbers:
        yield np.zeros_like(values)
        yield np.ones_like(values)
        yield np.round(values)
        yield np.round(values, 1)


LARGE = 32
"""What one size is when it alone is large."""
MOST_ALONE = 6
"""Of more sizes than this not each is tried alone."""
MOST_WORK = 2_000_000
"""Nothing is tried at which a single draw computes more numbers than this."""


def corners(code: Code, most_work: int, few: bool = False) -> list[dict[str, int]]:
    """The sizes to try, small ones first; a size with a value keeps it.

    `few` leaves out what is unlikely to tell more, for claims that take many draws at each. Sizes
    at which a draw computes more numbers than `most_work` are left out, if there are others.
    """
    fixed = {name: value for name, value in code.sizes.items() if value is not None}
    ties = {name: letter for name, letter in tie(code).items() if name not in fixed}
    least = least_sizes(code)
    open_ = [name for name in code.sizes if name not in fixed and name not in ties]
    found: dict[tuple[tuple[str, int], ...], dict[str, int]] = {}
    for values in _values(open_, few):
        sizes = fixed | {name: max(value, least.get(name, 1)) for name, value in values.items()}
        for name, letter in ties.items():
            sizes[name] = max(sizes[letter], least.get(name, 1))
        _widen(code, sizes, set(open_) | set(ties))
        if work(code, sizes) > (most_work if found else MOST_WORK):
            continue
        found.setdefault(tuple(sizes.items()), sizes)
    if not found:
        raise IndicialError(
            "one draw computes more than two million numbers at these sizes; set smaller ones with "
            "--set"
        )
    _require_rows_fit(code, found.values())
    return sorted(found.values(), key=lambda sizes: work(code, sizes))


def _values(names: list[str], few: bool) -> Iterator[dict[str, int]]:
    yield dict.fromkeys(names, 1)
    yield dict.fromkeys(names, 2)
    yield {name: 4 + number % 4 for number, name in enumerate(names)}
    for name in names[:MOST_ALONE]:
        yield {**dict.fromkeys(names, 2), name: LARGE}
    if not few:
        yield dict.fromkeys(names, 3)
        yield {name: 7 - number % 4 for number, name in enumerate(names)}
        for name in names[:MOST_ALONE]:
            yield {**dict.fromkeys(names, 3), name: 1}


def _orthonormal(code: Code, sizes: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """The tensors with orthonormal rows: how many rows, and how long they are."""
    for draw in code.draws:
        if draw.distribution == "orthonormal":
            extents = [extent_value(a.extent, sizes) for a in code.tensors[draw.tensor].axes]
            rows, length = (1, 1, *extents)[-2:]
            yield draw.tensor, rows, length


def _widen(code: Code, sizes: dict[str, int], open_: set[str]) -> None:
    """Makes room for orthonormal rows: there are no more of them than they are long."""
    for tensor, rows, length in _orthonormal(code, dict(sizes)):
        name = code.tensors[tensor].axes[-1].extent.name if code.tensors[tensor].axes else None
        if rows > length and name in open_:
            sizes[name] = rows


def _require_rows_fit(code: Code, found: Iterable[Mapping[str, int]]) -> None:
    for sizes in found:
        for tensor, rows, length in _orthonormal(code, sizes):
            if rows > length:
                raise IndicialError(
                    f"{tensor} has {rows} rows of length {length}, and no more than {length} of "
                    f"these can be orthonormal"
                )


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
