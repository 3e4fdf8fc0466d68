"""Equations for a batch of examples → the same for one example: training adds the batch itself.

    h[b,t,j] = tanh(W[j,I] h[b,t-1,I] + …)      h[t,j] = tanh(W[j,I] h[t-1,I] + …)
    loss = 1/(B T) Σ_{b,t} -ln P(w[b,t] | …)    loss = 1/T Σ_t -ln P(w[t] | …)

Only an index that numbers examples is left out: one that stands in brackets by itself or below a Σ, never in
arithmetic and never as a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.program.meaning.arrays import BATCH

_LETTER, _SIZE = s.Name(BATCH), s.Name(BATCH.upper())


def without_batch(statements: Sequence[s.Statement]) -> list[s.Statement]:
    """The statements without the index of the examples; as they are if they have none, or use it otherwise."""
    nodes = [n for statement in statements for n in statement.walk()]
    numbering = [n for n in nodes if isinstance(n, s.Index) and _LETTER in n.items]
    if not numbering or any(isinstance(statement, s.Claim) for statement in statements):
        return list(statements)
    plain = sum(n.items.count(_LETTER) for n in nodes if isinstance(n, s.Index))
    plain += sum(n.under.count(_LETTER) for n in nodes if isinstance(n, s.Reduction))
    if plain != sum(n == _LETTER for n in nodes):
        return list(statements)  # `b + 1`, or a bias b
    return [_without(statement) for statement in statements]


def _without(statement: s.Statement) -> s.Statement:
    if isinstance(statement, s.Declaration):
        items = tuple(_one(item) for item in statement.items)
        return replace(statement, items=items)
    if not isinstance(statement, s.Equation):
        return statement
    averaged = any(_LETTER in n.under for n in statement.every(s.Reduction))
    sides = tuple(_one(side) for side in statement.sides)
    if averaged:
        sides = tuple(_without_size(side) for side in sides)
    return replace(statement, sides=sides)


def _one(node: s.Expression) -> s.Expression:
    if isinstance(node, s.Name):
        return node
    node = node.rebuild(_one)
    if isinstance(node, s.Index) and _LETTER in node.items:
        items = tuple(item for item in node.items if item != _LETTER)
        return replace(node, items=items) if items else node.base
    if isinstance(node, s.Reduction) and _LETTER in node.under:
        under = tuple(item for item in node.under if item != _LETTER)
        return replace(node, under=under) if under else node.body
    return node


def _without_size(node: s.Expression) -> s.Expression:
    """`1/(B T)` → `1/T`: the mean over the examples is taken by training."""
    if isinstance(node, s.Name | s.Comparison):
        return node
    node = node.rebuild(_without_size)
    if not isinstance(node, s.Fraction):
        return node
    factors = s.factors(node.below)
    kept = tuple(f for f in factors if f != _SIZE)
    if len(kept) == len(factors):
        return node
    if not kept:
        return node.above if node.above != s.Number("1") else s.Number("1", span=node.span)
    return replace(node, below=kept[0] if len(kept) == 1 else s.Product(kept, span=node.below.span))
