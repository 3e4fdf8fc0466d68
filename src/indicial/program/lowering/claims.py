"""Equations that define nothing, and claims: what should hold, as tests of the IR.

claim std of α[0] ≈ 0.386 within 0.01     Test(Statistic("std", α[0]), "≈", 0.386, tolerance 0.01)
claim α[t_1,t_2] = 0 for t_2 > t_1        for all t_1, t_2 where the guard holds
claim 0 ≤ α[t] ≤ 1                        two tests
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.printers import unicode
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering.cases import guard
from indicial.program.lowering.context import RawTest, Term, merge
from indicial.program.lowering.scope import Scope
from indicial.program.names.letters import COUNTING
from indicial.program.names.naming import Reference
from indicial.program.names.occurrences import loose_letters

if TYPE_CHECKING:
    from indicial.program.lowering.lower import Lowering

_COMPARED = frozenset({"=", "≈", "≠", "<", "≤", ">", "≥"})


def lower_tests(lowering: Lowering, start: int) -> None:
    """Adds a test for each relation of an equation that defines nothing, and of each claim."""
    for number, equation in enumerate(lowering.outline.tests, start):
        _lower(lowering, equation.sides, equation.relations, Scope(number), equation.span, "step")
    start += len(lowering.outline.tests)
    for number, claim in enumerate(lowering.outline.claims, start):
        if _sound(lowering, claim):
            _claim(lowering, claim, Scope(number))


def _sound(lowering: Lowering, claim: s.Claim) -> bool:
    """Whether it says how near two sides should be, where that has to be said."""
    operators = claim.comparison.operators
    for operator in operators:
        if operator not in _COMPARED:
            lowering.messages.error(
                "claim", f"a claim cannot state `{operator}`", claim.comparison.span,
                hint="a claim compares: = ≈ ≠ < ≤ > ≥",
            )  # fmt: skip
            return False
    if isinstance(claim.tolerance, s.Negative):
        lowering.messages.error(
            "claim-tolerance", "a tolerance must be at least 0", claim.tolerance.span,
            hint="write `claim a ≈ b within 0.01`",
        )  # fmt: skip
        return False
    if claim.tolerance is not None:
        return True
    statistic = bool(claim.every(s.Statistic))
    if "≈" in operators or ("=" in operators and statistic):
        why = "a number from draws is never exact" if statistic else "give a tolerance"
        lowering.messages.error(
            "claim-tolerance", f"how close should the two sides be? {why}", claim.comparison.span,
            hint="write `claim a ≈ b within 0.01`",
        )  # fmt: skip
        return False
    return True


def _claim(lowering: Lowering, claim: s.Claim, scope: Scope) -> None:
    comparison = claim.comparison
    if claim.plot:
        (shown,) = comparison.operands
        (made_plot,) = _lower(lowering, (shown, shown), ("=",), scope, claim.span, "plot")
        made_plot.text = unicode(shown)
        return
    kind = "false" if claim.false else "claim"
    extra = [part for part in (claim.guard, claim.tolerance) if part is not None]
    made = _lower(
        lowering, comparison.operands, comparison.operators, scope, claim.span, kind, extra
    )
    tolerance = lowering.whole(claim.tolerance, scope) if claim.tolerance is not None else None
    holds = guard(lowering, claim.guard, scope) if claim.guard is not None else None
    for number, test in enumerate(made):
        test.tolerance, test.guard = tolerance, holds
        test.text = _text(claim, number)


def _text(claim: s.Claim, number: int) -> str:
    """One relation of a claim, as a reader would write it."""
    operands, operators = claim.comparison.operands, claim.comparison.operators
    text = f"{unicode(operands[number])} {operators[number]} {unicode(operands[number + 1])}"
    text += f" within {unicode(claim.tolerance)}" if claim.tolerance is not None else ""
    return text + (f" for {unicode(claim.guard)}" if claim.guard is not None else "")


def _lower(
    lowering: Lowering,
    sides: tuple[s.Expression, ...],
    relations: tuple[str, ...],
    scope: Scope,
    span: Span,
    kind: str,
    extra: list[s.Expression] | None = None,
) -> list[RawTest]:
    loose: dict[str, s.Name] = {}
    for side in (*sides, *(extra or ())):
        loose.update(loose_letters(lowering.outline, side, set()))
    for key, name in loose.items():
        # A step of prose holds for all of what it numbers: `q_m^⊤ k_n = x_m^⊤ R_{n-m} x_n`.
        stated = kind != "step" or (lowering.context.document and name.base in COUNTING)
        known = key in lowering.index_keys or (stated and not _is_number(lowering, key))
        if known and key not in lowering.outline.labels:
            variable = scope.bind(lowering.context, name)
            variable.free = True
            scope.left.append(variable)
    # `V[D,E] x[E] = y[D]`: a capital that the first side leaves open is free, as on a left side.
    first = lowering.elements(lowering.term(sides[0], scope), scope)
    for key, opened in first.opens.items():
        opened.variable.free = True
        scope.variables[key] = opened.variable
        scope.left.append(opened.variable)
    lowered: list[ir.Expression] = [first.expression]
    for side in sides[1:]:
        inner = scope.child()
        inner.capitals = {}
        lowered.append(lowering.whole(side, inner))
    made = [
        RawTest(left, relation, right, list(scope.left), span, kind)
        for left, relation, right in zip(lowered, relations, lowered[1:], strict=False)
    ]
    lowering.context.tests += made
    return made


def _is_number(lowering: Lowering, key: str) -> bool:
    """Whether a letter in brackets is the name of a number, and no index."""
    info = lowering.context.tensors.get(key)
    return info is not None and not info.axes


# ---------------------------------------------------------------------- what only claims speak of


def statistic(lowering: Lowering, node: s.Statistic, scope: Scope) -> Term:
    body = lowering.term(node.body, scope)
    made = ir.Statistic(node.operator, body.expression, span=node.span)
    return Term(made, merge([body], brackets=True))


def quantity(lowering: Lowering, node: s.Quantity, scope: Scope) -> Term:
    if node.of is None and node.what in lowering.outline.defined | lowering.outline.declared:
        return lowering.read(Reference(node.what, (), node.span), scope)  # a name of the program
    key = "" if node.of is None else lowering.outline.naming.read(node.of.name).key
    return Term(ir.Quantity(node.what, key, span=node.span))


def growth(lowering: Lowering, node: s.Growth, scope: Scope) -> Term:
    return Term(ir.Growth(lowering.whole(node.body, scope), span=node.span))


def derivative(lowering: Lowering, node: s.Derivative, scope: Scope) -> Term:
    above, below = lowering.lower(node.above, scope), lowering.lower(node.below, scope)
    if isinstance(above.expression, ir.Read) and isinstance(below.expression, ir.Read):
        made = ir.Derivative(above.expression, below.expression, span=node.span)
        return Term(made, merge([above, below], brackets=False))
    lowering.messages.error(
        "derivative", "a derivative must be of one name with respect to another", node.span,
        hint="give the expression a name on a line of its own: y = …, then ∂y/∂x[i]",
    )  # fmt: skip
    return Term(ir.Constant(0.0))
