"""A plan with its loops over time handed to kernels, and why where one is not.

plan = with_kernels(code, schedule(code), want=["h"])
plan.kept_back                      [(loop, "there is a loop inside the loop")]
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from indicial.compile.native import ops
from indicial.compile.native.deriving import recurrence
from indicial.compile.native.readers import matrix_readers, with_walked
from indicial.compile.native.recurrence import register
from indicial.compile.native.scan import Unsupported, extract
from indicial.compile.passes.hoist import is_foreign
from indicial.compile.schedule.plan import Call, Loop, Plan, Run, Step
from indicial.compile.schedule.schedule import ScheduleError
from indicial.program.ir import Affine, Apply, Code, Constant, Read, Reduce, Statement
from indicial.program.rewrite import tensors_read


@dataclass(frozen=True)
class Handed:
    """A plan in which calls stand for loops; `refused` has the loops that stay, with reasons."""

    plan: Plan
    refused: tuple[tuple[Loop, str], ...]


def with_kernels(
    code: Code, plan: Plan, want: Collection[str], ragged: Collection[str] = ()
) -> Handed:
    """Every scanned loop that has a kernel becomes a call."""
    refused: list[tuple[Loop, str]] = []
    every = list(_statements(plan.steps))

    def handed(steps: Sequence[Step], around: tuple[Loop, ...]) -> Iterator[Step]:
        gone: set[int] = set()
        result: list[Step] = []
        later: dict[int, Call] = {}
        for step in steps:
            if not isinstance(step, Loop):
                (statement,) = step.statements() if isinstance(step, Run) else (None,)
                result.append(later.get(id(statement), step))
            elif step.kind == "scanned":
                readers = matrix_readers(code, steps, every, step, want, len(around))
                if readers:
                    with contextlib.suppress(Unsupported, ScheduleError):
                        call = _call(code, every, around, step, want, (), ragged, readers)
                        later[id(readers[-1])] = call
                        gone |= {id(s) for s in readers}
                        continue
                absorb = _absorbable(code, steps, every, step, want)
                try:
                    result.append(_call(code, every, around, step, want, absorb, ragged))
                    gone |= {id(s) for s in absorb}
                except (Unsupported, ScheduleError) as reason:
                    refused.append((step, str(reason)))
                    result.append(step)
            else:
                result.append(replace(step, steps=tuple(handed(step.steps, (*around, step)))))
        return (s for s in result if not isinstance(s, Run) or id(s.statement) not in gone)

    return Handed(Plan(tuple(handed(plan.steps, ()))), tuple(refused))


def _absorbable(
    code: Code, steps: Sequence[Step], every: Sequence[Statement], loop: Loop, want: Collection[str]
) -> list[Statement]:
    """Sums for all steps at once, beside the loop, that only the loop reads: projections of inputs.

    They go with it so that they can lie side by side in memory, and their gradients too.
    """
    inside = {id(s) for s in loop.statements()}
    elsewhere = {*want, *tensors_read(s for s in every if id(s) not in inside)}
    read = tensors_read(loop.statements())
    return [
        step.statement
        for step in steps
        if isinstance(step, Run)
        and step.statement.target in read - elsewhere
        and len(code.of(step.statement.target)) == 1
        and step.statement.guard is None
        and _projects(code, step.statement, loop)
    ]


def _projects(code: Code, statement: Statement, loop: Loop) -> bool:
    """Whether it sums, at every step, over what there is at that step: `Σ_K W[j,K] x[t,K] - B[j]`."""
    nodes = list(statement.body.walk())
    sums = [n for n in nodes if isinstance(n, Reduce)]
    simple = all(isinstance(n, Read | Apply | Constant | Reduce) for n in nodes)
    reads = [n for n in nodes if isinstance(n, Read)]
    foreign = any(is_foreign(code, read) or not _affine(read) for read in reads)
    walked = {((i.name, 1),) for i in statement.indices if i.extent == loop.extent}
    steps = any(isinstance(p, Affine) and p.terms in walked for p in statement.left)
    return bool(sums) and simple and not foreign and steps


def _affine(read: Read) -> bool:
    return all(isinstance(place, Affine) for place in read.places)


def _call(
    code: Code,
    every: Sequence[Statement],
    around: tuple[Loop, ...],
    loop: Loop,
    want: Collection[str],
    absorb: Sequence[Statement],
    ragged: Collection[str],
    readers: Sequence[Statement] = (),
) -> Call:
    scan = extract(code, around, loop, absorb, ragged, readers)
    inside = {id(s) for s in (*loop.statements(), *readers)}
    needed = {*want, *tensors_read(s for s in every if id(s) not in inside)}
    outputs = [n for n, piece in scan.results.items() if piece.tensor in needed]
    made = register(recurrence(scan, outputs))
    return Call(
        with_walked(loop, readers) if readers else loop,
        ", ".join(piece.tensor for piece in scan.results.values()),
        tuple(scan.arguments[n] for n in made.arguments),
        tuple(scan.results[n] for n in made.outputs),
        made.sizes,
        partial(ops.run, made),
        made.start,
        made.expect,
    )


def _statements(steps: Sequence[Step]) -> Iterator[Statement]:
    for step in steps:
        yield from step.statements()
