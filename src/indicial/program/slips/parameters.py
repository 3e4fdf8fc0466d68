r"""Parameters that are exchanged: what an equation says of one that belongs to another.

b = b - \eta \frac{\partial L}{\partial w}               b is changed by a derivative by w
\hat v_t = v_t / (1 - \beta_1^t)                      v_t is a mean with β_2
\partial L/\partial W^1 = \delta^2 x^\top              the gradient by b^1 has δ^1
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.faults import Fault, warned
from indicial.notation.printers import unicode
from indicial.program.slips.forms import fits, pattern, shape
from indicial.program.slips.usual import CODE, below_slope, told_apart_below


def exchanged_parameters(
    display: Sequence[s.Equation], equations: Sequence[s.Equation]
) -> Iterator[Fault]:
    """`b = b - η ∂L/∂w`, `v̂_t = v_t / (1 - β_1^t)` of a mean with β_2: what belongs to another parameter."""
    for row in display:
        yield from _updated_by(row)
        yield from _other_mean(row, equations)
        yield from _other_delta(row, equations)


def _updated_by(row: s.Equation) -> Iterator[Fault]:
    """`b = b - η ∂L/∂w`: a parameter that is changed by the gradient of another."""
    left, right = row.sides[0], s.inner(row.sides[-1])
    if not isinstance(left, s.Name) or not isinstance(right, s.Add) or len(right.terms) != 2:
        return
    before, step = right.terms
    if not isinstance(before, s.Name) or before.stem != left.stem:
        return
    parts = s.factors(s.inner(step.body)) if isinstance(step, s.Negative) else ()
    slopes = [(p, below) for p in map(shape, parts) if (below := below_slope(p)) is not None]
    rates = [p for p in parts if not isinstance(p, s.Name | s.Number)]
    if len(slopes) == len(rates) == 1:
        ((slope, below),) = slopes
        by = below.node
        if (
            isinstance(by, s.Name)
            and by.stem != left.stem
            and by.base.islower() == left.base.islower()
        ):
            text = f"{unicode(left)} is changed by a derivative by {unicode(by)}"
            yield warned(CODE, text, slope.node.span, left.span, hint="is one letter meant?")


def _other_mean(row: s.Equation, equations: Sequence[s.Equation]) -> Iterator[Fault]:
    r"""`\hat v_t = v_t / (1 - β_1^t)`, where v_t is a mean with β_2."""
    left = row.sides[0]
    if not isinstance(left, s.Name) or left.accents != ("hat",):
        return
    for bound in fits(pattern(r"\frac{x}{1 - B}")[0], shape(row.sides[-1])):
        power = bound["B"].node
        mean = bound["x"].node
        if not isinstance(power, s.Name) or not isinstance(mean, s.Name) or not power.sup:
            continue
        for other in equations:
            if other.sides[0] != mean or len(other.sides) != 2:
                continue
            for kept in fits(pattern("B X + (1 - B) Y")[0], shape(other.sides[1])):
                decay = kept["B"].node
                if told_apart_below(decay, replace(power, sup=())):
                    text = f"{unicode(mean)} is a mean with {unicode(decay)}, and is corrected for {unicode(power)}"
                    yield warned(CODE, text, power.span, decay.span, hint="is one β meant?")


def _other_delta(row: s.Equation, equations: Sequence[s.Equation]) -> Iterator[Fault]:
    """`∂L/∂b^1 = δ^1`, `∂L/∂W^1 = δ^2 x^⊤`: both are made of the δ of their layer."""
    below, factors = below_slope(shape(row.sides[0])), s.factors(row.sides[-1])
    weight = below.node if below is not None else None
    if not isinstance(weight, s.Name) or weight.base not in "Ww" or len(factors) != 2:
        return
    delta = factors[0]
    turned = isinstance(factors[1], s.Transpose) or (
        isinstance(factors[1], s.Name) and factors[1].sup[-1:] == (s.Name("T"),)
    ) or shape(factors[1]).kind == "transpose"  # fmt: skip
    if not isinstance(delta, s.Name) or not turned or len(row.sides) != 2:
        return
    for other in equations:
        by = below_slope(shape(other.sides[0]))
        bias = by.node if by is not None else None
        own = other.sides[-1]
        if not isinstance(bias, s.Name) or bias.base != "b" or not isinstance(own, s.Name):
            continue
        layer = (bias.sub, bias.sup) == (weight.sub, weight.sup)
        if (
            layer
            and weight.scripts
            and own.base == delta.base
            and own != delta
            and len(other.sides) == 2
        ):
            text = f"the gradient by {unicode(bias)} has {unicode(own)}, that by {unicode(weight)} has {unicode(delta)}"
            yield warned(CODE, text, delta.span, own.span, hint="are both of one layer?")
