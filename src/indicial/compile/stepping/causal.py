"""Which step of each tensor is computed when: as soon as its readers need it, never too early.

    h[t,j] = … h[t-1,i] … e[w[t],j]             when w[t] is there: h[t]        offset 0
    P[t,v] = softmax_v … h[t-1,j]               when w[t] is there: P[t+1]      offset 1

An offset says how far ahead of the given step a tensor is. What is wanted is computed as early as it
can be, at most one step ahead; everything else as late as it may be. A read of a step that is still
to come is an error with a caret under it.

What an equation computes about other steps, or about no step, is computed once and kept.

    α[k,t,t'] = softmax_{t' ≤ t} (W^Q[k,I,J] Z[t,J]) (W^K[k,I,J] Z[t',J])

    α^{in}[k,I,t'] = W^K[k,I,J] Z[t',J]                                     one key for each step
    α[k,t,t']      = softmax_{t' ≤ t} (W^Q[k,I,J] Z[t,J]) α^{in}[k,I,t']

Keys of an encoder, which no step changes, leave the steps in the same way.

What is walked along: the size that grows step by step, and the axis of each tensor that has it.

input w[t] in V;  α[k,t_1,t_2] = softmax_{t_2 ≤ t_1} …

size T;  w along its axis 0;  α along axis 1 or 2: only along t_1 does nothing look ahead
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from indicial.compile.passes.hoist import Hoisting
from indicial.compile.passes.new_tensors import over
from indicial.compile.schedule.schedule import needed
from indicial.compile.stepping.support import upper
from indicial.notation.source import NOWHERE, Span
from indicial.program import ir
from indicial.program.cost.conditions import conjuncts, joined
from indicial.program.cost.dependence import Edge, edges
from indicial.program.meaning.differing import dependent
from indicial.program.messages import IndicialError, Message
from indicial.program.moving import moved
from indicial.program.rewrite import Scope, free_indices, tensors_read

WAYS = 64
"""How many assignments of axes are tried at most."""


@dataclass(frozen=True)
class Walk:
    """The size, the letter that it goes by, the first place, the inputs that are given by steps."""

    size: str
    letter: str
    first: int
    inputs: tuple[str, ...]

    def axes(self, tensor: ir.Tensor) -> list[int]:
        """The axes of a tensor that are as long as the walk."""
        return [n for n, axis in enumerate(tensor.axes) if self.size in axis.extent.names]


def walk_of(code: ir.Code, lengths: Sequence[str], along: str | None = None) -> Walk:
    """The walk along the index that is generated, that `along` names, or that the only length has."""
    size = _size(code, lengths, along)
    inputs = []
    letter, first = "", 0
    for tensor in code.tensors.values():
        if tensor.role != "input":
            continue
        found = [n for n, axis in enumerate(tensor.axes) if size in axis.extent.names]
        if not found:
            continue
        axis = tensor.axes[found[0]]
        if len(found) > 1 or axis.extent.name != size or axis.lower.number is None:
            sites = ((tensor.span, f"its shape depends on {size}"),)
            text = f"{tensor.name} cannot be given step by step"
            raise IndicialError(Message("error", "steps", text, sites).render())
        inputs.append(tensor.name)
        letter, first = letter or axis.letter, int(axis.lower.number)
    return Walk(size, letter or size, first, tuple(inputs))


def _size(code: ir.Code, lengths: Sequence[str], along: str | None) -> str:
    tensors = [t for t in code.tensors.values() if t.role == "input"]
    if along is not None:
        for tensor in tensors:
            for axis in tensor.axes:
                if along in (axis.letter, axis.extent.name) and axis.extent.name is not None:
                    return axis.extent.name
        raise IndicialError(f"no input has an axis {along} to walk along")
    if code.generated is not None:
        lengths = [a.extent.name for a in code.tensors[code.generated].axes if a.extent.name]
    if len(lengths) == 1:
        return lengths[0]
    if not lengths:
        raise IndicialError("no input has an axis to walk along, step by step")
    letters = {a.extent.name: a.letter for t in tensors for a in t.axes}
    listed = " or ".join(dict.fromkeys(f'along="{letters[name]}"' for name in lengths))
    raise IndicialError(f"say along which index the steps go: begin({listed})")


def ways(code: ir.Code, walk: Walk) -> Iterator[dict[str, int]]:
    """Each way to choose one axis of every tensor that has the size; the likeliest comes first."""
    choices: dict[str, list[int]] = {
        name: walk.axes(code.tensors[name])[:1] for name in walk.inputs
    }
    for statement in code.statements:
        axes = walk.axes(code.tensors[statement.target])
        if isinstance(statement.body, ir.Softmax):
            # A distribution over steps is had at each step, not one part of it at a time.
            summed = {index.name for index in statement.body.indices}
            places = statement.left
            free = [a for a in axes if not _has(places[a], summed)]
            axes = free or axes
        if axes:
            known = choices.setdefault(statement.target, axes)
            choices[statement.target] = [a for a in known if a in axes] or known
    names = list(choices)
    every = itertools.product(*choices.values())
    for axes_ in itertools.islice(every, WAYS):
        yield dict(zip(names, axes_, strict=True))


def _has(place: object, names: set[str]) -> bool:
    return isinstance(place, ir.Affine) and any(name in names for name, _ in place.terms)


class LookAhead(IndicialError):
    """A program that cannot go step by step: some equation reads what comes later."""


@dataclass(frozen=True)
class Causal:
    """A program with the axis that each of its tensors is walked along, and its offset."""

    code: ir.Code
    walk: Walk
    axes: dict[str, int]
    offsets: dict[str, int]

    def most(self, room: int) -> int | None:
        """How many steps parameters along the walk have room for; None if there are none."""
        size = self.walk.size
        long = {
            name
            for name, tensor in self.code.tensors.items()
            if tensor.role == "parameter" and any(size in a.extent.names for a in tensor.axes)
        }
        ahead = [
            self.offsets[s.target]
            for s in self.code.statements
            if s.target in self.offsets and tensors_read([s]) & long
        ]
        return room - max(ahead) if ahead else None


def causal(code: ir.Code, walk: Walk, outputs: Collection[str]) -> Causal:
    """The order in which steps can be computed, or the read that forbids any."""
    code = replace(code, statements=tuple(needed(code, outputs)))
    refused: LookAhead | None = None
    for axes in ways(code, walk):
        bounded = _with_demands(code, walk, axes, set(outputs))
        found = reads(bounded, walk, axes)
        try:
            _check_whole(axes, found)
            earliest = _earliest(walk, axes, found)
        except LookAhead as error:
            refused = refused or error
            continue
        # What reads nothing that is given could be any number of steps ahead: it goes along.
        moving = dependent(bounded, frozenset(walk.inputs))
        eager = [name for name in outputs if name in moving]
        return Causal(bounded, walk, axes, _latest(earliest, axes, found, eager))
    assert refused is not None
    raise refused


def reads(code: ir.Code, walk: Walk, axes: dict[str, int]) -> list[Edge]:
    """The reads of what changes from step to step; an input is as if an equation defined it."""
    given = []
    for name in walk.inputs:
        indices, left = over(code.tensors[name].axes)
        given.append(ir.Statement(name, left, indices, ir.Constant(0.0)))
    every = replace(code, statements=(*code.statements, *given))
    return [edge for edge in edges(every) if edge.read.tensor in axes]


def _with_demands(code: ir.Code, walk: Walk, axes: dict[str, int], outputs: set[str]) -> ir.Code:
    """What is defined for every pair of steps is only needed up to the step that is read.

    S[t_1,t_2] = …;  α[t_1,t_2] = softmax_{t_2 ≤ t_1} S[t_1,t_2]    →    S[t_1,t_2] = … for t_2 ≤ t_1
    """
    waiting = [n for n in axes if len(walk.axes(code.tensors[n])) > 1 and n not in outputs]
    for name in reversed(waiting):
        readers = [e for e in reads(code, walk, axes) if e.read.tensor == name]
        for axis in walk.axes(code.tensors[name]):
            if axis == axes[name]:
                continue
            reach = max((_ahead(e, axis, axes[name]) for e in readers), default=math.inf)
            if reach < math.inf:
                statements = tuple(
                    _ended(s, axis, axes[name], int(reach)) if s.target == name else s
                    for s in code.statements
                )
                code = replace(code, statements=statements)
    return code


def _ahead(edge: Edge, axis: int, walked: int) -> float:
    """How far one place of a read is ahead of another: 0 for `S[t_1,t_2]` where t_2 ≤ t_1."""
    here, there = edge.read.places[axis], edge.read.places[walked]
    if not isinstance(here, ir.Affine) or not isinstance(there, ir.Affine):
        return math.inf
    statement = replace(edge.statement, left=(there,))
    return replace(edge, statement=statement, rebound=frozenset()).distance(0, axis)[1]


def _ended(statement: ir.Statement, axis: int, walked: int, reach: int) -> ir.Statement:
    """The statement where one place is at most so far ahead of another."""
    here, there = statement.left[axis], statement.left[walked]
    if not isinstance(here, ir.Affine) or not isinstance(there, ir.Affine) or not here.terms:
        return statement
    known = conjuncts(statement.guard)
    at = {name: ir.Affine() for name, _ in there.terms}
    if upper(here.terms[0][0], [moved(condition, at) for condition in known]) is not None:
        return statement
    end = ir.Affine(there.terms, there.offset + reach)
    condition = ir.Apply("≤", (ir.IndexValue(here), ir.IndexValue(end)))
    return replace(statement, guard=joined([*known, condition]))


def _check_whole(axes: dict[str, int], found: Iterable[Edge]) -> None:
    """What has no step of its own cannot be read before the end."""
    for edge in found:
        if edge.statement.target not in axes:
            raise _refusal(edge, math.inf)


def _earliest(walk: Walk, axes: dict[str, int], found: list[Edge]) -> dict[str, int]:
    """The largest offset of each tensor at which it reads nothing that comes later."""
    offsets = {name: 0 if name in walk.inputs else 1 for name in axes}
    changed = True
    while changed:
        changed = False
        for edge in found:
            reader, read = edge.ends
            high = _distance(edge, axes)
            if offsets[reader] + high <= offsets[read]:
                continue
            if offsets[read] - high < 0:
                raise _refusal(edge, high)
            offsets[reader] = int(offsets[read] - high)
            changed = True
    return offsets


def _latest(
    earliest: dict[str, int], axes: dict[str, int], found: list[Edge], eager: Collection[str]
) -> dict[str, int]:
    """The smallest offsets that serve some tensors as early as they can be."""
    offsets = {name: earliest[name] if name in eager else 0 for name in axes}
    changed = True
    while changed:
        changed = False
        for edge in found:
            reader, read = edge.ends
            wanted = offsets[reader] + _distance(edge, axes)
            if wanted > offsets[read]:
                offsets[read] = int(wanted)
                changed = True
    return offsets


def _distance(edge: Edge, axes: dict[str, int]) -> float:
    """The latest step that a read may meet, minus the one that is defined."""
    reader, read = edge.ends
    return edge.distance(axes[reader], axes[read])[1]


def _refusal(edge: Edge, ahead: float) -> LookAhead:
    target, read = edge.statement, edge.read
    if ahead == math.inf:
        remark = "reads steps that are still to come"
    else:
        remark = f"{int(ahead)} step{'s' * (ahead > 1)} later, which is still to come"
    text = f"{target.target} cannot be computed step by step: it looks ahead at {read.tensor}"
    hint = "a step may read itself and what came before; module(…) computes all at once"
    sites = tuple((s, r) for s, r in ((read.span, remark),) if s is not NOWHERE)
    return LookAhead(Message("error", "looks-ahead", text, sites, hint).render())


def unknown_end(size: str, statement: ir.Statement, span: Span) -> LookAhead:
    """An equation that needs to know where the walk ends."""
    text = f"{statement.target} cannot be computed step by step: {size} is known only at the end"
    sites = ((span, f"depends on {size}"),) if span is not NOWHERE else ()
    return LookAhead(Message("error", "looks-ahead", text, sites).render())


def with_keys(causal: Causal) -> ir.Code:
    """The program with a tensor for each part of a step that does not depend on the step."""
    code = causal.code
    inputs = frozenset(n for n, t in code.tensors.items() if t.role == "input")
    data = dependent(code, inputs)
    tensors = dict(code.tensors)
    statements: list[ir.Statement] = []
    for statement in code.statements:
        axis = causal.axes.get(statement.target)
        place = statement.left[axis] if axis is not None else None
        if not isinstance(place, ir.Affine) or not place.terms:
            statements.append(statement)
            continue
        step = place.terms[0][0]
        keys = _Keys(tensors, statement, (), causal=causal, step=step, data=data)
        body = keys.outside_of(statement.body, statement.scope)
        statements += [*keys.made, replace(statement, body=body)]
    return replace(code, tensors=tensors, statements=tuple(statements))


@dataclass(kw_only=True)
class _Keys(Hoisting):
    """What leaves one statement; its step is the state here."""

    causal: Causal
    step: str
    data: set[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.long = {
            index.name
            for node in self.statement.body.walk()
            for index in (*self.statement.indices, *getattr(node, "indices", ()))
            if self.causal.walk.size in index.extent.names
        }

    def reads_state(self, expression: ir.Expression) -> bool:
        free = free_indices(expression)
        return self.step in free or len(free & self.long) > 1

    def worth(self, expression: ir.Expression) -> bool:
        reads = expression.tensors()
        if reads & self.causal.axes.keys() and not free_indices(expression) & self.long:
            return False  # `f[w[0],j]`: it has a step, but no index for it
        return super().worth(expression) and bool(reads & self.data)

    def contraction(self, node: ir.Reduce, scope: Scope) -> ir.Expression:
        """Factors are not multiplied first: `W^O[j,K,I] (W^V[K,I,J] E[s,J])` would be kept for all j."""
        inner = scope | {i.name: i for i in node.indices}
        assert isinstance(node.body, ir.Apply)
        factors = tuple(self.outside_of(f, inner) for f in node.body.arguments)
        return replace(node, body=replace(node.body, arguments=factors))
