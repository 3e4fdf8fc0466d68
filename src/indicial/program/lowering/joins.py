"""Joins: parts one after the other, each over its own slice.

z[t,C] = a[t,I]; b[t,J]                 a[t,·], then b[t,·]; C = I + J
h[0,t,I]; …; h[K-1,t,I]                 all heads
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering.context import ZERO, Term, Variable
from indicial.program.lowering.scope import Scope
from indicial.program.names.letters import index_name
from indicial.program.names.naming import Reference
from indicial.program.sizes import Size

if TYPE_CHECKING:
    from indicial.program.lowering.lower import Lowering


def join(
    lowering: Lowering,
    parts: tuple[s.Expression, ...],
    scope: Scope,
    variable: Variable,
    span: Span,
) -> Term:
    """`a[t,I]; b[t,J]` along `variable`: each part's last index is its slice, sizes add."""
    context = lowering.context
    if any(isinstance(p, s.Dots) for p in parts):
        return _joined_over(lowering, parts, scope, variable, span)
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


def _joined_over(
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
