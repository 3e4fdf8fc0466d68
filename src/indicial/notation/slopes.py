r"""The ways of writing a derivative → one node for all of them.

    \frac{\partial L}{\partial W}           Derivative(L, W)
    \partial L / \partial W,  \nabla_W L    the same
    \nabla f(x)                            Derivative(f(x), x)
    \frac{d}{dx} x^2                        Derivative(x^2, x): the operator takes what follows it
    \frac{\partial l}{T \partial o}         1/T Derivative(l, o)

How far an operator reaches is open in `\nabla_x f g`: the whole product, or its first factor.
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.node import kept

SIGNS = ("∂", "d")
NABLA = s.Name("∇")
WHOLE, FIRST = "whole", "first"
"""How far an operator reaches."""


def derived(equation: s.Equation, reach: str) -> s.Equation:
    """An equation with its derivatives as nodes."""
    known = _by_reach(equation)
    if reach not in known:
        sides = tuple(_derived(side, reach) for side in equation.sides)
        known[reach] = replace(equation, sides=sides)
    return known[reach]


@kept
def _by_reach(equation: s.Equation) -> dict[str, s.Equation]:
    """What was found; every step of a chain asks for all of it."""
    return {}


def _derived(node: s.Expression, reach: str) -> s.Expression:
    if isinstance(node, s.Name):
        return node
    node = node.rebuild(lambda child: _derived(child, reach))
    factors = [f for n in (s.factors(node)) for f in _apart(n)]
    made = _product(list(factors), reach)
    if len(made) == len(factors) and all(a is b for a, b in zip(made, factors, strict=True)):
        return node
    return made[0] if len(made) == 1 else s.Product(tuple(made), span=node.span)


def _apart(factor: s.Expression) -> list[s.Expression]:
    """`∂(a + b)` is no call."""
    if not isinstance(factor, s.Call):
        return [factor]
    if factor.function.base in ("∂", "∇") and len(factor.arguments) == 1 and factor.given is None:
        return [factor.function, s.Group(factor.arguments[0], span=factor.arguments[0].span)]
    return [factor]


def _product(factors: list[s.Expression], reach: str) -> list[s.Expression]:
    made: list[s.Expression] = []
    while factors:
        factor = factors.pop(0)
        if isinstance(factor, s.Fraction) and (found := _fraction(factor, factors, reach)):
            made += found
        elif _operator(factor) and factors and isinstance(factor, s.Name):
            above = _taken(factors, reach)
            below = factor.sub[0]
            made.append(s.Derivative(above, below, span=factor.span.to(above.span)))
        elif factor == NABLA and factors and (by := _argument(factors[0])) is not None:
            call = factors.pop(0)
            made.append(s.Derivative(call, by, span=factor.span.to(call.span)))
        else:
            made.append(factor)
    return made


def _fraction(node: s.Fraction, behind: list[s.Expression], reach: str) -> list[s.Expression]:
    """A fraction with a ∂ above and below; what it takes of the factors behind it is removed there."""
    above, below = _split(node.above), _split(node.below)
    if above is None or below is None or above[1] != below[1]:
        return []
    (before, _, of), (divisors, _, by) = above, below
    span = node.span
    if not by and len(of) == 1 and behind:  # `∂L/∂W` is read as (∂L/∂) W
        by = [behind.pop(0)]
        span = span.to(by[0].span)
    if len(by) != 1 or not isinstance(by[0], s.Name | s.Group | s.Index):
        return []
    if not of:
        if not behind:
            return []
        taken = _taken(behind, reach)
        of, span = [taken], span.to(taken.span)
    whole = of[0] if len(of) == 1 else s.Product(tuple(of), span=of[0].span.to(of[-1].span))
    made: list[s.Expression] = [*before, s.Derivative(whole, by[0], span=span)]
    if divisors:
        divided = divisors[0] if len(divisors) == 1 else s.Product(tuple(divisors), span=span)
        made.insert(0, s.Fraction(s.Number("1"), divided, span=span))
    return made


def _split(part: s.Expression) -> tuple[list[s.Expression], str, list[s.Expression]] | None:
    """`T ∂ o` → what stands before the ∂, the sign, what stands behind it; None without a ∂."""
    factors = _factors(part)
    for number, factor in enumerate(factors):
        if isinstance(factor, s.Name) and factor.base in SIGNS and factor.bare:
            return factors[:number], factor.base, factors[number + 1 :]
    return None


def _factors(part: s.Expression) -> list[s.Expression]:
    """The factors of a product; those of `{∂ h}` too."""
    if isinstance(part, s.Product):
        return [f for factor in part.factors for f in _factors(factor)]
    if isinstance(part, s.Group) and isinstance(part.body, s.Product):
        first = part.body.factors[0]
        if isinstance(first, s.Name) and first.base in SIGNS and first.bare:
            return _factors(part.body)
    return _apart(part)


def _operator(factor: s.Expression) -> bool:
    """`∂_x`, `∇_x`."""
    return (
        isinstance(factor, s.Name)
        and factor.base in ("∂", "∇")
        and len(factor.sub) == 1
        and not factor.sup
    )


def _argument(call: s.Expression) -> s.Name | None:
    """The x of `∇f(x)`."""
    match call:
        case s.Call(arguments=(s.Name() as by,), given=None):
            return by
    return None


def _taken(behind: list[s.Expression], reach: str) -> s.Expression:
    """What an operator is applied to."""
    count = len(behind)
    if reach == FIRST:  # and the numbers before it: `∂/∂w 1/2 (y - w x)^2`
        count = next((n for n, factor in enumerate(behind, 1) if not _is_constant(factor)), count)
    taken = behind[:count]
    del behind[:count]
    inner = _product(taken, reach) if len(taken) > 1 else taken
    return (
        inner[0]
        if len(inner) == 1
        else s.Product(tuple(inner), span=inner[0].span.to(inner[-1].span))
    )


def _is_constant(factor: s.Expression) -> bool:
    """`1/2`, `1/m`."""
    if isinstance(factor, s.Fraction):
        factor = factor.above
    return isinstance(s.inner(factor), s.Number)
