"""A plan with its loops over time handed to kernels, and why where one is not.

plan, refused = with_kernels(code, schedule(code), want=["h"])
refused                             [(loop, "no kernel knows the function arctan")]

The sums that alone read a matrix-valued state: they are computed with it, and it is never stored.

S[t,i,j] = g[t] S[t-1,i,j] + k[t,i] v[t,j]          a loop over time
h[t,j]   = o[t,j] Σ_i q[t,i] S[t,i,j] / z[t]        for all steps at once, from all S

h^{(1)}[t,j] = Σ_i q[t,i] S[t,i,j]                  with_readers: goes with the loop
h[t,j]       = o[t,j] h^{(1)}[t,j] / z[t]
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

from indicial.compile.native import ops
from indicial.compile.native.body import is_start
from indicial.compile.native.deriving import recurrence
from indicial.compile.native.recurrence import register
from indicial.compile.native.tiles import wide_states
from indicial.compile.passes.forms import Pointwise, Product, form
from indicial.compile.passes.hoist import nests
from indicial.compile.passes.normal import normal
from indicial.compile.passes.scan import Unsupported, extract
from indicial.compile.schedule.fuse import is_foreign
from indicial.compile.schedule.plan import Call, Loop, Plan, Run, Step
from indicial.compile.schedule.schedule import ScheduleError
from indicial.program.ir import Affine, Apply, Code, Constant, Read, Reduce, Statement
from indicial.program.rewrite import tensors_read


def with_kernels(
    code: Code, plan: Plan, want: Collection[str], ragged: Collection[str] = ()
) -> tuple[Plan, tuple[tuple[Loop, str], ...]]:
    """Every scanned loop that has a kernel becomes a call; the loops that stay, with reasons."""
    refused: list[tuple[Loop, str]] = []
    every = list(plan.statements())

    def handed(steps: Sequence[Step], around: tuple[Loop, ...]) -> Iterator[Step]:
        gone: set[int] = set()
        result: list[Step] = []
        later: dict[int, Call] = {}
        for step in steps:
            if not isinstance(step, Loop):
                at = step.statement.number if isinstance(step, Run) else -1
                result.append(later.get(at, step))
            elif step.kind == "scanned":
                readers = matrix_readers(code, steps, every, step, want, len(around))
                if readers:
                    with contextlib.suppress(Unsupported, ScheduleError):
                        call = _call(code, every, around, step, want, (), ragged, readers)
                        later[readers[-1].number] = call
                        gone |= {s.number for s in readers}
                        continue
                absorb = _absorbable(code, steps, every, step, want)
                absorb = [s for s in absorb if s.number not in gone]
                try:
                    result.append(_call(code, every, around, step, want, absorb, ragged))
                    gone |= {s.number for s in absorb}
                except (Unsupported, ScheduleError) as reason:
                    if any(isinstance(inner, Loop) for inner in step.steps):
                        step = replace(step, steps=tuple(handed(step.steps, (*around, step))))
                    refused.append((step, str(reason)))
                    result.append(step)
            else:
                result.append(replace(step, steps=tuple(handed(step.steps, (*around, step)))))
        return (s for s in result if not isinstance(s, Run) or s.statement.number not in gone)

    return Plan(tuple(handed(plan.steps, ()))), tuple(refused)


def _absorbable(
    code: Code, steps: Sequence[Step], every: Sequence[Statement], loop: Loop, want: Collection[str]
) -> list[Statement]:
    """Sums for all steps at once, beside the loop, that only the loop reads: projections of inputs.

    They go with it so that they can lie side by side in memory, and their gradients too.
    """
    inside = {s.number for s in loop.statements()}
    elsewhere = {*want, *tensors_read(s for s in every if s.number not in inside)}
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
    inside = {s.number for s in (*loop.statements(), *readers)}
    needed = {*want, *tensors_read(s for s in every if s.number not in inside)}
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


def with_readers(code: Code, plan: Plan, want: Collection[str]) -> Code:
    """The program with every sum over a matrix-valued state as a statement of its own."""
    wide: set[str] = set()
    inside: set[int] = set()
    for nest in nests(plan):
        wide |= set(wide_states(code, nest[-1], len(nest) - 1)).difference(want)
        inside |= {s.number for s in nest[-1].statements()}
    readers = {
        s.target for s in code.statements if s.number not in inside and tensors_read([s]) & wide
    }
    return normal(code, readers - wide) if readers - wide else code


def matrix_readers(
    code: Code,
    steps: Sequence[Step],
    every: Sequence[Statement],
    loop: Loop,
    want: Collection[str],
    around: int,
) -> list[Statement]:
    """The statements that read the state of a loop, if they can all be computed with it.

    They must be sums over it, beside the loop, and what they read must be there before the last of
    them, where all of it is computed.
    """
    wide = set(wide_states(code, loop, around))
    if not wide or wide & set(want):
        return []
    walked = loop
    inside = {s.number for s in loop.statements()}
    beside = {s.statement.number for s in steps if isinstance(s, Run)}
    readers: list[Statement] = []
    for statement in every:
        if statement.number in inside or is_start(statement, loop):
            continue
        if not tensors_read([statement]) & wide:
            continue
        axis = _walked(statement, walked, wide)
        if statement.number not in beside or axis is None:
            return []
        walked = replace(walked, axes={**walked.axes, statement.target: axis})
        if not _is_sum(statement):
            if statement.target in want or not _is_wide(code, statement, wide):
                return []
            wide.add(statement.target)  # and who reads this one has to be a sum
        readers.append(statement)
    if not readers:
        return []
    made = {s.target for s in readers} | set(loop.axes)
    between = False
    for step in steps:
        own = list(step.statements())
        if step is loop:
            between = True
        elif between and own[0] is readers[-1]:
            return readers
        elif between and own[0] not in readers and tensors_read(own) & made:
            return []  # what reads a sum would come before all sums are there
    return []


def with_walked(loop: Loop, readers: Sequence[Statement]) -> Loop:
    """The loop with its readers as statements of each step."""
    for statement in readers:
        axis = _walked(statement, loop, set(loop.axes))
        assert axis is not None
        loop = replace(loop, axes={**loop.axes, statement.target: axis})
    return replace(loop, steps=(*loop.steps, *map(Run, readers)))


def _walked(statement: Statement, loop: Loop, states: Collection[str]) -> int | None:
    """The axis of a reader that goes through time as the states do that it reads."""
    for node in statement.body.every(Read):
        if node.tensor in states:
            place = node.places[loop.axes[node.tensor]]
            name = place.shift[0] if isinstance(place, Affine) and place.shift else ""
            for axis, left in enumerate(statement.left):
                if isinstance(left, Affine) and left.terms == ((name, 1),):
                    return axis
    return None


def _is_sum(statement: Statement) -> bool:
    found = form(statement)
    return isinstance(found, Product) and found.condition is None and statement.guard is None


def _is_wide(code: Code, statement: Statement, wide: Collection[str]) -> bool:
    """Whether a statement is elementwise, in all indices of the state."""
    ranks = {len(code.tensors[name].axes) for name in wide}
    plain = statement.guard is None and isinstance(form(statement), Pointwise)
    return plain and len(code.of(statement.target)) == 1 and len(statement.indices) in ranks
