"""A linear map with something added to each output is `F.linear` with a bias.

F.linear(x, W) + b                                      F.linear(x, W, b)
F.linear(x, W) - b                                      F.linear(x, W, -b)
A + F.linear(x, W) - b                                  A + F.linear(x, W, -b)
F.linear(x, W.flatten(0, 1)).unflatten(2, (K, I)) + b   F.linear(x, …, b.flatten()).unflatten(…)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from indicial.compile.emit.graph import Node
from indicial.compile.emit.patterns.pattern import Found, Missed, Pattern, Surroundings
from indicial.compile.emit.patterns.trees import sides


@dataclass(frozen=True)
class _Match:
    """`rest + product ± offset`; the product is `inner`, perhaps with its last axis taken apart."""

    product: Node
    inner: Node
    offset: Node
    minus: bool
    rest: Node | None = None


def match(node: Node, around: Surroundings) -> Found | Missed | None:
    for template in ("{} + {}", "{} - {}"):
        total = sides(template, node)
        if total is None:
            continue
        minus = template == "{} - {}"
        for product, offset in (total,) if minus else (total, total[::-1]):
            found = _fits(product, offset, minus, around) or _inside(product, offset, minus, around)
            if found is not None:
                return Found(partial(_built, found, around))
    return None


def _fits(product: Node, offset: Node, minus: bool, around: Surroundings) -> _Match | None:
    inner = product.arguments[0] if product.template.startswith("{}.unflatten(") else product
    linear = sides("F.linear({}, {})", inner)
    if linear is None or not around.once(inner) or not around.once(product):
        return None
    split = product.rank - inner.rank
    if offset.shape != product.shape[-1 - split :] or offset.rank != 1 + split:
        return None
    return _Match(product, inner, offset, minus)


def _inside(total: Node, offset: Node, minus: bool, around: Surroundings) -> _Match | None:
    """The product is one of two terms that the offset is added to."""
    terms = sides("{} + {}", total)
    if terms is None or not around.once(total):
        return None
    for rest, product in (terms, terms[::-1]):
        found = _fits(product, offset, minus, around)
        if found is not None and rest.shape == total.shape:
            return _Match(found.product, found.inner, offset, minus, rest)
    return None


def _built(found: _Match, around: Surroundings, become: Callable[[Node], Node]) -> Node:
    torch, inner, product = around.torch, found.inner, found.product
    flat = torch.flatten(become(found.offset), 0, found.offset.rank - 1)
    if found.minus:
        flat = torch.graph.prefix("-", flat)
    x, w = (become(argument) for argument in inner.arguments)
    linear = torch.graph.make("F.linear({}, {}, {})", x, w, flat, shape=inner.shape, hint="product")
    if product is not inner:
        linear = torch.unflatten(linear, inner.rank - 1, product.shape[inner.rank - 1 :])
    if found.rest is None:
        return linear
    rest = become(found.rest)
    return torch.graph.binary("+", rest, linear, rest.shape)


BIAS = Pattern("linear with a bias", "linear", match)
