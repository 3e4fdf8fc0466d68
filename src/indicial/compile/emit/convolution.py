"""A sum over a window that moves with an index is a convolution.

    Σ_{Δt,i'} W[Δt,i',i] x[2t+Δt,i']      F.conv1d(x.mT, W.permute(2, 1, 0), stride=2, padding=1)

    Σ_{s ≤ t} k[t-s,j] x[s,j]             slide(k, x), by Fourier transforms

The data are read at `s t ± d Δ + c` along one to three axes, the weights at Δ. What else is summed
are channels; what only the data have is a batch; what only the weights have are the outputs. A window as
long as the text, with nothing else that is summed, slides: there every example, or unit, may have weights of its own.

The call that a convolution is: data and weights with their axes as PyTorch has them.

F.conv1d(x (members, channels, places), W (outputs, channels, window)) → (members, outputs, over)
slide(x (…, places), w (…, window), first, count) → (…, over)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from indicial.compile.emit.calls import Missed
from indicial.compile.emit.elementwise import Elementwise, Evaluate
from indicial.compile.emit.nodes import ALL, FLOAT, Node, Operand
from indicial.compile.emit.operations import NEW, Torch
from indicial.compile.emit.reads import Bounds, choose
from indicial.compile.emit.values import Environment, Value, aligned
from indicial.compile.passes.algebra import flat
from indicial.program.ir import Affine, Expression, Index, Read, Reduce
from indicial.program.rewrite import is_constant
from indicial.program.sizes import Size

MOST = 3
"""PyTorch has convolutions along up to three axes."""
LONG_WINDOW = 64
"""A window of fewer places is short; of one that has no number yet, `slide` will ask."""


@dataclass(frozen=True)
class Window:
    """One axis of the data: `stride · over ± dilation · within + offset`."""

    axis: int
    over: str
    stride: int
    within: str
    dilation: int
    turned: bool
    """Whether `within` counts downwards."""
    span: Index
    """All places that are read, as an index of its own."""


@dataclass(frozen=True)
class Convolution:
    data: Read
    weights: Read
    windows: tuple[Window, ...]
    channels: tuple[str, ...]
    rest: tuple[Expression, ...]
    """Numbers that the sum is multiplied with."""
    slides: bool = False
    """Whether the window is long, and nothing else is summed."""


def match(node: Reduce, env: Environment) -> Convolution | Missed | None:
    """The convolution that a sum is, its condition apart, with the indices of the sum in scope."""
    summed = {i.name for i in node.indices}
    factors = flat("*", (node.body,))
    reads = [factor for factor in factors if isinstance(factor, Read)]
    rest = [factor for factor in factors if not isinstance(factor, Read)]
    moving = [r for r in reads if _windows(r, summed, env)]
    if not moving:
        return None
    if len(moving) > 1 or len(reads) != 2:
        return Missed("more than data and weights are multiplied")
    if not all(map(is_constant, rest)):
        return Missed("something else is summed with them")
    data, weights = moving[0], next(r for r in reads if r is not moving[0])
    windows = _windows(data, summed, env)
    if len(windows) > MOST:
        return Missed("the window has more than three axes")
    channels = tuple(n for n in summed if n not in {w.within for w in windows})
    return _checked(Convolution(data, weights, windows, channels, tuple(rest)), summed, env)


def _windows(read: Read, summed: set[str], env: Environment) -> tuple[Window, ...]:
    result = []
    for axis, written in enumerate(read.places):
        place = env.place(written)
        if not isinstance(place, Affine) or len(place.terms) != 2:
            continue
        over = [(n, f) for n, f in place.terms if n not in summed]
        within = [(n, f) for n, f in place.terms if n in summed]
        if len(over) != 1 or len(within) != 1 or over[0][1] < 1:
            continue
        ((name, stride),), ((inner, factor),) = over, within
        low, high = place.ends(env.ranges)
        span = Index(f"{name}·{inner}", low, high - low + 1)
        result.append(Window(axis, name, stride, inner, abs(factor), factor < 0, span))
    return tuple(result)


def _checked(found: Convolution, summed: set[str], env: Environment) -> Convolution | Missed:
    moving = {w.axis for w in found.windows}
    places = [p for n, p in enumerate(found.data.places) if n not in moving]
    data = _plain([env.place(p) for p in places])
    weights = _plain([env.place(p) for p in found.weights.places])
    if data is None or weights is None:
        return Missed("an index stands twice, or in a place that is computed")
    inside = {w.within for w in found.windows}
    over = {w.over for w in found.windows}
    if inside & set(data) or over & {*data, *weights} or len(over) < len(found.windows):
        return Missed("an index of the window stands elsewhere as well")
    if not inside <= set(weights):
        return Missed("the weights are the same all over the window")
    if not set(found.channels) <= set(data) & set(weights):
        return Missed("an index that is summed is in the data or in the weights only")
    if not found.channels and _slides(found.windows, env):
        return replace(found, slides=True)
    if (set(data) & set(weights)) - summed:
        return Missed("each example, or group, has weights of its own")
    return found


def _slides(windows: Sequence[Window], env: Environment) -> bool:
    if len(windows) > 1 or windows[0].stride != 1 or windows[0].dilation != 1:
        return False
    extent = env.ranges[windows[0].within].extent.number
    return extent is None or extent >= LONG_WINDOW


def _plain(places: Sequence[object]) -> list[str] | None:
    """The indices of places that are one index or a number each, none twice."""
    names = []
    for place in places:
        if not isinstance(place, Affine) or len(place.terms) > 1:
            return None
        if place.terms:
            if place.terms[0][1] != 1:
                return None
            names.append(place.terms[0][0])
    return names if len(set(names)) == len(names) else None


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
    torch.helpers["wrapped"] = None
    node = torch.helper(
        "slide", x, w, torch.sizes.node(first), torch.sizes.node(count),
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
    options: dict[str, Operand] = {}
    for name, numbers, usual in (
        ("stride", [window.stride for window in windows], 1),
        ("padding", padding, 0),
        ("dilation", [window.dilation for window in windows], 1),
    ):
        if set(numbers) != {usual}:
            options[name] = numbers[0] if len(set(numbers)) == 1 else tuple(numbers)
    shape = [x.shape[0], w.shape[0], *env.extents([window.over for window in windows])]
    call = f"F.conv{len(windows)}d"
    node = torch.graph.make(call, x, w, options=options, shape=shape, hint="convolved")
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
    x, ends = torch.unpadded(data.node) or (data.node, {})
    found = [ends.get(data.dims.index(name), (Size(), Size())) for name in moving]
    if any(before != behind for before, behind in found) or len(ends) > len(moving):
        return data, [0] * len(moving)
    return Value(x, data.dims), [int(before.number or 0) for before, _ in found]
