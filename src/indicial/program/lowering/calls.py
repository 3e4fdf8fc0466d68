"""Calls → what they call: a function that is built in, one's own, or a hole.

tanh(x[t,j])            built in: an application in the IR
layernorm(x[t,J])       built in, as an equation: put in like one's own (`inlining`)
CELL(h[t-1,J], x[t,K])  a hole, only named: tanh(CELL^1[j,J] h[t-1,J] + CELL^2[j,K] x[t,K]) takes its place
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.printers import name_key
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering.context import ZERO, Open, Term, Variable, merge
from indicial.program.lowering.inlining import (
    Argument,
    arguments_of,
    hidden_tensor,
    inline,
    outer_variable,
    visible,
)
from indicial.program.lowering.places import place
from indicial.program.lowering.scope import Scope
from indicial.program.names.letters import capital, is_capital
from indicial.program.names.uses import ALIASES, SLOPES, FunctionDefinition, Use

if TYPE_CHECKING:
    from indicial.program.lowering.lower import Lowering


ONE = ir.Constant(1.0)
ARITY = {"min": (1, 99), "max": (1, 99)}


PRELUDE = """
layernorm(x[J])[j] =
    (x[j] - mean_{j'} x[j']) / sqrt(mean_{j'} (x[j'] - mean_{j''} x[j''])^2 + 0.00001)
rmsnorm(x[J])[j] = x[j] / sqrt(mean_{j'} x[j']^2 + 0.00001)
topk(x[E], n)[e] = [Σ_{e'} [x[e'] > x[e] or (x[e'] = x[e] and e' < e)] < n]
swiglu(x[I])[j] = Σ_n W[j,n] SiLU(G[n,I] x[I]) (U[n,I] x[I])
rope(x[I], t)[i] = x[i] cos(t / 10000^{2 floor(i/2)/I}) +
    (x[i-1] [2 floor(i/2) < i] - x[i+1] [2 floor(i/2) = i]) sin(t / 10000^{2 floor(i/2)/I})
