"""Arguments of functions of vectors: reads, with the slices in them by their capitals.

f(W[J,I] x[t,I])     the argument is more than a read: it becomes a tensor f^1[t,j] of its own
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering.context import AxisInfo, RawStatement, TensorInfo, Variable
from indicial.program.lowering.joins import join
from indicial.program.lowering.scope import Scope
from indicial.program.names.letters import capital
from indicial.program.rewrite import free_indices

if TYPE_CHECKING:
    from indicial.program.lowering.lower import Lowering


@dataclass
class Argument:
    """An argument of a function of vectors: a read or a number, and the slices in it by their capitals."""

    expression: ir.Expression
    slices: list[tuple[s.Name, Variable]]
    span: Span


def visible(lowering: Lowering, expression: ir.Expression, scope: Scope) -> list[Variable]:
    """The variables that an expression depends on, outermost first."""
    names = free_indices(expression)
    known: dict[str, Variable] = {}
    for variable in lowering.context.variables:
        if variable.name in names:
            known[variable.name] = variable
    in_scope = [*scope.left, *scope.variables.values(), *scope.tokens.values()]
    for variable in in_scope:
        if variable.name in names:
            known[variable.name] = variable
    return sorted(known.values(), key=lambda v: v.number)


def hidden_tensor(
    lowering: Lowering, key: str, variables: list[Variable], span: Span, role: str
) -> TensorInfo:
    axes = []
    for variable in variables:
        axis = AxisInfo(variable.size, variable.family, span)
        axis.reads.append((ir.Affine.of(variable.name), [(variable, 1)]))
        axes.append(axis)
    info = TensorInfo(key, axes, span, role=role, hidden=True)
    lowering.context.tensors[key] = info
    for number, variable in enumerate(variables):
        variable.plain.append((key, number))
    return info


def arguments_of(lowering: Lowering, name: str, node: s.Call, scope: Scope) -> list[Argument]:
    result = []
    for number, argument in enumerate(node.arguments):
        inner = scope.slicing()
        inner.suffix = f"{scope.suffix}°{lowering.context.calls}.{number}"
        if isinstance(argument, s.Group):
            argument = argument.body
        if isinstance(argument, s.Join):
            result.append(_joined(lowering, f"{name}.{number + 1}", argument, inner))
            continue
        term = lowering.elements(lowering.term(argument, inner), inner)
        opened = (o.variable for o in term.opens.values())
        slices = [(s.Name(capital(v.family), span=v.span), v) for v in opened]
        expression = term.expression
        if not isinstance(expression, ir.Read | ir.Constant):
            expression = _hoist(lowering, f"{name}.{number + 1}", expression, scope, argument.span)
        result.append(Argument(expression, slices, argument.span))
    return result


def _hoist(
    lowering: Lowering, key: str, expression: ir.Expression, scope: Scope, span: Span
) -> ir.Read:
    """A tensor of its own for an expression, and the read of it."""
    variables = visible(lowering, expression, scope)
    key = _fresh(lowering, key)
    info = hidden_tensor(lowering, key, variables, span, role="defined")
    left = tuple(ir.Affine.of(v.name) for v in variables)
    number = len(lowering.context.statements)
    for axis, at in zip(info.axes, left, strict=True):
        axis.left.append((at, number))
    lowering.context.statements.append(
        RawStatement(key, left, variables, expression, None, span, span)
    )
    return ir.Read(key, left, span=span)


def _fresh(lowering: Lowering, key: str) -> str:
    count, result = 1, key
    while result in lowering.context.tensors:
        count += 1
        result = f"{key}.{count}"
    return result


def _joined(lowering: Lowering, key: str, node: s.Join, scope: Scope) -> Argument:
    """A joined vector as an argument: it gets a name and an index of its own."""
    context = lowering.context
    size = context.classes.new("C", node.span, 8)
    variable = context.variable(f"c{scope.suffix}", "c", size, node.span)
    term = join(lowering, node.parts, scope, variable, node.span)
    expression = _hoist(lowering, key, term.expression, scope, node.span)
    return Argument(expression, [(s.Name("C", span=node.span), variable)], node.span)


def outer_variable(lowering: Lowering, variable: Variable, scope: Scope) -> Variable:
    """The index outside that a slice's capital means: bound on the left, or open."""
    written = variable.name.partition("°")[0]
    if written in scope.variables:
        return scope.variables[written]
    if written not in scope.capitals:
        outer = lowering.context.variable(
            written + scope.suffix, variable.family, variable.size, variable.span
        )
        outer.plain = list(variable.plain)
        scope.capitals[written] = outer
    return scope.capitals[written]
