"""A loop over time → its recurrence: what runs forward, and what runs back.

    recurrence(scan, outputs=["h"])         h[t,j] = …  →  Recurrence(forward, kept, adjoints' names)
    backward(recurrence, ("W",))            the routine of W̄[j,i] = Σ_t R̄[t,j] h[t-1,i]

The adjoint equations say what the forward routine has to keep, so they are derived with it.

Kept values with their start in front, for adjoint equations that read both.

h[t-1,j]  at t = 0 is the start, which is not among the kept h[0,j], …, h[T-1,j]

h^{all}[-1,j] = h^{start}[j],  h^{all}[t,j] = h[t,j]      and reads of h become reads of h^{all}

A plan with its loops over time handed to kernels, and why where one is not.

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
import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

from indicial.compile.emit.doubling import Alone, Doubling
from indicial.compile.ground.stored import Packed
from indicial.compile.native.arranging import arranged
from indicial.compile.native.reading.body import STEP, as_loop, is_start, one_step
from indicial.compile.native.reading.tiles import wide_states
from indicial.compile.native.recurrence import Recurrence, register
from indicial.compile.native.routine import Routine
from indicial.compile.passes.adjoint import Adjoint, adjoint
from indicial.compile.passes.forms import Pointwise, Product, form, renamed
from indicial.compile.passes.hoist import nests
from indicial.compile.passes.new_tensors import derived_name, over
from indicial.compile.passes.normal import normal
from indicial.compile.passes.scan import Scan, Unsupported, extract, sizes_of
from indicial.compile.passes.simplify import inlined, shared, split, with_factors, without_nothing
from indicial.compile.schedule.fuse import is_foreign
from indicial.compile.schedule.schedule import (
    Call,
    Loop,
    Piece,
    Plan,
    Run,
    ScheduleError,
    Step,
    schedule,
)
from indicial.program import ir
from indicial.program.meaning.differing import varying
from indicial.program.rewrite import reached, read_besides, tensors_read
from indicial.program.verify import verified


def recurrence(scan: Scan, outputs: Sequence[str]) -> Recurrence:
    """The recurrence of a loop; `Unsupported` where there is no kernel."""
    code = verified(inlined(shared(verified(normal(scan.code))), scan.before))
    wide: list[str] = []
    if scan.readers:
        (loop,) = schedule(code, outputs).loops()
        wide = wide_states(code, loop)
        code = verified(with_factors(code, wide, loop.axes))
    arguments = tuple(scan.arguments)
    same = frozenset(n for n in arguments if n in scan.unbatched)
    facts = code, tuple(outputs), arguments, sorted(same), sorted(scan.ragged)
    key = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    back = _adjoint(code, arguments, outputs)
    again = _again(code, back.saved, wide)
    # What is computed again is computed from what is given, or kept.
    more = tensors_read(s for s in code.statements if s.target in again)
    needed = dict.fromkeys([*back.saved, *(n for n in code.tensors if n in more and code.of(n))])
    kept = (*outputs, *(n for n in needed if n not in outputs and n not in again))
    made = Recurrence(
        key,
        Packed((scan, code)),
        scan.members,
        tuple(outputs),
        arguments,
        same,
        frozenset(varying(code, scan.ragged)),
        sizes_of(code),
        kept,
        {n: bar for n, bar in back.names.items() if n in arguments},
        dict(back.given),
        _routine(scan, code, kept, f"{key} forward"),
        again,
        back,
    )
    if again:  # or it would have to be kept after all
        made.backward(made.differentiable)
    return made


def _again(code: ir.Code, saved: Sequence[str], wide: Sequence[str]) -> tuple[str, ...]:
    """What the gradient reads and nobody keeps: all that has an element for each one of a state."""
    ranks = {len(code.tensors[name].axes) for name in wide}
    wide_ones = {n for n, tensor in code.tensors.items() if len(tensor.axes) in ranks}
    defined = {n for n in wide_ones if code.of(n)}
    found = reached(wide_ones & {*saved}, lambda name: tensors_read(code.of(name)) & defined)
    return tuple(n for n in code.tensors if n in found)


def outputs_only(own: Recurrence) -> Routine | str:
    """The routine that keeps nothing for a gradient, or why something has to be kept."""
    try:
        return _routine(own.scan, own.code, own.outputs, f"{own.key} outputs")
    except Unsupported as reason:
        return str(reason)


def backward(own: Recurrence, arguments: tuple[str, ...]) -> Routine | str:
    """The routine of some arguments' adjoints, or why there is none."""
    want = [own.bars[n] for n in arguments]
    summed = [own.bars[n] for n in arguments if n in own.same]
    identity = f"{own.key} backward {','.join(arguments)}"
    try:
        return _routine(own.scan, _adjoint_code(own), want, identity, summed, own.kept)
    except (Unsupported, ScheduleError) as reason:
        return str(reason)


