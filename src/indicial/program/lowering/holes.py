"""A function that is only named: a stand-in with the right sizes takes its place.

CELL(a[J], b[K]) at j   →   tanh(CELL^1[j,J] a[J] + CELL^2[j,K] b[K])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering.arguments import (
    Argument,
    arguments_of,
    hidden_tensor,
    outer_variable,
)
from indicial.program.lowering.context import ZERO, Open, Term, Variable
from indicial.program.lowering.places import place
from indicial.program.lowering.scope import Scope
from indicial.program.names.letters import is_capital
from indicial.program.names.uses import Use

if TYPE_CHECKING:
    from indicial.program.lowering.lower import Lowering


def hole(lowering: Lowering, use: Use, scope: Scope, span: Span) -> Term:
    """A function that is only named. A stand-in with the right sizes takes its place:

    `CELL(a[J], b[K])` at j  →  tanh(CELL^1[j,J] a[J] + CELL^2[j,K] b[K])
    """
    assert use.call is not None
    context = lowering.context
    key = use.reference.key
    context.holes.setdefault(key, span)
    context.calls += 1
    name = f"{key}{context.calls}"
    if any(isinstance(a, s.Dots) for a in use.call.arguments):
        return Term(ZERO)
    arguments = arguments_of(lowering, name, use.call, scope)
    result, opens = _hole_result(lowering, use, scope, arguments, span)
    terms: list[ir.Expression] = []
    for number, argument in enumerate(arguments):
        weight = f"{name}^{{{number + 1}}}"
        variables = [*([result] if result else []), *(v for _, v in argument.slices)]
        hidden_tensor(lowering, weight, variables, span, role="parameter")
        read = ir.Read(weight, tuple(ir.Affine.of(v.name) for v in variables), span=span)
        product = ir.Apply("*", (read, argument.expression), span=span)
        indices = tuple(v.index for _, v in argument.slices)
        terms.append(ir.Reduce("sum", indices, None, product, span=span) if indices else product)
    total = terms[0] if len(terms) == 1 else ir.Apply("+", tuple(terms), span=span)
    return Term(ir.Apply("tanh", (total,), span=span), opens)


def _hole_result(
    lowering: Lowering, use: Use, scope: Scope, arguments: list[Argument], span: Span
) -> tuple[Variable | None, dict[str, Open]]:
    if use.rest:
        placed = place(lowering, use.rest[0], scope)
        if placed.variables:
            variable = placed.variables[0][0]
            opens = {v.name: Open(v, 1, [(span, "", 0)]) for v in placed.opened}
            return variable, opens
        return None, {}
    capitals = [v for v in scope.left if is_capital(v.name[:1])]
    if capitals:
        return capitals[-1], {}
    for argument in arguments:
        for _, variable in argument.slices:
            outer = outer_variable(lowering, variable, scope)
            return outer, {outer.name: Open(outer, 1, [(span, "", 0)])}
    return None, {}
