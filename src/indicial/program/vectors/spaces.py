"""What `x ∈ ℝ^d`, `W ∈ ℝ^{m×n}` say of a name: how many indices, and their sizes.

b ∈ ℝ, η ∈ ℝ^+     a number
x ∈ ℝ^d            a vector
W ∈ ℝ^{m×n}        a matrix
b ∈ ℝ^{1×h}        a row
X ∈ ℝ^{b×n×d}      more than a matrix: written without its indices, it is not read
"""

from __future__ import annotations

from indicial.notation import syntax as s
from indicial.program.vectors.kinds import Costs
from indicial.program.vectors.shapes import COLUMN, MATRIX, NUMBER, ROW

ONE = s.Number("1")


def sizes(domain: s.Expression) -> tuple[s.Expression, ...]:
    """The sizes in `ℝ^{m×n}`, in order."""
    if not isinstance(domain, s.Name) or not domain.sup:
        return ()
    found: list[s.Expression] = []
    for item in domain.sup:
        found += _split(item.body if isinstance(item, s.Group) else item)
    return tuple(x for x in found if not (isinstance(x, s.Name) and x.base in _SIGNS))


_SIGNS = frozenset("+-*")
"""The `+` of `ℝ^+`, `ℝ^{+}` says which numbers, not how many."""


def _split(item: s.Expression) -> list[s.Expression]:
    """`2 h × d` has two sizes: a factor that no × stands before belongs to the one before it."""
    if not isinstance(item, s.Product):
        return [item]
    found: list[list[s.Expression]] = [[item.factors[0]]]
    for one, two in zip(item.factors, item.factors[1:], strict=False):
        between = "×"
        if one.span.source is two.span.source and one.span.end <= two.span.start:
            between = one.span.source.text[one.span.end : two.span.start]
        if any(sign in between for sign in ("×", "\\times", "·", "\\cdot", "*", "x")):
            found.append([two])
        else:
            found[-1].append(two)
    return [p[0] if len(p) == 1 else s.Product(tuple(p), span=item.span) for p in found]


def allowed(found: tuple[s.Expression, ...]) -> Costs | None:
    """The shapes that these sizes allow; None if there are too many."""
    if not found:
        return {NUMBER: 0.0}
    if len(found) == 1:
        return {COLUMN: 0.0, ROW: 1.0} if found[0] != ONE else {NUMBER: 0.0}
    if len(found) > 2:
        return None
    if found[0] == ONE:
        return {ROW: 0.0}
    return {COLUMN: 0.0} if found[1] == ONE else {MATRIX: 0.0}
