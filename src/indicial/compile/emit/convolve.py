"""The call that a convolution is: data and weights with their axes as PyTorch has them.

F.conv1d(x (members, channels, places), W (outputs, channels, window)) → (members, outputs, over)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indicial.compile.emit.axes import ALL, NEW
from indicial.compile.emit.elementwise import Elementwise, Evaluate
from indicial.compile.emit.graph import Node
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.patterns.convolution import Convolution
from indicial.compile.emit.values import Environment, Value
from indicial.program.ir import Affine
from indicial.program.sizes import Size


def convolved(
    found: Convolution, env: Environment, elementwise: Elementwise, evaluate: Evaluate
) -> Value:
    """The value of the sum; `env` has the summed indices in scope."""
    torch = elementwise.torch
    windows = found.windows
    places = list(found.data.places)
    for window in windows:
        places[window.axis] = Affine.of(window.span)
    inner = env.bind([w.span for w in windows])
    data = evaluate(replace(found.data, places=tuple(places)), inner)
    data, padding = _unpadded(torch, data, [w.span.name for w in windows])
    weights = evaluate(found.weights, env)
    moving = [w.span.name for w in windows]
    within = [w.within for w in windows]
    members = [d for d in data.dims if d not in found.channels and d not in moving]
    outputs = [d for d in weights.dims if d not in found.channels and d not in within]
    x = _grouped(torch, data, [members, found.channels, *([m] for m in moving)])
    w = _grouped(torch, weights, [outputs, found.channels, *([i] for i in within)])
    for number, window in enumerate(windows):
        if window.turned:
            w = torch.flip(w, 2 + number)
    extents = env.extents([window.over for window in windows])
    node = _call(torch, x, w, found, extents, padding)
    node = torch.unflatten(node, 1, env.extents(outputs))
    node = torch.unflatten(node, 0, env.extents(members))
    value = Value(node, (*members, *outputs, *(window.over for window in windows)))
    for factor in found.rest:
        value = elementwise.binary("*", evaluate(factor, env), value, env)
    return value


def _grouped(torch: Torch, value: Value, groups: Sequence[Sequence[str]]) -> Node:
    """The node with one axis for each group of indices; of extent 1 for an empty one."""
    order = [value.dims.index(d) for group in groups for d in group]
    node = torch.permute(value.node, order)
    for axis, group in enumerate(groups):
        if not group:
            node = torch.index(node, [*[ALL] * axis, NEW])
        node = torch.flatten(node, axis, axis + len(group) - 1)
    return node


def _unpadded(torch: Torch, data: Value, moving: Sequence[str]) -> tuple[Value, list[int]]:
    """Zeros that are as many before as behind are left to the call."""
    if data.node not in torch.padded:
        return data, [0] * len(moving)
    x, ends = torch.padded[data.node]
    found = [ends.get(data.dims.index(name), (0, 0)) for name in moving]
    if any(before != behind for before, behind in found) or len(ends) > len(moving):
        return data, [0] * len(moving)
    return Value(x, data.dims), [before for before, _ in found]


def _call(
    torch: Torch,
    x: Node,
    w: Node,
    found: Convolution,
    extents: Sequence[Size],
    padding: Sequence[int],
) -> Node:
    text = "{}, {}"
    for name, numbers, usual in (
        ("stride", [window.stride for window in found.windows], 1),
        ("padding", padding, 0),
        ("dilation", [window.dilation for window in found.windows], 1),
    ):
        if set(numbers) != {usual}:
            text += f", {name}={_each(numbers)}"
    shape = [x.shape[0], w.shape[0], *extents]
    call = f"F.conv{len(found.windows)}d({text})"
    return torch.graph.make(call, x, w, shape=shape, hint="convolved")


def _each(numbers: Sequence[int]) -> str:
    same = len(set(numbers)) == 1
    return str(numbers[0]) if same else f"({', '.join(map(str, numbers))})"
