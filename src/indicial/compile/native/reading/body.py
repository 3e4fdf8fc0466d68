"""The body of a loop over time: its statements, all walked by the loop's variable.

    for t:  R[t,j] = … h[t-1,i] …       →   R[v,j] = … h[v-1,i] …
            h[t+1,j] = … R[t,j] …           h[v+1,j] = … R[v,j] …

What a step reads of itself decides the order within it; what is read at other distances than a
fixed one has to be kept for all steps.

Where the tensors of a loop over time begin.

    h[-1,j] = h^{start}[j]      →   {"h": [(-1, "h^{start}")]}

A start outside the tensor's range is read in its place (`h[-1]` where h goes from 0); one inside is
an element like others (`h[0]` where h goes from 0 and the steps from 1).

What has no steps is a loop of one step: a decoder's step, what is computed for a place that chose an expert.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from indicial.compile.passes.edges import case
from indicial.compile.passes.forms import is_pointwise
from indicial.compile.passes.scan import Unsupported
from indicial.compile.schedule.schedule import Loop, Need, Run, needs
from indicial.program import ir
from indicial.program.moving import Unmovable, specialised
from indicial.program.rewrite import indexed
from indicial.program.sizes import Size


@dataclass(frozen=True)
class Body:
    """A loop's statements, each walked by the loop's variable, and which tensors have members."""

    code: ir.Code
    variable: str
    statements: tuple[ir.Statement, ...]
    axes: dict[str, int]
    """For each tensor that the loop computes, the axis that it walks."""
    unbatched: frozenset[str]
    now: frozenset[tuple[str, str, str]]
    """Who reads what within a step, and in which loop inside: `("", "h", "G")`."""
    parts: tuple[tuple[Loop | None, tuple[ir.Statement, ...]], ...] = ()
    """The statements in the order of a step, those of each loop inside it together."""

    @property
    def variables(self) -> dict[str, str]:
        """What the variables of the loop, and of those inside it, are called in C."""
        return {self.variable: "v", **{loop.variable: "u" for loop, _ in self.parts if loop}}

    def inner_indices(self, statement: ir.Statement) -> list[ir.Index]:
        """The indices of the left side, in its order, without those that loops walk."""
        known, walked = statement.scope, self.variables
        result: list[ir.Index] = []
        for place in statement.left:
            if isinstance(place, ir.Flat):
                result += place.indices
            elif place.terms and place.terms[0][0] not in walked:
                result.append(known[place.terms[0][0]])
        return result

    def inside(self, statement: ir.Statement) -> tuple[Loop, ir.Index] | None:
        """The loop inside the step that a statement runs in, and its index of that loop."""
        for loop, _ in self.parts:
            for index in statement.indices:
                if loop is not None and index.name == loop.variable:
                    return loop, index
        return None

    def walked(self, name: str) -> list[int]:
        """The axes of a tensor that loops walk."""
        loops = [loop for loop, _ in self.parts if loop is not None and name in loop.axes]
        return [self.axes[name], *(loop.axes[name] for loop in loops)]

    def is_whole(self, name: str, starts: int) -> bool:
        """Whether all elements of a tensor are defined, as far as can be told; some steps are `starts`."""
        scopes = [(s.left, s.scope) for s in self.statements if s.target == name]
        apart = 0
        for number, axis in enumerate(self.code.tensors[name].axes):
            places = [(left[number], scope) for left, scope in scopes]
            if any(isinstance(p, ir.Flat) for p, _ in places):
                continue
            ends = {p.ends(scope) for p, scope in places if isinstance(p, ir.Affine)}
            apart += len(ends) > 1
            left_out = axis.extent - sum((high - low + 1 for low, high in ends), Size())
            begun = Size.of(starts) if number == self.axes[name] else Size()
            if left_out not in (Size(), begun):
                return False
        return apart < 2

    def left_place(self, name: str) -> ir.Affine:
        """Where a tensor is written at this step: `v+1`."""
        for statement in self.statements:
            if statement.target == name:
                place = statement.left[self.axes[name]]
                assert isinstance(place, ir.Affine)
                return place
        raise KeyError(name)

    def is_now(self, read: ir.Read) -> bool:
        """Whether a read is of what this very step computes."""
        if read.tensor not in self.axes:
            return False
        axes = self.walked(read.tensor)
        lefts = (s.left for s in self.statements if s.target == read.tensor)
        return any(all(left[n] == read.places[n] for n in axes) for left in lefts)

    def is_earlier(self, read: ir.Read) -> bool:
        """Whether a read of the loop's own tensors is of one other step, which is finished."""
        there = read.places[self.axes[read.tensor]]
        if not isinstance(there, ir.Affine) or there.terms != ((self.variable, 1),):
            return False
        if there.offset != self.left_place(read.tensor).offset:
            return True
        places = [read.places[n] for n in self.walked(read.tensor)[1:]]
        within = any(
            isinstance(p, ir.Affine) and self.variables.keys() & dict(p.terms) for p in places
        )
        return within and not self.is_now(read)


