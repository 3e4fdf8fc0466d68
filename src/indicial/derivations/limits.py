r"""Steps that hold only in a limit: `≈`, `≫`, `\\lim` and ∞, tried along a sequence.

    exp(β²)/(exp(β²) + 2) ≈ 1        holds as β grows
    exp(x_3^⊤ Q x_1) ≫ exp(x_1^⊤ Q x_1)     the same, if the vectors are orthogonal and of length β
    \\lim_{ε → 0} c = v_b              ε goes to 0, and whatever else has to grow grows

What grows takes the values of `GROWTH`, what vanishes their inverses squared. “Much larger” is more than ten times as
large at the end, and more and more so. Nothing is refuted here: a step that is not found to hold may hold elsewhere.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from indicial.derivations.arithmetic import Misfit, Unread, Value
from indicial.derivations.draws import NUMBER, ORTHONORMAL, Budget, Condition, Draw
from indicial.derivations.scope import HOLDS, NOT_FOUND, UNTRIED, Finding, Scope, Step
from indicial.derivations.trying import VECTORS, Way, apart, both_sides, plans, readings
from indicial.derivations.values import Open
from indicial.notation.reasoning import Limit
from indicial.notation.syntax import Number

GROWTH = (3.0, 6.0, 12.0, 24.0)
MUCH = 10.0
NEAR_ENOUGH = 0.01
SMALL = "εδηhασΔλ"
"""Letters that vanish; the others grow."""
LENGTH = "their length"
"""What grows where vectors are orthogonal and no letter says how long they are."""
_SMALLER = ("≪", "⋘")


@dataclass(frozen=True)
class _Course:
    """What changes along the sequence: a name that grows or vanishes, or nothing but the limit itself."""

    name: str = ""
    grows: bool = True
    condition: Condition | None = None

    def __str__(self) -> str:
        values = ", ".join(f"{g:g}" for g in GROWTH)
        verb = f"grows ({values})" if self.grows else "vanishes"
        if self.name == LENGTH:
            return f"as their length {verb}, if the vectors are orthogonal"
        parts = [f"as {self.name} {verb}"] if self.name else []
        return ", ".join([*parts, *([f"if {self.condition}"] if self.condition else [])])


def in_the_limit(step: Step) -> bool:
    """Whether a step is one of these: by its sign, or since its chain has a limit or ∞."""
    return step.relation != "=" or any(
        isinstance(n, Limit) or n == Number("∞")
        for side in step.equation.sides
        for n in side.walk()
    )


def try_limit(step: Step, scope: Scope, budget: Budget) -> Finding:
    """Tries a step along sequences; UNTRIED if it is not found to hold."""
    reasons: list[str] = []
    found = [way for plan in plans(step, scope) for way in readings(plan, reasons, budget, slack=1)]
    numbers: set[str] = set()
    for way in found:
        for course in _courses(way):
            if _holds(way, step.relation, course, budget):
                return Finding(step, HOLDS, "; ".join(filter(None, (str(course), _much(step)))))
        numbers |= {n for n, kind in way.kinds.items() if kind == NUMBER}
    if not found:
        return Finding(step, UNTRIED, reasons[0] if reasons else "no reading of its names fits")
    names = ", ".join(sorted(n for n in numbers if not n.endswith("()")))
    return Finding(step, UNTRIED, f"{NOT_FOUND}, whichever of {names} grows or vanishes" if "," in names
                   else f"{NOT_FOUND}, whether {names} grows or vanishes"
                   if names else f"{NOT_FOUND}, and nothing in it grows or vanishes")  # fmt: skip


def _much(step: Step) -> str:
    if step.relation in ("=", "≈"):
        return f"“≈” was taken as within {NEAR_ENOUGH:g}" if step.relation == "≈" else ""
    return f"“much larger” was taken as more than {MUCH:g} times, and growing"


def _courses(way: Way) -> Iterator[_Course]:
    names = [
        n
        for n, kind in way.kinds.items()
        if kind == NUMBER and not n.endswith("()") and way.scope.counts.get(n, {0}) == {0}
    ]
    conditions: list[Condition | None] = [None]
    if any(kind == "column" for kind in way.kinds.values()):
        conditions += [Condition(ORTHONORMAL), *(Condition(ORTHONORMAL, length=n) for n in names)]
        conditions.append(Condition(ORTHONORMAL, length=LENGTH))
    for condition in conditions:
        if condition is not None and condition.length == LENGTH:
            yield _Course(LENGTH, True, condition)
            continue
        yield _Course(condition=condition)
        for name in names:
            yield _Course(name, name[:1] not in SMALL, condition)


def _holds(way: Way, relation: str, course: _Course, budget: Budget) -> bool:
    pairs: list[tuple[Value, Value]] = []
    for growth in GROWTH:
        fixed = {course.name: growth if course.grows else growth**-2} if course.name else {}
        size = 3 if course.condition is None else VECTORS
        draw = Draw(
            size,
            21,
            course.condition,
            True,
            fixed,
            growth=growth,
            close=10 ** -(growth / 3 + 2),
            budget=budget,
        )
        try:
            left, right = both_sides(way, draw)
        except (Misfit, Unread, Open, OverflowError, ZeroDivisionError, np.linalg.LinAlgError):
            return False
        pairs.append((left, right))
    if relation in ("=", "≈"):
        return _approaches(pairs)
    numbers = [(a, b) for a, b in pairs if isinstance(a, float) and isinstance(b, float)]
    if len(numbers) < len(pairs):
        return False
    return _outgrows([(b, a) for a, b in numbers] if relation in _SMALLER else numbers)


def _approaches(pairs: list[tuple[Value, Value]]) -> bool:
    gaps = []
    for left, right in pairs:
        if np.shape(left) != np.shape(right) and np.ndim(left) and np.ndim(right):
            return False
        gaps.append(apart(np.asarray(left, float), np.asarray(right, float))[0])
    if not all(map(math.isfinite, gaps)):
        return False
    return gaps[-1] < 1e-6 or (gaps[-1] < NEAR_ENOUGH and gaps[-1] < gaps[0] / 2)


def _outgrows(pairs: list[tuple[float, float]]) -> bool:
    ratios = [a / abs(b) if abs(b) > 1e-9 else math.inf if a > 0 else -math.inf for a, b in pairs]
    if any(math.isnan(r) for r in ratios) or ratios[-1] <= MUCH or min(a for a, _ in pairs) <= 0:
        return False
    rising = all(a <= b for a, b in itertools.pairwise(ratios))
    return rising and (ratios[0] < ratios[-1] or pairs[0][0] < pairs[-1][0])
