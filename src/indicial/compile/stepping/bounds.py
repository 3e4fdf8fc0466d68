"""How far an index goes at one step: `t_2 ≤ t_1` ends it at the step itself.

>>> conjuncts(t_2 ≤ t_1 and t_2 > 0)
[t_2 ≤ t_1, t_2 > 0]
>>> upper("t_2", [t_2 ≤ t_1], {"t_1": n + 1})
(n + 1, t_2 ≤ t_1)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from indicial.program.cost.conditions import constraints
from indicial.program.ir import Affine, Apply, Expression
from indicial.program.moving import moved_place
from indicial.program.sizes import Size


def conjuncts(condition: Expression | None) -> list[Expression]:
    """The conditions that must hold together."""
    if condition is None:
        return []
    if isinstance(condition, Apply) and condition.function == "and":
        return [c for argument in condition.arguments for c in conjuncts(argument)]
    return [condition]


def joined(conditions: Iterable[Expression]) -> Expression | None:
    """All of them as one condition."""
    every = list(dict.fromkeys(conditions))
    if len(every) < 2:
        return every[0] if every else None
    return Apply("and", tuple(every))


def upper(
    name: str, conditions: Sequence[Expression], fixed: Mapping[str, Affine]
) -> tuple[Size, Expression] | None:
    """The largest value that the conditions leave to an index, and the condition that says so."""
    best: tuple[Size, Expression] | None = None
    for condition in conditions:
        for constraint in constraints(condition)[0]:
            form = moved_place(constraint.form, fixed)
            if constraint.differs or not isinstance(form, Affine) or form.terms != ((name, 1),):
                continue
            end = -form.offset
            if best is None or _less(end, best[0]):
                best = end, condition
    return best


def _less(a: Size, b: Size) -> bool:
    apart = (b - a).number
    return apart is not None and apart > 0


def says_only(condition: Expression) -> bool:
    """Whether a condition is one inequality, so that a range can take its place."""
    found, exact = constraints(condition)
    return exact and len(found) == 1
