"""Truths: comparisons, several at once, and their opposites; by tensors, or by Python.

t' ≤ t        t <= t[:, None]       a tensor, if an index is an axis
ℓ > 0         l > 0                 Python's, if a loop has fixed the index
"""

from __future__ import annotations

from collections.abc import Sequence

from indicial.compile.emit.graph import BOOL, CHOICE, COMPARE, INT, NUMBER, SIGN
from indicial.compile.emit.numbers import SIGNS, number
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.values import Environment, Value, aligned, merged

_INVERSE = {
    f"{{}} {a} {{}}": f"{{}} {b} {{}}"
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
        dims = merged([a, b], env)
        nodes = aligned(self.torch, a, dims), aligned(self.torch, b, dims)
        node = self.torch.graph.make(
            f"{{}} {SIGNS[function]} {{}}", *nodes, shape=env.extents(dims), kind=BOOL,
            level=COMPARE, needs=(COMPARE + 1, COMPARE + 1), hint="mask",
        )  # fmt: skip
        return Value(node, dims)

    def all(self, truths: Sequence[Value], env: Environment) -> Value:
        numbers = [t.node for t in truths if t.node.kind == NUMBER]
        tensors = [t for t in truths if t.node.kind != NUMBER]
        plain = number(self.torch.graph, "and", numbers) if numbers else None
        total: Value | None = None
        for truth in tensors:
            if total is None:
                total = truth
                continue
            dims = merged([total, truth], env)
            nodes = aligned(self.torch, total, dims), aligned(self.torch, truth, dims)
            both = self.torch.both(*nodes, env.extents(dims))
            assert both is not None
            total = Value(both, dims)
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
            made = self.torch.graph.make(
                inverse, *node.arguments, shape=node.shape, kind=node.kind, level=COMPARE,
                needs=node.needs, hint="mask", plain=node.plain,
            )  # fmt: skip
            return Value(made, truth.dims)
        if node.kind == NUMBER:
            made = self.torch.graph.make(
                "not {}", node, kind=NUMBER, level=CHOICE, needs=(COMPARE,), plain=True
            )
            return Value(made)
        made = self.torch.graph.make(
            "~{}", node, shape=node.shape, kind=BOOL, level=SIGN, needs=(SIGN,), hint="mask"
        )
        return Value(made, truth.dims)