"""
"""Functions of vectors that are there without being written, as equations like any other."""


def _silu(x: ir.Expression) -> ir.Expression:
    return ir.Apply("*", (x, ir.Apply("σ", (x,))), span=x.span)


def _elu(x: ir.Expression) -> ir.Expression:
    below = ir.Apply("exp", (ir.Apply("min", (x, ZERO)),))
    return ir.Apply("+", (ir.Apply("max", (x, ZERO)), below, ir.Constant(-1.0)), span=x.span)


def _log_sigmoid(x: ir.Expression) -> ir.Expression:
    minus = ir.Apply("neg", (x,), span=x.span)
    return ir.Apply("neg", (ir.Apply("softplus", (minus,), span=x.span),), span=x.span)


def _slope(key: str, x: ir.Expression) -> ir.Expression:
    """`σ'(x) = σ(x) (1 - σ(x))`, `tanh'(x) = 1 - tanh(x)^2`, `ReLU'(x) = [x > 0]`."""
    if key == "ReLU'":
        return ir.Apply("<", (ZERO, x), span=x.span)
    value = ir.Apply(key[:-1], (x,), span=x.span)
    factor = value if key == "σ'" else ir.Apply("+", (ONE, value), span=x.span)
    rest = ir.Apply("+", (ONE, ir.Apply("neg", (value,), span=x.span)), span=x.span)
    return ir.Apply("*", (factor, rest), span=x.span)


COMPOSED: dict[str, Callable[[ir.Expression], ir.Expression]] = {
    "SiLU": _silu,
    "ELU": _elu,
    "logsigmoid": _log_sigmoid,
    **{key: partial(_slope, key) for key in SLOPES},
}
"""Functions of a number that are made of others."""


@cache
def prelude() -> dict[str, FunctionDefinition]:
    from indicial.notation.parse import parse_text
    from indicial.program.messages import Messages
    from indicial.program.names.sorting import outline

    parsed = parse_text(PRELUDE, "built in")
    return outline(parsed.statements, Messages(), document=False).functions


def call(lowering: Lowering, use: Use, scope: Scope, node: s.Expression) -> Term:
    """A function with its arguments."""
    assert use.call is not None
    key = use.reference.key
    own = lowering.outline.functions.get(key)
    if own is not None:
        return inline(lowering, own, use, scope, node.span)
    key = ALIASES.get(key, key)
    if key in ir.ELEMENTWISE:
        return _elementwise(lowering, key, use.call, scope, node.span)
    if key in COMPOSED and len(use.call.arguments) == 1:
        inner = lowering.term(use.call.arguments[0], scope)
        return Term(COMPOSED[key](inner.expression), merge([inner], brackets=True))
    if key == "dropout":
        return _dropout(lowering, use.call, scope, node.span)
    if key == "onehot":
        return _onehot(lowering, use, scope, node.span)
    if key in ("softmax", "logsoftmax"):
        body = s.Group(use.call.arguments[0], span=node.span)
        share = s.Reduction("softmax", (), None, body, span=node.span)
        if key == "softmax":
            return lowering.lower(share, scope)
        return lowering.lower(s.Call(s.Name("ln"), (share,), span=node.span), scope)
    if key in prelude() and len(prelude()[key].parameters) == len(use.call.arguments):
        use = _over_last(use, scope) if key == "topk" else use
        return inline(lowering, prelude()[key], use, scope, node.span)
    return hole(lowering, use, scope, node.span)


def _over_last(use: Use, scope: Scope) -> Use:
    """`topk(g[t,e], 2)` is `topk(g[t,E], 2)[e]`: without a slice it is over the index bound last."""
    assert use.call is not None
    first, *rest = use.call.arguments
    names = [n for i in first.every(s.Index) for item in i.items for n in item.every(s.Name)]
    bound = [n for n in names if name_key(n) in scope.variables]
    summed = Counter(name_key(n) for n in names if is_capital(n.base))
    if use.rest or not bound or 1 in summed.values():
        return use
    order = list(scope.variables)
    last = max(bound, key=lambda name: order.index(name_key(name)))

    def sliced(node: s.Expression) -> s.Expression:
        node = node.rebuild(sliced)
        return replace(node, base=capital(last.base)) if node == last else node

    call = replace(use.call, arguments=(sliced(first), *rest))
    return replace(use, call=call, rest=(last,))


def _elementwise(lowering: Lowering, key: str, node: s.Call, scope: Scope, span: Span) -> Term:
    least, most = ARITY.get(key, (1, 1))
    if not least <= len(node.arguments) <= most:
        lowering.messages.error(
            "argument-count", f"{key} takes one argument, not {len(node.arguments)}", span,
            hint=f"write {key}(…) with one expression inside",
        )  # fmt: skip
        return Term(ZERO)
    terms = [lowering.term(a, scope) for a in node.arguments]
    arguments = tuple(t.expression for t in terms)
    return Term(ir.Apply(key, arguments, span=span), merge(terms, brackets=True))


def _dropout(lowering: Lowering, node: s.Call, scope: Scope, span: Span) -> Term:
    """`dropout(x, p)` is x times a drawn mask that is 0 or 1/(1-p), one for each element of x; of a number
    alone, one for each element of the left side."""
    if not 1 <= len(node.arguments) <= 2:
        lowering.messages.error("argument-count", "dropout takes a value and a rate", span,
                                hint="write dropout(x[t,j], 0.1)")  # fmt: skip
        return Term(ZERO)
    inner = lowering.term(node.arguments[0], scope)
    rate = lowering.whole(node.arguments[1], scope) if len(node.arguments) > 1 else ir.Constant(0.1)
    context = lowering.context
    count = sum(1 for t in context.tensors if t.startswith("dropout_")) + 1
    key = f"dropout_{count}"
    number = isinstance(inner.expression, ir.Constant)
    variables = scope.left if number else visible(lowering, inner.expression, scope)
    hidden_tensor(lowering, key, variables, span, role="draw")
    context.draws.append(ir.Draw(key, "dropout", (rate,), span))
    mask = ir.Read(key, tuple(ir.Affine.of(v.name) for v in variables), span=span)
    body = ir.Apply("*", (mask, inner.expression), span=span)
    return Term(body, merge([inner], brackets=True))


def _onehot(lowering: Lowering, use: Use, scope: Scope, span: Span) -> Term:
    assert use.call is not None
    if len(use.call.arguments) != 1 or len(use.rest) > 1:
        lowering.messages.error("argument-count", "onehot takes one token and one index", span,
                                hint="write onehot(w[t])[v]")  # fmt: skip
        return Term(ZERO)
    if use.rest:
        at = place(lowering, use.rest[0], scope).affine
    elif scope.left:
        at = ir.Affine.of(scope.left[-1].name)
    else:
        return Term(ZERO)
    token = lowering.token_of(use.call.arguments[0])
    value = lowering.term(use.call.arguments[0], scope)
    if token is not None:
        values = lowering.token_values(token[0].key, span)
        for variable in scope.left:
            if at.terms == ((variable.name, 1),):
                lowering.context.classes.union(values, variable.size, span)
    same = ir.Apply("=", (ir.IndexValue(at, span=span), value.expression), span=span)
    return Term(same, merge([value], brackets=True))


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
