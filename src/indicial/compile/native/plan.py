"""A plan with its loops over time handed to kernels, and why where one is not.

plan = with_kernels(code, schedule(code), want=["h"])
plan.kept_back                      [(loop, "there is a loop inside the loop")]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from indicial.compile.native import ops
from indicial.compile.native.kernel import REALS
from indicial.compile.native.recurrence import Recurrence
from indicial.compile.native.scan import Unsupported, extract
from indicial.compile.schedule.plan import Call, Loop, Plan, Step
from indicial.program.ir import Code, Read, Statement


@dataclass(frozen=True)
class Handed:
    """A plan in which calls stand for loops; `refused` has the loops that stay, with reasons."""

    plan: Plan
    refused: tuple[tuple[Loop, str], ...]


def with_kernels(code: Code, plan: Plan, want: Collection[str]) -> Handed:
    """Every scanned loop that has a kernel becomes a call."""
    refused: list[tuple[Loop, str]] = []

    def handed(steps: Sequence[Step], around: tuple[Loop, ...]) -> Iterator[Step]:
        for step in steps:
            if not isinstance(step, Loop):
                yield step
            elif step.kind == "scanned":
                try:
                    yield _call(code, plan, around, step, want)
                except Unsupported as reason:
                    refused.append((step, str(reason)))
                    yield step
            else:
                yield replace(step, steps=tuple(handed(step.steps, (*around, step))))

    return Handed(Plan(tuple(handed(plan.steps, ()))), tuple(refused))


def _call(
    code: Code, plan: Plan, around: tuple[Loop, ...], loop: Loop, want: Collection[str]
) -> Call:
    scan = extract(code, around, loop)
    inside = {id(s) for s in loop.statements()}
    needed = {*want, *_reads(s for s in _statements(plan.steps) if id(s) not in inside)}
    outputs = [n for n, piece in scan.results.items() if piece.tensor in needed]
    recurrence = ops.register(Recurrence(scan, outputs))
    return Call(
        loop,
        ", ".join(piece.tensor for piece in scan.results.values()),
        tuple(scan.arguments[n] for n in recurrence.arguments),
        tuple(scan.results[n] for n in recurrence.outputs),
        recurrence.sizes,
        partial(run, recurrence),
    )


def run(
    recurrence: Recurrence,
    arguments: Sequence[torch.Tensor],
    sizes: Sequence[int],
    lengths: dict[str, torch.Tensor],
) -> list[torch.Tensor]:
    """The outputs of a recurrence: by its kernels on the processor, else by PyTorch."""
    by_name = dict(zip(recurrence.sizes, sizes, strict=True))
    if all(map(_suits, arguments)):
        return ops.scan(recurrence, arguments, by_name, lengths)
    return recurrence.plain(arguments, by_name, lengths)


def _suits(tensor: torch.Tensor) -> bool:
    """Whether kernels take a tensor; those inside `torch.func`'s transforms have no memory."""
    tracing = torch.compiler.is_compiling()
    if not tracing and torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return False
    return tensor.device.type in ("cpu", "meta") and tensor.dtype in REALS


def _statements(steps: Sequence[Step]) -> Iterator[Statement]:
    for step in steps:
        yield from step.statements()


def _reads(statements: Iterator[Statement]) -> set[str]:
    return {
        node.tensor
        for statement in statements
        for part in (statement.body, statement.guard)
        if part is not None
        for node in part.walk()
        if isinstance(node, Read)
    }
