"""A loop over time → its recurrence: what runs forward, and what runs back.

    recurrence(scan, outputs=["h"])         h[t,j] = …  →  Recurrence(forward, kept, adjoints' names)
    backward(recurrence, ("W",))            the routine of W̄[j,i] = Σ_t R̄[t,j] h[t-1,i]

The adjoint equations say what the forward routine has to keep, so they are derived with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from indicial.compile.emit.alone import Alone, sizes_of
from indicial.compile.emit.doubling import Doubling
from indicial.compile.encoding import Packed
from indicial.compile.native.arranging import arranged
from indicial.compile.native.begun import with_starts
from indicial.compile.native.recurrence import Recurrence
from indicial.compile.native.routine import Routine
from indicial.compile.native.scan import Scan, Unsupported, varying
from indicial.compile.passes.adjoint import Adjoint, adjoint
from indicial.compile.passes.inline import inlined
from indicial.compile.passes.normal import normal
from indicial.compile.passes.nothing import without_nothing
from indicial.compile.passes.shared import shared
from indicial.compile.passes.split import split
from indicial.compile.schedule.schedule import ScheduleError
from indicial.program.ir import Code


def recurrence(scan: Scan, outputs: Sequence[str]) -> Recurrence:
    """The recurrence of a loop; `Unsupported` where there is no kernel."""
    code = inlined(shared(normal(scan.code)), scan.before)
    arguments = tuple(scan.arguments)
    same = frozenset(n for n in arguments if n in scan.unbatched)
    facts = code, tuple(outputs), arguments, sorted(same), sorted(scan.ragged)
    key = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    back = _adjoint(code, arguments, outputs)
    kept = (*outputs, *(name for name in back.saved if name not in outputs))
    return Recurrence(
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
        arranged(code, kept, (), scan.ragged, f"{key} forward"),
        back,
    )


def outputs_only(own: Recurrence) -> Routine | str:
    """The routine that keeps nothing for a gradient, or why something has to be kept."""
    try:
        return arranged(own.code, own.outputs, (), own.scan.ragged, f"{own.key} outputs")
    except Unsupported as reason:
        return str(reason)


def backward(own: Recurrence, arguments: tuple[str, ...]) -> Routine | str:
    """The routine of some arguments' adjoints, or why there is none."""
    want = [own.bars[n] for n in arguments]
    summed = [own.bars[n] for n in arguments if n in own.same]
    identity = f"{own.key} backward {','.join(arguments)}"
    try:
        return arranged(_adjoint_code(own), want, summed, own.scan.ragged, identity)
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
    alone = replace(back.code, tensors=tensors, statements=back.statements)
    return split(shared(normal(without_nothing(with_starts(alone, own.code)))))
