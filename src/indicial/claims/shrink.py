"""A draw that breaks a claim → a smaller one: first the sizes, then zeros and round numbers.

T = 7, x = [0.31, -1.2, …]   →   T = 1, x = [1]

Only what the interpreter finds broken is kept, and only values that could be drawn: rows stay
orthonormal, what is uniform stays between its ends.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from indicial.claims.experiment import Experiment
from indicial.claims.leaves import OPEN
from indicial.claims.values import exactly, judge
from indicial.program.explain.facts import tie
from indicial.program.messages import IndicialError
from indicial.program.names.outline import NORMAL

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]
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
    import numpy as np

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
    import numpy as np

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
    experiment: Experiment,
    draw: Draw,
    sizes: Mapping[str, int],
    name: str,
    place: tuple[int, ...],
) -> Draw:
    import numpy as np

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
    import numpy as np

    return bool(np.all((low <= np.asarray(values)) & (np.asarray(values) <= high)))


def _simpler(kind: str, values: Array, numbers: bool) -> Iterator[Array]:
    """The whole array made simple; `numbers` says that its elements may be any."""
    import numpy as np

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
