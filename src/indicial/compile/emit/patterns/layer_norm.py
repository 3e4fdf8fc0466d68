"""`g (x - mean x) / √(variance + ε) + b` is `F.layer_norm`.

The mean and the variance are over the last axis; gain and offset are there or not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from indicial.compile.emit.nodes import NUMBER, Node
from indicial.compile.emit.patterns.pattern import (
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


@dataclass(frozen=True)
class _Norm:
    x: Node
    epsilon: Node
    gain: Node | None = None
    offset: Node | None = None


def match(node: Node, around: Surroundings) -> Found | Missed | None:
    norm = _shifted(node, around) or _scaled(node, around)
    if norm is None:
        return _almost(node)
    return Found(lambda become: _call(norm, around, become))


def _shifted(node: Node, around: Surroundings) -> _Norm | None:
    total = sides("+", node)
    if total is None:
        return None
    for scaled, offset in (total, total[::-1]):
        norm = _scaled(scaled, around) if around.once(scaled) else None
        if norm is not None and norm.gain is not None and offset.shape == norm.x.shape[-1:]:
            return _Norm(norm.x, norm.epsilon, norm.gain, offset)
    return None


def _scaled(node: Node, around: Surroundings) -> _Norm | None:
    parts = quotient(node)
    if len(parts.below) != 1 or len(parts.above) > 2 or not all(map(around.once, parts.inside)):
        return None
    for centred in parts.above:
        norm = _plain(centred, parts.below[0], around)
        others = [n for n in parts.above if n is not centred]
        if norm is not None and all(n.shape == norm.x.shape[-1:] for n in others):
            return _Norm(norm.x, norm.epsilon, others[0] if others else None)
    return None


def _plain(centred: Node, root: Node, around: Surroundings) -> _Norm | None:
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


def _call(norm: _Norm, around: Surroundings, become: Callable[[Node], Node]) -> Node:
    torch = around.torch
    weights = [become(w) for w in (norm.gain, norm.offset) if w is not None]
    return torch.graph.make(
        "F.layer_norm", become(norm.x), (torch.sizes.node(norm.x.shape[-1]),), *weights,
        options={} if norm.epsilon.value == 1e-5 else {"eps": norm.epsilon},
        shape=norm.x.shape, hint="normed",
    )  # fmt: skip


LAYER_NORM = Pattern("layer norm", "layer_norm", match)
