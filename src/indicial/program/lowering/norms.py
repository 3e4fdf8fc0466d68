"""Norms: sums over all slices of what stands between the bars.

‖x[t,J]‖        sqrt(sum{J}(x[t,J]^2))
‖x‖_1           sum{I}(abs(x[I]))           where x has an index
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.program import ir
from indicial.program.lowering.context import Term
from indicial.program.lowering.scope import Scope

if TYPE_CHECKING:
    from indicial.program.lowering.lower import Lowering


def norm(lowering: Lowering, node: s.Norm, scope: Scope) -> Term:
    """`‖x[t,J]‖`: over all slices of its body, also those that are on the left."""
    inner = lowering.term(_whole_tensor(lowering, node.body), scope.slicing())
    indices = tuple(opened.variable.index for opened in inner.opens.values())
    if not indices:
        return lowering.apply("abs", [inner], node.span)
    order = node.order.text if isinstance(node.order, s.Number) else "2"
    if order in ("1", "∞"):
        absolute = ir.Apply("abs", (inner.expression,), span=node.span)
        operator = "sum" if order == "1" else "max"
        return Term(ir.Reduce(operator, indices, None, absolute, span=node.span))
    square = ir.Apply("^", (inner.expression, ir.Constant(2.0)), span=node.span)
    total = ir.Reduce("sum", indices, None, square, span=node.span)
    return Term(ir.Apply("sqrt", (total,), span=node.span))


def _whole_tensor(lowering: Lowering, node: s.Expression) -> s.Expression:
    """A bare name in a norm means all its elements: `‖x‖` is `‖x[I]‖` where x has an index."""
    use = lowering.outline.use(node) if isinstance(node, s.Name) else None
    info = lowering.context.tensors.get(use.reference.key) if use is not None else None
    if use is None or info is None or not info.axes or use.reference.items:
        return node
    letters = tuple(s.Name("I", primes=n, span=node.span) for n in range(len(info.axes)))
    return s.Index(node, letters, span=node.span)
