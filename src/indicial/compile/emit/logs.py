"""The logarithm of a softmax is taken at once: it stays finite where the softmax is too small.

    P[t,w] = softmax_w s[t,w]               log.P[t,w] = ln(softmax_w s[t,w])
    loss   = Σ_t -ln P[t,w[t]]       →      loss       = Σ_t -log.P[t,w[t]]

P itself is computed only if somebody else reads it. At no token P is 1, and its logarithm 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from indicial.compile.schedule.plan import Loop, Plan
from indicial.program import ir
from indicial.program.rewrite import inside, tensors_read
from indicial.program.sizes import nonnegative


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
    moved = {id(s): _with_logs(code, s, softmaxes, met) for s in code.statements}
    if not met:
        return code, plan
    tensors, axes = dict(code.tensors), {}
    logs: dict[int, ir.Statement] = {}
    for name in met:
        statement = softmaxes[name]
        new = log_name(name)
        tensors[new] = replace(tensors[name], name=new, probability=False)
        body = ir.Apply("ln", (statement.body,), span=statement.body.span)
        logs[id(statement)] = replace(statement, target=new, body=body)
        read = ir.Read(new, tuple(statement.left))
        moved[id(statement)] = replace(statement, body=ir.Apply("exp", (read,)))
        axes[name] = new
    others = [s for key, s in moved.items() if key not in logs]
    kept = met.keys() & tensors_read(others).union(want)

    def changed(s: ir.Statement) -> list[ir.Statement]:
        log = [logs[id(s)]] if id(s) in logs else []
        return [*log, moved[id(s)]] if not log or s.target in kept else log

    statements = tuple(new for s in code.statements for new in changed(s))
    plan = plan.rebuild(changed, partial(_loop, axes))
    return replace(code, tensors=tensors, statements=statements), plan


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
        ends = place.known_ends(ranges)
        if ends is None or not nonnegative(ends[0] - axis.lower):
            return False
        if not nonnegative(axis.upper - ends[1]):
            return False
    return True


def _loop(axes: dict[str, str], loop: Loop) -> Loop:
    places = {**loop.axes, **{new: loop.axes[n] for n, new in axes.items() if n in loop.axes}}
    shifts = {
        **loop.offsets, **{new: loop.offsets[n] for n, new in axes.items() if n in loop.offsets}
    }  # fmt: skip
    return replace(loop, axes=places, offsets=shifts)
