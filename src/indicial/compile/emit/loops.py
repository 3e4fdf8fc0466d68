"""Loops of a plan: what they fix, and the steps of the tensors that they walk along.

Loop(t, …)              h = {}
  Run(h[t,j] = …)       h[-1] = torch.zeros(B, J, …)
                        for t in range(T):
                            h[t] = torch.tanh(F.linear(h[t - 1], W) + x[:, t])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from indicial.compile.emit.storage import Store, Walked
from indicial.compile.emit.values import Environment
from indicial.compile.schedule.plan import Around, Loop, Plan
from indicial.program.ir import Affine, Code, Read, Statement
from indicial.program.rewrite import with_reads
from indicial.program.sizes import Size


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
        index = next(i for i in statement.indices if i.name == name)
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
        return len({id(loops[0]) for target, loops in self.made if target == name and loops})

    def key(self, reading: Reading, loop: Loop, axis: int) -> Size | None:
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
                if self.key(reading, walked, walked.axes[name]) != current:
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
            key = self.key(reading, walk.loop, walk.axis)
            if key is None:
                continue
            shift = key - Size.of(walk.loop.variable)
            for fixed in fixings(reading.reader, [walk.loop]):
                low, high = (first - fixed.low - shift).number, (fixed.high + shift - last).number
                before = max(before, int(low or 0))
                behind = max(behind, int(high or 0))
        return before, behind
