"""What the text of PyTorch needs and no kernel does: the batch as an index, logarithms, guarded starts.

The batch, written out: what depends on an input gets one more index, in front.

    input x[t,k]                              x[b,t,k]
    h[t,j] = tanh(W[j,I] x[t,I])      →       h[b,t,j] = tanh(W[j,I] x[b,t,I])

After this a batch is an index like any other. A program that writes its batch index stays as it is.
Statements that nobody needs go on the way.

The logarithm of a softmax is taken at once: it stays finite where the softmax is too small.

    P[t,w] = softmax_w s[t,w]               log.P[t,w] = ln(softmax_w s[t,w])
    loss   = Σ_t -ln P[t,w[t]]       →      loss       = Σ_t -log.P[t,w[t]]

P itself is computed only if somebody else reads it. At no token P is 1, and its logarithm 0.

A plan is kept in step by the numbers of statements: kernels have been handed their loops by then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from indicial.compile.passes.simplify import simplified
from indicial.compile.schedule.schedule import Call, Loop, Piece, Plan
from indicial.program import ir
from indicial.program.cost.conditions import joined, surely_in
from indicial.program.meaning.arrays import writes_batch
from indicial.program.meaning.differing import dependent
from indicial.program.rewrite import indexed, inside, is_constant, needed_names, tensors_read
from indicial.program.sizes import Size
from indicial.program.verify import verified

MEMBER = ir.Index("b·", Size(), Size.of("B·"))
"""The index of the batch where the text leaves it out."""


def lift(
    code: ir.Code,
    plan: Plan,
    want: Sequence[str],
    ragged: Collection[str] = (),
    draws: Collection[str] = (),
    summed: Collection[str] = (),
) -> tuple[ir.Code, Plan]:
    """The program and its plan with the batch, without what the wanted tensors do not need.

    `summed` are wanted as the sum over the batch, as the gradient of a parameter is.
    """
    simple = simplified(code, draws)
    needed = needed_names(simple.statements, want)
    lifted = _differing(simple, ragged, draws) - set(summed)
    moved = [
        [_lifted(s, lifted, ragged, s.target in summed)] if s.target in needed else []
        for s in simple.statements
    ]
    tensors = dict(code.tensors)
    for name in lifted:
        tensor = tensors[name]
        axis = ir.Axis(MEMBER.name, MEMBER.lower, MEMBER.extent)
        tensors[name] = replace(tensor, axes=(axis, *tensor.axes))

    def axes(loop: Loop) -> Loop:
        return replace(
            loop, axes={name: axis + (name in lifted) for name, axis in loop.axes.items()}
        )

    def slices(of: Sequence[Piece]) -> tuple[Piece, ...]:
        return tuple(Piece(s.tensor, (None, *s.places)) if s.tensor in lifted else s for s in of)

    def call(own: Call) -> Call:
        return replace(own, arguments=slices(own.arguments), results=slices(own.results))

    if lifted:
        code = replace(code, sizes={**code.sizes, str(MEMBER.extent): None})
    return _rewritten(code, plan, moved, tensors, axes, call)


def _rewritten(
    code: ir.Code,
    plan: Plan,
    became: Sequence[Sequence[ir.Statement]],
    tensors: dict[str, ir.Tensor],
    *around: Callable[[Any], Any],
) -> tuple[ir.Code, Plan]:
    """A program and its plan with what became of each statement; a tensor that has none left goes.

    `around` says what becomes of loops and calls.
    """
    made = verified(code.equations(tensors, chain(*became)))
    return made, plan.rebuild(code.statements, became, *around)


def _differing(code: ir.Code, ragged: Collection[str], draws: Collection[str]) -> set[str]:
    """The tensors that get the batch: what differs, unless the text writes its batch index."""
    if writes_batch(code):
        return set()
    inputs = {name for name, tensor in code.tensors.items() if tensor.role == "input"}
    drawn = set(draws) if inputs else set()
    return dependent(code, frozenset(inputs | drawn), frozenset(ragged))


def _lifted(
    statement: ir.Statement, lifted: set[str], ragged: Collection[str], summed: bool
) -> ir.Statement:
    result = indexed(statement, MEMBER, lifted)
    if summed:
        return replace(result, body=_over_members(result.body, _there(statement, ragged)))
    return result


def _there(statement: ir.Statement, ragged: Collection[str]) -> tuple[ir.Expression, ...]:
    """What holds of an example that has the element: `t < T`, with its own T."""
    return tuple(
        ir.Apply("<", (ir.IndexValue(ir.Affine.of(i)), ir.SizeValue(i.lower + i.extent)))
        for i in statement.indices
        if i.extent.names & set(ragged)
    )


def _over_members(body: ir.Expression, there: tuple[ir.Expression, ...]) -> ir.Expression:
    """The sum over the batch: inside sums, so that a product over all steps is one product."""
    match body:
        case ir.Apply("+", arguments):
            return replace(body, arguments=tuple(_over_members(a, there) for a in arguments))
        case ir.Apply("neg", (inner,)):
            return replace(body, arguments=(_over_members(inner, there),))
        case ir.Reduce("sum", indices, condition, _):
            conditions = (*there, *([condition] if condition is not None else []))
            return replace(body, indices=(MEMBER, *indices), condition=joined(conditions))
        case ir.Apply("*", (*scale, ir.Reduce("sum") as core)) if all(map(is_constant, scale)):
            return replace(body, arguments=(*scale, _over_members(core, there)))
        case _:
            return ir.Reduce("sum", (MEMBER,), joined(there), body)


def with_logs(code: ir.Code, plan: Plan, want: Sequence[str]) -> tuple[ir.Code, Plan]:
    """Logarithms of softmaxes as tensors of their own."""
    called = {name for call in plan.calls() for name in call.loop.axes}
    softmaxes = {
        s.target: s
        for s in code.statements
        if isinstance(s.body, ir.Softmax) and s.guard is None and len(code.of(s.target)) == 1
        if s.target not in called  # a function that knows no logarithms computes it
    }
    met: dict[str, None] = {}
    moved = [_with_logs(code, s, softmaxes, met) for s in code.statements]
    if not met:
        return code, plan
    kept = tensors_read(s for s in moved if s.target not in met).union(want)
    tensors = dict(code.tensors)
    became: list[list[ir.Statement]] = []
    for old, new in zip(code.statements, moved, strict=True):
        if old.target not in met:
            became.append([new])
            continue
        name = log_name(old.target)
        tensors[name] = replace(tensors[old.target], name=name, probability=False)
        log = replace(old, target=name, body=ir.Apply("ln", (old.body,), span=old.body.span))
        again = replace(old, body=ir.Apply("exp", (ir.Read(name, old.left),)))
        became.append([log, again] if old.target in kept else [log])
    return _rewritten(code, plan, became, tensors, partial(_loop, met))


def log_name(name: str) -> str:
    return f"log.{name}"


def _with_logs(
    code: ir.Code, statement: ir.Statement, softmaxes: dict[str, ir.Statement], met: dict[str, None]
) -> ir.Statement:
    def within(node: ir.Expression, ranges: dict[str, ir.Index]) -> ir.Expression:
        """The expression, where these indices are in scope."""
        if (
            isinstance(node, ir.Apply)
            and node.function == "ln"
            and isinstance(node.arguments[0], ir.Read)
            and node.arguments[0].tensor in softmaxes
            and _inside(code, node.arguments[0], ranges)
        ):
            read = node.arguments[0]
            met[read.tensor] = None
            return replace(read, tensor=log_name(read.tensor))
        return inside(node, ranges, within)

    return replace(statement, body=within(statement.body, statement.scope))


def _inside(code: ir.Code, read: ir.Read, ranges: dict[str, ir.Index]) -> bool:
    """Whether a read certainly stays in the ranges of its tensor: outside, the logarithm is -∞."""
    for place, axis in zip(read.places, code.tensors[read.tensor].axes, strict=True):
        if isinstance(place, ir.Flat):
            return False
        if isinstance(place, ir.Gather):
            if code.tensors[place.read.tensor].values != axis.extent or axis.lower.number != 0:
                return False
            continue
        if not surely_in(place, ranges, axis):
            return False
    return True


def _loop(met: Collection[str], loop: Loop) -> Loop:
    """The loop with logarithms where the softmaxes are."""

    def both(of: dict[str, int]) -> dict[str, int]:
        return of | {log_name(name): of[name] for name in met if name in of}

    return replace(loop, axes=both(loop.axes), offsets=both(loop.offsets))


StartsBeyond = dict[tuple[str, int], list[Size]]
"""Of a tensor and an axis: places beyond its range that a statement defines."""


def with_guarded_starts(
    code: ir.Code, plan: Plan, ragged: Collection[str]
) -> tuple[ir.Code, Plan, StartsBeyond]:
    """`h[T,j] = a[j]` → `h[t,j] = a[j] for t = T`: a place that varies is no place on a left side."""
    starts: StartsBeyond = {}
    moved: list[ir.Statement] = []
    for statement in code.statements:
        axes = code.tensors[statement.target].axes
        for number, (place, axis) in enumerate(zip(statement.left, axes, strict=True)):
            at = ir.number_at(place)
            if at is not None and at.names & set(ragged):
                starts.setdefault((statement.target, number), []).append(at)
                statement = _guarded(statement, number, axis)
        moved.append(statement)
    return *_rewritten(code, plan, [[s] for s in moved], code.tensors), starts


def _guarded(statement: ir.Statement, number: int, axis: ir.Axis) -> ir.Statement:
    place = statement.left[number]
    assert isinstance(place, ir.Affine)
    index = ir.Index(f"{axis.letter}·start", axis.lower, place.offset - axis.lower + 1)
    test = ir.Apply("=", (ir.IndexValue(ir.Affine.of(index)), ir.IndexValue(place)))
    guard = test if statement.guard is None else ir.Apply("and", (test, statement.guard))
    left = list(statement.left)
    left[number] = ir.Affine.of(index)
    return replace(statement, left=tuple(left), indices=(*statement.indices, index), guard=guard)
