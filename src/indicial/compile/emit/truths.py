"""Truths: comparisons, several at once, and their opposites; by tensors, or by Python.

t' ≤ t        t <= t[:, None]       a tensor, if an index is an axis
ℓ > 0         l > 0                 Python's, if a loop has fixed the index

Conditions that are bounds: a shorter range in place of a mask.

Σ_{t ≥ 1} x[t]                      x[:, 1:].sum(1)
Σ_{s < t} h[s], at step t           stack(h, 0, t, …).sum(1): what exists, and no more
Σ_{s ≤ t} k[t-s] x[s]               of k what is at 0 or more
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indicial.compile.emit.nodes import BOOL, INT, NUMBER
from indicial.compile.emit.numbers import SIGNS, SizeTexts, number
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.ragged import Ragged
from indicial.compile.emit.reads import Bounds
from indicial.compile.emit.values import Environment, Value, combined
from indicial.program import ir
from indicial.program.cost.conditions import add, conjuncts, constraints, joined

_INVERSE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


class Truths:
    """Conditions → values that say where they hold."""

    def __init__(self, torch: Torch) -> None:
        self.torch = torch

    def compare(self, function: str, sides: Sequence[Value], env: Environment) -> Value:
        a, b = sides
        if a.node.kind == NUMBER and b.node.kind == NUMBER:
            plain = number(self.torch.graph, function, [a.node, b.node])
            assert plain is not None
            return Value(plain)
        return combined(self.torch, SIGNS[function], a, b, env, "mask")

    def all(self, truths: Sequence[Value], env: Environment) -> Value:
        numbers = [t.node for t in truths if t.node.kind == NUMBER]
        tensors = [t for t in truths if t.node.kind != NUMBER]
        plain = number(self.torch.graph, "and", numbers) if numbers else None
        total: Value | None = None
        for truth in tensors:
            if total is None:
                total = truth
                continue
            total = combined(self.torch, "&", total, truth, env, "mask")
        if plain is None or plain.value:
            return total if total is not None else Value(self.torch.graph.literal(1))
        if total is None or plain.value == 0:
            return Value(plain)
        none = self.torch.zeros(total.node.shape, BOOL)
        return Value(self.torch.choose(plain, total.node, none), total.dims)

    def no(self, truth: Value) -> Value:
        """Where it does not hold."""
        node = truth.node
        if node.value is not None:
            return Value(self.torch.graph.literal(float(not node.value)))
        inverse = _INVERSE.get(node.operation)
        if inverse is not None and all(a.kind in (INT, NUMBER) for a in node.arguments):
            a, b = node.arguments
            made = self.torch.graph.binary(inverse, a, b, node.shape, "mask")
            return Value(made, truth.dims)
        if node.kind == NUMBER:
            return Value(self.torch.graph.prefix("not ", node))
        return Value(self.torch.graph.prefix("~", node, "mask"), truth.dims)


def narrowed(
    indices: Sequence[ir.Index], condition: ir.Expression | None, env: Environment, ragged: Ragged
) -> tuple[list[ir.Index], ir.Expression | None]:
    """The indices with the ranges that a condition leaves, and what is left of the condition."""
    result = {index.name: index for index in indices}
    left = []
    for part in conjuncts(condition):
        bound = _bound(part, result, env.bind(result.values()), ragged)
        if bound is None:
            left.append(part)
        else:
            result[bound.name] = bound
    return list(result.values()), joined(left)


def within(
    place: ir.Affine, bounds: Bounds, condition: ir.Expression | None, sizes: SizeTexts
) -> tuple[Bounds, ir.Expression | None]:
    """What a condition leaves of the places that are read, and what is left of the condition."""
    lower, extent = bounds
    left = []
    for part in conjuncts(condition):
        told, exact = constraints(part)
        form = told[0].form if exact and len(told) == 1 and not told[0].differs else None
        upper = lower + extent - 1
        least = None if form is None else ir.number_at(add(place, form))  # form ≤ 0: place ≥ least
        most = None if form is None else ir.number_at(add(place, form, -1))
        if least is not None and sizes.certain(lower - least):
            continue
        if most is not None and sizes.certain(most - upper):
            continue
        if least is not None and sizes.certain(least - lower) and sizes.certain(upper - least + 1):
            lower, extent = least, upper - least + 1
        elif most is not None and sizes.certain(upper - most) and sizes.certain(most - lower + 1):
            extent = most - lower + 1
        else:
            left.append(part)
    return (lower, extent), joined(left)


def _bound(
    part: ir.Expression, indices: dict[str, ir.Index], env: Environment, ragged: Ragged
) -> ir.Index | None:
    """The index that a comparison bounds, with its new range; None if that is not certain."""
    told, exact = constraints(part)
    if not exact or len(told) != 1 or told[0].differs:
        return None
    form = env.affine(told[0].form)  # at most 0
    if len(form.terms) != 1 or ragged.varies(form.offset, env):
        return None
    ((name, factor),) = form.terms
    if name not in indices or abs(factor) != 1:
        return None
    index, own, certain = indices[name], env.own[name], ragged.torch.sizes.certain
    if factor > 0:
        extent = 1 - form.offset - own.lower
        fits = certain(extent) and certain(own.extent - extent)
        varies = ragged.varies(own.extent, env)
        return replace(index, extent=extent) if fits and not varies else None
    lower = form.offset
    extent = own.lower + own.extent - lower
    fits = certain(lower - own.lower) and certain(extent)
    return replace(index, lower=lower, extent=extent) if fits else None
