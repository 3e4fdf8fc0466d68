"""What each function of the IR means on numbers, and how many operations it counts as.

>>> FUNCTIONS["σ"](0.0), FUNCTIONS["+"](1.0, 2.0, 3.0), FUNCTIONS["≤"](1.0, 2.0)
(0.5, 6.0, 1.0)
>>> FUNCTIONS["exp"](1000.0), FUNCTIONS["ln"](0.0), FUNCTIONS["/"](1.0, 0.0)
(inf, -inf, inf)

All of it is float64 as IEEE and numpy have it: an overflow is inf and a senseless operation is nan,
never an exception, so that one bad element does not hide the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from indicial.program.ir import COMPARISONS, LOGIC

_INF = math.inf
_NAN = math.nan


def _add(*values: float) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def _multiply(*values: float) -> float:
    total = 1.0
    for value in values:
        total *= value
    return total


def _divide(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return _NAN
    return math.copysign(_INF, a) * math.copysign(1.0, b)


def _power(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        return -_INF if a < 0 and b % 2 == 1 else _INF
    except ValueError:  # 0 to a negative power, or a root of a negative number
        if a == 0:
            return math.copysign(_INF, a) if b % 2 == 1 else _INF
        return _NAN


def _exp(a: float) -> float:
    try:
        return math.exp(a)
    except OverflowError:
        return _INF


def _ln(a: float) -> float:
    if a > 0:
        return math.log(a)
    return -_INF if a == 0 else _NAN


def _sqrt(a: float) -> float:
    return math.sqrt(a) if a >= 0 else _NAN


def _sigmoid(a: float) -> float:
    # Each side uses the exponential that cannot overflow.
    if a >= 0:
        return 1.0 / (1.0 + math.exp(-a))
    e = math.exp(a)  # nan arrives here too, and stays nan
    return e / (1.0 + e)


def _softplus(a: float) -> float:
    # ln(1 + exp a) = max(a, 0) + ln(1 + exp(-|a|))
    return a if math.isnan(a) else max(a, 0.0) + math.log1p(math.exp(-abs(a)))


def _relu(a: float) -> float:
    return a if a > 0 or math.isnan(a) else 0.0


def _gelu(a: float) -> float:
    # a/2 · erfc(-a/√2) keeps the small tail that 1 + erf loses, but -inf · 0 has to be 0.
    return 0.0 if a == -_INF else 0.5 * a * math.erfc(-a / math.sqrt(2.0))


def _sign(a: float) -> float:
    return a if math.isnan(a) else float((a > 0) - (a < 0))


def _cos(a: float) -> float:
    return _NAN if math.isinf(a) else math.cos(a)


def _sin(a: float) -> float:
    return _NAN if math.isinf(a) else math.sin(a)


def _floor(a: float) -> float:
    return float(math.floor(a)) if math.isfinite(a) else a


def _minimum(*values: float) -> float:
    return _NAN if any(math.isnan(v) for v in values) else min(values, default=_INF)


def _maximum(*values: float) -> float:
    return _NAN if any(math.isnan(v) for v in values) else max(values, default=-_INF)


def _log_sum_exp(*values: float) -> float:
    # ln Σ exp x = m + ln Σ exp(x - m), with m the largest: none of the exponentials overflows.
    top = _maximum(*values)
    if not math.isfinite(top):
        return top
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


FUNCTIONS: dict[str, Callable[..., float]] = {
    "+": _add,
    "*": _multiply,
    "/": _divide,
    "^": _power,
    "neg": lambda a: -a,
    "=": lambda a, b: float(a == b),
    "≠": lambda a, b: float(a != b),
    "<": lambda a, b: float(a < b),
    "≤": lambda a, b: float(a <= b),
    ">": lambda a, b: float(a > b),
    "≥": lambda a, b: float(a >= b),
    "and": lambda *values: float(all(values)),
    "tanh": math.tanh,
    "σ": _sigmoid,
    "ReLU": _relu,
    "GELU": _gelu,
    "exp": _exp,
    "ln": _ln,
    "sqrt": _sqrt,
    "abs": abs,
    "sign": _sign,
    "cos": _cos,
    "sin": _sin,
    "min": _minimum,
    "max": _maximum,
    "softplus": _softplus,
    "floor": _floor,
    "erf": math.erf,
    "stop": lambda a: a,
    "lse": _log_sum_exp,
}

_VARIADIC = ("+", "*", "min", "max", "lse", *LOGIC)
_BINARY = ("/", "^", *COMPARISONS)


def takes(function: str, count: int) -> bool:
    """Whether the function can have this many arguments: `takes("/", 3)` → False."""
    if function in _VARIADIC:
        return count >= 1
    return count == (2 if function in _BINARY else 1)


def operations(function: str, count: int) -> int:
    """What one application counts as: `operations("+", 3)` → 2, `operations("tanh", 1)` → 1.

    A minus sign is part of the sum or product that it stands in, a comparison decides what is
    computed without computing it, and `stop` is about gradients only: all count 0. The logarithm of
    a sum of exponentials counts as what it is.
    """
    if function == "lse":
        return 2 * count
    if function in COMPARISONS or function in LOGIC or function in ("neg", "stop"):
        return 0
    return count - 1 if function in _VARIADIC else 1


SOFTMAX_OPERATIONS = 3
"""For each element, besides the body: an exponential, an addition, a division."""


def reduce_operations(operator: str, elements: int) -> int:
    """One for each element, so that a contraction is a multiplication and an addition an element.

    >>> reduce_operations("sum", 5), reduce_operations("mean", 5)
    (5, 6)
    """
    if operator == "lse":
        return 2 * elements + 1
    return elements + (operator == "mean")


def combine(operator: str, items: Iterable[tuple[int, float]]) -> float:
    """A reduction of (index value, value of the body): `combine("argmax", [(3, 1.), (4, 1.)])` → 3.

    Nothing at all has the sum 0, the product 1, the maximum -inf and the minimum inf; it has no
    mean and no place of its maximum: these are nan. A place is the first of several, and where a
    maximum is nan, it is the place of a nan.
    """
    pairs = list(items)
    values = [value for _, value in pairs]
    if operator == "mean":
        return _divide(_add(*values), float(len(values)))
    if operator in ("argmax", "argmin"):
        extreme = FUNCTIONS[operator.removeprefix("arg")](*values)
        same = math.isnan if math.isnan(extreme) else extreme.__eq__
        return next((float(index) for index, value in pairs if same(value)), _NAN)
    return FUNCTIONS[{"sum": "+", "prod": "*"}.get(operator, operator)](*values)