def body(code: ir.Code, loop: Loop, unbatched: frozenset[str]) -> Body:
    """The loop with its variable in the place of each statement's own index.

    A tensor's statements that need no loop (a part of a join) run in it all the same.
    """
    inside = list(loop.statements())
    others = [
        s
        for name in loop.axes
        for s in code.of(name)
        if not any(s is i for i in inside) and not is_start(s, loop)
    ]
    both = {s.number for s in (*others, *inside)}
    for name in loop.axes:
        if code.tensors[name].values is not None:
            # What a kernel writes are fractions, and a token is read as a whole number.
            raise Unsupported(f"{name} holds tokens")
    within = {
        s.number: step for step in loop.steps if isinstance(step, Loop) for s in step.statements()
    }
    if any(isinstance(step, Loop) for inner in within.values() for step in inner.steps):
        raise Unsupported("there is a loop inside the loop inside the loop")
    walked = {
        s.number: _walked(s, loop, within.get(s.number))
        for s in code.statements
        if s.number in both
    }
    statements = _merged(list(walked.values()))
    now = frozenset(_within_a_step(code, loop, within))
    parts: list[tuple[Loop | None, tuple[ir.Statement, ...]]] = [(None, tuple(statements))]
    if within:
        parts = list(_in_parts(code, loop, others, walked, statements))
    return Body(
        code, loop.variable, tuple(statements), dict(loop.axes), unbatched, now, tuple(parts)
    )


def _in_parts(
    code: ir.Code,
    loop: Loop,
    others: Sequence[ir.Statement],
    walked: Mapping[int, ir.Statement],
    merged: Sequence[ir.Statement],
) -> Iterator[tuple[Loop | None, tuple[ir.Statement, ...]]]:
    """What stands before a loop inside the loop, in it, and behind it."""
    if {s.number for s in merged} != {s.number for s in walked.values()}:
        raise Unsupported("cases of a tensor are in a loop inside the loop")
    for statement in merged:
        axes = code.tensors[statement.target].axes
        for place, axis in zip(statement.left, axes, strict=True):
            number = ir.number_at(place)
            if number is not None and axis.beyond(number):
                raise Unsupported(f"{statement.target} begins along two indices")
    own: list[ir.Statement] = list(others)
    for step in loop.steps:
        if isinstance(step, Loop):
            yield None, tuple(walked[s.number] for s in own)
            yield step, tuple(walked[s.number] for s in step.statements())
            own = []
        else:
            own += step.statements()
    yield None, tuple(walked[s.number] for s in own)


def needs_history(body: Body) -> set[str]:
    """The tensors of the loop that are read at more than a fixed distance: all steps are kept."""
    found = set()
    for statement in body.statements:
        for node in statement.reads():
            if node.tensor in body.axes:
                place = node.places[body.axes[node.tensor]]
                if not isinstance(place, ir.Affine) or place.terms != ((body.variable, 1),):
                    found.add(node.tensor)
    return found


def _within_a_step(
    code: ir.Code, loop: Loop, within: Mapping[int, Loop]
) -> Iterator[tuple[str, str, str]]:
    def meets(need: Need, loop: Loop) -> bool:
        here, there = need.edge.ends
        low, high = need.edge.distance(loop.axes[here], loop.axes[there])
        shift = loop.offsets.get(there, 0) - loop.offsets.get(here, 0)
        return (high + shift if loop.direction > 0 else -(low + shift)) >= 0

    for need in needs(code):
        here, there = need.edge.ends
        inner = within.get(need.reader.number)
        if here not in loop.axes or there not in loop.axes:
            continue
        if inner is within.get(need.definer.number) and meets(need, loop):
            if inner is None:
                yield "", here, there
            elif meets(need, inner):
                yield inner.variable, here, there


def _walked(statement: ir.Statement, loop: Loop, inner: Loop | None = None) -> ir.Statement:
    if inner is not None:
        statement = _walked(statement, inner)
    found = loop.fixed(statement)
    if found is None:
        raise Unsupported(f"{statement.target} is defined at one step only")
    name, place = found
    index = statement.scope[name]
    own = ir.Index(loop.variable, index.lower - place.offset, index.extent)
    walked = specialised(statement, {name: place})
    for part in walked.left:
        if isinstance(part, ir.Affine) and sum(abs(factor) for _, factor in part.terms) > 1:
            raise Unsupported(f"{statement.target} has a sum of indices on its left side")
    return replace(walked, indices=tuple(own if i is index else i for i in statement.indices))


