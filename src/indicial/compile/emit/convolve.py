"""The call that a convolution is: data and weights with their axes as PyTorch has them.

F.conv1d(x (members, channels, places), W (outputs, channels, window)) → (members, outputs, over)
slide(x (…, places), w (…, window), first, count) → (…, over)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indicial.compile.emit.axes import ALL, NEW
from indicial.compile.emit.elementwise import Elementwise, Evaluate
from indicial.compile.emit.graph import FLOAT, Node
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.patterns.convolution import Convolution, Window
from indicial.compile.emit.picks import choose
from indicial.compile.emit.reads import Bounds
from indicial.compile.emit.values import Environment, Value, aligned
from indicial.program.ir import Affine, Index
from indicial.program.sizes import Size


def convolved(
    found: Convolution,
    bounds: Bounds | None,
    mask: Value | None,
    env: Environment,
    elementwise: Elementwise,
    evaluate: Evaluate,
) -> Value:
    """The value of the sum, with the summed indices in scope.

    `bounds` are the places of the data that count, if it slides; `mask` says which weights do.
    """
    torch = elementwise.torch
    weights = evaluate(found.weights, env)
    if mask is not None:
        weights = choose(torch, mask, weights, torch.graph.literal(0), env)
    spans = [window.span for window in found.windows]
    if bounds is not None:
        spans = [Index(spans[0].name, *bounds)]
    places = list(found.data.places)
    for window, span in zip(found.windows, spans, strict=True):
        places[window.axis] = Affine.of(span)
    data = evaluate(replace(found.data, places=tuple(places)), env.bind(spans))
    if bounds is not None:
        value = _slid(torch, found.windows[0], spans[0], data, weights, env)
    else:
        value = _called(torch, found, data, weights, env)
    for factor in found.rest:
        value = elementwise.binary("*", evaluate(factor, env), value, env)
    return value


def _slid(
    torch: Torch, window: Window, span: Index, data: Value, weights: Value, env: Environment
) -> Value:
    """`slide(x, w, first, count)`: the axis of the window last in both, the others side by side."""
    others = {*data.dims, *weights.dims} - {span.name, window.within}
    dims = [d for d in env.ranges if d in others]
    x = aligned(torch, data, [*dims, span.name])
    w = aligned(torch, weights, [*dims, window.within])
    first = window.span.lower - span.lower + env.ranges[window.within].extent - 1
    if not window.turned:
        w = torch.flip(w, w.rank - 1)
    count = env.ranges[window.over].extent
    node = torch.helper(
        "slide", "{}, {}, {}, {}", x, w, torch.sizes.node(first), torch.sizes.node(count),
        shape=env.extents([*dims, window.over]), kind=FLOAT, hint="convolved",
    )  # fmt: skip
    return Value(node, (*dims, window.over))


def _called(
    torch: Torch, found: Convolution, data: Value, weights: Value, env: Environment
) -> Value:
    windows = found.windows
    data, padding = _unpadded(torch, data, [w.span.name for w in windows])
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
    return Value(node, (*members, *outputs, *(window.over for window in windows)))


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
