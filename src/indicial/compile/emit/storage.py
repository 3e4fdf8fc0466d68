"""Where the elements of a tensor are while the text runs: whole, or step by step along a loop.

    y[t,j]                  y                       one tensor
    h[t,j], walked along t  h[-1], h[0], h[1], …    a dict of steps, stacked where it is read whole

A tensor may be defined by several statements. Each leaves a definition: an array over its own
ranges, and perhaps a mask. Where they overlap the first statement of the program wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from indicial.compile.emit.nodes import ALL, INT, Node, Scope, Slice
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.reads import Array, Bounds
from indicial.compile.emit.values import Environment, Value, aligned
from indicial.compile.schedule.plan import Loop
from indicial.program.ir import Index
from indicial.program.sizes import Size


@dataclass(frozen=True)
class Definition:
    """What one statement says about a tensor. `mask` has the axes of the array, or some of them.

    `test` is a condition on loop variables, which Python decides.
    """

    order: int
    array: Array
    mask: Node | None = None
    test: Node | None = None


@dataclass
class Walked:
    """A tensor along a loop: its steps are entries of a dict, `entries[key]`."""

    loop: Loop
    axis: int
    entries: str = ""
    """The name of the dict; none if every step is read only while it is the current one."""
    first: Size | None = None
    last: Size | None = None
    """The keys that can be read for certain, once the loop has come so far."""
    span: tuple[Size, Size] | None = None
    """The first and the last step that the loop itself defines."""
    singles: dict[Size, tuple[Bounds, ...]] = field(default_factory=dict)
    orders: dict[Size, int] = field(default_factory=dict)
    """Steps that statements outside the loop define: their other axes, their precedence."""
    bounds: tuple[Bounds, ...] = ()
    """Of the other axes, at the loop's variable."""
    current: Store | None = None
    begun: bool = False
    nodes: dict[Scope, Node] = field(default_factory=dict)
    """The dict as a node, for reading entries, which never change."""
    now: dict[Scope, Node] = field(default_factory=dict)
    """The dict as it is now; emptied when there is one more entry."""
    around: Scope | None = None
    """Where the loop stands, once it is finished."""

    def key(self, target: str) -> Size:
        return Size.of(self.loop.variable) - self.loop.offsets.get(target, 0)


@dataclass
class Store:
    """A tensor, or one step of it: `axes` are those of the tensor that it has."""

    target: str
    axes: tuple[int, ...]
    definitions: list[Definition] = field(default_factory=list)
    walk: Walked | None = None
    merged: Array | None = None

    @property
    def walked(self) -> Walked:
        """How a loop goes along it."""
        assert self.walk is not None
        return self.walk

    def add(self, definition: Definition) -> None:
        self.definitions.append(definition)
        self.definitions.sort(key=lambda d: d.order)
        self.merged = None


def merge(torch: Torch, definitions: Sequence[Definition]) -> Array:
    """All definitions in one array; the first that covers an element says what it is."""
    bounds = hull(torch, [d.array.bounds for d in definitions])
    extents = [extent for _, extent in bounds]
    result: Array | None = None
    for definition in reversed(definitions):
        if definition.mask is None and definition.test is None:
            own = definition.array
            joined = own if result is None else _joined(torch, own, result)
            if joined is not None:
                result = joined
                continue
        kind = definition.array.node.kind
        other = placed(torch, result, bounds) if result else torch.zeros(extents, kind)
        result = Array(_chosen(torch, definition, bounds, other), bounds)
    assert result is not None
    return Array(placed(torch, result, bounds), bounds)


def hull(torch: Torch, boxes: Sequence[tuple[Bounds, ...]]) -> tuple[Bounds, ...]:
    """The smallest ranges that hold all of these."""
    result = []
    for ranges in zip(*boxes, strict=True):
        lower, upper = ranges[0][0], ranges[0][0] + ranges[0][1]
        for other, extent in ranges[1:]:
            lower = -torch.sizes.larger(-lower, -other)
            upper = torch.sizes.larger(upper, other + extent)
        result.append((lower, upper - lower))
    return tuple(result)


