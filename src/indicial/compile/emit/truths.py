"""Truths: comparisons, several at once, and their opposites; by tensors, or by Python.

t' ≤ t        t <= t[:, None]       a tensor, if an index is an axis
ℓ > 0         l > 0                 Python's, if a loop has fixed the index
"""

from __future__ import annotations

from collections.abc import Sequence

from indicial.compile.emit.graph import BOOL, CHOICE, COMPARE, INT, NUMBER
from indicial.compile.emit.numbers import SIGNS, number
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.values import Environment, Value, combined

_INVERSE = {
    f"{{}} {a} {{}}": b
    for one, two in (("<", ">="), (">", "<="), ("==", "!="))
    for a, b in ((one, two), (two, one))
}


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
        inverse = _INVERSE.get(node.template)
        if inverse is not None and all(a.kind in (INT, NUMBER) for a in node.arguments):
            a, b = node.arguments
            made = self.torch.graph.binary(inverse, a, b, node.shape, "mask")
            return Value(made, truth.dims)
        if node.kind == NUMBER:
            made = self.torch.graph.make(
                "not {}", node, kind=NUMBER, level=CHOICE, needs=(COMPARE,), plain=True
            )
            return Value(made)
        return Value(self.torch.graph.prefix("~", node, "mask"), truth.dims)
