"""A probability on a right side: a distribution at a token.

P(w_t | w_0, …)      P[t, w[t]]            where P[t,v] is defined
P(y | x)             P[y]                  where y is `input y in C`
P(head_t = s | x)    P[t, s]               at the value that is said
Σ_y P(y) …           P[y]                  over what the Σ binds
P(x | h)             an open probability   nothing says what it is
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from indicial.notation import syntax as s
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Span
from indicial.program import ir
from indicial.program.lowering.context import ZERO, Term
from indicial.program.lowering.places import describe, place
from indicial.program.lowering.scope import Scope
from indicial.program.names.letters import index_name
from indicial.program.names.naming import Reference
from indicial.program.names.outline import probability_key, with_value
from indicial.program.names.uses import Use

if TYPE_CHECKING:
    from indicial.program.lowering.lower import Lowering


def probability(lowering: Lowering, use: Use, scope: Scope, span: Span) -> Term:
    """`P(w_t | …)` on a right side: the distribution at the actual token."""
    assert use.call is not None
    call, value = with_value(use.call)
    key = probability_key(use.reference.key, call)
    token = lowering.token_of(call.arguments[0])
    if token is not None and not token[0].items and token[1][0] in scope.variables:
        token = None  # `Σ_y P(y) …`, though y is an input as well
    if token is None and key not in lowering.outline.defined:
        over = _bound(call, scope)
        if index_name(call.arguments[0]) is not None and call.arguments[0] in over:
            # `Σ_y P(y) …`: a distribution over what the Σ binds.
            result = lowering.read(Reference(use.reference.key, over, span), scope)
            lowering.context.tensors[use.reference.key].probability = True
            return result
    if token is None or len(call.arguments) != 1:
        return _of_no_token(lowering, key, call, scope, span)
    return _at_token(lowering, key, value or call.arguments[0], token, scope, span)


def _bound(call: s.Call, scope: Scope) -> tuple[s.Expression, ...]:
    """The letters in the brackets that are bound where the probability stands."""
    letters = (*call.arguments, *(call.given or ()))
    return tuple(a for a in letters if isinstance(a, s.Name) and name_key(a) in scope.variables)


def _of_no_token(lowering: Lowering, key: str, call: s.Call, scope: Scope, span: Span) -> Term:
    """What an equation defines, at the index in the brackets; else an open probability."""
    argument, info = call.arguments[0], lowering.context.tensors.get(key)
    defined = key in lowering.outline.defined
    if defined and info is not None and isinstance(argument, s.Name):
        name = index_name(argument)
        if name is not None and name_key(name) in scope.variables and len(info.axes) == 1:
            return lowering.read(Reference(key, (argument,), span), scope)
        if not info.axes:
            return lowering.read(Reference(key, (), span), scope)
    open_key = unicode(call)
    info = lowering.tensor(open_key, 0, span)
    info.probability = True
    info.guess = "an open probability: nothing here says what it is"
    return Term(ir.Read(open_key, (), span=span))


def _at_token(
    lowering: Lowering,
    key: str,
    argument: s.Expression,
    token: tuple[Reference, tuple[str, tuple[s.Expression, ...]]],
    scope: Scope,
    span: Span,
) -> Term:
    reference, bound = token
    info = lowering.context.tensors.get(key) or lowering.tensor(key, len(reference.items) + 1, span)
    info.probability = True
    vocabulary = place(lowering, argument, scope)
    placed = [place(lowering, i, scope) for i in reference.items]
    lifted = [place(lowering, i, scope) for i in info.lifted]
    if len(lifted) + len(placed) + 1 != len(info.axes):
        letters = [*map(describe, reference.items), "@"]
        lowering.wrong_count(info, Reference(key, (*reference.items, argument), span), letters)
        return Term(ZERO)
    spans = [span] * len(lifted) + [i.span for i in reference.items] + [argument.span]
    result = lowering.read_at(info, [*lifted, *placed, vocabulary], spans, scope)
    if bound in scope.tokens:
        lowering.context.classes.union(info.axes[-1].size, scope.tokens[bound].size, span)
    assert isinstance(result.expression, ir.Read)
    return Term(ir.Read(key, result.expression.places, span=span), result.opens)
