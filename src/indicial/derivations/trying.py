r"""A step of a derivation → whether it holds on drawn values, in every way in which it can be read.

    (A B)^\top x = A^\top B^\top x            refuted, with the draw that refutes it
    \partial (x^\top A x)/\partial x = 2 A x  holds if matrices are symmetric
    \partial L/\partial z = p - y             not tried: nothing here says what L is

A step is refuted only if it fails however its names are read, in either layout of derivatives, with and
without the equations around it, and under every condition that a text may state in words.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from indicial.derivations.arithmetic import Array, Misfit, Unread, Value
from indicial.derivations.draws import (
    ALONE,
    COLUMN,
    FIXED,
    FROM_ONE,
    MATRIX,
    NUMBER,
    ORTHONORMAL,
    ROW,
    Budget,
    Condition,
    Draw,
    Exhausted,
    conditions,
)
from indicial.derivations.scope import CONDITIONAL, HOLDS, REFUTED, UNTRIED, Finding, Scope, Step
from indicial.derivations.values import DENOMINATOR, LABELS, MIXED, NUMERATOR, Evaluation, Open
from indicial.notation.slopes import FIRST, WHOLE, derived
from indicial.notation.syntax import Derivative, Expression, Name, Number
from indicial.program.names.letters import is_capital

NEAR, FAR = 1e-6, 1e-3
"""Two sides that differ by less, relative to their size, are the same; by more, they are not."""
MOST = 150
"""So many evaluations are spent on finding the readings of a step."""
MOST_WAYS = 24
"""A step that can be read in more ways is not refuted."""
MOST_WORK = 150_000
"""So many parts of expressions are computed for a step."""
VECTORS = 6
"""So many vectors can be orthogonal to each other."""
MOST_POINTS = 9
"""At so many values of its free indices a step is tried."""
TRIALS = ((2, 11, True), (3, 12, False), (2, 13, False))
"""Sizes, seeds, and whether all numbers are positive."""


@dataclass(frozen=True)
class Way:
    """One way in which a step can be read."""

    scope: Scope
    sides: tuple[Expression, Expression]
    layout: str
    rules: bool
    kinds: Mapping[str, str]
    letters: tuple[str, ...]
    cost: int
    partial: bool = False
    """A derivative moves its variable, and nothing else that depends on it."""


@dataclass
class _Outcome:
    """Both sides at one draw."""

    gap: float
    left_names: set[str]
    right_names: set[str]
    used: set[str]
    example: tuple[float, float, str]
    draw: Draw


Try = Callable[[Step, Scope, Budget], Finding]


def try_step(step: Step, scopes: list[Scope], how: Try | None = None) -> Finding:
    """Tries a step with what each of several scopes says of its names."""
    found = [_try_in(step, scope, how or _tried) for scope in scopes[:1]]
    for scope in scopes[1:]:
        if found[-1].status in (HOLDS, CONDITIONAL):
            break
        found.append(_try_in(step, scope, how or _tried))
    # The widest scope decides: what it says besides may be what the step needs, or may be ambiguous.
    best = [f for f in found if f.status in (HOLDS, CONDITIONAL)]
    return best[0] if best else found[-1]


def _try_in(step: Step, scope: Scope, how: Try) -> Finding:
    try:
        with np.errstate(all="ignore"):  # what has no value on a draw is seen in its result
            return how(step, scope, Budget(MOST_WORK))
    except Exhausted:
        return Finding(step, UNTRIED, "it takes too long to try")
    except Exception:
        # Whatever an author writes, the other steps of the document are tried.
        return Finding(step, UNTRIED, "it is not understood")


def _tried(step: Step, scope: Scope, budget: Budget) -> Finding:
    reasons: list[str] = []
    ways: list[Way] = []
    failed: list[tuple[Way, _Outcome]] = []
    for plan in plans(step, scope):
        found = readings(plan, reasons, budget)
        ways += found
        for way in found:
            outcome = _on_draws(way, budget)
            if outcome is None:
                continue
            if outcome.gap <= NEAR:
                return Finding(step, HOLDS)
            failed.append((way, outcome))
    if not ways:
        return Finding(step, UNTRIED, reasons[0] if reasons else "no reading of its names fits")
    if not failed:
        return Finding(step, UNTRIED, "it has no value on the draws that were tried")
    if any(not (outcome.left_names and outcome.right_names) for _, outcome in failed):
        return Finding(step, UNTRIED, "it states a condition")
    if any(scope.ambiguous(key) for _, outcome in failed for key in outcome.used):
        return Finding(step, UNTRIED, "a name that it uses is defined twice")
    if len(ways) > MOST_WAYS:
        return Finding(step, UNTRIED, "its names can be read in too many ways")
    first = {(w.sides, tuple(w.kinds.items())): (w, o) for w, o in reversed(failed)}
    distinct = list(first.values())  # a condition is looked for in one layout only
    computed = [(w, o) for w, o in distinct if w.rules and o.used]
    distinct = computed or distinct
    rare = ""
    for way, outcome in distinct:
        condition = _condition(way, outcome, budget)
        if condition is not None and condition.rare and not condition.stated(_text(step)):
            rare = str(condition)
        elif condition is not None:
            return Finding(step, CONDITIONAL, f"if {condition}{condition.as_said(_text(step))}")
    open_names = {n for way, o in distinct for n in _on_one_side(way, o, budget)}
    guesses = sorted(n for n in open_names if n in scope.depends and not scope.rules.get(n))
    if guesses:
        return Finding(step, UNTRIED, f"nothing here says what {', '.join(guesses)} is")
    if guessed := _guessed(*distinct[0]):
        return Finding(step, UNTRIED, f"nothing here says what {' and '.join(guessed)} depends on")
    if open_names:
        names = ", ".join(sorted(n.removesuffix("()") for n in open_names))
        verb = "stand" if "," in names else "stands"
        return Finding(step, UNTRIED, f"{names} {verb} on one side only")
    way, outcome = min(distinct, key=lambda f: _oddity(f[0]))
    if loose := _free_on_one_side(way):
        # `-y_i log p_i` for its sum, as Einstein writes it, or a slip: it cannot be told.
        verb = "stand" if len(loose) > 1 else "stands"
        return Finding(step, UNTRIED, f"{', '.join(loose)} {verb} on one side only")
    if outcome.gap < FAR:
        return Finding(step, UNTRIED, "the two sides are too near to tell them apart")
    if any(side.every(Derivative) for side in way.sides) and _holds_partly(ways, budget):
        return Finding(step, HOLDS)
    for slope, value in zip(way.sides, outcome.example[:2], strict=True):
        if isinstance(slope, Derivative) and abs(value) < NEAR:
            # The ŷ^{(i)} of a loss, where the text gives a ŷ: it depends on the weights nevertheless.
            return Finding(
                step, UNTRIED, "nothing here says how it depends on what it is derived by"
            )
    if _by_element(step):
        return Finding(step, UNTRIED, "it is written out element by element")
    if _UNIT.search(_before(step)) and COLUMN in way.kinds.values():
        return Finding(step, UNTRIED, "the text says that its vectors are of length 1")
    return _refuted(step, outcome, rare)


_UNIT = re.compile(
    r"\bunit[- ](?:norm|length|vector)|\bnormali[sz]ed\b|\b(?:length|norm) (?:1|one)\b",
    re.IGNORECASE,
)
"""What a sentence says of vectors that are computed, so that no draw can heed it."""


def _before(step: Step) -> str:
    """The sentence or two in front of a step."""
    start = step.equation.span.start
    return _text(step)[max(0, start - 200) : start]


def _by_element(step: Step) -> bool:
    """`∂L/∂F_{11} = ∂L/∂O_{11} X_{11} + …`: how far it goes is not said."""
    slopes = [n for side in derived(step.equation, WHOLE).sides for n in side.every(Derivative)]
    names = [n for slope in slopes for end in (slope.above, slope.below) for n in end.every(Name)]
    return any(sum(len(i.text) for i in n.sub if isinstance(i, Number)) > 1 for n in names)


def _holds_partly(ways: list[Way], budget: Budget) -> bool:
    """`∂x̂/∂μ = -1/σ`, where σ depends on μ as well: the other half may be known to vanish."""
    outcomes = (_on_draws(replace(way, partial=True), budget) for way in ways)
    return any(outcome is not None and outcome.gap <= NEAR for outcome in outcomes)


def _text(step: Step) -> str:
    return step.equation.span.source.text


def _condition(way: Way, outcome: _Outcome, budget: Budget) -> Condition | None:
    """A condition under which both sides are the same."""
    counts = way.scope.counts
    indexed = [k for k, kind in way.kinds.items() if kind == NUMBER and counts.get(k, set()) - {0}]
    extra = outcome.right_names - outcome.left_names
    for condition in conditions(way.kinds, indexed):
        if extra and condition.length not in extra:
            continue
        found = _on_draws(way, budget, condition)
        if found is not None and found.gap <= NEAR:
            return condition
    dropped = outcome.left_names - outcome.right_names
    if dropped and all(way.kinds.get(n) == NUMBER for n in dropped):
        for value in (0.0, 1.0):
            found = _on_draws(way, budget, fixed=dict.fromkeys(dropped, value))
            if found is not None and found.gap <= NEAR:
                return Condition(FIXED, " and ".join(f"{n} = {value:g}" for n in sorted(dropped)))
    return None


def _on_one_side(way: Way, outcome: _Outcome, budget: Budget) -> set[str]:
    """The names on which only one of the two sides depends; those that cancel are none of them."""
    found = outcome.left_names ^ outcome.right_names
    if not found:
        return found
    size, seed, positive = TRIALS[0]
    before = both_sides(way, Draw(size, seed, positive=positive, budget=budget))
    kept = found & way.scope.sizes
    for name in found - kept:
        again = Draw(size, seed, positive=positive, budget=budget, other=name)
        if any(not np.allclose(a, b) for a, b in zip(before, both_sides(way, again), strict=True)):
            kept.add(name)
    return kept


def _guessed(way: Way, outcome: _Outcome) -> list[str]:
    """What is differentiated and nowhere defined, so that nothing follows.

    It is several things, L and L_t, or L and h; or no equation says how it depends: `∂ŷ/∂z = ŷ (1 - ŷ)`.
    """
    slopes = [n for side in way.sides for n in side.every(Derivative)]
    read = [r for n in slopes if (r := way.scope.read(n.above)) is not None]
    keys = {(reference.key, len(reference.items)) for reference in read}
    guessed = {key for key in keys if not way.scope.rules.get(key[0])}
    if len(guessed) > 1 or not outcome.used:
        return sorted({key for key, _ in guessed})
    # A name between the two may depend on the one in whatever way: the σ of `∂L/∂μ` beside `∂σ/∂μ`.
    read_on_the_way = (outcome.left_names | outcome.right_names) - {key for key, _ in keys}
    return sorted(
        n for n in read_on_the_way & way.scope.depends.keys() if not way.scope.rules.get(n)
    )


def _free_on_one_side(way: Way) -> list[str]:
    """The free indices that one of the two sides does not have."""
    left, right = ({name.base for name in side.every(Name)} for side in way.sides)
    return [letter for letter in way.letters if (letter in left) != (letter in right)]


# ---------------------------------------------------------------------- ways to read a step


def plans(step: Step, scope: Scope) -> Iterator[Way]:
    """The layouts, the reaches of operators, with and without the equations around the step."""
    seen: list[tuple[Expression, ...]] = []
    for reach in (WHOLE, FIRST):
        equation = derived(step.equation, reach)
        sides = (equation.sides[step.number], equation.sides[step.right])
        if sides in seen:
            continue
        seen.append(sides)
        slopes = any(side.every(Derivative) for side in sides)
        for layout in (MIXED, DENOMINATOR, NUMERATOR) if slopes else (MIXED,):
            for rules in (True,) if slopes or step.relation != "=" else (True, False):
                yield Way(scope, sides, layout, rules, {}, (), 0)


def readings(plan: Way, reasons: list[str], budget: Budget, slack: int = 0) -> list[Way]:
    """The likeliest ways to read the names that fit."""
    found: list[Way] = []
    order = itertools.count()
    waiting = [(plan.cost, next(order), plan)]
    for _ in range(MOST):
        if not waiting or (found and waiting[0][0] > found[0].cost + slack):
            break
        way = heapq.heappop(waiting)[2]
        try:
            _outcome(
                way, Draw(3, 1, positive=True, budget=budget, growth=3.0, close=0.01), dry=True
            )
        except Open as question:
            for answered in _answered(way, question):
                heapq.heappush(waiting, (answered.cost, -next(order), answered))
        except Misfit:
            pass
        except Unread as error:
            if str(error) not in reasons:
                reasons.append(str(error))
        else:
            found.append(way)
    return found


def _answered(way: Way, question: Open) -> Iterator[Way]:
    if question.what == "letter":
        yield replace(way, letters=(*way.letters, question.key))
        return
    for kind, cost in candidates(way.scope, question.key):
        kinds = {**way.kinds, question.key: kind}
        yield replace(way, kinds=kinds, cost=way.cost + cost)


# ---------------------------------------------------------------------- values


def _on_draws(
    way: Way,
    budget: Budget,
    condition: Condition | None = None,
    fixed: Mapping[str, float] | None = None,
) -> _Outcome | None:
    """The draw at which the two sides are furthest apart; None if they have no value."""
    worst: _Outcome | None = None
    for size, seed, positive in TRIALS:
        if condition is not None and condition.what == ORTHONORMAL:
            size = VECTORS
        draw = Draw(size, seed, condition, positive, dict(fixed or {}), budget=budget)
        try:
            found = _outcome(way, draw)
        except (Misfit, Unread, Open, np.linalg.LinAlgError, OverflowError, ZeroDivisionError):
            continue
        if not np.isfinite(found.gap):
            continue
        if worst is None or found.gap > worst.gap:
            worst = found
        if worst.gap > FAR:
            return worst
    return worst


def both_sides(way: Way, draw: Draw) -> list[Value]:
    """Both sides at different values of the free indices."""
    env = {letter: way.scope.base + n % draw.size for n, letter in enumerate(way.letters)}
    return [
        Evaluation(way.scope, draw, way.kinds, way.layout, way.rules, way.partial).value(side, env)
        for side in way.sides
    ]


def _outcome(way: Way, draw: Draw, dry: bool = False) -> _Outcome:
    first, last = way.scope.base, way.scope.base + draw.size - 1
    if draw.condition is not None and draw.condition.what == FROM_ONE:
        first = 1
    ranges = [range(first, last + 1)] * len(way.letters)
    slopes = any(side.every(Derivative) for side in way.sides)
    names: tuple[set[str], set[str]] = (set(), set())
    used: set[str] = set()
    worst = 0.0
    example = (0.0, 0.0, "")
    for point in itertools.islice(itertools.product(*ranges), MOST_POINTS):
        env = dict(zip(way.letters, point, strict=True))
        values: list[Value] = []
        for side, read in zip(way.sides, names, strict=True):
            how = way.layout, way.rules, way.partial
            evaluation = Evaluation(way.scope, draw, way.kinds, *how, dry=dry)
            values.append(evaluation.value(side, env))
            read |= evaluation.leaves | evaluation.guessed
            used |= evaluation.used
        gap, shown = _gap(values[0], values[1], way.sides, slopes)
        if dry or not np.isfinite(gap):
            worst = gap
            break
        if gap > worst:
            at = ", ".join(f"{letter} = {value}" for letter, value in env.items())
            worst, example = gap, (shown[0], shown[1], ", ".join(filter(None, (at, shown[2]))))
    return _Outcome(worst, *names, used, example, draw)


def _gap(
    left: Value, right: Value, sides: tuple[Expression, Expression], slopes: bool
) -> tuple[float, tuple[float, float, str]]:
    """How far two values are apart, relative to their size, and where they are furthest apart."""
    for value, other, side in ((left, right, sides[1]), (right, left, sides[0])):
        if (
            not isinstance(value, float)
            and isinstance(other, float)
            and not isinstance(side, Number)
        ):
            raise Misfit("a number and an array")
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if a.ndim and b.ndim and a.shape != b.shape:
        if not slopes or a.shape != b.T.shape:
            raise Misfit("arrays that differ")
        b = b.T
    gap, shown = apart(a, b)
    if slopes and a.ndim and a.shape == b.T.shape and gap > NEAR:
        turned, shown_turned = apart(a, b.T)  # only the layout differs
        if turned <= NEAR:
            return turned, shown_turned
    return gap, shown


def apart(a: Array, b: Array) -> tuple[float, tuple[float, float, str]]:
    a, b = np.broadcast_arrays(a, b)
    scale = max(1.0, float(np.max(np.abs(a))), float(np.max(np.abs(b))))
    difference = np.abs(a - b)
    if not np.all(np.isfinite(difference)):
        return float("nan"), (0.0, 0.0, "")
    place = np.unravel_index(int(np.argmax(difference)), a.shape) if a.ndim else ()
    numbers = [int(p) + 1 for p, length in zip(place, a.shape, strict=True) if length > 1]
    at = f"in element {', '.join(map(str, numbers))}" if numbers else ""
    return float(difference.max()) / scale, (float(a[place]), float(b[place]), at)


def _oddity(way: Way) -> int:
    """How odd a reading looks: beside a matrix columns are expected, else numbers."""
    arrays = MATRIX in way.kinds.values()
    return sum((kind == NUMBER) == arrays for kind in way.kinds.values())


def _refuted(step: Step, outcome: _Outcome, unless: str) -> Finding:
    left, right, place = outcome.example
    draw: dict[str, str] = {}
    for (key, at), value in outcome.draw.drawn.items():
        name = key + (f"_{','.join(map(_index, at))}" if at else "")
        draw[name] = _shown(value)
    return Finding(step, REFUTED, unless, f"{left:.4g}", f"{right:.4g}", place, draw)


def _index(place: int) -> str:
    """An index, or the label that it stands for."""
    return str(place) if place < LABELS else chr(place - LABELS)


def _shown(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if 1 in value.shape:
        return "[" + ", ".join(f"{v:g}" for v in value.ravel()) + "]"
    return "[" + ", ".join("[" + ", ".join(f"{v:g}" for v in row) + "]" for row in value) + "]"


LOSSES = frozenset({"L", "J", "E", "ℒ", "𝒥", "ℓ", "l"})
"""Letters that are numbers where they are differentiated."""


def candidates(scope: Scope, key: str) -> list[tuple[str, int]]:
    """The kinds that a name may have, each with its cost."""
    if key.endswith("()"):
        found = [(NUMBER, 0), ("elementwise", 0)]
        return found if scope.bold else [*found, ("times", 0)]
    if scope.is_number(key):
        return [(NUMBER, 0)]
    counts = scope.counts.get(key, {0})
    most = max(counts)
    fonts = scope.fonts.get((key, most), {""})
    capital = is_capital(key[:1])
    if scope.bold:
        if "bold" not in fonts:
            return [(NUMBER, 0)]
        return [(MATRIX, 0)] if capital else [(COLUMN, 0), (ROW, 1)]
    if most and 0 in counts:
        return [(NUMBER, 0), (ALONE, 0), (COLUMN, 1)]
    if key in scope.depends and key[:1] in LOSSES:
        return [(NUMBER, 0), (MATRIX if capital else COLUMN, 1)]
    if capital:
        return [(MATRIX, 0), (COLUMN if key in scope.arrays else NUMBER, 1)]
    if key in scope.arrays:
        return [(COLUMN, 0), (MATRIX, 2)]
    return [(NUMBER, 0), (COLUMN, 0)]
