r"""Names of a document that are two things: a sum, and what it is the sum of.

L = \frac{1}{N} \sum_i L_i       the sum of all losses, and the loss of each: L and L_·
J(θ) = \frac1T \sum_t J^{(t)}(θ)  the same, all of it of one θ
L = \frac{1}{N} \sum_i L_i = …  also where it goes on
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.program.names.gradients import PART
from indicial.program.names.letters import PARAMETERS, index_name
from indicial.program.names.naming import FUNCTION_LETTERS
from indicial.program.vectors.kinds import LOSSES


def with_totals(prose: list[s.Statement]) -> list[s.Statement]:
    """The statements with names of their own for what others are the sums of."""
    totals = {name for st in prose if isinstance(st, s.Equation) for name in _total(st)}
    if not totals:
        return prose
    each = s.Name(PART.strip("_"), font="roman")

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Derivative):
            return node
        if isinstance(node, s.Call) and node.function.stem in totals and _of_its_own(node):
            return change(node.function)
        if not isinstance(node, s.Name):
            return node.rebuild(change)
        part = node.stem in totals and len(node.scripts) == 1
        return replace(node, sub=(each, *node.sub)) if part else node

    return [st.rebuild(change) for st in prose]


def _total(equation: s.Equation) -> Iterator[s.Name]:
    """The L of `L = Σ_i L_i`, the J of `J(θ) = Σ_t J^{(t)}(θ)`."""
    left = equation.left
    name = left.function if isinstance(left, s.Call) else left
    if not isinstance(name, s.Name) or name.scripts or name.base in FUNCTION_LETTERS:
        return
    if isinstance(left, s.Call) and not _of_its_own(left):
        return
    sides = equation.sides[-1:] if isinstance(left, s.Call) else equation.sides[1:]
    for total in s.every(sides, s.Reduction):
        bound = {index_name(_index(under)) for under in total.under} - {None}
        again = [n for n in total.body.every(s.Name) if n.stem == name]
        one_each = all(
            len(n.scripts) == 1 and index_name(s.inner(n.scripts[0])) in bound for n in again
        )
        calls = [c for c in total.body.every(s.Call) if c.function.stem == name]
        alike = all(map(_of_its_own, calls)) and bool(calls) <= isinstance(left, s.Call)
        if again and one_each and alike and total.operator in ("sum", "mean", "max", "min"):
            yield name


def _of_its_own(call: s.Call) -> bool:
    """The `J(θ)`, and the `L^{<t>}(ŷ^{<t>}, y^{<t>})` of one step: what it is of can go without saying."""
    return call.given is None and all(
        isinstance(a, s.Name)
        and (
            a.base in _LEARNED
            or (call.function.base in LOSSES and a.scripts == call.function.scripts)
        )
        for a in call.arguments
    )


def _index(under: s.Expression) -> s.Expression:
    return under.operands[0] if isinstance(under, s.Comparison) else under


_LEARNED = PARAMETERS | {"w", "W", "b"}
"""What a loss is a function of, and its parts are as well."""
