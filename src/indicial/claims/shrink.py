"""A draw that breaks a claim → a smaller one: first the sizes, then zeros and round numbers.

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

import numpy as np

from indicial.claims.experiment import Experiment
from indicial.claims.running import OPEN, Array
from indicial.claims.values import exactly, judge
from indicial.program.explain.facts import tie
from indicial.program.ir import Code
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
    for name in list(draw):
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
