"""The logarithm of a softmax is taken at once: it stays finite where the softmax is too small.

    P[t,w] = softmax_w s[t,w]               log.P[t,w] = ln(softmax_w s[t,w])
    loss   = Σ_t -ln P[t,w[t]]       →      loss       = Σ_t -log.P[t,w[t]]

P itself is computed only if somebody else reads it. At no token P is 1, and its logarithm 0.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

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
    plan = plan.rebuild(code.statements, became, partial(_loop, met))
    return replace(code, tensors=tensors, statements=tuple(chain(*became))), plan


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


def _loop(met: Collection[str], loop: Loop) -> Loop:
    """The loop with logarithms where the softmaxes are."""

    def both(of: dict[str, int]) -> dict[str, int]:
        return of | {log_name(name): of[name] for name in met if name in of}

    return replace(loop, axes=both(loop.axes), offsets=both(loop.offsets))
