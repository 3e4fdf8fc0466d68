"""Partial derivatives of pointwise expressions, as expressions.

derivative(tanh(a[t] + b[t]), a[t])             →  1 - tanh(a[t] + b[t])^2
derivative(tanh(a[t] + b[t]), a[t], value=R[t]) →  1 - R[t]^2      where R is that tanh already
derivative(G[t] * h[t-1], h[t-1])               →  G[t]

At a kink the derivative is PyTorch's: 0 for ReLU and abs at 0, equal shares among the largest
arguments of max and the smallest of min. What jumps (comparisons, floor, sign) has derivative 0, and
so has `stop`, which is there for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from indicial.compile.passes.algebra import (
    ONE,
    ZERO,
    compare,
    minus,
    negative,
    numeral,
    plus,
    power,
    quotient,
    times,
)
from indicial.program.ir import COMPARISONS, LOGIC, Apply, Constant, Expression, Select

TWO = Constant(2.0)
HALF = Constant(0.5)


def derivative(
    expression: Expression,
    atom: Expression,
    value: Expression | None = None,
    apart: Collection[Expression] = (),
) -> Expression:
    """How the expression changes with a part of it, at each value of its indices.

    `value` is a cheaper expression for the whole, a read of the tensor that it defines. What stands
    in `apart` counts as independent of the atom even where the atom occurs in it.
    """
    if expression == atom:
        return ONE
    if expression in apart:
        return ZERO
    if isinstance(expression, Select):
        branches = tuple((c, derivative(v, atom, None, apart)) for c, v in expression.branches)
        otherwise = derivative(expression.otherwise, atom, None, apart)
        if all(v == otherwise for _, v in branches):
            return otherwise
        return Select(branches, otherwise, span=expression.span)
    if not isinstance(expression, Apply):
        return ZERO
    inner = [derivative(a, atom, None, apart) for a in expression.arguments]
    if all(d == ZERO for d in inner):
        return ZERO
    return _chain(expression, inner, expression if value is None else value)


def _chain(node: Apply, inner: list[Expression], value: Expression) -> Expression:
    """The derivative of a function from those of its arguments."""
    function, arguments = node.function, node.arguments
    if function in ("min", "max"):
        shares = [_share(node, n) for n in range(len(arguments))]
        return plus(*(times(share, d) for share, d in zip(shares, inner, strict=True)))
    if function == "lse":
        total = plus(*(power_of(a, value) for a in arguments))
        shares = [weight(a, value, total) for a in arguments]
        return plus(*(times(share, d) for share, d in zip(shares, inner, strict=True)))
    if function in COMPARISONS or function in LOGIC:
        return ZERO
    if function == "+":
        return plus(*inner)
    if function == "*":
        terms = []
        for number, d in enumerate(inner):
            others = [a for n, a in enumerate(arguments) if n != number]
            terms.append(times(d, *others))
        return plus(*terms)
    if function == "/":
        below = arguments[1]
        d_above, d_below = inner
        change = d_above if d_below == ZERO else minus(d_above, times(value, d_below))
        return quotient(change, below)
    if function == "^":
        return plus(
            times(_by_base(node), inner[0]),
            ZERO if inner[1] == ZERO else times(_by_exponent(node, value), inner[1]),
        )
    return times(_UNARY[function](arguments[0], value), inner[0])


def weight(term: Expression, whole: Expression, total: Expression) -> Expression:
    """The share of a term in the sum of exponentials whose logarithm is `whole`: 0 at -∞.

    `total` is 1 but for the rounding of the logarithm, which in a long recurrence would add up.
    """
    share = quotient(power_of(term, whole), total)
    return Select(((compare(term, "=", Constant(-math.inf)), ZERO),), share)


def power_of(term: Expression, whole: Expression) -> Expression:
    return Apply("exp", (minus(term, whole),))


def _by_base(node: Apply) -> Expression:
    """`n u^(n-1)`; at an exponent that happens to be 0, 0 even where u is 0."""
    base, exponent = node.arguments
    value = numeral(exponent)
    if value is not None:
        return times(Constant(value), power(base, Constant(value - 1)))
    slope = times(exponent, power(base, minus(exponent, ONE)))
    return Select(((compare(exponent, "=", ZERO), ZERO),), slope)


def _by_exponent(node: Apply, value: Expression) -> Expression:
    """`u^n ln u`, and 0 at u = 0."""
    base, _ = node.arguments
    constant = numeral(base)
    if constant is not None and constant > 0:
        return times(Constant(math.log(constant)), value)
    slope = times(value, Apply("ln", (base,)))
    return Select(((compare(base, "=", ZERO), ZERO),), slope)


def _share(node: Apply, number: int) -> Expression:
    """Which part of a maximum comes from one argument: all, none, or equal shares of a tie.

    Arguments are compared with each other, not with the maximum: computed again, they may be
    rounded in another way, and then none of them would be it.
    """
    own = node.arguments[number]
    others = [a for n, a in enumerate(node.arguments) if n != number]
    if len(others) == 1:
        wins, loses = (">", "<") if node.function == "max" else ("<", ">")
        (other,) = others
        return Select(((compare(own, wins, other), ONE), (compare(own, loses, other), ZERO)), HALF)
    sign = "≥" if node.function == "max" else "≤"
    first = Apply("and", tuple(compare(own, sign, other) for other in others))
    ties = plus(ONE, *(compare(own, "=", other) for other in others))
    return Select(((first, quotient(ONE, ties)),), ZERO)


def _square(expression: Expression) -> Expression:
    return power(expression, TWO)


def _gelu(u: Expression, _: Expression) -> Expression:
    below = times(HALF, plus(ONE, Apply("erf", (quotient(u, Constant(math.sqrt(2))),))))
    density = times(
        Constant(1 / math.sqrt(2 * math.pi)), Apply("exp", (negative(times(HALF, _square(u))),))
    )
    return plus(below, times(u, density))


_UNARY: dict[str, Callable[[Expression, Expression], Expression]] = {
    "neg": lambda u, y: Constant(-1.0),
    "tanh": lambda u, y: minus(ONE, _square(y)),
    "σ": lambda u, y: times(y, minus(ONE, y)),
    "ReLU": lambda u, y: compare(u if isinstance(y, Apply) else y, ">", ZERO),
    "GELU": _gelu,
    "exp": lambda u, y: y,
    "ln": lambda u, y: quotient(ONE, u),
    "sqrt": lambda u, y: quotient(HALF, y),
    "abs": lambda u, y: Apply("sign", (u,)),
    "sign": lambda u, y: ZERO,
    "floor": lambda u, y: ZERO,
    "stop": lambda u, y: ZERO,
    "cos": lambda u, y: negative(Apply("sin", (u,))),
    "sin": lambda u, y: Apply("cos", (u,)),
    "softplus": lambda u, y: Apply("σ", (u,)),
    "erf": lambda u, y: times(
        Constant(2 / math.sqrt(math.pi)), Apply("exp", (negative(_square(u)),))
    ),
}
