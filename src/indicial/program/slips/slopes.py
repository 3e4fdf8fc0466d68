r"""Derivatives whose parts do not fit one another.

∂L/h_T                                 a ∂ is missing below
∂C/∂b_j = ∂C/∂z_k                      k stands where j is expected
∂z_i/∂W_{ij} = a_i                     a_j is meant
∂L/∂x_t = Σ_t ∂L/∂a_t W                t is summed, and stands on the left
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from indicial.notation import syntax as s
from indicial.notation.faults import Fault, warned
from indicial.notation.printers import unicode
from indicial.program.names.letters import COUNTING
from indicial.program.slips.one_sided import INDICES, binders, bound, indices

CODES = frozenset({"lost-slope", "slope-index"})

SIGNS = ("∂", "d", "δ", "∇")
Slope = tuple[s.Expression, s.Expression]


def slopes(equation: s.Equation) -> Iterator[Fault]:
    """The slips of an equation about derivatives."""
    if not equation.every(s.Fraction):
        return
    for rule in (_lost_sign, _indices, _summed):
        yield from rule(equation)


def _differential(node: s.Expression) -> s.Expression | None:
    """The x of `∂x`."""
    node = s.inner(node)
    if isinstance(node, s.Product) and len(node.factors) == 2:
        sign, body = node.factors
        if isinstance(sign, s.Name) and sign.base == "∂" and sign.bare:
            return s.inner(body)
    return None


def _slope(node: s.Expression) -> Slope | None:
    """The L and the x of `∂L/∂x`."""
    node = s.inner(node)
    if not isinstance(node, s.Fraction):
        return None
    above, below = _differential(node.above), _differential(node.below)
    return (above, below) if above is not None and below is not None else None


def _lost_sign(equation: s.Equation) -> Iterator[Fault]:
    """`∂L/h_T`: above stands a ∂, below none."""
    for node in equation.every(s.Fraction):
        one, other = _differential(node.above), _differential(node.below)
        bare = node.below if one is not None else node.above
        if (one is None) == (other is None) or not isinstance(s.inner(bare), s.Name):
            continue
        signed = any(n.base in SIGNS or n.base[:1] in "∂dδ" for n in bare.every(s.Name)[:1])
        if not signed and isinstance(one if one is not None else other, s.Name):
            where = "below" if one is not None else "above"
            text = f"∂ stands {'above' if one is not None else 'below'} here, and not {where}"
            yield warned(
                "lost-slope", text, bare.span, node.span, hint=f"is ∂{unicode(bare)} meant?"
            )


def _free(node: s.Node) -> dict[str, s.Name]:
    """The letters of indices in it, but for those that something runs over."""
    over = bound(node)
    return {c: n for n in node.every(s.Name) for c in indices(n) if c not in over and c in COUNTING}


def _indices(equation: s.Equation) -> Iterator[Fault]:
    """`∂C/∂b_j = ∂C/∂z_k`, `∂z_i/∂W_{ij} = a_i`: one side has a letter that the other lacks."""
    whole = _slope(equation.left)
    if (
        whole is None
        or len(equation.sides) != 2
        or equation.guard is not None
        or equation.every(s.Dots, s.Reduction)
    ):
        return
    left, right = _free(equation.left), _free(equation.sides[1])
    lacking, strange = [c for c in left if c not in right], [c for c in right if c not in left]
    if len(lacking) == len(strange) == 1 and set(lacking + strange) <= INDICES:
        (one,), (other,) = lacking, strange
        text = f"{other} stands where {one} is expected: the left side has {one}, and no {other}"
        yield warned("slope-index", text, right[other].span, left[one].span)
    above, below = (set(indices(part)) & INDICES for part in whole)
    alone = s.inner(equation.sides[1])
    single = isinstance(alone, s.Name) and set(right) & INDICES == above
    if len(below) == 2 and len(above) == 1 and above < below and single:
        (other,) = below - above
        text = f"{unicode(alone)} has the index of what is differentiated, and not the {other} of what it is by"
        yield warned("slope-index", text, alone.span, equation.left.span, hint=f"is {other} meant?")


def _summed(equation: s.Equation) -> Iterator[Fault]:
    """`∂L/∂x_t = Σ_t …`: the letter of the left side is summed on the right."""
    whole = _slope(equation.left)
    sides: Sequence[s.Expression] = equation.sides[1:2]
    for side in sides if whole is not None else ():
        total = s.inner(side)
        numbers = {c: n for part in whole or () for n in part.every(s.Name) for c in indices(n)}
        for letter in (
            binders(total) if isinstance(total, s.Reduction) and total.operator == "sum" else ()
        ):
            if letter.bare and letter.base in numbers:
                text = f"{letter.base} stands on the left, and is summed on the right"
                hint = "give one of them another letter, or leave out the sum"
                yield warned("slope-index", text, letter.span, numbers[letter.base].span, hint=hint)
