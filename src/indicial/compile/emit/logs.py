"""The logarithm of a softmax is taken at once: it stays finite where the softmax is too small.

    P[t,w] = softmax_w s[t,w]               log.P[t,w] = ln(softmax_w s[t,w])
    loss   = Σ_t -ln P[t,w[t]]       →      loss       = Σ_t -log.P[t,w[t]]

P itself is computed only if somebody else reads it. At no token P is 1, and its logarithm 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from indicial.compile.schedule.plan import Call, Loop, Plan, Run, Step
from indicial.program.ir import (
    Apply,
    Code,
    Expression,
    Flat,
    Gather,
    Index,
    Join,
    Part,
    Read,
    Reduce,
    Select,
    Softmax,
    Statement,
)
from indicial.program.sizes import nonnegative


def with_logs(code: Code, plan: Plan, want: Sequence[str]) -> tuple[Code, Plan]:
    """Logarithms of softmaxes as tensors of their own."""
    called = {name for call in plan.calls() for name in call.loop.axes}
    softmaxes = {
        s.target: s
        for s in code.statements
        if isinstance(s.body, Softmax) and s.guard is None and len(code.of(s.target)) == 1
        if s.target not in called  # a function that knows no logarithms computes it
    }
    met: dict[str, None] = {}
    moved = {id(s): _with_logs(code, s, softmaxes, met) for s in code.statements}
    if not met:
        return code, plan
    tensors, axes = dict(code.tensors), {}
    logs: dict[int, Statement] = {}
    for name in met:
        statement = softmaxes[name]
        new = log_name(name)
        tensors[new] = replace(tensors[name], name=new, probability=False)
        body = Apply("ln", (statement.body,), span=statement.body.span)
        logs[id(statement)] = replace(statement, target=new, body=body)
        read = Read(new, tuple(statement.left))
        moved[id(statement)] = replace(statement, body=Apply("exp", (read,)))
        axes[name] = new
    others = [s for key, s in moved.items() if key not in logs]
    read_by = {
        n.tensor for s in others for part in (s.body, s.guard) if part for n in part.walk()
        if isinstance(n, Read)
    }  # fmt: skip
    kept = {name for name in met if name in want or name in read_by}
    statements = []
    for s in code.statements:
        statements += [logs[id(s)]] if id(s) in logs else []
        statements += [moved[id(s)]] if id(s) not in logs or s.target in kept else []
    steps = _steps(plan.steps, moved, logs, axes, kept)
    return replace(code, tensors=tensors, statements=tuple(statements)), Plan(steps)


def _called(steps: Sequence[Step]) -> Iterator[Statement]:
    """The statements that are not emitted, but run by a function."""
    for step in steps:
        if isinstance(step, Call):
            yield from step.statements()
        elif isinstance(step, Loop):
            yield from _called(step.steps)


def log_name(name: str) -> str:
    return f"log.{name}"


def _with_logs(
    code: Code, statement: Statement, softmaxes: dict[str, Statement], met: dict[str, None]
) -> Statement:
    def within(node: Expression, ranges: dict[str, Index]) -> Expression:
        """The expression, where these indices are in scope."""
        if isinstance(node, Reduce | Softmax):
            inner = {**ranges, **{i.name: i for i in node.indices}}
            condition = within(node.condition, inner) if node.condition is not None else None
            return replace(node, condition=condition, body=within(node.body, inner))
        if (
            isinstance(node, Apply)
            and node.function == "ln"
            and isinstance(node.arguments[0], Read)
            and node.arguments[0].tensor in softmaxes
            and _inside(code, node.arguments[0], ranges)
        ):
            read = node.arguments[0]
            met[read.tensor] = None
            return replace(read, tensor=log_name(read.tensor))
        if isinstance(node, Apply):
            return replace(node, arguments=tuple(within(a, ranges) for a in node.arguments))
        if isinstance(node, Select):
            branches = tuple((c, within(v, ranges)) for c, v in node.branches)
            return replace(node, branches=branches, otherwise=within(node.otherwise, ranges))
        if isinstance(node, Join):
            parts = tuple(
                Part(p.index, within(p.body, {**ranges, p.index.name: p.index})) for p in node.parts
            )
            return replace(node, parts=parts)
        return node

    ranges = {index.name: index for index in statement.indices}
    return replace(statement, body=within(statement.body, ranges))


def _inside(code: Code, read: Read, ranges: dict[str, Index]) -> bool:
    """Whether a read certainly stays in the ranges of its tensor: outside, the logarithm is -∞."""
    for place, axis in zip(read.places, code.tensors[read.tensor].axes, strict=True):
        if isinstance(place, Flat):
            return False
        if isinstance(place, Gather):
            if code.tensors[place.read.tensor].values != axis.extent or axis.lower.number != 0:
                return False
            continue
        low = high = place.offset
        for name, factor in place.terms:
            if name not in ranges:
                return False
            index = ranges[name]
            ends = (index.lower, index.upper) if factor > 0 else (index.upper, index.lower)
            low, high = low + factor * ends[0], high + factor * ends[1]
        if not nonnegative(low - axis.lower) or not nonnegative(
            axis.lower + axis.extent - 1 - high
        ):
            return False
    return True


def _steps(
    steps: Sequence[Step],
    moved: dict[int, Statement],
    logs: dict[int, Statement],
    axes: dict[str, str],
    kept: set[str],
) -> tuple[Step, ...]:
    result: list[Step] = []
    for step in steps:
        if isinstance(step, Run):
            key = id(step.statement)
            if key in logs:
                result.append(Run(logs[key]))
            if key not in logs or step.statement.target in kept:
                result.append(Run(moved[key]))
            continue
        if isinstance(step, Call):
            (loop,) = _steps((step.loop,), moved, logs, axes, kept)
            assert isinstance(loop, Loop)
            result.append(replace(step, loop=loop))
            continue
        if isinstance(step, Call):
            result.append(step)
            continue
        result.append(_loop(step, _steps(step.steps, moved, logs, axes, kept), axes))
    return tuple(result)


def _loop(loop: Loop, steps: tuple[Step, ...], axes: dict[str, str]) -> Loop:
    places = {**loop.axes, **{new: loop.axes[n] for n, new in axes.items() if n in loop.axes}}
    shifts = {
        **loop.offsets, **{new: loop.offsets[n] for n, new in axes.items() if n in loop.offsets}
    }  # fmt: skip
    return replace(loop, axes=places, offsets=shifts, steps=steps)