def _routine(
    scan: Scan,
    code: ir.Code,
    want: Sequence[str],
    identity: str,
    summed: Sequence[str] = (),
    zeros: Sequence[str] = (),
) -> Routine:
    join = partial(_in_one_loop, summed) if scan.once else None
    tiles = bool(scan.readers)
    return arranged(code, want, summed, scan.ragged, identity, tiles, zeros, scan.walk, join)


def _in_one_loop(summed: Collection[str], code: ir.Code, plan: Plan) -> Plan:
    """All that differs between members in the one step; weights before it, their gradients behind it."""
    if not all(isinstance(step, Run) for step in plan.steps):
        raise Unsupported("a loop for each place")
    steps = [step for step in plan.steps if isinstance(step, Run)]
    differing = varying(code).difference(summed)
    own = [step for step in steps if step.statement.target in differing]
    behind = [step for step in steps if step.statement.target in summed]
    before = [step for step in steps if step not in own and step not in behind]
    return Plan((*before, as_loop(own), *behind)) if own else plan


def of_one_place(rows: Alone) -> Recurrence:
    """The program of one place and one choice: a recurrence of one step, whose members are the places.

    `Unsupported` where the gradient needs more than what each place computes.
    """
    plain = verified(shared(verified(normal(rows.code))))
    code, _ = one_step(plain, varying(plain))
    arguments = {n: Piece(n, (None,) * len(code.tensors[n].axes)) for n in rows.arguments}
    made = recurrence(Scan(code, STEP.range, arguments, {}, rows.same, once=True), rows.outputs)
    if not made.varying.issuperset(made.kept):
        raise Unsupported("something of the weights alone is kept")
    if not made.slopes:
        raise Unsupported("nothing that is given changes it")
    made.backward(made.differentiable)  # tells now if there is none
    return made


def by_pytorch(own: Recurrence) -> Alone | Doubling:
    """The recurrence for PyTorch, in rounds where it is linear in its state."""
    if own.linear is not None:
        return Doubling.of(own.linear, own.arguments, own.same)
    return Alone(own.code, own.arguments, own.outputs, own.same)


def _adjoint(code: ir.Code, arguments: Sequence[str], outputs: Sequence[str]) -> Adjoint:
    wanted = [n for n in arguments if code.tensors[n].values is None]
    return adjoint(code, outputs, wanted)


def _adjoint_code(own: Recurrence) -> ir.Code:
    """The adjoint equations, with what the forward routine keeps as given."""
    back = own.adjoint or _adjoint(own.code, own.arguments, own.outputs)
    tensors = dict(back.code.tensors)
    for name in own.kept:
        role = "input" if name in own.varying else "parameter"
        tensors[name] = replace(tensors[name], role=role)
    again = [s for s in own.code.statements if s.target in own.again]
    alone = back.code.equations(tensors, (*again, *back.statements))
    return verified(split(shared(normal(without_nothing(with_kept_starts(alone, own.code))))))


def with_kept_starts(code: ir.Code, forward: ir.Code) -> ir.Code:
    """The adjoint equations, with every kept tensor that has a start extended by it."""
    for name, tensor in code.tensors.items():
        starts = [s for s in forward.of(name) if _is_outside(forward, s)]
        if tensor.role == "input" and starts and name in tensors_read(code.statements):
            code = _extended(code, name, starts)
    return code


def _is_outside(code: ir.Code, statement: ir.Statement) -> bool:
    """Whether it defines an element that is not among those of the tensor's range."""
    axis = _axis(statement)
    place = None if axis is None else ir.number_at(statement.left[axis])
    return place is not None and code.tensors[statement.target].axes[axis or 0].beyond(place)


def _axis(statement: ir.Statement) -> int | None:
    """The axis at which a left side has a number."""
    numbers = (n for n, place in enumerate(statement.left) if ir.number_at(place) is not None)
    return next(numbers, None)


