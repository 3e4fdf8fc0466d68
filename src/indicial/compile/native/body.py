"""The body of a loop over time: its statements, all walked by the loop's variable.

    for t:  R[t,j] = … h[t-1,i] …       →   R[v,j] = … h[v-1,i] …
            h[t+1,j] = … R[t,j] …           h[v+1,j] = … R[v,j] …

What a step reads of itself decides the order within it; what is read at other distances than a
fixed one has to be kept for all steps.

Where the tensors of a loop over time begin.

    h[-1,j] = h^{start}[j]      →   {"h": [(-1, "h^{start}")]}

A start outside the tensor's range is read in its place (`h[-1]` where h goes from 0); one inside is
an element like others (`h[0]` where h goes from 0 and the steps from 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from indicial.compile.passes.forms import is_pointwise
from indicial.compile.passes.scan import Unsupported
from indicial.compile.schedule.needs import needs
from indicial.compile.schedule.plan import Loop
from indicial.program import ir
from indicial.program.cost.conditions import joined
from indicial.program.moving import moved, specialised
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
    now: frozenset[tuple[str, str]]
    """Who reads what within a step: `("h", "G")`."""

    def inner_indices(self, statement: ir.Statement) -> list[ir.Index]:
        """The indices of the left side, in its order, without the one that the loop walks."""
        known = statement.scope
        result: list[ir.Index] = []
        for axis, place in enumerate(statement.left):
            if axis == self.axes[statement.target]:
                continue
            if isinstance(place, ir.Flat):
                result += place.indices
            elif place.terms:
                result.append(known[place.terms[0][0]])
        return result

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
        axis = self.axes.get(read.tensor)
        return axis is not None and read.places[axis] == self.left_place(read.tensor)

    def is_earlier(self, read: ir.Read) -> bool:
        """Whether a read of the loop's own tensors is of one other step, which is finished."""
        there = read.places[self.axes[read.tensor]]
        if not isinstance(there, ir.Affine):
            return False
        here = self.left_place(read.tensor)
        return there.terms == ((self.variable, 1),) and there.offset != here.offset


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
    both = {id(s) for s in (*others, *inside)}
    for name in loop.axes:
        if code.tensors[name].values is not None:
            # What a kernel writes are fractions, and a token is read as a whole number.
            raise Unsupported(f"{name} holds tokens")
    statements = _merged([_walked(s, loop) for s in code.statements if id(s) in both])
    now = frozenset(_within_a_step(code, loop))
    return Body(code, loop.variable, tuple(statements), dict(loop.axes), unbatched, now)


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


def _within_a_step(code: ir.Code, loop: Loop) -> Iterator[tuple[str, str]]:
    for need in needs(code):
        here, there = need.edge.ends
        if here in loop.axes and there in loop.axes:
            low, high = need.edge.distance(loop.axes[here], loop.axes[there])
            shift = loop.offsets.get(there, 0) - loop.offsets.get(here, 0)
            lag = high + shift if loop.direction > 0 else -(low + shift)
            if lag >= 0:
                yield here, there


def _walked(statement: ir.Statement, loop: Loop) -> ir.Statement:
    found = loop.fixed(statement)
    if found is None:
        raise Unsupported(f"{statement.target} is defined at one step only")
    name, place = found
    index = next(i for i in statement.indices if i.name == name)
    own = ir.Index(loop.variable, index.lower - place.offset, index.extent)
    left = tuple(_moved(p, name, place) for p in statement.left)
    for part in left:
        if isinstance(part, ir.Affine) and (
            len(part.terms) > 1 or any(f != 1 for _, f in part.terms)
        ):
            raise Unsupported(f"{statement.target} has a sum of indices on its left side")
    indices = tuple(own if i is index else i for i in statement.indices)
    return replace(specialised(statement, {name: place}), left=left, indices=indices)


def _moved(place: ir.Affine | ir.Flat, name: str, by: ir.Affine) -> ir.Affine | ir.Flat:
    if isinstance(place, ir.Flat) or all(n != name for n, _ in place.terms):
        return place
    return ir.Affine(by.terms, place.offset + by.offset)


def _merged(statements: Sequence[ir.Statement]) -> list[ir.Statement]:
    """Statements with guards for one tensor as one with cases; the first that holds wins."""
    result: list[ir.Statement] = []
    for statement in statements:
        same = [s for s in statements if s.target == statement.target]
        ruled = [_within_range(s, same[-1]) for s in same]
        if len(same) == 1 or all(s.guard is None for s in ruled):
            result.append(statement)
        elif statement is same[0]:
            result.append(_cases(ruled))
    return result


def _within_range(statement: ir.Statement, general: ir.Statement) -> ir.Statement:
    """`s[t,0] = …` beside `s[t,k] = …`, which has an element there too: `s[t,k] = … for k = 0`."""
    tests = [statement.guard] if statement.guard is not None else []
    places: dict[str, ir.Affine] = {}
    ranges = {i.name: i for i in (*statement.indices, *general.indices)}
    alike = True
    for own, other in zip(statement.left, general.left, strict=True):
        if (
            own == other
            or isinstance(own, ir.Flat)
            or isinstance(other, ir.Flat)
            or not other.terms
        ):
            continue
        index = ranges[other.terms[0][0]]
        if own.terms:
            narrow = ranges[own.terms[0][0]]
            alike &= narrow.extent == index.extent
            alike &= narrow.lower + own.offset == index.lower + other.offset
            places[narrow.name] = ir.Affine(other.terms, other.offset - own.offset)
            continue
        before = (own.offset - index.lower - other.offset).number
        behind = (own.offset - index.upper - other.offset).number
        if (before is not None and before < 0) or (behind is not None and behind > 0):
            return statement
        tests.append(ir.Apply("=", (ir.IndexValue(other), ir.IndexValue(own))))
    if len(tests) == (statement.guard is not None):
        return statement
    if not alike:
        raise Unsupported(f"{statement.target} has cases over different ranges")
    return replace(
        statement,
        left=general.left,
        indices=general.indices,
        body=moved(statement.body, places),
        guard=joined(moved(test, places) for test in tests),
    )


def _cases(same: Sequence[ir.Statement]) -> ir.Statement:
    first = same[0]
    branches: list[tuple[ir.Expression, ir.Expression]] = []
    otherwise: ir.Expression = ir.Constant(0.0)
    for other in same:
        if other.left != first.left or other.indices != first.indices:
            raise Unsupported(f"{first.target} has cases over different ranges")
        if not is_pointwise(other.body):
            raise Unsupported(f"{first.target} has a sum in one of its cases")
        if other.guard is None:
            otherwise = other.body
            break
        branches.append((other.guard, other.body))
    return replace(first, body=ir.Select(tuple(branches), otherwise), guard=None)


Starts = Mapping[str, Sequence[tuple[Size, str]]]
"""For each tensor: at which places it begins, and the argument that holds its values there."""


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
    inside = {id(s) for s in loop.statements()}
    return any(n.definer is start and id(n.reader) in inside for n in needs(code))


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
