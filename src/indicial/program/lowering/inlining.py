"""One's own functions, put in at each call with that call's arguments.

f(x[J])[j] = …      called as f(y[t,K]): the slice y[t,·] goes in, a vector over K comes out

An argument that is more than a read becomes a tensor of its own, so that it is computed once:

f(W[J,I] x[t,I])    has the argument f^1[t,j]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering.cases import joined
from indicial.program.lowering.context import (
    ZERO,
    AxisInfo,
    Open,
    RawStatement,
    TensorInfo,
    Term,
    Variable,
)
from indicial.program.lowering.places import place
from indicial.program.lowering.scope import Local, Scope
from indicial.program.moving import moved
from indicial.program.names.letters import capital, family
from indicial.program.names.naming import Reference
from indicial.program.names.uses import FunctionDefinition, Use
from indicial.program.rewrite import free_indices

if TYPE_CHECKING:
    from indicial.program.lowering.lower import Lowering


DEEPEST = 60
"""So many functions may wait for each other."""
MOST_CALLS = 1000
"""No program is read that calls its own functions more often than this, bodies unfolded."""


def inline(
    lowering: Lowering, function: FunctionDefinition, use: Use, scope: Scope, span: Span
) -> Term:
    """The body of a function with the arguments of this call."""
    context = lowering.context
    assert use.call is not None
    deep = len(scope.calling) > DEEPEST
    if function.key in scope.calling or context.calls > MOST_CALLS or deep:
        again = function.key in scope.calling
        lowering.messages.error(
            "recursion",
            f"{function.key} calls itself"
            if again
            else f"functions that call each other more than {DEEPEST} deep"
            if deep
            else f"more than {MOST_CALLS} calls of functions",
            span,
            (function.span, "here"),
            hint="a function may not call itself, directly or through others" if again else "",
        )
        return Term(ZERO)
    if len(use.call.arguments) != len(function.parameters):
        lowering.messages.error(
            "argument-count",
            f"{function.key} takes {len(function.parameters)} argument(s), "
            f"not {len(use.call.arguments)}",
            (span, ""), (function.span, "defined here"),
        )  # fmt: skip
        return Term(ZERO)
    context.calls += 1
    name = f"{function.key}{context.calls}"
    arguments = arguments_of(lowering, name, use.call, scope)
    inner = Scope(
        scope.number,
        suffix=f"·{context.calls}",
        prefix=f"{name}.",
        calling=(*scope.calling, function.key),
    )
    slices_by_family: dict[str, list[Variable]] = {}
    for (parameter, letters), argument in zip(function.parameters, arguments, strict=True):
        if len(letters) != len(argument.slices):
            lowering.messages.error(
                "argument-shape",
                f"{function.key} takes {_slices(len(letters))} as {parameter}, "
                f"but gets {_slices(len(argument.slices))}",
                (argument.span, _slices(len(argument.slices))), (function.span, "defined here"),
                hint="a capital in an argument is a slice: x[t,J] is a vector over J. A product of two sums over it; "
                "write ⊙ for the products one by one",
            )  # fmt: skip
            return Term(ZERO)
        variables = tuple(v for _, v in argument.slices)
        inner.locals[parameter] = Local(argument.expression, variables)
        for letter, (_, variable) in zip(letters, argument.slices, strict=True):
            size = inner.family_class(context, family(letter), letter.span)
            context.classes.union(size, variable.size, argument.span)
            slices_by_family.setdefault(family(letter), []).append(variable)
    _group(lowering, use, scope, inner, function.key)
    results = [inner.bind(context, letter) for letter in function.result]
    inner.left = results
    body = lowering.whole(function.body, inner)
    places, opens = _result(lowering, function, use, scope, results, slices_by_family, span)
    expression = moved(body, places)
    return Term(expression, opens)


def _group(lowering: Lowering, use: Use, scope: Scope, inner: Scope, key: str) -> None:
    """`Φ[ℓ]`: one set of parameters for each ℓ; `Φ.c`: one set for all that name it."""
    group = use.reference.group
    if group is None:
        return
    base = group.base if isinstance(group, s.Index) else group
    if isinstance(base, s.Name) and "." in base.base:
        inner.prefix = f"{key}.{base.base.partition('.')[2]}."
    if isinstance(group, s.Index):
        placed = [place(lowering, i, scope) for i in group.items]
        inner.group = tuple((p.place, tuple(p.variables)) for p in placed)


def _result(
    lowering: Lowering,
    function: FunctionDefinition,
    use: Use,
    scope: Scope,
    results: list[Variable],
    slices: dict[str, list[Variable]],
    span: Span,
) -> tuple[dict[str, ir.Affine], dict[str, Open]]:
    """Where the result is read: the brackets behind the call, else the slice's capital."""
    places: dict[str, ir.Affine] = {}
    opens: dict[str, Open] = {}
    if use.rest:
        if len(use.rest) != len(results):
            lowering.messages.error(
                "index-count", f"{function.key} gives {_slices(len(results))}, "
                f"but {len(use.rest)} indices follow it", span,
            )  # fmt: skip
            return {v.name: ir.Affine() for v in results}, {}
        for variable, item in zip(results, use.rest, strict=True):
            placed = place(lowering, item, scope)
            for inner, factor in placed.variables:
                if factor == 1:
                    lowering.context.classes.union(variable.size, inner.size, item.span)
            for opened in placed.opened:
                opens[opened.name] = Open(opened, 1, [(item.span, "", 0)])
            places[variable.name] = placed.affine
        return places, opens
    for position, variable in enumerate(results):
        matching = slices.get(variable.family, [])
        if matching:
            outer = outer_variable(lowering, matching[0], scope)
        elif len(scope.left) >= len(results):
            outer = scope.left[len(scope.left) - len(results) + position]
        else:
            outer = variable
        lowering.context.classes.union(variable.size, outer.size, span)
        places[variable.name] = ir.Affine.of(outer.name)
        if outer not in scope.variables.values() and outer not in scope.left:
            opens[outer.name] = Open(outer, 1, [(span, "", 0)])
    return places, opens


def local(lowering: Lowering, reference: Reference, scope: Scope) -> Term:
    """A function's parameter in its body: the argument at these indices."""
    argument = scope.locals[reference.key]
    if len(reference.items) != len(argument.slices):
        lowering.messages.error(
            "index-count",
            f"{reference.key} is {_slices(len(argument.slices))}, "
            f"but has {len(reference.items)} indices here",
            reference.span,
        )  # fmt: skip
        return Term(ZERO)
    places: dict[str, ir.Affine] = {}
    opens: dict[str, Open] = {}
    for variable, item in zip(argument.slices, reference.items, strict=True):
        placed = place(lowering, item, scope)
        for inner, factor in placed.variables:
            if factor == 1:
                lowering.context.classes.union(variable.size, inner.size, item.span)
                inner.plain.extend(variable.plain)
        for opened in placed.opened:
            if opened.name in opens:
                opens[opened.name].count += 1
            else:
                opens[opened.name] = Open(opened, 1, [(item.span, reference.key, 0)])
        places[variable.name] = placed.affine
    return Term(moved(argument.expression, places), opens)


def _slices(count: int) -> str:
    return (
        ("a number", "a vector", "a matrix")[count] if count < 3 else f"a tensor of {count} indices"
    )


# ---------------------------------------------------------------------- arguments


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
    term = joined(lowering, node.parts, scope, variable, node.span)
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
