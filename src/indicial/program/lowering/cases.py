"""Cases, conditions and joins.

cases { 1 if t > 0, 0 otherwise }   →  Select(((t > 0, 1),), 0)
z[t,C] = a[t,I]; b[t,J]             →  Join along the last index on the left: a[t,·], then b[t,·]; C = I + J
h[0,t,I]; …; h[K-1,t,I]             →  all heads, one after the other
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.cost.conditions import linear
from indicial.program.cost.conditions import negation as opposed
from indicial.program.lowering.context import ZERO, Term, Variable, merge
from indicial.program.lowering.scope import Scope
from indicial.program.names.letters import index_name
from indicial.program.names.naming import Reference
from indicial.program.sizes import Size

if TYPE_CHECKING:
    from indicial.program.lowering.lower import Lowering


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
        sign = "<" if isinstance(container, s.TupleLiteral) else "≤"
        container = s.SetLiteral(container.items, span=container.span)
        if len(container.items) == 2 and not container.every(s.Dots):
            # `p ∈ (0, 1)`: all between them, without the ends where the brackets are round.
            return _between(lowering, left, *container.items, sign, scope, span)
    if isinstance(container, s.SetLiteral) and container.ends is not None:
        container = s.Interval(*container.ends, span=container.span)
    if isinstance(container, s.SetLiteral) and not container.every(s.Dots):
        tests = tuple(
            ir.Apply("=", (left.expression, lowering.term(i, scope).expression), span=span)
            for i in container.items
        )
        return tests[0] if len(tests) == 1 else ir.Apply("max", tests, span=span)
    if isinstance(container, s.Interval):
        return _between(lowering, left, container.lower, container.upper, "≤", scope, span)
    if isinstance(container, s.SetLiteral):
        text = f"{unicode(container)} leaves open what is in it"
        lowering.messages.error("condition", text, container.span)
        return ir.Constant(1.0)
    lowering.messages.error("condition", f"{unicode(container)} is not a set", container.span)
    return ir.Constant(1.0)


def _between(
    lowering: Lowering,
    left: Term,
    low: s.Expression,
    high: s.Expression,
    sign: str,
    scope: Scope,
    span: Span,
) -> ir.Expression:
    first, last = (lowering.term(end, scope).expression for end in (low, high))
    ends = ir.Apply(sign, (first, left.expression)), ir.Apply(sign, (left.expression, last))
    return ir.Apply("and", ends, span=span)


def guard(lowering: Lowering, node: s.Expression, scope: Scope) -> ir.Expression:
    """The condition behind an equation. `for i = 1, …, n` is none: it says which i there are."""
    parts = node.parts if isinstance(node, s.Conjunction) else (node,)
    kept = [lowering.condition(part, scope) for part in parts if not _says_all(part)]
    return conjoin(kept) or ir.Constant(1.0)


def _says_all(part: s.Expression) -> bool:
    return isinstance(part, s.Comparison) and part.operators == ("∈",) and bool(part.every(s.Dots))


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
    return joined(lowering, node.parts, scope, scope.left[-1], node.span)


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


# ---------------------------------------------------------------------- joins


def joined(
    lowering: Lowering,
    parts: tuple[s.Expression, ...],
    scope: Scope,
    variable: Variable,
    span: Span,
) -> Term:
    """`a[t,I]; b[t,J]` along `variable`: each part's last index is its slice, sizes add."""
    context = lowering.context
    if any(isinstance(p, s.Dots) for p in parts):
        return _over_all(lowering, parts, scope, variable, span)
    made: list[ir.Part] = []
    total = Size()
    for number, part in enumerate(parts):
        inner = scope.slicing()
        inner.suffix = f"{scope.suffix}°j{number}"
        inner.left = []
        term = lowering.elements(lowering.term(part, inner), inner)
        slices = list(term.opens.values())
        if len(slices) > 1:
            lowering.messages.error(
                "join", f"{unicode(part)} has {len(slices)} slices, a part of a join has one",
                part.span, hint="each part's last index is a capital, the others are on the left",
            )  # fmt: skip
            return Term(ZERO)
        if slices:
            one = slices[0].variable
        else:
            size = context.classes.new("1", part.span, 9)
            context.classes.bind(size, Size.of(1), part.span)
            one = context.variable(f"one{inner.suffix}", "one", size, part.span)
        total = total + context.classes.atom(one.size)
        made.append(ir.Part(one.index, term.expression))
    context.classes.bind(variable.size, total, span)
    at = ir.Affine(((variable.name, 1),), -Size.of(f"#lo{variable.number}"))
    return Term(ir.Join(at, tuple(made), span=span))


def _over_all(
    lowering: Lowering,
    parts: tuple[s.Expression, ...],
    scope: Scope,
    variable: Variable,
    span: Span,
) -> Term:
    """`h[0,t,I]; ⋯; h[K-1,t,I]`: over all heads, one after the other, as `(k,i)` says it too."""
    first, last = parts[0], parts[-1]
    shape_first, shape_last = lowering.outline.use(first), lowering.outline.use(last)
    if (
        len(parts) < 3
        or shape_first is None or shape_last is None
        or shape_first.reference.key != shape_last.reference.key
        or len(shape_first.reference.items) != len(shape_last.reference.items)
    ):  # fmt: skip
        lowering.messages.error(
            "join",
            "the parts around the dots do not match",
            span,
            hint="write h[0,t,I]; …; h[K-1,t,I], or h[t,(k,i)] = …",
        )
        return Term(ZERO)
    items = shape_first.reference.items
    ends = shape_last.reference.items
    differ = [n for n, (a, b) in enumerate(zip(items, ends, strict=True)) if a != b]
    if len(differ) != 1 or index_name(items[-1]) is None:
        lowering.messages.error(
            "join", "the first and the last part differ in more than one index", span
        )
        return Term(ZERO)
    where = differ[0]
    info = lowering.tensor(shape_first.reference.key, len(items), span)
    size = (
        info.axes[where].size if where < len(info.axes) else lowering.context.classes.new("K", span)
    )
    over = lowering.context.variable("k°", info.axes[where].letter or "k", size, span)
    inner = scope.slicing()
    slice_name = index_name(items[-1])
    assert slice_name is not None
    within = inner.bind(lowering.context, slice_name)
    letter = s.Name("κ", span=span)
    inner.variables[name_key(letter)] = over
    moved = tuple(letter if n == where else i for n, i in enumerate(items))
    reference = Reference(shape_first.reference.key, moved, shape_first.reference.span)
    term = lowering.read(reference, inner)
    total = lowering.context.classes.atom(size) * lowering.context.classes.atom(within.size)
    lowering.context.classes.bind(variable.size, total, span)
    lowering.flattened[scope.number] = (variable, over, within)
    return Term(term.expression)
