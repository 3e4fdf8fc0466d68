r"""Derivatives that a formula gives, in prose → names.

\frac{\partial L}{\partial W} = \delta x^\top     →  the name `∂L/∂W`, of W's kind, is defined
\frac{\partial a_i}{\partial z_k} = a_i (\delta_{ik} - a_k)     →  a number for each i and k

A loss is a number, so its derivative by something is like that, and may be read as well:
`∂L/∂h_t = W^⊤ ∂L/∂z_t`. Any other derivative is read where all is written with indices, or where it is
defined by its own two names, as slopes of functions of a number are. What is left keeps its ∂, and is
for whoever tries derivations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from indicial.notation import syntax as s
from indicial.notation.printers import unicode
from indicial.notation.signs import MARKS
from indicial.notation.slopes import FIRST, derived
from indicial.program.names.letters import LAST, is_capital, shifted

LOSSES = frozenset(
    {"L", "ℒ", "J", "𝒥", "ℓ", "l", "E", "ℰ", "C", "𝒞", "S", "loss", "Loss", "cost", "RSS", "MSE", "SSE", "BCE"}
)  # fmt: skip
"""What is made small: numbers."""
ZERO = s.Number("0")
D = s.Name("d")


def named(statement: s.Statement) -> s.Statement:
    """The statement with names for its derivatives, if it defines one of them; else as it is."""
    left = statement.left
    if not isinstance(statement, s.Equation) or not isinstance(left, s.Fraction | s.Product):
        return statement
    if statement.guard is not None or {*statement.relations} != {"="}:
        return statement
    found = derived(statement, FIRST)
    slope = found.sides[0]
    if not isinstance(slope, s.Derivative) or _head(slope.above) is None:
        return statement
    plain = _is_loss(slope.above) or _own(slope, found.sides[-1]) or _of_a_step(slope)
    # Plain letters alone may be vectors: `∂L/∂w = ∂L/∂z ∂z/∂w`.
    by_elements = any(n.sub for n in found.every(s.Name)) and not any(map(_of_wholes, found.sides))
    if not plain and not by_elements:
        return statement

    lone = {i.base for n in found.every(s.Name) for i in n.sub if isinstance(i, s.Name)}

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Derivative) and (
            by_elements or node is slope or _is_loss(node.above)
        ):
            return _one_of_its_terms(node) or _name(node, lone) or node
        return node if isinstance(node, s.Name) else node.rebuild(change)

    sides = list(map(change, found.sides))
    if sides[-1] == ZERO:
        sides.pop()  # where it vanishes is another matter
    open_ = any(side.every(s.Derivative) or _signs(side) for side in sides)
    # Of matrices a side with derivatives between others is a step, and no claim about names.
    steps = not by_elements and any(map(_derives, sides[1:-1]))
    if len(sides) < 2 or open_ or steps:
        return statement
    return replace(statement, sides=tuple(sides), relations=("=",) * (len(sides) - 1))


def abbreviated(statements: list[s.Statement]) -> list[s.Statement]:
    """`dX = dS W^⊤`: for a derivative of the loss by X there stands dX, as programs call it.

    Where somebody writes `dt` or `dx`, it is about small changes.
    """
    found = [pair for p in s.every(statements, s.Product) for pair in _differences(p)]
    lefts = [st.left for st in statements if isinstance(st, s.Equation)]
    defined = [left.factors[1] for left in lefts if isinstance(left, s.Product) and _differs(left)]
    bases = {name.base for name in found}
    read = len(found) > len(defined)  # `dZ = A - Y` alone may be anything
    if not defined or not read or not all(is_capital(base) or base == "b" for base in bases):
        return statements

    def change(node: s.Expression) -> s.Expression:
        if not isinstance(node, s.Product):
            return node if isinstance(node, s.Name) else node.rebuild(change)
        factors: list[s.Expression] = []
        for factor in map(change, node.factors):
            if factors and factors[-1] == D and isinstance(factor, s.Name):
                span = factors.pop().span.to(factor.span)
                factor = replace(factor, base="d" + factor.base, span=span)
            factors.append(factor)
        return factors[0] if len(factors) == 1 else replace(node, factors=tuple(factors))

    return s.with_sides(statements, change)


def _differences(product: s.Product) -> list[s.Name]:
    """The S of `dS W`."""
    return [b for a, b in pairwise(product.factors) if a == D and isinstance(b, s.Name)]


def _differs(left: s.Product) -> bool:
    return len(left.factors) == 2 and bool(_differences(left))


def below(name: s.Name) -> s.Name | None:
    """The W_{hh} of `∂L/∂W_{hh}`, if L is a loss; None for other names and derivatives."""
    above, sign, letter = name.base.removeprefix("∂").partition("/∂")
    if not sign or (above.partition("_")[0] not in LOSSES and above != letter):
        return None
    marks = tuple(MARKS[c] for c in letter if c in MARKS)
    plain = "".join(c for c in letter if c not in MARKS and c != "'")
    return replace(name, base=plain, accents=marks, primes=letter.count("'"))


def _one_of_its_terms(slope: s.Derivative) -> s.Expression | None:
    """The -1 of `∂(x_i - μ)/∂μ`."""
    terms = s.terms(s.inner(slope.above))
    signs = [
        -1 if isinstance(term, s.Negative) else 1
        for term in terms
        if s.unsigned(term) == slope.below
    ]
    if (
        len(terms) < 2
        or len(signs) != 1
        or not all(isinstance(s.unsigned(t), s.Name) for t in terms)
    ):
        return None
    one = s.Number("1", span=slope.span)
    return one if signs[0] > 0 else s.Group(s.Negative(one, span=slope.span), span=slope.span)


def _name(slope: s.Derivative, lone: set[str]) -> s.Name | None:
    """`∂L/∂W_{hh}` as one name, with the indices of both, those that they share once."""
    above, under = _head(slope.above), slope.below
    if above is None or not isinstance(under, s.Name) or under.base in ("t", "τ"):
        return None  # how something changes in time
    if _of_a_step(slope):  # by itself a step before: for each step one
        base = f"∂{unicode(above.stem)}/∂{unicode(under.stem)}"
        return s.Name(base, (), 0, above.sub, above.sup, above.font, span=slope.span)
    labels = tuple(i for i in above.sub if isinstance(i, s.Name) and _is_label(i))
    parts = [_powered(replace(above.stem, sub=labels), above), _powered(under.stem, under)]
    base = f"∂{parts[0]}/∂{parts[1]}"
    sub = _letters(tuple(i for i in above.sub if i not in labels) + under.sub, lone)
    sup = tuple(i for i in above.sup + under.sup if not isinstance(i, s.Number))
    kept = _once((*sub, *sup))
    sub, sup = (tuple(i for i in scripts if id(i) in kept) for scripts in (sub, sup))
    return s.Name(base, (), 0, sub, sup, under.font, span=slope.span)


def _powered(stem: s.Name, name: s.Name) -> str:
    """The `σ^2` of `∂L/∂σ^2`, which is no derivative by σ."""
    return unicode(stem) + "".join(f"^{i.text}" for i in name.sup if isinstance(i, s.Number))


def _letters(scripts: tuple[s.Expression, ...], lone: set[str]) -> tuple[s.Expression, ...]:
    """The i and j of `W_{ij}`, where an i stands by itself too."""
    return tuple(
        replace(i, base=letter) if letter and isinstance(i, s.Name) else i
        for i in scripts
        for letter in (i.base if isinstance(i, s.Name) and lone & {*i.base} else [""])
    )


def _once(scripts: Sequence[s.Expression]) -> set[int]:
    """The scripts without the `l+1` that stands beside an `l`, and none of them twice."""
    lone = {n.base for i in scripts if isinstance(n := s.inner(i), s.Name)}
    kept: dict[s.Expression, int] = {}
    for script in scripts:
        inner = s.inner(script)
        shifted = isinstance(inner, s.Add) and {n.base for n in inner.every(s.Name)} <= lone
        if not shifted:
            kept.setdefault(inner, id(script))
    return set(kept.values())


def _is_label(script: s.Name) -> bool:
    """The B of `σ_B`, the reg of `L_{reg}`."""
    return len(script.base) > 1 or (is_capital(script.base) and script.base not in LAST)


def _of_a_step(slope: s.Derivative) -> bool:
    """`∂c_t/∂c_{t-1}`."""
    above, under = slope.above, slope.below
    if not isinstance(above, s.Name) or not isinstance(under, s.Name):
        return False
    if replace(above, sub=()) != replace(under, sub=()) or len(above.sub) != len(under.sub):
        return False
    pairs = [(shifted(a), shifted(b)) for a, b in zip(above.sub, under.sub, strict=True)]
    steps = [a[1] - b[1] if a and b and a[0] == b[0] else 9 for a, b in pairs]
    return sorted(steps)[-1:] == [1] and set(steps) <= {0, 1}


def _head(above: s.Expression) -> s.Name | None:
    """The J of `∂J(θ)/∂θ`; no function that is only a letter."""
    if isinstance(above, s.Call) and above.given is None and above.word in LOSSES:
        whole = all(isinstance(a, s.Name) and not a.scripts for a in above.arguments)
        return above.function if whole else None
    return above if isinstance(above, s.Name) and above.base not in "fgφψFh∂∇" else None


def _is_loss(above: s.Expression) -> bool:
    head = _head(above)
    return head is not None and head.base in LOSSES and not head.accents


def _of_wholes(side: s.Expression) -> bool:
    """Whether a side has matrices or vectors as a whole, by their type or a capital without index."""
    turned = any(isinstance(n, s.Transpose | s.Norm | s.Hadamard) for n in side.walk())
    losses = s.ids(n.above for n in side.every(s.Derivative) if _is_loss(n.above))
    names = [n for n in s.values(side) if isinstance(n, s.Name) and id(n) not in losses]
    turned = turned or any(s.Name("T") in n.sup for n in names)
    return turned or any(n.font == "bold" or (is_capital(n.base) and not n.sub) for n in names)


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
