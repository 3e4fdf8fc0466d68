"""Numbers, columns, rows and matrices: what can be done with them, and what does not fit.

>>> times(np.ones((1, 3)), np.ones((3, 1))), total([1.0, np.ones((2, 1))]).shape
(3.0, (2, 1))

A product of one element is a number. What does not fit is a `Misfit`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from indicial.notation.syntax import Expression, Number, inner
from indicial.program.names import letters

Array = np.ndarray[Any, np.dtype[np.float64]]
Value = float | Array
"""A number, or an array with two axes: a column, a row, a matrix."""

ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "ln": np.log, "log": np.log, "tanh": np.tanh, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos,
    "σ": lambda x: 1 / (1 + np.exp(-x)), "ReLU": lambda x: np.maximum(x, 0), "sgn": np.sign, "sign": np.sign,
    "softplus": lambda x: np.log1p(np.exp(x)), "abs": np.abs,
}  # fmt: skip
STEP = 1e-3
"""Of the differences; their error is of the fourth order in it."""


class Misfit(Exception):
    """What stands side by side does not fit, as the names are read."""


class Unread(Exception):
    """What has no value here, and why."""


COMPARE: dict[str, Callable[[int, int], bool]] = {
    "≠": lambda a, b: a != b, "<": lambda a, b: a < b, "≤": lambda a, b: a <= b,
    ">": lambda a, b: a > b, "≥": lambda a, b: a >= b,
}  # fmt: skip


def nudged(value: Value, number: int, by: float) -> Value:
    """The value with one of its elements moved."""
    if isinstance(value, float):
        return value + by
    moved = value.copy()
    moved.ravel()[number] += by
    return moved


def flattened(value: Value) -> Array:
    return np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()


def shifted(item: Expression) -> tuple[int, str | None]:
    """`t + 1` → 1 and t; `0` → 0 and no letter."""
    item = inner(item)
    if isinstance(item, Number) and item.text.isdigit():
        return int(item.text), None
    found = letters.shifted(item)
    if found is None:
        raise Unread(f"“{item.span.text}” is not an index with a value here")
    return found[1], found[0].base


def element(whole: Value, at: tuple[int, ...], base: int) -> Value:
    if not at:
        return whole
    if isinstance(whole, float):
        raise Misfit("a number has no elements")
    places = [i - base for i in at]
    if any(not 0 <= p < max(whole.shape) for p in places):
        raise Unread("an element outside its array")
    if 1 in whole.shape and len(at) == 1:
        return float(whole.ravel()[places[0]])
    if 1 not in whole.shape and len(at) == 2:
        return float(whole[places[0], places[1]])
    if 1 not in whole.shape and len(at) == 1:
        return np.asarray(whole[places[0]][:, None])
    raise Misfit("too many indices")


def patched(whole: Value, at: tuple[int, ...], element: Value, base: int) -> Value:
    if isinstance(whole, float) or not isinstance(element, float):
        raise Misfit("an element of a number")
    places = [i - base for i in at]
    made = whole.copy()
    if 1 in made.shape and len(places) == 1:
        made.ravel()[places[0]] = element
    elif len(places) == 2:
        made[places[0], places[1]] = element
    else:
        raise Misfit("too many indices")
    return made


def total(values: list[Value]) -> Value:
    """A sum; a number may be added to every element, and a row to every row."""
    shapes = {v.shape for v in values if not isinstance(v, float)}
    if len(shapes) > 1:
        rows = {s for s in shapes if s[0] == 1}
        if len(shapes) != 2 or len(rows) != 1 or any(s[1] == 1 for s in shapes):
            raise Misfit("a sum of arrays that differ")
    made: Value = values[0]
    for value in values[1:]:
        made = made + value
    return made


def hadamard(values: list[Value]) -> Value:
    shapes = {v.shape for v in values if not isinstance(v, float)}
    if len(shapes) > 1:
        raise Misfit("⊙ of arrays that differ")
    made: Value = values[0]
    for value in values[1:]:
        made = made * value
    return made


def stacked(values: list[Value]) -> Array:
    """`[x, p]`: columns one above the other, or rows side by side."""
    arrays = [np.full((1, 1), v) if isinstance(v, float) else v for v in values]
    for axis in (0, 1):
        if len({array.shape[1 - axis] for array in arrays}) == 1:
            return np.concatenate(arrays, axis)
    raise Misfit("a list of arrays that differ")


def times(a: Value, b: Value) -> Value:
    if isinstance(a, float) or isinstance(b, float):
        return a * b
    if a.shape[1] != b.shape[0]:
        raise Misfit("a product that does not fit")
    made = a @ b
    return float(made[0, 0]) if made.shape == (1, 1) else made


def chained(values: list[Value]) -> Value:
    """A product of several factors, from the left, or in another order if only that fits: `A x^⊤ y`."""
    try:
        made = values[0]
        for value in values[1:]:
            made = times(made, value)
        return made
    except Misfit:
        for split in range(1, len(values) - 1):
            try:
                return times(chained(values[:split]), chained(values[split:]))
            except Misfit:
                continue
        raise


def inner_product(a: Value, b: Value) -> float:
    if isinstance(a, float) or isinstance(b, float) or a.shape != b.shape:
        raise Misfit("an inner product of arrays that differ")
    return float((a * b).sum())


def quotient(a: Value, b: Value) -> Value:
    if not isinstance(b, float):
        if not isinstance(a, float) and a.shape != b.shape:
            raise Misfit("a quotient of arrays that differ")
        return np.asarray(a / b)
    return a / b if b else math.nan * a


def exponential(value: Value) -> Value:
    return mapped(np.exp, value)


def mapped(function: Callable[[Any], Any], value: Value) -> Value:
    with np.errstate(all="ignore"):
        return (
            float(function(np.float64(value)))
            if isinstance(value, float)
            else np.asarray(function(value))
        )


def slope_of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def slope(x: Any) -> Any:
        a, b, c, d = (function(x + k * STEP) for k in (-2.0, -1.0, 1.0, 2.0))
        return (a - 8 * b + 8 * c - d) / (12 * STEP)

    return slope


def softmax(value: Value) -> Value:
    if isinstance(value, float):
        raise Misfit("a softmax of a number")
    axis = None if 1 in value.shape else 1
    weights = np.exp(value - value.max())
    return np.asarray(weights / weights.sum(axis=axis, keepdims=True))


def built_in(key: str, values: list[Value]) -> Value:
    if key in ("max", "min"):
        pick = np.maximum if key == "max" else np.minimum
        total = values[0]
        for value in values[1:]:
            total = pick(total, value)
        return total if isinstance(total, np.ndarray) and total.ndim else float(total)
    (only,) = values
    if isinstance(only, float):
        raise Misfit(f"{key} of a number")
    if key == "tr":
        return float(np.trace(only))
    return np.diag(only.ravel()) if 1 in only.shape else np.diag(np.diag(only))
