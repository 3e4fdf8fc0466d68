r"""Derivatives that a formula gives, in prose → names.

\frac{\partial L}{\partial W} = \delta x^\top     →  the name `∂L/∂W`, of W's kind, is defined
\frac{\partial a_i}{\partial z_k} = a_i (\delta_{ik} - a_k)     →  a number for each i and k

A loss is a number, so its derivative by something is like that, and may be read as well:
`∂L/∂h_t = W^⊤ ∂L/∂z_t`. Any other derivative is read only where it is defined by its own two names, as
slopes of functions of a number are. What is left keeps its ∂, and is for whoever tries derivations.
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.printers import unicode
from indicial.notation.signs import MARKS
from indicial.notation.slopes import FIRST, derived

LOSSES = frozenset(
    {"L", "ℒ", "J", "𝒥", "ℓ", "l", "E", "ℰ", "C", "𝒞", "S", "loss", "Loss", "cost", "RSS", "MSE", "SSE", "BCE"}
)  # fmt: skip
"""What is made small: numbers."""
ZERO = s.Number("0")


def named(statement: s.Statement) -> s.Statement:
    """The statement with names for its derivatives, if it defines one of them; else as it is."""
    left = statement.left
    if not isinstance(statement, s.Equation) or not isinstance(left, s.Fraction | s.Product):
        return statement
    if statement.guard is not None:
        return statement
    found = derived(statement, FIRST)
    slope = found.sides[0]
    if not isinstance(slope, s.Derivative) or (name := _name(slope)) is None:
        return statement
    sides = [name, *map(_with_names, found.sides[1:])]
    if sides[-1] == ZERO:
        sides.pop()  # where it vanishes is another matter
    if len(sides) < 2:
        return statement
    # A side with derivatives between others is a step, and no claim about names.
    steps = any(map(_derives, sides[1:-1])) or {*statement.relations} != {"="}
    if steps or sides[-1].every(s.Derivative) or _signs(sides[-1]):
        return statement
    if not _is_loss(slope.above) and not _own(slope, sides[-1]):
        return statement
    return replace(statement, sides=tuple(sides), relations=("=",) * (len(sides) - 1))


def below(name: s.Name) -> s.Name | None:
    """The W_{hh} of `∂L/∂W_{hh}`, if L is a loss; None for other names and derivatives."""
    above, sign, letter = name.base.removeprefix("∂").partition("/∂")
    if not sign or above.partition("_")[0] not in LOSSES:
        return None
    marks = tuple(MARKS[c] for c in letter if c in MARKS)
    plain = "".join(c for c in letter if c not in MARKS and c != "'")
    return replace(name, base=plain, accents=marks, primes=letter.count("'"))


def _with_names(node: s.Expression) -> s.Expression:
    """The expression with a name for each derivative of a loss."""
    if isinstance(node, s.Derivative) and isinstance(node.above, s.Name) and _is_loss(node.above):
        return _name(node) or node
    return node if isinstance(node, s.Name) else node.rebuild(_with_names)


def _name(slope: s.Derivative) -> s.Name | None:
    """`∂L/∂W_{hh}` as one name, with the scripts of both."""
    above, under = _head(slope.above), slope.below
    if above is None or not isinstance(under, s.Name) or under.base in ("t", "τ"):
        return None  # how something changes in time
    labels = tuple(i for i in above.sub if isinstance(i, s.Name) and len(i.base) > 1)
    base = f"∂{unicode(replace(above.stem, sub=labels))}/∂{unicode(under.stem)}"
    sub = tuple(i for i in above.sub if i not in labels) + under.sub
    return s.Name(base, (), 0, sub, above.sup + under.sup, under.font, span=slope.span)


def _head(above: s.Expression) -> s.Name | None:
    """The J of `∂J(θ)/∂θ`; no function that is only a letter."""
    if isinstance(above, s.Call) and above.given is None and above.word in LOSSES:
        return above.function
    return above if isinstance(above, s.Name) and above.base not in "fgφψFh∂∇" else None


def _is_loss(above: s.Expression) -> bool:
    head = _head(above)
    return head is not None and head.base in LOSSES and not head.accents


def _derives(side: s.Expression) -> bool:
    """Whether a side holds derivatives, with a name or without."""
    return bool(side.every(s.Derivative)) or any(n.base[0] in "∂∇" for n in side.every(s.Name))


def _signs(side: s.Expression) -> bool:
    """Whether signs of derivatives are left in a side."""
    return any(n.base in ("∂", "∇") for n in side.every(s.Name))


def _own(slope: s.Derivative, side: s.Expression) -> bool:
    """`∂ŷ/∂z = ŷ (1 - ŷ)`: what is derived, by itself, and beside it numbers and known functions."""
    ends = [n for part in (slope.above, slope.below) if isinstance(n := s.head(part), s.Name)]
    apart = s.ids(script for n in side.every(s.Name) for script in n.scripts)
    apart |= s.ids(call.function for call in side.every(s.Call))
    free = [n for n in side.every(s.Name) if id(n) not in apart]
    known = {n.stem for n in ends}
    plain = all((n.stem in known or n.base == "δ") and n.font != "bold" for n in free)
    return plain and ends[0].stem in {n.stem for n in free}
