"""A loop over time → its recurrence: what runs forward, and what runs back.

    recurrence(scan, outputs=["h"])         h[t,j] = …  →  Recurrence(forward, kept, adjoints' names)
    backward(recurrence, ("W",))            the routine of W̄[j,i] = Σ_t R̄[t,j] h[t-1,i]

The adjoint equations say what the forward routine has to keep, so they are derived with it.

Kept values with their start in front, for adjoint equations that read both.

h[t-1,j]  at t = 0 is the start, which is not among the kept h[0,j], …, h[T-1,j]

h^{all}[-1,j] = h^{start}[j],  h^{all}[t,j] = h[t,j]      and reads of h become reads of h^{all}
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from indicial.compile.emit.doubling import Alone, Doubling, sizes_of
from indicial.compile.ground.stored import Packed
from indicial.compile.native.arranging import arranged
from indicial.compile.native.recurrence import Recurrence
from indicial.compile.native.routine import Routine
from indicial.compile.native.tiles import wide_states
from indicial.compile.passes.adjoint import Adjoint, adjoint
from indicial.compile.passes.forms import renamed
from indicial.compile.passes.new_tensors import derived_name, over
from indicial.compile.passes.normal import normal
from indicial.compile.passes.scan import Scan, Unsupported, varying
from indicial.compile.passes.simplify import inlined, shared, split, with_factors, without_nothing
from indicial.compile.schedule.schedule import ScheduleError, schedule
from indicial.program.ir import Affine, Axis, Code, Read, Statement, Tensor, number_at
from indicial.program.rewrite import reached, tensors_read
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
        arranged(code, kept, (), scan.ragged, f"{key} forward", bool(wide), (), scan.walk),
        again,
        back,
    )
    if again:  # or it would have to be kept after all
        made.backward(made.differentiable)
    return made


def _again(code: Code, saved: Sequence[str], wide: Sequence[str]) -> tuple[str, ...]:
    """What the gradient reads and nobody keeps: all that has an element for each one of a state."""
    ranks = {len(code.tensors[name].axes) for name in wide}
    wide_ones = {n for n, tensor in code.tensors.items() if len(tensor.axes) in ranks}
    defined = {n for n in wide_ones if code.of(n)}
    found = reached(wide_ones & {*saved}, lambda name: tensors_read(code.of(name)) & defined)
    return tuple(n for n in code.tensors if n in found)


def outputs_only(own: Recurrence) -> Routine | str:
    """The routine that keeps nothing for a gradient, or why something has to be kept."""
    try:
        identity = f"{own.key} outputs"
        return arranged(
            own.code, own.outputs, (), own.scan.ragged, identity, bool(own.scan.readers),
            (), own.scan.walk,
        )  # fmt: skip
    except Unsupported as reason:
        return str(reason)


def backward(own: Recurrence, arguments: tuple[str, ...]) -> Routine | str:
    """The routine of some arguments' adjoints, or why there is none."""
    want = [own.bars[n] for n in arguments]
    summed = [own.bars[n] for n in arguments if n in own.same]
    identity = f"{own.key} backward {','.join(arguments)}"
    try:
        code = _adjoint_code(own)
        return arranged(
            code, want, summed, own.scan.ragged, identity, bool(own.scan.readers), own.kept,
            own.scan.walk,
        )  # fmt: skip
    except (Unsupported, ScheduleError) as reason:
        return str(reason)


def plain(own: Recurrence) -> Alone | Doubling:
    """The recurrence for PyTorch, in rounds where it is linear in its state."""
    if own.linear is not None:
        return Doubling(own.linear, own.arguments, own.same)
    return Alone(own.code, own.arguments, own.outputs, own.same)


def _adjoint(code: Code, arguments: Sequence[str], outputs: Sequence[str]) -> Adjoint:
    wanted = [n for n in arguments if code.tensors[n].values is None]
    return adjoint(code, outputs, wanted)


def _adjoint_code(own: Recurrence) -> Code:
    """The adjoint equations, with what the forward routine keeps as given."""
    back = own.adjoint or _adjoint(own.code, own.arguments, own.outputs)
    tensors = dict(back.code.tensors)
    for name in own.kept:
        role = "input" if name in own.varying else "parameter"
        tensors[name] = replace(tensors[name], role=role)
    again = [s for s in own.code.statements if s.target in own.again]
    statements = (*again, *back.statements)
    there = {s.target for s in statements}
    # What the forward routine computes and nobody keeps is not there.
    known = {n: t for n, t in tensors.items() if t.role != "defined" or n in there}
    alone = replace(back.code, tensors=known, statements=statements)
    return verified(split(shared(normal(without_nothing(with_starts(alone, own.code))))))


def with_starts(code: Code, forward: Code) -> Code:
    """The adjoint equations, with every kept tensor that has a start extended by it."""
    for name, tensor in code.tensors.items():
        starts = [s for s in forward.of(name) if _is_outside(forward, s)]
        if tensor.role == "input" and starts and name in tensors_read(code.statements):
            code = _extended(code, name, starts)
    return code


def _is_outside(code: Code, statement: Statement) -> bool:
    """Whether it defines an element that is not among those of the tensor's range."""
    axis = _axis(statement)
    place = None if axis is None else number_at(statement.left[axis])
    return place is not None and code.tensors[statement.target].axes[axis or 0].beyond(place)


def _axis(statement: Statement) -> int | None:
    """The axis at which a left side has a number."""
    numbers = (n for n, place in enumerate(statement.left) if number_at(place) is not None)
    return next(numbers, None)


def _extended(code: Code, name: str, starts: list[Statement]) -> Code:
    old = code.tensors[name]
    axis = _axis(starts[0])
    assert axis is not None
    own = old.axes[axis]
    lower, upper = own.lower, own.lower + own.extent
    for statement in starts:
        place = statement.left[axis]
        if _axis(statement) != axis or not isinstance(place, Affine):
            raise Unsupported(f"{name} begins along two axes")
        if place.offset == lower - 1:
            lower = lower - 1
        elif place.offset == upper:
            upper = upper + 1
        else:
            raise Unsupported(f"{name} begins at {place.offset}, away from the rest")
    new = derived_name(code.tensors, name, "all")
    axes = list(old.axes)
    axes[axis] = Axis(own.letter, lower, upper - lower)
    indices, places = over(old.axes)
    whole = Statement(new, places, indices, Read(name, places))
    begun = [replace(s, target=new) for s in starts]

    moved = renamed(code.statements, {name: new})
    tensors = {**code.tensors, new: Tensor(new, tuple(axes), "defined")}
    return replace(code, tensors=tensors, statements=(*begun, whole, *moved))
