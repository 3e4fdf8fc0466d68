"""Where the elements of a tensor are while the text runs: whole, or step by step along a loop.

    y[t,j]                  y                       one tensor
    h[t,j], walked along t  h[-1], h[0], h[1], …    a dict of steps, stacked where it is read whole

A tensor may be defined by several statements. Each leaves a definition: an array over its own
ranges, and perhaps a mask. Where they overlap the first statement of the program wins.

Loops of a plan: what they fix, and the steps of the tensors that they walk along.

Loop(t, …)              h = {}
  Run(h[t,j] = …)       h[-1] = torch.zeros(B, J, …)
                        for t in range(T):
                            h[t] = torch.tanh(F.linear(h[t - 1], W) + x[:, t])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from indicial.compile.emit.nodes import ALL, INT, Node, Scope, Slice
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.reads import Array, Bounds
from indicial.compile.emit.values import Environment, Value, aligned
from indicial.compile.schedule.schedule import Around, Call, Loop, Piece, Plan
from indicial.program.ir import Affine, Code, Index, Read, Statement
from indicial.program.rewrite import with_reads
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


@dataclass(frozen=True)
class Reading:
    """A read, by which statement, and inside which loops."""

    read: Read
    reader: Statement
    loops: tuple[Loop, ...]


@dataclass(frozen=True)
class Fixed:
    """An index that a loop fixes, and the values of the loop's variable at which it is in range."""

    loop: Loop
    index: str
    place: Affine
    low: Size
    high: Size


def fixings(statement: Statement, loops: Sequence[Loop]) -> list[Fixed]:
    """What the loops around a statement fix; an index of "" where the left side has a number."""
    result = []
    for loop in loops:
        if statement.target not in loop.axes:
            continue
        found = loop.fixed(statement)
        if found is None:
            at = loop.at(statement)
            assert at is not None
            result.append(Fixed(loop, "", Affine((), at), at, at))
            continue
        name, place = found
        index = statement.scope[name]
        at = place.offset + Size.of(loop.variable)
        low, high = index.lower - place.offset, index.upper - place.offset
        result.append(Fixed(loop, name, Affine((), at), low, high))
    return result


def at_this_step(statement: Statement, fixed: Sequence[Fixed]) -> Statement:
    """What is read at the number on the left is read at the loop's step.

    `D[0,s] = d[0,s] + D[0,s-1]` runs at t = 0, while the elements of D[0] are still being made.
    """
    numbers = [f for f in fixed if not f.index]
    if not numbers:
        return statement

    def here(node: Read) -> Read:
        places = list(node.places)
        for f in numbers:
            axis = f.loop.axes.get(node.tensor)
            offset = f.loop.offsets.get(node.tensor, 0)
            if axis is not None and places[axis] == Affine((), f.low - offset):
                places[axis] = Affine((), Size.of(f.loop.variable) - offset)
        return replace(node, places=tuple(places))

    return statement.rebuild(partial(with_reads, change=here))


def _read_of(piece: Piece) -> Read:
    """What a call is given, as a read at the steps of loops; a whole axis has an index of its own."""

    def at(place: Affine | None) -> Affine:
        if place is None:
            return Affine.of("·")
        return Affine((), sum((Size.of(n) * factor for n, factor in place.terms), place.offset))

    return Read(piece.tensor, tuple(map(at, piece.places)))


class Walks:
    """Which tensors are walked along, and how their steps are read."""

    def __init__(self, code: Code, plan: Plan, want: Sequence[str]) -> None:
        self.code = code
        self.want = set(want)
        run = [
            (statement, around)
            for step, around in plan.walk()
            if not isinstance(step, Loop)
            for statement in step.statements()
        ]
        self.readings = [Reading(read, s, around) for s, around in run for read in s.reads()]
        for step, around in plan.walk():
            if isinstance(step, Call):  # what it is given may be read by no statement of its own
                reader = next(step.statements())
                self.readings += [Reading(_read_of(p), reader, around) for p in step.arguments]
        self.made = [
            (s.target, tuple(x for x in around if s.target in x.axes)) for s, around in run
        ]
        self.loops: dict[str, Around] = {}
        """The first loops around statements of each tensor."""
        for name, loops in self.made:
            if loops:
                self.loops.setdefault(name, loops)

    def nests(self, name: str) -> int:
        """How many loops, one after the other, walk along a tensor."""
        return len({loops[0].variable for target, loops in self.made if target == name and loops})

    def key(self, reading: Reading, axis: int) -> Size | None:
        """The step of a walked tensor that is read, in terms of the loop's variable."""
        place = reading.read.places[axis]
        fixed = {f.index: f.place for f in fixings(reading.reader, reading.loops) if f.index}
        if not isinstance(place, Affine):
            return None
        moved = Environment(fixed=fixed).affine(place)
        return None if moved.terms else moved.offset

    def local(self, name: str, loop: Loop) -> bool:
        """Whether each step is read only while it is the current one."""
        if name in self.want or len(self.code.of(name)) > 1:
            return False
        for reading in self.readings:
            if reading.read.tensor != name:
                continue
            if loop not in reading.loops:
                return False
            for walked in self.loops[name]:
                current = Size.of(walked.variable) - walked.offsets.get(name, 0)
                if self.key(reading, walked.axes[name]) != current:
                    return False
                if walked is loop:
                    break
        return True

    def keys(self, loop: Loop, name: str) -> list[tuple[Size, Size]]:
        """The first and the last step that each statement in the loop defines."""
        result = []
        for statement in loop.statements():
            if statement.target == name:
                offset = loop.offsets.get(name, 0)
                (fixed,) = fixings(statement, [loop])
                result.append((fixed.low - offset, fixed.high - offset))
        return result

    def reach(self, store: Store, walk: Walked) -> tuple[int, int]:
        """How many steps before the first and behind the last the loop itself reads."""
        assert walk.span is not None
        first, last = walk.span
        before = behind = 0
        for reading in self.readings:
            if reading.read.tensor != store.target or walk.loop not in reading.loops:
                continue
            key = self.key(reading, walk.axis)
            if key is None:
                continue
            shift = key - Size.of(walk.loop.variable)
            for fixed in fixings(reading.reader, [walk.loop]):
                low, high = (first - fixed.low - shift).number, (fixed.high + shift - last).number
                before = max(before, int(low or 0))
                behind = max(behind, int(high or 0))
        return before, behind