def _merged(statements: Sequence[ir.Statement]) -> list[ir.Statement]:
    """Statements with guards for one tensor as one with cases; the first that holds wins."""
    result: list[ir.Statement] = []
    for statement in statements:
        same = [s for s in statements if s.target == statement.target]
        beyond = [_beyond(s, same[-1]) for s in same]
        special = (s.guard is not None or out is False for s, out in zip(same, beyond, strict=True))
        if len(same) == 1 or not any(special):
            result.append(statement)
        elif True in beyond:
            raise Unsupported(f"{statement.target} has cases over different ranges")
        elif statement is same[0]:
            result.append(_cases(same))
    return result


def _beyond(statement: ir.Statement, general: ir.Statement) -> bool | None:
    """Whether a number on the left is outside the range of the general equation, if there is one."""
    found = [
        general.scope[other.terms[0][0]].beyond(own.offset - other.offset)
        for own, other in zip(statement.left, general.left, strict=True)
        if isinstance(own, ir.Affine) and isinstance(other, ir.Affine)
        if other.terms and not own.terms
    ]
    return any(found) if found else None


def _cases(same: Sequence[ir.Statement]) -> ir.Statement:
    """`s[t,0] = …` beside `s[t,k] = …`, which has an element there too: `s[t,k] = …` with cases."""
    general = same[-1]
    try:
        found = [case(s, general.left, general.scope, alike=True) for s in same]
    except Unmovable:
        raise Unsupported(f"{general.target} has cases over different ranges") from None
    if not all(is_pointwise(s.body) for s in same):
        raise Unsupported(f"{general.target} has a sum in one of its cases")
    branches = tuple((test, says) for test, says in found if test is not None)
    rest = (says for test, says in found if test is None)
    return replace(general, body=ir.Select(branches, next(rest, ir.Constant(0.0))), guard=None)


Starts = Mapping[str, Sequence[tuple[Size, str]]]
"""For each tensor: at which places it begins, and the argument that holds its values there."""


def begun_with(starts: Starts) -> set[str]:
    """The arguments that hold starts. They lie without gaps, so that a step can be read in their place."""
    return {name for pairs in starts.values() for _, name in pairs}


def starts(code: ir.Code, loop: Loop) -> Starts:
    """The starts of all tensors of a loop; `Unsupported` where one is more than a value."""
    result: dict[str, list[tuple[Size, str]]] = {}
    inside = list(loop.statements())
    for name, axis in loop.axes.items():
        for statement in code.of(name):
            if any(statement is i for i in inside) or not is_start(statement, loop):
                continue
            source = statement.body
            others = tuple(p for n, p in enumerate(statement.left) if n != axis)
            if not isinstance(source, ir.Read) or source.places != others:
                if _read_inside(loop, code, statement):
                    raise Unsupported(f"{name} begins with more than a value")
                continue
            place = statement.left[axis]
            assert isinstance(place, ir.Affine)
            result.setdefault(name, []).append((place.offset, source.tensor))
    return result


def is_start(statement: ir.Statement, loop: Loop) -> bool:
    """Whether a statement has a number where the loop walks: `h[-1,j] = …`."""
    axis = loop.axes.get(statement.target)
    return axis is not None and ir.number_at(statement.left[axis]) is not None


def _read_inside(loop: Loop, code: ir.Code, start: ir.Statement) -> bool:
    """Whether the loop may read what a statement outside it defines."""
    inside = {s.number for s in loop.statements()}
    return any(n.definer is start and n.reader.number in inside for n in needs(code))


def is_inside(name: str, place: Size, axis: ir.Axis, direction: int) -> bool:
    """Whether a start lies in the range of its tensor; `Unsupported` where that is not certain.

    On the far side it need not be: no step looks for `h[2,j]` there if there are only two.
    """
    if axis.beyond(place):
        return False
    low, high = (place - axis.lower).number, (place - axis.upper).number
    near = low is not None or high == 0 if direction > 0 else high is not None or low == 0
    if not near:
        raise Unsupported(f"{name} starts at {place}, which may be inside its range or not")
    return True


STEP = ir.Index("step°", Size(), Size.of(1))


def one_step(code: ir.Code, names: Collection[str]) -> tuple[ir.Code, Loop]:
    """The program with a step in front of some tensors; their statements as a loop of that one step.

    Such loops are what kernels are made of.
    """
    axis = ir.Axis(STEP.name, STEP.lower, STEP.extent)
    tensors = {
        n: replace(t, axes=(axis, *t.axes)) if n in names else t for n, t in code.tensors.items()
    }
    statements = tuple(indexed(s, STEP, names) for s in code.statements)
    own = tuple(Run(s) for s in statements if s.target in names)
    return replace(code, tensors=tensors, statements=statements), as_loop(own)


def as_loop(own: Sequence[Run]) -> Loop:
    """Statements that are walked along the step."""
    axes = dict.fromkeys((run.statement.target for run in own), 0)
    return Loop("step·", STEP.name, "scanned", 1, *STEP.range, axes, tuple(own))
