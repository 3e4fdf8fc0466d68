"""A program at one step: its equations with the walked index fixed.

    h[t,j] = … h[t-1,i] … e[w[t],j]             h[j] = … h^{ago}[i] … e[w,j]
    α[k,t_1,t_2] = softmax_{t_2 ≤ t_1} …   →    α[k,t_2] = softmax_{t_2} … Key^{seen}[k,t_2,i]
    L[0,t,j] = … pos[t,j]                       L[0,j] = … pos[n-1,j]

The step is n - 1, where n is how many there are with this one; or it is the step before the first, at
which nothing is given yet and only starts are there.

What a step finds of the steps before it, under names of its own.

    h[t-1,j]            h^{ago}[j]              one value, that of so many steps ago
    L[t-ΔT,i]           L^{seen}[s,i]           the last few values, the present one included
    Key[k,t_2,i]        Key^{seen}[k,s,i]       all values, the present one included

A step is handed `ago` and `past`; `seen` is `past` with the present value behind it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from indicial.compile.passes.algebra import size_value
from indicial.compile.passes.new_tensors import derived_name
from indicial.compile.stepping.causal import Causal, reads, unknown_end
from indicial.compile.stepping.support import upper
from indicial.program import ir
from indicial.program.cost.conditions import add, conjuncts, inequality, joined
from indicial.program.meaning.functions import combine
from indicial.program.meaning.machine import NO_TOKEN
from indicial.program.moving import Unmovable, specialised
from indicial.program.sizes import Size, nonnegative


@dataclass(frozen=True)
class Ago:
    """The value of a tensor `steps` steps before its present one."""

    tensor: str
    steps: int
    name: str


@dataclass(frozen=True)
class Many:
    """Values of a tensor along the steps: the last `reach` before the present one, or all.

    `axis` is where the steps are, `low` the first step that there is.
    """

    tensor: str
    axis: int
    low: int
    reach: int | None
    past: str
    seen: str


class Slots:
    """The slots of a program, made when a read asks for them; all names are new."""

    def __init__(self, causal: Causal) -> None:
        self.causal = causal
        self.taken = dict.fromkeys(causal.code.tensors)
        self.ago: dict[tuple[str, int], Ago] = {}
        self.many: dict[str, Many] = {}
        # `now` has the reads of many steps, by identity, that may meet the present one.
        self.reaches, self.now = _reaches(causal)

    def back(self, tensor: str, steps: int) -> Ago:
        """A value of some steps ago; those between are kept as well, to become it."""
        for number in range(1, steps + 1):
            if (tensor, number) not in self.ago:
                self.ago[tensor, number] = Ago(tensor, number, self.new(tensor, "ago"))
        return self.ago[tensor, steps]

    def along(self, tensor: str) -> Many:
        """Values of many steps: as far back as any read of the tensor goes."""
        if tensor not in self.many:
            axis, low = self.causal.axes[tensor], self.low(tensor)
            names = self.new(tensor, "past"), self.new(tensor, "seen")
            self.many[tensor] = Many(tensor, axis, low, self.reaches[tensor], *names)
        return self.many[tensor]

    def new(self, tensor: str, mark: str) -> str:
        name = derived_name(self.taken, tensor, mark)
        self.taken[name] = None
        return name

    def low(self, tensor: str) -> int:
        """The first step of a tensor, its start included: -1 for `h[-1,j] = …`."""
        code, axis = self.causal.code, self.causal.axes[tensor]
        lower = code.tensors[tensor].axes[axis].lower.number
        places = [statement.left[axis] for statement in code.of(tensor)]
        numbers = [p.offset.number for p in places if isinstance(p, ir.Affine) and not p.terms]
        return int(min(n for n in (lower, *numbers, self.causal.walk.first) if n is not None))


def long_axis(many: Many, present: Size, axis: ir.Axis) -> ir.Axis:
    """The axis of `seen`, where the tensor's present step is `present`.

    Of the last few steps the oldest is 0, so that nothing depends on how many there were.
    """
    if many.reach is not None:
        return ir.Axis(axis.letter, Size(), Size.of(many.reach + 1))
    return ir.Axis(axis.letter, Size.of(many.low), present - many.low + 1)


def without(tensor: ir.Tensor, axis: int) -> tuple[ir.Axis, ...]:
    """The axes of a tensor but for one."""
    return tuple(a for n, a in enumerate(tensor.axes) if n != axis)


def _reaches(causal: Causal) -> tuple[dict[str, int | None], set[int]]:
    """How many steps back the reads go whose distance varies; None if there is no end.

    With it, which of these reads may meet the present step; the others need not wait for it.
    """
    result: dict[str, int | None] = {}
    now: set[int] = set()
    for edge in reads(causal.code, causal.walk, causal.axes):
        reader, read = edge.ends
        low, high = edge.distance(causal.axes[reader], causal.axes[read])
        if low == high and not _by_index(edge.read.places[causal.axes[read]], edge.statement):
            continue
        ahead = causal.offsets[read] - causal.offsets[reader]
        if ahead - high <= 0:
            now.add(id(edge.read))
        known = result.get(read, 0)
        endless = low == -math.inf or known is None
        result[read] = None if endless else max(int(ahead - low), known or 0)
    return result, now


def _by_index(place: ir.Place, statement: ir.Statement) -> bool:
    """Whether a place moves with an index that is summed: `t-Δt`, be it only one value of it."""
    own = {index.name for index in statement.indices}
    return isinstance(place, ir.Affine) and any(name not in own for name, _ in place.terms)


NOBODY = "no token"
"""What a token that is not there reads, until the gather around it has become 0."""


@dataclass
class Moment:
    """The equations at a step. `place` is the step of what is given now."""

    causal: Causal
    slots: Slots
    place: Size

    def __post_init__(self) -> None:
        self.code, self.walk = self.causal.code, self.causal.walk
        self.first = self.place.number is not None
        self.starts: dict[tuple[str, int], str | None] = {}
        """At the first step: elements that equations with a number on the left define."""
        self.tensors: dict[str, ir.Tensor] = {}
        self.statements: list[ir.Statement] = []
        self.now: set[int] = set()
        """Of the statement at hand, the reads of many steps that may meet the present one."""

    def present(self, tensor: str) -> Size:
        """The step at which a tensor is now."""
        return self.place + self.causal.offsets[tensor]

    def present_in(self, statement: ir.Statement, tensor: str) -> Size:
        """The same in a statement that may be about one step only: in `h[1,j] = x[0,j]` x is at 1."""
        offsets = self.causal.offsets
        left = statement.left[self.causal.axes[statement.target]]
        if self.first or not isinstance(left, ir.Affine) or left.terms:
            return self.present(tensor)
        return left.offset - offsets[statement.target] + offsets[tensor]

    # ---- statements ----

    def define(self, statement: ir.Statement) -> None:
        """The statement at this step, if it says anything about it."""
        axis = self.causal.axes[statement.target]
        left = statement.left[axis]
        at = self.present(statement.target)
        if not isinstance(left, ir.Affine) or self.walk.size in left.offset.names:
            raise unknown_end(self.walk.size, statement, statement.span)
        fixed: dict[str, ir.Affine] = {}
        guards: list[ir.Expression] = []
        if not left.terms:
            guard = _equal(at, left.offset)
        else:
            ((name, _),) = left.terms
            index = statement.scope[name]
            self.check_end(statement, left, index)
            fixed[name] = ir.Affine((), at - left.offset)
            guard = _at_least(at - left.offset, index.lower)
        if guard is False:
            return
        guards += [guard] if isinstance(guard, ir.Expression) else []
        self.add(statement, statement.target, fixed, guards)

    def add(
        self,
        statement: ir.Statement,
        target: str,
        fixed: dict[str, ir.Affine],
        guards: Sequence[ir.Expression] = (),
    ) -> None:
        """The statement without its walked place, under some name."""
        axis, before = self.causal.axes[statement.target], self.now
        try:
            at = specialised(statement, fixed)
        except Unmovable:
            raise unknown_end(self.walk.size, statement, statement.span) from None
        reads = zip(statement.reads(), at.reads(), strict=True)
        self.now = {id(read) for old, read in reads if id(old) in self.slots.now}
        indices, rest = self.ranges(at.indices, conjuncts(at.guard), statement)
        left = tuple(p for n, p in enumerate(statement.left) if n != axis)
        body = self.expression(at.body, statement)
        guard = joined([*guards, *(self.expression(c, statement) for c in rest)])
        self.now = before
        old = self.code.tensors[statement.target]
        axes = tuple(
            self.axis(statement, n, a, indices) for n, a in enumerate(old.axes) if n != axis
        )
        self.tensors[target] = replace(old, name=target, axes=axes)
        new = ir.Statement(target, left, tuple(indices), body, guard, statement.span)
        self.statements.append(new)

    def axis(
        self, statement: ir.Statement, number: int, axis: ir.Axis, indices: Sequence[ir.Index]
    ) -> ir.Axis:
        """An axis of a tensor; one as long as the walk ends where the index on it does."""
        if self.walk.size not in axis.extent.names:
            return axis
        place = statement.left[number]
        if isinstance(place, ir.Affine) and place.shift is not None:
            name, shift = place.shift
            index = next(i for i in indices if i.name == name)
            return ir.Axis(axis.letter, index.lower + shift, index.extent)
        raise unknown_end(self.walk.size, statement, statement.span)

    def check_end(self, statement: ir.Statement, left: ir.Affine, index: ir.Index) -> None:
        """An equation for all but the last steps needs to know which they are."""
        axis = self.code.tensors[statement.target].axes[self.causal.axes[statement.target]]
        short = (axis.lower + axis.extent - 1 - index.upper - left.offset).number
        if short is None or short > 0 or left.terms[0][1] != 1:
            raise unknown_end(self.walk.size, statement, statement.span)

    def ranges(
        self,
        indices: Sequence[ir.Index],
        conditions: Sequence[ir.Expression],
        statement: ir.Statement,
    ) -> tuple[list[ir.Index], list[ir.Expression]]:
        """The indices up to this step, and the conditions that say more than that."""
        result = []
        rest = list(conditions)
        for index in indices:
            if self.walk.size in index.extent.names:
                found = upper(index.name, conditions)
                if found is None or self.walk.size in index.lower.names:
                    raise unknown_end(self.walk.size, statement, statement.span)
                end, condition = found
                index = replace(index, extent=end - index.lower + 1)
                if condition in rest and inequality(condition) is not None:
                    rest.remove(condition)
            result.append(index)
        return result, rest

    # ---- expressions ----

    def expression(self, node: ir.Expression, statement: ir.Statement) -> ir.Expression:
        """A part of a statement, which is at this step already."""
        match node:
            case ir.Read():
                found = self.read(node, statement)
                absent = isinstance(found, ir.Read) and found.tensor == NOBODY
                return ir.Constant(NO_TOKEN) if absent else found
            case ir.IndexValue(place):
                return node if place.terms else size_value(place.offset)
            case ir.SizeValue(size) if self.walk.size in size.names:
                raise unknown_end(self.walk.size, statement, node.span)
            case ir.Reduce() | ir.Softmax():
                return self.reduction(node, statement)
        return node.rebuild(lambda below: self.expression(below, statement))

    def reduction(self, node: ir.Reduce | ir.Softmax, statement: ir.Statement) -> ir.Expression:
        indices, rest = self.ranges(node.indices, conjuncts(node.condition), statement)
        if any((size := i.extent.number) is not None and size <= 0 for i in indices):
            return ir.Constant(combine(node.operator, []) if isinstance(node, ir.Reduce) else 0.0)
        condition = joined(self.expression(c, statement) for c in rest)
        body = self.expression(node.body, statement)
        return replace(node, indices=tuple(indices), condition=condition, body=body)

    # ---- reads ----

    def read(self, read: ir.Read, statement: ir.Statement) -> ir.Expression:
        places = tuple(self.place_of(p, statement) for p in read.places)
        if any(isinstance(p, ir.Gather) and p.read.tensor == NOBODY for p in places):
            return ir.Constant(1.0 if self.code.tensors[read.tensor].probability else 0.0)
        if read.tensor not in self.causal.axes:
            return replace(read, places=places)
        axis = self.causal.axes[read.tensor]
        at = places[axis]
        if not isinstance(at, ir.Affine):
            raise unknown_end(self.walk.size, statement, read.span)
        rest = tuple(p for n, p in enumerate(places) if n != axis)
        lag = add(ir.Affine((), self.present_in(statement, read.tensor)), at, -1)
        if not lag.terms and lag.offset.number is not None:
            return self.single(read, int(lag.offset.number), rest)
        many = self.slots.along(read.tensor)
        if self.first and self.code.tensors[read.tensor].values is not None:
            return self.nothing(read.tensor)
        if many.reach is not None:
            at = add(ir.Affine((), Size.of(many.reach)), lag, -1)
        name = many.seen if self.first or id(read) in self.now else many.past
        return ir.Read(name, (*rest[:axis], at, *rest[axis:]), span=read.span)

    def single(self, read: ir.Read, lag: int, places: tuple[ir.Place, ...]) -> ir.Expression:
        """One step of a tensor: the present one, or one of some steps ago."""
        if self.first:
            name = self.at_start(read.tensor, lag)
            if name is None:
                return self.nothing(read.tensor)
        else:
            name = read.tensor if lag == 0 else self.slots.back(read.tensor, lag).name
        return ir.Read(name, places, span=read.span)

    def at_start(self, tensor: str, lag: int) -> str | None:
        """At the first step: the name of a tensor's value, of some steps ago; None if there is none."""
        if lag == 0 and self.causal.offsets[tensor]:
            return tensor
        place = int(self.present(tensor).number or 0) - lag
        key = tensor, place
        if key not in self.starts:
            self.starts[key] = None
            axis = self.causal.axes[tensor]
            for statement in self.code.of(tensor):
                left = statement.left[axis]
                if isinstance(left, ir.Affine) and not left.terms and left.offset.number == place:
                    name = self.starts[key] or self.slots.new(tensor, "start")
                    self.starts[key] = name
                    self.add(statement, name, {})
        return self.starts[key]

    def nothing(self, tensor: str) -> ir.Expression:
        """What is read before the first step."""
        return ir.Constant(0.0) if self.code.tensors[tensor].values is None else ir.Read(NOBODY)

    def place_of(self, place: ir.Place, statement: ir.Statement) -> ir.Place:
        if not isinstance(place, ir.Gather):
            return place
        read = self.read(place.read, statement)
        assert isinstance(read, ir.Read)
        return ir.Gather(read)


def _equal(at: Size, place: Size) -> ir.Expression | bool:
    """That the step is the one of a number: known, or a condition."""
    number = (at - place).number
    if number is not None:
        return number == 0
    if nonnegative(at - place - 1):
        return False
    return ir.Apply("=", (size_value(at), size_value(place)))


def _at_least(value: Size, lower: Size) -> ir.Expression | bool:
    number = (value - lower).number
    if number is not None:
        return number >= 0
    if nonnegative(value - lower):
        return True
    return ir.Apply("≥", (size_value(value), size_value(lower)))
