"""Cases, conditions and joins.

cases { 1 if t > 0, 0 otherwise }   →  Select(((t > 0, 1),), 0)
a[t,I]; b[t,J]                      →  Join along the last index on the left
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.printers import unicode
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.cost.conditions import linear
from indicial.program.cost.conditions import negation as opposed
from indicial.program.lowering import joins
from indicial.program.lowering.context import Term, merge
from indicial.program.lowering.scope import Scope

if TYPE_CHECKING:
    from indicial.program.lowering.lower import Lowering

ZERO = ir.Constant(0.0)


def cases(lowering: Lowering, node: s.Cases, scope: Scope) -> Term:
    branches: list[tuple[ir.Expression, ir.Expression]] = []
    otherwise: ir.Expression = ZERO
    terms: list[Term] = []
    for value, condition in node.branches:
        term = lowering.term(value, scope)
        terms.append(term)
        if condition is None:
            otherwise = term.expression
        else:
            branches.append((lowering.condition(condition, scope), term.expression))
    selected = ir.Select(tuple(branches), otherwise, span=node.span)
    return Term(selected, merge(terms, brackets=True))


def comparison(lowering: Lowering, node: s.Comparison, scope: Scope) -> Term:
    parts: list[ir.Expression] = []
    values: list[Term | None] = []
    for operand in node.operands:
        is_set = isinstance(operand, s.SetLiteral | s.TupleLiteral | s.ListLiteral | s.Interval)
        values.append(None if is_set else lowering.term(operand, scope))
    for position, operator in enumerate(node.operators):
        left, right = values[position], values[position + 1]
        if operator in ("∈", "∉"):
            inside = _member(lowering, left, node.operands[position + 1], scope, node.span)
            parts.append(inside if operator == "∈" else _not(inside, node.span))
        elif left is not None and right is not None and operator in ir.COMPARISONS:
            parts.append(ir.Apply(operator, (left.expression, right.expression), span=node.span))
        else:
            text = f"{unicode(node)} is not a condition"
            lowering.messages.error("condition", text, node.span)
    terms = [v for v in values if v is not None]
    return Term(conjoin(parts) or ir.Constant(1.0), merge(terms, brackets=True))


def _member(
    lowering: Lowering, left: Term | None, container: s.Expression, scope: Scope, span: Span
) -> ir.Expression:
    if left is None:
        return ir.Constant(1.0)
    if isinstance(container, s.TupleLiteral | s.ListLiteral):
        if len(container.items) == 2 and not any(isinstance(i, s.Dots) for i in container.items):
            # `p ∈ (0, 1)`: all between them, without the ends where the brackets are round.
            sign = "<" if isinstance(container, s.TupleLiteral) else "≤"
            low, high = (lowering.term(i, scope).expression for i in container.items)
            ends = ir.Apply(sign, (low, left.expression)), ir.Apply(sign, (left.expression, high))
            return ir.Apply("and", ends, span=span)
        container = s.SetLiteral(container.items, span=container.span)
    if isinstance(container, s.SetLiteral):
        tests = tuple(
            ir.Apply("=", (left.expression, lowering.term(i, scope).expression), span=span)
            for i in container.items if not isinstance(i, s.Dots)
        )  # fmt: skip
        if any(isinstance(i, s.Dots) for i in container.items):
            return ir.Constant(1.0)
        return tests[0] if len(tests) == 1 else ir.Apply("max", tests, span=span)
    if isinstance(container, s.Interval):
        low = lowering.term(container.lower, scope).expression
        high = lowering.term(container.upper, scope).expression
        return ir.Apply(
            "and",
            (ir.Apply("≤", (low, left.expression)), ir.Apply("≤", (left.expression, high))),
            span=span,
        )
    lowering.messages.error("condition", f"{unicode(container)} is not a set", container.span)
    return ir.Constant(1.0)


def conjunction(lowering: Lowering, node: s.Conjunction, scope: Scope) -> Term:
    terms = [lowering.lower(p, scope) for p in node.parts]
    return lowering.apply("and", terms, node.span)


def disjunction(lowering: Lowering, node: s.Disjunction, scope: Scope) -> Term:
    """One is enough: conditions are 1 or 0, so their maximum says it."""
    terms = [lowering.lower(p, scope) for p in node.parts]
    return lowering.apply("max", terms, node.span)


def negation(lowering: Lowering, node: s.Negation, scope: Scope) -> Term:
    term = lowering.lower(node.body, scope)
    return Term(_not(term.expression, node.span), merge([term], brackets=True))


def join(lowering: Lowering, node: s.Join, scope: Scope) -> Term:
    if not scope.left:
        lowering.messages.error(
            "join",
            "a joined vector needs a name",
            node.span,
            hint="write `z[t,C] = a[t,I]; b[t,J]` on a line of its own",
        )
        return Term(ZERO)
    return joins.join(lowering, node.parts, scope, scope.left[-1], node.span)


def list_literal(lowering: Lowering, node: s.ListLiteral, scope: Scope) -> Term:
    if all(not isinstance(i, s.Number | s.Negative | s.ListLiteral) for i in node.items):
        return join(lowering, s.Join(node.items, span=node.span), scope)
    lowering.messages.error(
        "literal",
        "a list of numbers can only be the whole right side",
        node.span,
        hint="give it a name: `q = [1, 1, 2]`",
    )
    return Term(ZERO)


def conjoin(parts: list[ir.Expression]) -> ir.Expression | None:
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else ir.Apply("and", tuple(parts), span=parts[0].span)


def _not(condition: ir.Expression, span: Span) -> ir.Expression:
    if isinstance(condition, ir.Apply) and all(linear(a) is not None for a in condition.arguments):
        opposite = opposed(condition)  # numbers that compare one way or the other: no nan
        if opposite is not None:
            return opposite
    return ir.Apply("=", (condition, ir.Constant(0.0)), span=span)
