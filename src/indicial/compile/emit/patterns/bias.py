"""A linear map with something added to each output is `F.linear` with a bias.

F.linear(x, W) + b                                      F.linear(x, W, b)
F.linear(x, W.flatten(0, 1)).unflatten(2, (K, I)) + b   F.linear(x, …, b.flatten()).unflatten(…)
"""

from __future__ import annotations

from collections.abc import Callable

from indicial.compile.emit.graph import Node
from indicial.compile.emit.patterns.pattern import Found, Missed, Pattern, Surroundings
from indicial.compile.emit.patterns.trees import sides


def match(node: Node, around: Surroundings) -> Found | Missed | None:
    total = sides("{} + {}", node)
    if total is None:
        return None
    for product, offset in (total, total[::-1]):
        inner = product.arguments[0] if product.template.startswith("{}.unflatten(") else product
        linear = sides("F.linear({}, {})", inner)
        if linear is None or not around.once(inner) or not around.once(product):
            continue
        split = product.rank - inner.rank
        if offset.shape == product.shape[-1 - split :] and offset.rank == 1 + split:
            return _found(product, inner, offset, around)
    return None


def _found(product: Node, inner: Node, offset: Node, around: Surroundings) -> Found:
    def build(become: Callable[[Node], Node]) -> Node:
        torch = around.torch
        flat = torch.flatten(become(offset), 0, offset.rank - 1)
        x, w = (become(argument) for argument in inner.arguments)
        linear = torch.graph.make(
            "F.linear({}, {}, {})", x, w, flat, shape=inner.shape, hint="product"
        )
        if product is inner:
            return linear
        return torch.unflatten(linear, inner.rank - 1, product.shape[inner.rank - 1 :])

    return Found(build)


BIAS = Pattern("linear with a bias", "linear", match)