def placed(torch: Torch, array: Array, bounds: Sequence[Bounds]) -> Node:
    """An array with zeros around it, so that it has these bounds."""
    node = array.node
    for axis, ((lower, extent), (low, wide)) in enumerate(zip(array.bounds, bounds, strict=True)):
        before, after = lower - low, low + wide - lower - extent
        if before.number != 0 or after.number != 0:
            node = torch.pad(node, axis, before, after)
    return node


def _joined(torch: Torch, own: Array, other: Array) -> Array | None:
    """The first elements of an array, or those before them, and then the rest; or the last."""
    axes = [n for n, pair in enumerate(own.bounds) if pair != other.bounds[n]]
    if not axes:
        return own
    if len(axes) > 1:
        return None
    (axis,) = axes
    (first, extent), (low, wide) = own.bounds[axis], other.bounds[axis]
    end, stop = first + extent, low + wide
    if _is_natural(low - first) and _is_natural(end - low):
        start, rest = first, stop - end
        cut = Slice(torch.sizes.node(end - low), None, rest)
        pieces = [own.node, _cut(torch, other.node, axis, cut, end - low)]
    elif _is_natural(end - stop) and _is_natural(stop - first):
        start, rest = low, first - low
        cut = Slice(None, torch.sizes.node(rest), rest)
        pieces = [_cut(torch, other.node, axis, cut, stop - first), own.node]
    else:
        return None
    if not torch.sizes.certain(rest):
        return None
    bounds = list(own.bounds)
    bounds[axis] = start, extent + rest
    return Array(torch.cat(pieces, axis), tuple(bounds))


def _is_natural(size: Size) -> bool:
    """Whether a size is a number, 0 or more."""
    return size.number is not None and size.number >= 0


def _cut(torch: Torch, node: Node, axis: int, cut: Slice, gone: Size) -> Node:
    """A slice along an axis; the node itself if nothing is gone."""
    return node if gone.number == 0 else torch.index(node, [*[ALL] * axis, cut])


def _chosen(torch: Torch, definition: Definition, bounds: Sequence[Bounds], other: Node) -> Node:
    """A definition where it holds, elsewhere what there was."""
    own = definition.array
    extents = [extent for _, extent in bounds]
    node = placed(torch, own, bounds)
    names = [f"axis·{n}" for n in range(len(bounds))]
    env = Environment().bind(
        Index(n, low, wide) for n, (low, wide) in zip(names, bounds, strict=True)
    )
    masks: list[Value] = []
    for axis, (box, whole) in enumerate(zip(own.bounds, bounds, strict=True)):
        if box != whole:
            masks.append(Value(_range_mask(torch, box, whole), (names[axis],)))
    mask: Node | None = None
    for value in masks:
        mask = torch.both(mask, aligned(torch, value, names), extents)
    if definition.mask is not None:
        inner = Array(definition.mask, own.bounds)
        mask = torch.both(mask, placed(torch, inner, bounds), extents)
    result = torch.where(mask, node, other, env.extents(names)) if mask is not None else node
    if definition.test is not None:
        result = torch.choose(definition.test, result, other)
    return result


def _range_mask(torch: Torch, box: Bounds, whole: Bounds) -> Node:
    (lower, extent), (low, wide) = box, whole
    places = torch.arange(low, wide, INT)
    mask: Node | None = None
    for sign, end, needed in (
        (">=", lower, (lower - low).number != 0),
        ("<", lower + extent, (lower + extent - low - wide).number != 0),
    ):
        if needed:
            node = torch.graph.binary(sign, places, torch.sizes.node(end), places.shape, "mask")
            mask = torch.both(mask, node, places.shape)
    assert mask is not None
    return mask