def _extended(code: ir.Code, name: str, starts: list[ir.Statement]) -> ir.Code:
    old = code.tensors[name]
    axis = _axis(starts[0])
    assert axis is not None
    own = old.axes[axis]
    lower, upper = own.lower, own.lower + own.extent
    for statement in starts:
        place = statement.left[axis]
        if _axis(statement) != axis or not isinstance(place, ir.Affine):
            raise Unsupported(f"{name} begins along two axes")
        if place.offset == lower - 1:
            lower = lower - 1
        elif place.offset == upper:
            upper = upper + 1
        else:
            raise Unsupported(f"{name} begins at {place.offset}, away from the rest")
    new = derived_name(code.tensors, name, "all")
    axes = list(old.axes)
    axes[axis] = ir.Axis(own.letter, lower, upper - lower)
    indices, places = over(old.axes)
    whole = ir.Statement(new, places, indices, ir.Read(name, places))
    begun = [replace(s, target=new) for s in starts]

    moved = renamed(code.statements, {name: new})
    tensors = {**code.tensors, new: ir.Tensor(new, tuple(axes), "defined")}
    return replace(code, tensors=tensors, statements=(*begun, whole, *moved))


def with_kernels(
    code: ir.Code, plan: Plan, want: Collection[str], ragged: Collection[str] = ()
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
    code: ir.Code,
    steps: Sequence[Step],
    every: Sequence[ir.Statement],
    loop: Loop,
    want: Collection[str],
) -> list[ir.Statement]:
    """Sums for all steps at once, beside the loop, that only the loop reads: projections of inputs.

    They go with it so that they can lie side by side in memory, and their gradients too.
    """
    elsewhere = {*want, *read_besides(every, loop.statements())}
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


def _projects(code: ir.Code, statement: ir.Statement, loop: Loop) -> bool:
    """Whether it sums, at every step, over what there is at that step: `Σ_K W[j,K] x[t,K] - B[j]`."""
    nodes = list(statement.body.walk())
    sums = [n for n in nodes if isinstance(n, ir.Reduce)]
    simple = all(isinstance(n, ir.Read | ir.Apply | ir.Constant | ir.Reduce) for n in nodes)
    reads = [n for n in nodes if isinstance(n, ir.Read)]
    foreign = any(is_foreign(code, read) or not _affine(read) for read in reads)
    walked = {((i.name, 1),) for i in statement.indices if i.extent == loop.extent}
    steps = any(isinstance(p, ir.Affine) and p.terms in walked for p in statement.left)
    return bool(sums) and simple and not foreign and steps


def _affine(read: ir.Read) -> bool:
    return all(isinstance(place, ir.Affine) for place in read.places)


def _call(
    code: ir.Code,
    every: Sequence[ir.Statement],
    around: tuple[Loop, ...],
    loop: Loop,
    want: Collection[str],
    absorb: Sequence[ir.Statement],
    ragged: Collection[str],
    readers: Sequence[ir.Statement] = (),
) -> Call:
    scan = extract(code, around, loop, absorb, ragged, readers)
    needed = {*want, *read_besides(every, (*loop.statements(), *readers))}
    made = register(recurrence(scan, scan.outputs(needed)))
    walked = with_walked(loop, readers) if readers else loop
    return scan.call(walked, made.outputs, made.sizes, made)


def with_readers(code: ir.Code, plan: Plan, want: Collection[str]) -> ir.Code:
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
    code: ir.Code,
    steps: Sequence[Step],
    every: Sequence[ir.Statement],
    loop: Loop,
    want: Collection[str],
    around: int,
) -> list[ir.Statement]:
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
    readers: list[ir.Statement] = []
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


def with_walked(loop: Loop, readers: Sequence[ir.Statement]) -> Loop:
    """The loop with its readers as statements of each step."""
    for statement in readers:
        axis = _walked(statement, loop, set(loop.axes))
        assert axis is not None
        loop = replace(loop, axes={**loop.axes, statement.target: axis})
    return replace(loop, steps=(*loop.steps, *map(Run, readers)))


def _walked(statement: ir.Statement, loop: Loop, states: Collection[str]) -> int | None:
    """The axis of a reader that goes through time as the states do that it reads."""
    for node in statement.body.every(ir.Read):
        if node.tensor in states:
            place = node.places[loop.axes[node.tensor]]
            name = place.shift[0] if isinstance(place, ir.Affine) and place.shift else ""
            for axis, left in enumerate(statement.left):
                if isinstance(left, ir.Affine) and left.terms == ((name, 1),):
                    return axis
    return None


def _is_sum(statement: ir.Statement) -> bool:
    found = form(statement)
    return isinstance(found, Product) and found.condition is None and statement.guard is None


def _is_wide(code: ir.Code, statement: ir.Statement, wide: Collection[str]) -> bool:
    """Whether a statement is elementwise, in all indices of the state."""
    ranks = {len(code.tensors[name].axes) for name in wide}
    plain = statement.guard is None and isinstance(form(statement), Pointwise)
    return plain and len(code.of(statement.target)) == 1 and len(statement.indices) in ranks
