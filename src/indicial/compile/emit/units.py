"""A linear map with something added to each output is `F.linear` with a bias.

F.linear(x, W) + b                                      F.linear(x, W, b)
F.linear(x, W) - b                                      F.linear(x, W, -b)
A + F.linear(x, W) - b                                  A + F.linear(x, W, -b)
F.linear(x, W.flatten(0, 1)).unflatten(2, (K, I)) + b   F.linear(x, …, b.flatten()).unflatten(…)

The Gaussian error linear unit, written out, is `F.gelu`.

x (1 + erf(x/√2))/2                             F.gelu(x)
x (1 + tanh(√(2/π) (x + 0.044715 x³)))/2        F.gelu(x, approximate="tanh")

`g (x - mean x) / √(variance + ε) + b` is `F.layer_norm`.

The mean and the variance are over the last axis; gain and offset are there or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from indicial.compile.emit.calls import (
    Found,
    Missed,
    Pattern,
    Surroundings,
    mean_of,
    only,
    over_last_axis,
    quotient,
    sides,
)
from indicial.compile.emit.nodes import NUMBER, Node, Operand


@dataclass(frozen=True)
class _Match:
    """`rest + product ± offset`; the product is `inner`, perhaps with its last axis taken apart."""

    product: Node
    inner: Node
    offset: Node
    minus: bool
    rest: Node | None = None


def biased(node: Node, around: Surroundings) -> Found | Missed | None:
    minus = node.operation == "-"
    total = sides(node.operation, node) if node.operation in ("+", "-") else None
    if total is None:
        return None
    for product, offset in (total,) if minus else (total, total[::-1]):
        found = _fits(product, offset, minus, around) or _inside(product, offset, minus, around)
        if found is not None:
            return Found(partial(_built, found, around))
    return None


def _fits(product: Node, offset: Node, minus: bool, around: Surroundings) -> _Match | None:
    inner = product.arguments[0] if product.operation == ".unflatten" else product
    linear = sides("F.linear", inner)
    if linear is None or not around.once(inner) or not around.once(product):
        return None
    split = product.rank - inner.rank
    if offset.shape != product.shape[-1 - split :] or offset.rank != 1 + split:
        return None
    return _Match(product, inner, offset, minus)


def _inside(total: Node, offset: Node, minus: bool, around: Surroundings) -> _Match | None:
    """The product is one of two terms that the offset is added to."""
    terms = sides("+", total)
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
    linear = torch.graph.make("F.linear", x, w, flat, shape=inner.shape, hint="product")
    if product is not inner:
        linear = torch.unflatten(linear, inner.rank - 1, product.shape[inner.rank - 1 :])
    if found.rest is None:
        return linear
    rest = become(found.rest)
    return torch.graph.binary("+", rest, linear, rest.shape)


BIAS = Pattern("linear with a bias", "linear", biased)


CUBE = 0.044715


def gelu(node: Node, around: Surroundings) -> Found | Missed | None:
    factor, tensors, inside = _as_product(node)
    if factor is None or len(tensors) != 2:
        return None
    for x, other in (tensors, tensors[::-1]):
        one = _plus_one(other)
        if one is None or not all(map(around.once, (*inside, other, one))):
            continue
        erf, tanh = only("torch.erf", one), only("torch.tanh", one)
        found: dict[str, Operand] | Missed | None = None
        if erf is not None:
            found = _erf(x, erf)
        elif tanh is not None:
            found = _tanh(x, tanh, around)
        if isinstance(found, Missed):
            return found
        if found is not None and math.isclose(factor, 0.5):
            return _found(x, found, around)
    return None


def _as_product(node: Node) -> tuple[float | None, list[Node], list[Node]]:
    """A product as a number and tensors; None for a number that is not known."""
    parts = quotient(node)
    factor: float | None = 1.0
    for number, power in [(n, 1) for n in parts.above] + [(n, -1) for n in parts.below]:
        if number.kind == NUMBER:
            value = number.value
            factor = None if factor is None or not value else factor * value**power
    if any(n.kind != NUMBER for n in parts.below):
        return None, [], []
    return factor, [n for n in parts.above if n.kind != NUMBER], parts.inside


def _plus_one(node: Node) -> Node | None:
    pair = sides("+", node)
    for one, other in (pair, pair[::-1]) if pair is not None else ():
        if one.value == 1:
            return other
    return None


def _erf(x: Node, inner: Node) -> dict[str, Operand] | None:
    factor, tensors, _ = _as_product(inner)
    fits = factor is not None and math.isclose(factor, math.sqrt(0.5), rel_tol=1e-12)
    return {} if fits and len(tensors) == 1 and tensors[0] is x else None


def _tanh(x: Node, inner: Node, around: Surroundings) -> dict[str, Operand] | Missed | None:
    factor, tensors, inside = _as_product(inner)
    pair = sides("+", tensors[0]) if len(tensors) == 1 else None
    for linear, cubic in (pair, pair[::-1]) if pair is not None else ():
        weight, cubes, _ = _as_product(cubic)
        power = sides("**", cubes[0]) if len(cubes) == 1 else None
        if linear is not x or power is None or power[0] is not x or power[1].value != 3:
            continue
        if factor is None or weight is None or not all(map(around.once, (*inside, tensors[0]))):
            return None
        if math.isclose(factor, math.sqrt(2 / math.pi), rel_tol=1e-12) and weight == CUBE:
            return {"approximate": "tanh"}
        return Missed(f"its numbers are {factor:g} and {weight:g}, not √(2/π) and {CUBE}")
    return None


def _found(x: Node, options: dict[str, Operand], around: Surroundings) -> Found:
    def build(become: Callable[[Node], Node]) -> Node:
        return around.torch.graph.make(
            "F.gelu", become(x), options=options, shape=x.shape, hint="activated"
        )

    return Found(build)


GELU = Pattern("GELU", "gelu", gelu)


@dataclass(frozen=True)
class _Norm:
    x: Node
    epsilon: Node
    gain: Node | None = None
    offset: Node | None = None


def layer_norm(node: Node, around: Surroundings) -> Found | Missed | None:
    norm = _with_offset(node, around) or _with_gain(node, around)
    if norm is None:
        return _almost(node)
    return Found(lambda become: _normed(norm, around, become))


def _with_offset(node: Node, around: Surroundings) -> _Norm | None:
    total = sides("+", node)
    if total is None:
        return None
    for scaled, offset in (total, total[::-1]):
        norm = _with_gain(scaled, around) if around.once(scaled) else None
        if norm is not None and norm.gain is not None and offset.shape == norm.x.shape[-1:]:
            return _Norm(norm.x, norm.epsilon, norm.gain, offset)
    return None


def _with_gain(node: Node, around: Surroundings) -> _Norm | None:
    parts = quotient(node)
    if len(parts.below) != 1 or len(parts.above) > 2 or not all(map(around.once, parts.inside)):
        return None
    for centred in parts.above:
        norm = _centred(centred, parts.below[0], around)
        others = [n for n in parts.above if n is not centred]
        if norm is not None and all(n.shape == norm.x.shape[-1:] for n in others):
            return _Norm(norm.x, norm.epsilon, others[0] if others else None)
    return None


def _centred(centred: Node, root: Node, around: Surroundings) -> _Norm | None:
    difference = sides("-", centred)
    inside = only("torch.sqrt", root)
    if difference is None or inside is None:
        return None
    total = sides("+", inside)
    if total is None or total[1].kind != NUMBER:
        return None
    x, mean = difference
    square = mean_of(around.torch, total[0])
    power = sides("**", square) if square is not None else None
    if power is None or power[0] is not centred or power[1].value != 2:
        return None
    if mean_of(around.torch, mean) is not x:
        return None
    return _Norm(x, total[1])


def _almost(node: Node) -> Missed | None:
    parts = sides("/", node)
    if parts is None:
        return None
    difference, inside = sides("-", parts[0]), only("torch.sqrt", parts[1])
    if difference is None or inside is None:
        return None
    mean = difference[1]
    if mean.operation != ".mean" or not mean.options:
        return None
    if not over_last_axis(".mean", mean):
        return Missed("the mean is not over the last axis")
    return Missed("what is under the root is not the variance and a number")


def _normed(norm: _Norm, around: Surroundings, become: Callable[[Node], Node]) -> Node:
    torch = around.torch
    weights = [become(w) for w in (norm.gain, norm.offset) if w is not None]
    return torch.graph.make(
        "F.layer_norm", become(norm.x), (torch.sizes.node(norm.x.shape[-1]),), *weights,
        options={} if norm.epsilon.value == 1e-5 else {"eps": norm.epsilon},
        shape=norm.x.shape, hint="normed",
    )  # fmt: skip


LAYER_NORM = Pattern("layer norm", "layer_norm", layer_norm)
