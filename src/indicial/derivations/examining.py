"""The displays of a document → what came of each step of its derivations.

y = (A B)^⊤ x = A^⊤ B^⊤ x          one step: the first `=` says what y is
∂L/∂z = … = p - y                  two steps

Steps that hold only in a limit: `≈`, `≫`, `\\lim` and ∞, tried along a sequence.

    exp(β²)/(exp(β²) + 2) ≈ 1        holds as β grows
    exp(x_3^⊤ Q x_1) ≫ exp(x_1^⊤ Q x_1)     the same, if the vectors are orthogonal and of length β
    \\lim_{ε → 0} c = v_b              ε goes to 0, and whatever else has to grow grows

What grows takes the values of `GROWTH`, what vanishes their inverses squared. “Much larger” is more than ten times as
large at the end, and more and more so. Nothing is refuted here: a step that is not found to hold may hold elsewhere.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from indicial.derivations.arithmetic import Misfit, Unread, Value
from indicial.derivations.draws import NUMBER, ORTHONORMAL, Budget, Condition, Draw
from indicial.derivations.scope import (
    HOLDS,
    NOT_FOUND,
    REFUTED,
    UNTRIED,
    Finding,
    Scope,
    Step,
    joined,
    steps,
)
from indicial.derivations.trying import VECTORS, Way, apart, both_sides, plans, readings, try_step
from indicial.derivations.values import Open
from indicial.notation.node import kept
from indicial.notation.printers import name_key
from indicial.notation.reasoning import Clause, Limit
from indicial.notation.syntax import (
    Call,
    Equation,
    Fraction,
    Index,
    Name,
    Number,
    Product,
    Reduction,
    Statement,
    Transpose,
    factors,
    ids,
)
from indicial.program.names.uses import BUILT_IN
from indicial.program.prose.parts import Block
from indicial.program.vectors.regular import transposed
from indicial.program.vectors.spelling import softmaxes
from indicial.program.vectors.sums import reaching

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
    return step.relation != "=" or _goes_far(step.equation)


@kept
def _goes_far(equation: Equation) -> bool:
    return any(
        isinstance(n, Limit) or n == Number("∞") for side in equation.sides for n in side.walk()
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


_WIDE = re.compile(r"(\\;\s*){3}|\\q?quad")
"""So much space stands between equations, and not inside them."""
Known = dict[tuple[object, ...], Finding]
MOST_STATEMENTS = 120
"""So many statements before a step may say something of its names."""
BACK = 8
"""So many sides that have no value are stepped over."""


def examine(blocks: Sequence[Block]) -> list[Finding]:
    """What came of every step of the prose of a document."""
    blocks = _turned(blocks)
    findings: list[Finding] = []
    known: Known = {}
    before: list[Statement] = []
    for _, group in groupby(blocks, key=lambda block: (block.title, block.level)):
        section = list(group)
        statements = [s for block in section for s in _stated(block)]
        prose = [b for b in section if not b.strict]
        read = [s for b in prose for s in _stated(b)]
        chains = [s for s in read if isinstance(s, Equation)]
        todo = [step for chain in chains for step in steps(chain)]
        reasoned = [list(c) for b in prose for c in (s.reasoned for s in b.skipped) if c]
        said = [e for row in reasoned for c in row for e in (c.equation, *c.premises)]
        spoken = [e for e in said if not _is_definition(e)]
        statements += [e for e in said if _is_definition(e)]
        if todo or reasoned:
            scopes = [Scope(statements, spoken)]
            borrowed = _borrowed(scopes[0], before[-MOST_STATEMENTS:])
            if borrowed:
                scopes.append(Scope([*borrowed, *statements], spoken))
            for chain in chains:
                findings += _examined(list(steps(chain)), scopes, known)
            for row in reasoned:
                findings += _reasoned(row, scopes, known)
        before += statements
    return sorted(findings, key=lambda f: f.step.sides[0].span.start)


def _stated(block: Block) -> list[Statement]:
    """The statements of a display, one for each chain, with sums that go on as far as they are meant to."""
    found = softmaxes(joined(block.statements))
    return found if block.strict else list(map(reaching, found))


def _turned(blocks: Sequence[Block]) -> list[Block]:
    """The displays with `X^T` as the transpose that it is in most of them."""
    turned = iter(transposed([s for b in blocks if not b.strict for s in b.statements]))
    return [
        b if b.strict else replace(b, statements=[next(turned) for _ in b.statements])
        for b in blocks
    ]


def _is_definition(equation: Equation) -> bool:
    """`c = α_a v_a + α_b v_b`, but not `α_{11} = 0`, which is found out."""
    left, *rest = equation.sides
    return (
        equation.relations == ("=",)
        and isinstance(left, Name)
        and not isinstance(rest[0], Number)
        and not equation.every(Limit)
    )


def _reasoned(row: Sequence[Clause], scopes: list[Scope], known: Known) -> Iterator[Finding]:
    """The steps of a row that reasons: those inside its clauses, and those from one to the next."""
    for number, clause in enumerate(row):
        yield from _examined(
            [replace(s, given=clause.premises) for s in steps(clause.equation)], scopes, known
        )
        last = row[number - 1].equation if number else None
        if clause.arrow and last is not None and last.sides[0] == clause.equation.sides[0]:
            if clause.equation.relations[-1] != "=" or last.relations[-1] != "=":
                continue
            sides = (last.sides[-1], clause.equation.sides[-1])
            step = Step(
                Equation(sides, ("=",), span=clause.equation.span), 0, 1, given=clause.premises
            )
            if clause.remark:
                yield Finding(step, UNTRIED, f"the arrow says “{clause.remark}”")
            else:
                yield from _examined([step], scopes, known)


def _borrowed(scope: Scope, before: Sequence[Statement]) -> list[Statement]:
    """What earlier sections say last of the names that a section reads and does not define."""
    latest: dict[str, list[Statement]] = {}
    for statement in before:
        names = _defined(statement)
        for name in names:
            latest[name] = [statement]
    found: list[Statement] = []
    waiting = [name for name in scope.counts if name not in scope.rules]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in latest or name in scope.rules or name in scope.functions:
            continue
        seen.add(name)
        for statement in latest[name]:
            if statement not in found:
                found.append(statement)
                waiting += [_key(n) for n in statement.every(Name)]
    return [s for s in before if s in found]


def _defined(statement: Statement) -> list[str]:
    """The name on a left side."""
    if not isinstance(statement, Equation) or statement.relations[0] != "=":
        return []
    left = statement.sides[0]
    head = (
        left.function if isinstance(left, Call) else left.base if isinstance(left, Index) else left
    )
    return [_key(head)] if isinstance(head, Name) else []


def _key(name: Name) -> str:
    """A name without what is below it, unless that is a word."""
    words = tuple(
        s for s in name.sub if isinstance(s, Name) and (len(s.base) > 1 or s.font == "roman")
    )
    return name_key(replace(name, sub=words))


def _examined(todo: list[Step], scopes: list[Scope], known: Known) -> Iterator[Finding]:
    """The steps of a chain; a side that has no value is stepped over."""
    if todo and (reason := _not_to_be_tried(todo[0].equation, scopes)):
        yield from (Finding(s, UNTRIED, reason) for s in todo)
        return
    for step in todo:
        finding = _one(step, scopes, known)
        if finding.status == UNTRIED and step.relation == "=":
            # What stands between may have no value: then this side is held against the ones before it.
            for earlier in range(step.number - 1, max(todo[0].number, step.number - BACK) - 1, -1):
                if step.equation.relations[earlier] != "=":
                    break
                further = _one(replace(step, number=earlier), scopes, known)
                if further.status != UNTRIED:
                    finding = further
                    break
        yield finding


def _not_to_be_tried(equation: Equation, scopes: list[Scope]) -> str:
    """Why the steps of a chain may well follow though numbers in the place of its names do not agree."""
    if any(_WIDE.search(side.span.text) for side in equation.sides):
        return "several equations stand side by side"
    if name := _function_and_value(equation):
        return f"{name} is a function and a value of it"
    if name := _counter_of_words(equation, scopes):
        return f"nothing defines the function {name}"
    if name := _member_of_a_sum(equation):
        return f"a sum may hold {name}"
    return ""


def _function_and_value(equation: Equation) -> str:
    """The σ of `σ(w^⊤ x) x = σ x`: whoever writes so leaves out what it is of."""
    calls = [c for c in equation.every(Call) if c.function.bare and c.word in BUILT_IN]
    functions, called = ids(c.function for c in calls), {c.word for c in calls}
    names = (n for n in equation.every(Name) if called and n.bare and n.base in called)
    return next((n.base for n in names if id(n) not in functions), "")


def _counter_of_words(equation: Equation, scopes: list[Scope]) -> str:
    """The C of `C(x y) / Σ_w C(x w) = C(x y) / C(x)`, which counts words in a row and multiplies none."""
    calls = [c for c in equation.every(Call) if c.function.bare and c.word not in BUILT_IN]
    rows = [c for c in calls if len(c.arguments) == 1 and isinstance(c.arguments[0], Product)]
    for call in rows:
        arguments = {c.arguments for c in calls if c.word == call.word}
        defined = any(call.word in scope.functions for scope in scopes)
        if not defined and any((word,) in arguments for word in factors(call.arguments[0])):
            return call.word
    return ""


def _member_of_a_sum(equation: Equation) -> str:
    """The u_w of `∂/∂u_w ln Σ_x exp(u_x^⊤ v)`: one of the vectors that are summed, and none beside them."""
    fractions = [n for n in equation.every(Fraction) if n.above.every(Name)[:1] == [Name("∂")]]
    below = [n for fraction in fractions for n in factors(fraction.below) if isinstance(n, Name)]
    below += [n.ends[-1] for n in equation.every(Name) if n.ends]
    summed = [n for total in equation.every(Reduction) for n in total.body.every(Transpose)]
    vectors = {n.stem: n.sub for turned in summed for n in turned.body.every(Name) if n.sub}
    others = (n for n in below if n.sub and vectors.get(n.stem, n.sub) != n.sub)
    return next(map(name_key, others), "")


def _one(step: Step, scopes: list[Scope], known: Known) -> Finding:
    """What comes of a step; slides say the same again and again, and what is not refuted is kept."""
    key = (step.sides, step.relation, step.given)
    if key in known:
        return replace(known[key], step=step)
    if step.given:
        scopes = [Scope(scope.statements, scope.spoken) for scope in scopes]
        for scope, premise in itertools.product(scopes, step.given):
            scope.assume(premise)
    found = try_step(step, scopes, try_limit if in_the_limit(step) else None)
    if found.status != REFUTED:
        known[key] = found
    return found
