"""A sum over a window that moves with an index is a convolution.

    Σ_{Δt,i'} W[Δt,i',i] x[2t+Δt,i']      F.conv1d(x.mT, W.permute(2, 1, 0), stride=2, padding=1)

    Σ_{s ≤ t} k[t-s,j] x[s,j]             slide(k, x), by Fourier transforms

The data are read at `s t ± d Δ + c` along one to three axes, the weights at Δ. What else is summed
are channels; what only the data have is a batch; what only the weights have are the outputs. A window as
long as the text, with nothing else that is summed, slides: there every example, or unit, may have weights of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from indicial.compile.emit.patterns.pattern import Missed
from indicial.compile.emit.values import Environment
from indicial.program.ir import Affine, Apply, Expression, Index, Read, Reduce
from indicial.program.rewrite import is_constant
from indicial.program.sizes import Size

CONVOLUTION = "convolution"
MOST = 3
"""PyTorch has convolutions along up to three axes."""
LONG = 64
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
    reads, rest = factors(node.body)
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


def factors(body: Expression) -> tuple[list[Read], list[Expression]]:
    """The tensors that are multiplied, and what else is."""
    if isinstance(body, Read):
        return [body], []
    if isinstance(body, Apply) and body.function == "*":
        reads: list[Read] = []
        rest: list[Expression] = []
        for argument in body.arguments:
            some, others = factors(argument)
            reads += some
            rest += others
        return reads, rest
    return [], [body]


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
        result.append(_window(axis, over[0], within[0], place.offset, env))
    return tuple(result)


def _window(
    axis: int, over: tuple[str, int], within: tuple[str, int], offset: Size, env: Environment
) -> Window:
    (name, stride), (inner, factor) = over, within
    outer, small = env.ranges[name], env.ranges[inner]
    first = small.lower if factor > 0 else small.upper
    lower = stride * outer.lower + factor * first + offset
    extent = stride * (outer.extent - 1) + abs(factor) * (small.extent - 1) + 1
    span = Index(f"{name}·{inner}", lower, extent)
    return Window(axis, name, stride, inner, abs(factor), factor < 0, span)


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
    return extent is None or extent >= LONG


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
