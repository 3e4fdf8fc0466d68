"""Arithmetic on expressions that folds as it goes, so that what is derived stays readable.

times(1, x, neg(y))  →  neg(x * y)          plus(x, 0, neg(x_2))  →  x + neg(x_2)
quotient(x, 1)       →  x                   power(x, 1)           →  x
"""

from __future__ import annotations

from collections.abc import Iterable

from indicial.program.ir import Apply, Constant, Expression, IndexValue, Select, SizeValue
from indicial.program.rewrite import is_constant
from indicial.program.sizes import Size

ZERO = Constant(0.0)
ONE = Constant(1.0)


def numeral(expression: Expression) -> float | None:
    """The value of a constant, or of a size that is a number."""
    if isinstance(expression, Constant):
        return float(expression.value)
    if isinstance(expression, SizeValue) and expression.size.number is not None:
        return float(expression.size.number)
    return None


def size_value(size: Size) -> Expression:
    """A size as an expression, a number where it is one."""
    return SizeValue(size) if size.number is None else Constant(float(size.number))


def times(*factors: Expression) -> Expression:
    """The product, in one level, its numbers collected in front."""
    coefficient = 1.0
    rest: list[Expression] = []
    for factor in _flat("*", factors):
        while isinstance(factor, Apply) and factor.function == "neg":
            coefficient, factor = -coefficient, factor.arguments[0]
        for piece in _flat("*", (factor,)):
            value = numeral(piece)
            if value is None:
                rest.append(piece)
            else:
                coefficient *= value
    if coefficient == 0:
        return ZERO
    if not rest:
        return Constant(coefficient)
    if coefficient < 0:
        return negative(_scaled(-coefficient, rest))
    return _scaled(coefficient, rest)


def _scaled(coefficient: float, rest: list[Expression]) -> Expression:
    for place, factor in enumerate(rest):
        if coefficient != 1 and isinstance(factor, Apply) and factor.function == "/":
            above = numeral(factor.arguments[0])
            if above is not None:  # `2 · 1/J` is `2/J`
                fraction = Apply("/", (Constant(coefficient * above), factor.arguments[1]))
                coefficient, rest = 1.0, [*rest[:place], fraction, *rest[place + 1 :]]
    factors = rest if coefficient == 1 else [Constant(coefficient), *rest]
    return factors[0] if len(factors) == 1 else Apply("*", tuple(factors))


def scaled(expression: Expression) -> tuple[Expression, Expression]:
    """An expression as a factor made of numbers and sizes, and the rest: `-2x/T` → `-2/T`, `x`."""
    sign, expression = signed(expression)
    scale, rest = [sign], []
    for factor in _flat("*", (expression,)):
        if is_constant(factor):
            scale.append(factor)
        elif isinstance(factor, Apply) and factor.function == "/":
            before, above = scaled(factor.arguments[0])
            scale.append(before)
            rest.append(quotient(above, factor.arguments[1]))
        else:
            rest.append(factor)
    return times(*scale), times(*rest)


def signed(expression: Expression) -> tuple[Expression, Expression]:
    """An expression as a sign and the rest: `-x` → `-1`, `x`."""
    if isinstance(expression, Apply) and expression.function == "neg":
        return Constant(-1.0), expression.arguments[0]
    return ONE, expression


def plus(*terms: Expression) -> Expression:
    """The sum, in one level, equal terms counted, its numbers collected where the first stood."""
    total = 0.0
    counts: dict[Expression, int] = {}
    place = 0
    for term in _flat("+", terms):
        value = numeral(term)
        if value is None:
            counts[term] = counts.get(term, 0) + 1
        else:
            place = place if total else len(counts)
            total += value
    rest = [times(Constant(float(n)), t) if n > 1 else t for t, n in counts.items()]
    if total or not rest:
        rest.insert(place, Constant(total))
    return rest[0] if len(rest) == 1 else Apply("+", tuple(rest))


def minus(left: Expression, right: Expression) -> Expression:
    return plus(left, negative(right))


def negative(expression: Expression) -> Expression:
    if isinstance(expression, Apply) and expression.function == "neg":
        return expression.arguments[0]
    value = numeral(expression)
    return Apply("neg", (expression,)) if value is None else Constant(-value)


def quotient(above: Expression, below: Expression) -> Expression:
    """The fraction, in one level: what is divided by in a factor above goes below."""
    if numeral(above) == 0:
        return ZERO
    if isinstance(above, Apply) and above.function == "neg":
        return negative(quotient(above.arguments[0], below))
    numerators, denominators = [], [below]
    for factor in _flat("*", (above,)):
        if isinstance(factor, Apply) and factor.function == "/":
            numerators.append(factor.arguments[0])
            denominators.insert(0, factor.arguments[1])
        else:
            numerators.append(factor)
    under = times(*_without_roots(denominators))
    return times(*numerators) if under == ONE else Apply("/", (times(*numerators), under))


def _without_roots(factors: list[Expression]) -> list[Expression]:
    """Factors with `√u √u` as `u`."""
    result: list[Expression] = []
    for factor in factors:
        if isinstance(factor, Apply) and factor.function == "sqrt" and factor in result:
            result[result.index(factor)] = factor.arguments[0]
        else:
            result.append(factor)
    return result


def power(base: Expression, exponent: Expression) -> Expression:
    value = numeral(exponent)
    if value == 0:
        return ONE
    return base if value == 1 else Apply("^", (base, exponent))


def both(*conditions: Expression | None) -> Expression | None:
    """All of the conditions; None is one that always holds."""
    given = [c for c in _flat("and", [c for c in conditions if c is not None]) if c != ONE]
    if any(numeral(c) == 0 for c in given):
        return ZERO
    given = list(dict.fromkeys(given))
    if not given:
        return None
    return given[0] if len(given) == 1 else Apply("and", tuple(given))


def compare(left: Expression, sign: str, right: Expression) -> Expression:
    return Apply(sign, (left, right))


def otherwise_zero(condition: Expression | None, value: Expression) -> Expression:
    """The value where a condition holds, and 0 elsewhere; the value is not asked for there."""
    if condition is None or value == ZERO:
        return value
    return ZERO if numeral(condition) == 0 else Select(((condition, value),), ZERO)


def is_total(expression: Expression) -> bool:
    """Whether it is finite wherever what it reads is: no division, no logarithm, no root."""
    for node in expression.walk():
        if isinstance(node, Apply):
            if node.function in ("/", "ln", "sqrt"):
                if node.function == "/" and _positive(node.arguments[1]):
                    continue
                return False
            if node.function == "^" and (numeral(node.arguments[1]) or -1.0) < 0:
                return False
    return True


def _positive(expression: Expression) -> bool:
    """Surely not 0: numbers, sizes that are names, their roots and products."""
    if isinstance(expression, SizeValue):
        return all(coefficient > 0 for _, coefficient in expression.size.terms)
    if isinstance(expression, Apply) and expression.function in ("sqrt", "*"):
        return all(map(_positive, expression.arguments))
    return not isinstance(expression, IndexValue) and (numeral(expression) or 0.0) > 0


def _flat(function: str, arguments: Iterable[Expression]) -> list[Expression]:
    result: list[Expression] = []
    for argument in arguments:
        if isinstance(argument, Apply) and argument.function == function:
            result += _flat(function, argument.arguments)
        else:
            result.append(argument)
    return result
