"""Sums that are not written: Einstein's convention.

y_i = A_{ij} x_j            →  y_i = Σ_j A_{ij} x_j
C_{ik} = A_{ij} B_{jk}      →  C_{ik} = Σ_j A_{ij} B_{jk}
h_t = W_{hx} x_t               the h and the x tell names apart: not touched
e_{ij} = W_{ij} h_j            j stands on the left: not touched

A letter is summed where it stands below exactly two factors of a product and nowhere on the left, and
a factor with several letters has all of them on the left or summed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.program.names.letters import WORDS, index_name, is_capital, is_letter
from indicial.program.vectors.regular import rebuilt

SHORTEST, LONGEST = 2, 4
"""How many letters may stand below one name without a comma: `A_{ij}`, `T_{ijk}`."""


def summed(equation: s.Statement) -> s.Statement:
    """An equation with the sums that it implies; any other statement as it is."""
    if not isinstance(equation, s.Equation):
        return equation
    left = {letter for name in equation.sides[0].every(s.Name) for letter in _letters(name)}

    def change(node: s.Expression, bound: frozenset[str]) -> s.Expression:
        if isinstance(node, s.Reduction):
            # Also the i and j of `Σ_{ij}`.
            bound |= {c for under in node.under for n in under.every(s.Name) for c in n.base}
        if isinstance(node, s.Product):
            return _product(node, left, bound)
        return rebuilt(node, lambda inner: change(inner, bound))

    first, *rest = equation.sides
    sides = (first, *(change(side, frozenset()) for side in rest))
    return equation if sides == equation.sides else replace(equation, sides=sides)


def _product(product: s.Product, left: set[str], bound: frozenset[str]) -> s.Expression:
    factors = [dict.fromkeys(_letters(f)) for f in product.factors if isinstance(f, s.Name)]
    count = Counter(letter for letters in factors for letter in letters)
    twice = [x for x, times in count.items() if times == 2 and x not in left and x not in bound]
    pairs = [
        {*letters} for letters in factors if len(letters) >= SHORTEST and {*letters} & {*twice}
    ]
    if not pairs or any(not letters <= left | {*twice} for letters in pairs):
        return product
    under = tuple(s.Name(letter, span=product.span) for letter in twice)
    return s.Reduction("sum", under, None, product, span=product.span)


def _letters(name: s.Name) -> Iterator[str]:
    """The letters below a name that may be indices, and the shifted ones: `{t, j}` of `h_{t-1,j}`."""
    for script in name.sub:
        inner = script.terms[0] if isinstance(script, s.Add) else script
        if not isinstance(inner, s.Name) or inner.font == "roman":
            continue
        if index_name(inner) is not None and not is_capital(inner.base):
            yield inner.base
        elif inner.bare and SHORTEST <= len(inner.base) <= LONGEST and inner.base not in WORDS:
            yield from inner.base if all(is_letter(c) and c.islower() for c in inner.base) else ()
