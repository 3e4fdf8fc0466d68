"""Loops over time that walk together, with what is elementwise around them.

    Loop(t): m          m[t] = max(ℓ[t] + m[t-1], a[t])
    Run: p, d           d[t] = exp(ℓ[t] + m[t-1] - m[t])         →   Loop(t): m, p, d, n, z
    Loop(t): n          n[t,i] = d[t] n[t-1,i] + p[t] Key[t,i]
    Run: z              z[t] = max(abs(Σ_i n[t,i] q[t,i]), 1)

So one kernel goes through time once, and what a step reads is still in the cache. What is elementwise
behind a loop is a loop of its own if it is more than one operation. Loops that multiply by weights stay
alone, as do states that are matrices: their kernels have shapes of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from indicial.compile.schedule.schedule import Loop, Plan, Run, Step, needs
from indicial.program import ir
from indicial.program.meaning.differing import dependent, varying
from indicial.program.rewrite import reached, size_indices, tensors_read
from indicial.program.sizes import Size

Span = tuple[Size, Size]
"""The first step, and how many there are."""


def fused(code: ir.Code, plan: Plan, walk: Span | None = None, apart: Collection[str] = ()) -> Plan:
    """The plan with such loops as one; `walk` are the steps to go along where it has no loop.

    Tensors that are `apart` are computed for all members at once, as gradients of parameters are.
    It is the plan itself where nothing goes together.
    """
    differing = varying(code).difference(apart)

    def within(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        inner = tuple(
            replace(s, steps=within(s.steps)) if isinstance(s, Loop) and s.kind == "stacked" else s
            for s in steps
        )
        return tuple(_Fusing(code, inner, differing, walk).ordered())

    steps = within(plan.steps)
    return plan if steps == plan.steps else Plan(steps)


@dataclass(frozen=True)
class _Walk:
    """Statements that go through time together."""

    loop: Loop
    even: bool
    """Whether every read is of the same step, so that it can go either way."""


class _Fusing:
    """The steps of one plan, or of one loop, by number; those that are joined have one number."""

    def __init__(
        self, code: ir.Code, steps: Sequence[Step], varying: set[str], walk: Span | None
    ) -> None:
        self.code = code
        self.varying = varying
        self.steps = dict(enumerate(steps))
        self.into = {n: n for n in self.steps}
        number = {s.number: n for n, step in self.steps.items() for s in step.statements()}
        ends = [
            (number.get(n.reader.number, -1), number.get(n.definer.number, -1), n.edge)
            for n in needs(code)
        ]
        # What comes later is needed from an earlier round of a loop around.
        self.needs = [own for own in ends if own[0] >= own[1] >= 0]
        loops = [s for s in steps if isinstance(s, Loop) and s.kind == "scanned"]
        self.ranges = {(loop.lower, loop.extent): loop.letter for loop in loops}
        self.computed = dependent(code, frozenset(n for loop in loops for n in loop.axes))
        if walk is not None and not loops:
            self.ranges, self.computed = {walk: "t"}, set(code.tensors)
        self.walks = {n: w for n, step in self.steps.items() if (w := self.walk(step)) is not None}

    def ordered(self) -> Iterator[Step]:
        """All steps, what is read before who reads it."""
        walks = self.walks
        read = {n: tensors_read(self.steps[n].statements()) for n in walks}
        pairs = [(there, here) for here, there, _ in self.needs]
        pairs += [(a, b) for a in walks for b in walks if a < b and read[a] & read[b]]
        for first, second in dict.fromkeys(pairs):
            one, two = self.into[first], self.into[second]
            if one != two and one in walks and two in walks:
                both = self.joined(one, two)
                if both is not None:
                    walks[one] = both
                    del walks[two]
                    self.into = {n: one if m == two else m for n, m in self.into.items()}
        below = self.below()
        done: set[int] = set()

        def visit(number: int) -> Iterator[Step]:
            if number not in done:
                done.add(number)
                for other in sorted(below[number]):
                    yield from visit(other)
                whole = walks.get(number)
                if whole is None:
                    yield self.steps[number]
                else:
                    yield from (whole.loop,) if self.pays(whole) else whole.loop.steps

        for number in dict.fromkeys(self.into.values()):
            yield from visit(number)

    def below(self) -> Mapping[int, set[int]]:
        """What each step needs first."""
        found: dict[int, set[int]] = {n: set() for n in self.into.values()}
        for here, there, _ in self.needs:
            found[self.into[here]] |= {self.into[there]} - {self.into[here]}
        return found

    def pays(self, walk: _Walk) -> bool:
        """Whether it is worth a kernel: a loop is, and several operations on what loops compute."""
        own = list(walk.loop.statements())
        operations = sum(len(s.body.every(ir.Apply)) for s in own)
        return not walk.even or (operations > 1 and bool(tensors_read(own) & self.computed))

    def joined(self, one: int, two: int) -> _Walk | None:
        """Both in one loop; None where a read would look ahead, or something stands between."""
        a, b = self.walks[one], self.walks[two]
        first, second = a.loop, b.loop
        leading = second if a.even else first
        if (first.lower, first.extent) != (second.lower, second.extent):
            return None
        if any(not w.even and w.loop.direction != leading.direction for w in (a, b)):
            return None
        below = self.below()
        if any(
            above in reached(below[under] - {above}, below.__getitem__)
            for above, under in ((one, two), (two, one))
        ):
            return None
        axes, offsets = first.axes | second.axes, first.offsets | second.offsets
        even = a.even and b.even
        for reader, definer, edge in self.needs:
            if (self.into[reader], self.into[definer]) == (two, one):
                here, there = edge.ends
                shift = offsets.get(there, 0) - offsets.get(here, 0)
                low, high = (d + shift for d in edge.distance(axes[here], axes[there]))
                if (high if leading.direction > 0 else -low) > 0:
                    return None
                even = even and low == high == 0
        steps = (*first.steps, *second.steps)
        return _Walk(replace(leading, axes=axes, offsets=offsets, steps=steps), even)

    def walk(self, step: Step) -> _Walk | None:
        """A step as something that walks, if it may share a loop."""
        if isinstance(step, Loop):
            plain = step.kind == "scanned" and all(isinstance(s, Run) for s in step.steps)
            rows = plain and all(self.is_row(s, step.axes) for s in step.statements())
            return _Walk(step, False) if rows else None
        if not isinstance(step, Run) or len(self.code.of(step.statement.target)) > 1:
            return None
        statement = step.statement
        for (lower, extent), letter in self.ranges.items():
            axes = [
                n
                for n, place in enumerate(statement.left)
                if (name := ir.index_at(place)) is not None
                and statement.scope[name].range == (lower, extent)
            ]
            axis = {statement.target: axes[0]} if len(axes) == 1 else {}
            if axis and statement.guard is None and self.is_row(statement, axis):
                variable = f"{letter}°{statement.target}"
                loop = Loop(variable, letter, "scanned", 1, lower, extent, axis, (step,))
                return _Walk(loop, True)
        return None

    def is_row(self, statement: ir.Statement, axes: Mapping[str, int]) -> bool:
        """Whether it computes a number or a vector at each step, from numbers and vectors."""
        axis = axes[statement.target]
        time = statement.left[axis].shift
        others = [place for n, place in enumerate(statement.left) if n != axis]
        if time is None or len(others) > 1 or any(ir.index_at(p) is None for p in others):
            return False
        if statement.target not in self.varying or self.code.tensors[statement.target].values:
            return False
        if any(size_indices(size) for i in statement.indices for size in i.range):
            return False
        reads = (read for read in statement.reads() if read.tensor not in axes)
        if any(is_foreign(self.code, read) for read in reads):
            return False
        return all(self.is_simple(part, time[0], len(others)) for part in statement.parts)

    def is_simple(self, node: ir.Expression, time: str, indices: int) -> bool:
        match node:
            case ir.Constant() | ir.SizeValue():
                return True
            case ir.Read(tensor, places):
                shifts = [place.shift for place in places]
                inner = [s for s in shifts if s is None or s[0] != time]
                plain = all(s is not None and s[1] == 0 for s in inner)
                numbers = self.code.tensors[tensor].values is None
                return numbers and plain and len(shifts) - len(inner) <= 1
            case ir.Reduce("sum" | "max" | "min" | "mean", (_,), None, body):
                own = body.tensors() <= self.varying  # sums of weights are products of all steps
                return indices == 0 and own and self.is_simple(body, time, 1)
            case ir.Apply() | ir.Select():
                return all(self.is_simple(part, time, indices) for part in node.children())
            case _:
                return False


def is_foreign(code: ir.Code, read: ir.Read) -> bool:
    """Whether kernels do not read it: tokens that count as numbers, starts of what is finished."""
    if code.tensors[read.tensor].values is not None:
        return True
    begins = any(ir.number_at(place) is not None for s in code.of(read.tensor) for place in s.left)
    return begins and any(ir.index_at(place) is None for place in read.places)
