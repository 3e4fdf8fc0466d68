"""Arithmetic on expressions that folds as it goes, so that what is derived stays readable.

times(1, x, neg(y))  →  neg(x * y)          plus(x, 0, neg(x_2))  →  x + neg(x_2)
quotient(x, 1)       →  x                   power(x, 1)           →  x

The factors of a summed product, and which of them belong together by the indices they have.

    Σ_I W[j,I] G[t,I] h[t-1,I]      {j,I} {t,I} {t,I}   G and h vary together: one operand
    Σ_{I,J} e[v,I] W[I,J] h[t,J]    {v,I} {I,J} {t,J}   first Σ_J W h, then Σ_I with e

A factor is fixed if it is a parameter: that is kept as it is, so that a product has one parameter
and one operand.

Partial derivatives of pointwise expressions, as expressions.

derivatives(tanh(a[t] + b[t]), {a[t]})             →  a[t]: 1 - tanh(a[t] + b[t])^2
derivatives(tanh(a[t] + b[t]), {a[t]}, value=R[t]) →  a[t]: 1 - R[t]^2   where R is that tanh already
derivatives(G[t] * h[t-1], {G[t], h[t-1]})         →  G[t]: h[t-1], h[t-1]: G[t]

At a kink the derivative is PyTorch's: 0 for ReLU and abs at 0, equal shares among the largest
arguments of max and the smallest of min. What jumps (comparisons, floor, sign) has derivative 0, and
so has `stop`, which is there for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, combinations

from indicial.program import ir
from indicial.program.messages import IndicialError
from indicial.program.moving import moved
from indicial.program.rewrite import free_indices, is_constant
from indicial.program.sizes import Size

ZERO = ir.Constant(0.0)
ONE = ir.Constant(1.0)
MOST_FACTORS = 1_000
"""Of a product that is differentiated: its derivative has as many terms, of nearly as many factors each."""


def numeral(expression: ir.Expression) -> float | None:
    """The value of a constant, or of a size that is a number."""
    if isinstance(expression, ir.Constant):
        return float(expression.value)
    if isinstance(expression, ir.SizeValue) and expression.size.number is not None:
        return float(expression.size.number)
    return None


def size_value(size: Size) -> ir.Expression:
    """A size as an expression, a number where it is one."""
    return ir.SizeValue(size) if size.number is None else ir.Constant(float(size.number))


def times(*factors: ir.Expression) -> ir.Expression:
    """The product, in one level, its numbers collected in front."""
    coefficient = 1.0
    rest: list[ir.Expression] = []
    for factor in flat("*", factors):
        while isinstance(factor, ir.Apply) and factor.function == "neg":
            coefficient, factor = -coefficient, factor.arguments[0]
        for piece in flat("*", (factor,)):
            value = numeral(piece)
            if value is None:
                rest.append(piece)
            else:
                coefficient *= value
    if coefficient == 0:
        return ZERO
    if not rest:
        return ir.Constant(coefficient)
    if coefficient < 0:
        return negative(_scaled(-coefficient, rest))
    return _scaled(coefficient, rest)


def _scaled(coefficient: float, rest: list[ir.Expression]) -> ir.Expression:
    for place, factor in enumerate(rest):
        if coefficient != 1 and isinstance(factor, ir.Apply) and factor.function == "/":
            above = numeral(factor.arguments[0])
            if above is not None:  # `2 · 1/J` is `2/J`
                fraction = ir.Apply("/", (ir.Constant(coefficient * above), factor.arguments[1]))
                coefficient, rest = 1.0, [*rest[:place], fraction, *rest[place + 1 :]]
    factors = rest if coefficient == 1 else [ir.Constant(coefficient), *rest]
    return factors[0] if len(factors) == 1 else ir.Apply("*", tuple(factors))


def scaled(expression: ir.Expression) -> tuple[ir.Expression, ir.Expression]:
    """An expression as a factor made of numbers and sizes, and the rest: `-2x/T` → `-2/T`, `x`."""
    sign, expression = signed(expression)
    scale, rest = [sign], []
    for factor in flat("*", (expression,)):
        if is_constant(factor):
            scale.append(factor)
        elif isinstance(factor, ir.Apply) and factor.function == "/":
            before, above = scaled(factor.arguments[0])
            scale.append(before)
            rest.append(quotient(above, factor.arguments[1]))
        else:
            rest.append(factor)
    return times(*scale), times(*rest)


def signed(expression: ir.Expression) -> tuple[ir.Expression, ir.Expression]:
    """An expression as a sign and the rest: `-x` → `-1`, `x`."""
    if isinstance(expression, ir.Apply) and expression.function == "neg":
        return ir.Constant(-1.0), expression.arguments[0]
    return ONE, expression


def plus(*terms: ir.Expression) -> ir.Expression:
    """The sum, in one level, equal terms counted, its numbers collected where the first stood."""
    total = 0.0
    counts: dict[ir.Expression, int] = {}
    place = 0
    for term in flat("+", terms):
        value = numeral(term)
        if value is None:
            counts[term] = counts.get(term, 0) + 1
        else:
            place = place if total else len(counts)
            total += value
    rest = [times(ir.Constant(float(n)), t) if n > 1 else t for t, n in counts.items()]
    if total or not rest:
        rest.insert(place, ir.Constant(total))
    return rest[0] if len(rest) == 1 else ir.Apply("+", tuple(rest))


def minus(left: ir.Expression, right: ir.Expression) -> ir.Expression:
    return plus(left, negative(right))


def negative(expression: ir.Expression) -> ir.Expression:
    if isinstance(expression, ir.Apply) and expression.function == "neg":
        return expression.arguments[0]
    value = numeral(expression)
    return ir.Apply("neg", (expression,)) if value is None else ir.Constant(-value)


def quotient(above: ir.Expression, below: ir.Expression) -> ir.Expression:
    """The fraction, in one level: what is divided by in a factor above goes below."""
    if numeral(above) == 0:
        return ZERO
    if isinstance(above, ir.Apply) and above.function == "neg":
        return negative(quotient(above.arguments[0], below))
    numerators, denominators = [], [below]
    for factor in flat("*", (above,)):
        if isinstance(factor, ir.Apply) and factor.function == "/":
            numerators.append(factor.arguments[0])
            denominators.insert(0, factor.arguments[1])
        else:
            numerators.append(factor)
    under = times(*_without_roots(denominators))
    return times(*numerators) if under == ONE else ir.Apply("/", (times(*numerators), under))


def _without_roots(factors: list[ir.Expression]) -> list[ir.Expression]:
    """Factors with `√u √u` as `u`."""
    result: list[ir.Expression] = []
    for factor in factors:
        if isinstance(factor, ir.Apply) and factor.function == "sqrt" and factor in result:
            result[result.index(factor)] = factor.arguments[0]
        else:
            result.append(factor)
    return result


def power(base: ir.Expression, exponent: ir.Expression) -> ir.Expression:
    value = numeral(exponent)
    if value == 0:
        return ONE
    return base if value == 1 else ir.Apply("^", (base, exponent))


def both(*conditions: ir.Expression | None) -> ir.Expression | None:
    """All of the conditions; None is one that always holds."""
    given = [c for c in flat("and", [c for c in conditions if c is not None]) if c != ONE]
    if any(numeral(c) == 0 for c in given):
        return ZERO
    given = list(dict.fromkeys(given))
    if not given:
        return None
    return given[0] if len(given) == 1 else ir.Apply("and", tuple(given))


def compare(left: ir.Expression, sign: str, right: ir.Expression) -> ir.Expression:
    return ir.Apply(sign, (left, right))


def otherwise_zero(condition: ir.Expression | None, value: ir.Expression) -> ir.Expression:
    """The value where a condition holds, and 0 elsewhere; the value is not asked for there."""
    if condition is None or value == ZERO:
        return value
    return ZERO if numeral(condition) == 0 else ir.Select(((condition, value),), ZERO)


def is_total(expression: ir.Expression) -> bool:
    """Whether it is finite wherever what it reads is: no division, no logarithm, no root."""
    for node in expression.walk():
        if isinstance(node, ir.Apply):
            if node.function in ("/", "ln", "sqrt"):
                if node.function != "ln" and _positive(node.arguments[-1]):
                    continue
                return False
            if node.function == "^" and (numeral(node.arguments[1]) or -1.0) < 0:
                return False
    return True


def _positive(expression: ir.Expression) -> bool:
    """Surely not 0: numbers, sizes that are names, their roots and products."""
    if isinstance(expression, ir.SizeValue):
        return all(coefficient > 0 for _, coefficient in expression.size.terms)
    if isinstance(expression, ir.Apply) and expression.function in ("sqrt", "*"):
        return all(map(_positive, expression.arguments))
    return not isinstance(expression, ir.IndexValue) and (numeral(expression) or 0.0) > 0


def flat(function: str, arguments: Iterable[ir.Expression]) -> list[ir.Expression]:
    result: list[ir.Expression] = []
    for argument in arguments:
        if isinstance(argument, ir.Apply) and argument.function == function:
            result += flat(function, argument.arguments)
        else:
            result.append(argument)
    return result


def varying_together(
    factors: Sequence[frozenset[str]], fixed: Collection[int]
) -> tuple[int, int] | None:
    """Two of three or more factors whose product has no more indices than one of them."""
    if len(factors) < 3:
        return None
    pairs = [
        (one, two)
        for one, two in combinations(range(len(factors)), 2)
        if one not in fixed and two not in fixed
        if factors[one] <= factors[two] or factors[two] <= factors[one]
    ]
    return min(pairs, key=lambda p: len(factors[p[0]] | factors[p[1]]), default=None)


def alone_in(
    factors: Sequence[frozenset[str]], summed: Sequence[ir.Index]
) -> list[tuple[int, tuple[ir.Index, ...]]]:
    """For factors beside others, the summed indices that none of the others has: {j,K} {x,K} → x."""
    found = []
    for number, one in enumerate(factors):
        others = frozenset[str]().union(*(f for n, f in enumerate(factors) if n != number))
        alone = tuple(i for i in summed if i.name in one and i.name not in others)
        if alone and len(factors) > 1:
            found.append((number, alone))
    return found


def first_contraction(
    factors: Sequence[frozenset[str]], summed: Collection[str], fixed: Collection[int]
) -> tuple[int, int, frozenset[str]] | None:
    """Two of three or more factors, and the indices to sum in their product before the others.

    The pair whose result has the fewest indices; of several the last, and rather one with a factor
    that is not fixed.
    """
    if len(factors) < 3:
        return None
    best: tuple[tuple[int, bool, int, int], tuple[int, int, frozenset[str]]] | None = None
    for one, two in combinations(range(len(factors)), 2):
        others = frozenset[str]().union(*(f for n, f in enumerate(factors) if n not in (one, two)))
        union = factors[one] | factors[two]
        inner = union & frozenset(summed) - others
        rank = (len(union - inner), one in fixed and two in fixed, -one, -two)
        if inner and (best is None or rank < best[0]):
            best = rank, (one, two, inner)
    return None if best is None else best[1]


def factors_of(expression: ir.Expression, names: set[str]) -> list[ir.Expression]:
    """The factors of a product, a minus as -1, a square of what depends on the names as two."""
    match expression:
        case ir.Apply("*", arguments):
            return [factor for a in arguments for factor in factors_of(a, names)]
        case ir.Apply("neg", (argument,)):
            return [times(ir.Apply("neg", (ONE,))), *factors_of(argument, names)]
        case ir.Apply("/", (above, below)) if numeral(above) != 1:
            return [*factors_of(above, names), quotient(ONE, below)]
        case ir.Apply("^", (base, exponent)) if (
            numeral(exponent) == 2 and free_indices(base) & names
        ):
            return [*factors_of(base, names), *factors_of(base, names)]
    return [] if expression == ONE else [expression]


def contracts(body: ir.Apply, indices: tuple[ir.Index, ...]) -> bool:
    """Whether a term is a product that has more indices than each of its factors."""
    names = {index.name for index in indices}
    for term in body.arguments:
        sets = [free_indices(factor) for factor in factors_of(term, names)]
        if len(sets) > 1 and all(set().union(*sets) - one for one in sets):
            return True
    return False


TWO = ir.Constant(2.0)
HALF = ir.Constant(0.5)


def derivatives(
    expression: ir.Expression,
    atoms: AbstractSet[ir.Expression],
    value: ir.Expression | None = None,
) -> dict[ir.Expression, ir.Expression]:
    """How the expression changes with parts of it, at each value of its indices: where it does.

    `value` is a cheaper expression for the whole, a read of the tensor that it defines. A part
    counts as independent of the parts inside it. All are asked for at once, since a sum of many
    terms has as many parts, and each of them stands in few.
    """
    if expression in atoms:
        return {expression: ONE}
    if isinstance(expression, ir.Select):
        values = [derivatives(v, atoms) for _, v in expression.branches]
        values.append(derivatives(expression.otherwise, atoms))
        changing = dict.fromkeys(chain(*values))
        return {a: _selected(expression, [v.get(a, ZERO) for v in values]) for a in changing}
    if not isinstance(expression, ir.Apply):
        return {}
    inner: dict[ir.Expression, dict[int, ir.Expression]] = {}
    for number, argument in enumerate(expression.arguments):
        for atom, slope in derivatives(argument, atoms).items():
            inner.setdefault(atom, {})[number] = slope
    whole = expression if value is None else value
    found = {atom: _chain(expression, slopes, whole) for atom, slopes in inner.items()}
    return {atom: slope for atom, slope in found.items() if slope != ZERO}


def _selected(node: ir.Select, values: Sequence[ir.Expression]) -> ir.Expression:
    """A choice among other values, by the conditions of a node; the last is for otherwise."""
    *chosen, otherwise = values
    if all(v == otherwise for v in chosen):
        return otherwise
    branches = tuple((c, v) for (c, _), v in zip(node.branches, chosen, strict=True))
    return ir.Select(branches, otherwise, span=node.span)


def _chain(
    node: ir.Apply, inner: Mapping[int, ir.Expression], value: ir.Expression
) -> ir.Expression:
    """The derivative of a function from those of its arguments, by their numbers."""
    function, arguments = node.function, node.arguments
    if function in ir.COMPARISONS or function in ir.LOGIC:
        return ZERO
    if function == "+":
        return plus(*inner.values())
    if function in ("min", "max"):
        return plus(*(times(_share(node, n), d) for n, d in inner.items()))
    if function == "lse":
        total = plus(*(power_of(a, value) for a in arguments))
        return plus(*(times(weight(arguments[n], value, total), d) for n, d in inner.items()))
    if function == "*":
        if len(arguments) > MOST_FACTORS:
            raise IndicialError(
                f"a product of {len(arguments):,} factors; {MOST_FACTORS:,} is the limit of what is "
                "differentiated. Write factors that are alike as a power, or with an index: ∏_i x[i]"
            )
        terms = []
        for number, d in inner.items():
            others = [a for n, a in enumerate(arguments) if n != number]
            terms.append(times(d, *others))
        return plus(*terms)
    if function == "/":
        below = arguments[1]
        d_above, d_below = inner.get(0, ZERO), inner.get(1, ZERO)
        change = d_above if d_below == ZERO else minus(d_above, times(value, d_below))
        return quotient(change, below)
    if function == "^":
        by_base, by_exponent = inner.get(0, ZERO), inner.get(1, ZERO)
        return plus(
            times(_by_base(node), by_base),
            ZERO if by_exponent == ZERO else times(_by_exponent(node, value), by_exponent),
        )
    return times(_UNARY[function](arguments[0], value), inner[0])


def weight(term: ir.Expression, whole: ir.Expression, total: ir.Expression) -> ir.Expression:
    """The share of a term in the sum of exponentials whose logarithm is `whole`: 0 at -∞.

    `total` is 1 but for the rounding of the logarithm, which in a long recurrence would add up.
    """
    share = quotient(power_of(term, whole), total)
    return ir.Select(((compare(term, "=", ir.Constant(-math.inf)), ZERO),), share)


def power_of(term: ir.Expression, whole: ir.Expression) -> ir.Expression:
    return ir.Apply("exp", (minus(term, whole),))


def _by_base(node: ir.Apply) -> ir.Expression:
    """`n u^(n-1)`; at an exponent that happens to be 0, 0 even where u is 0."""
    base, exponent = node.arguments
    value = numeral(exponent)
    if value is not None:
        return times(ir.Constant(value), power(base, ir.Constant(value - 1)))
    slope = times(exponent, power(base, minus(exponent, ONE)))
    return ir.Select(((compare(exponent, "=", ZERO), ZERO),), slope)


def _by_exponent(node: ir.Apply, value: ir.Expression) -> ir.Expression:
    """`u^n ln u`, and 0 at u = 0."""
    base, _ = node.arguments
    constant = numeral(base)
    if constant is not None and constant > 0:
        return times(ir.Constant(math.log(constant)), value)
    slope = times(value, ir.Apply("ln", (base,)))
    return ir.Select(((compare(base, "=", ZERO), ZERO),), slope)


def _share(node: ir.Apply, number: int) -> ir.Expression:
    """Which part of a maximum comes from one argument: all, none, or equal shares of a tie.

    Arguments are compared with each other, not with the maximum: computed again, they may be
    rounded in another way, and then none of them would be it.
    """
    own = node.arguments[number]
    others = [a for n, a in enumerate(node.arguments) if n != number]
    if len(others) == 1:
        wins, loses = (">", "<") if node.function == "max" else ("<", ">")
        (other,) = others
        return ir.Select(
            ((compare(own, wins, other), ONE), (compare(own, loses, other), ZERO)), HALF
        )
    sign = "≥" if node.function == "max" else "≤"
    first = ir.Apply("and", tuple(compare(own, sign, other) for other in others))
    ties = plus(ONE, *(compare(own, "=", other) for other in others))
    return ir.Select(((first, quotient(ONE, ties)),), ZERO)


def _square(expression: ir.Expression) -> ir.Expression:
    return power(expression, TWO)


def _gelu(u: ir.Expression, _: ir.Expression) -> ir.Expression:
    below = times(HALF, plus(ONE, ir.Apply("erf", (quotient(u, ir.Constant(math.sqrt(2))),))))
    density = times(
        ir.Constant(1 / math.sqrt(2 * math.pi)),
        ir.Apply("exp", (negative(times(HALF, _square(u))),)),
    )
    return plus(below, times(u, density))


_UNARY: dict[str, Callable[[ir.Expression, ir.Expression], ir.Expression]] = {
    "neg": lambda u, y: ir.Constant(-1.0),
    "tanh": lambda u, y: minus(ONE, _square(y)),
    "σ": lambda u, y: times(y, minus(ONE, y)),
    "ReLU": lambda u, y: compare(u if isinstance(y, ir.Apply) else y, ">", ZERO),
    "GELU": _gelu,
    "exp": lambda u, y: y,
    "ln": lambda u, y: quotient(ONE, u),
    "sqrt": lambda u, y: quotient(HALF, y),
    "abs": lambda u, y: ir.Apply("sign", (u,)),
    "sign": lambda u, y: ZERO,
    "floor": lambda u, y: ZERO,
    "stop": lambda u, y: ZERO,
    "cos": lambda u, y: negative(ir.Apply("sin", (u,))),
    "sin": lambda u, y: ir.Apply("cos", (u,)),
    "softplus": lambda u, y: ir.Apply("σ", (u,)),
    "erf": lambda u, y: times(
        ir.Constant(2 / math.sqrt(math.pi)), ir.Apply("exp", (negative(_square(u)),))
    ),
}


def ranked_by(node: ir.Reduce) -> tuple[ir.Expression, str] | None:
    """The x[e] and e of `Σ_{e'} [x[e'] > x[e] or (x[e'] = x[e] and e' < e)]`."""
    match node.indices, node.condition, node.body:
        case (
            (other,),
            None,
            ir.Apply("max", (
                ir.Apply(">", (above, x)),
                ir.Apply("and", (
                    ir.Apply("=", same), ir.Apply("<", (ir.IndexValue(before), ir.IndexValue(place)))
                )),
            )),
        ):  # fmt: skip
            own = ir.index_at(place)
            if ir.index_at(before) != other.name or own is None or same != (above, x):
                return None
            return (x, own) if moved(x, {own: ir.Affine.of(other.name)}) == above else None
    return None
