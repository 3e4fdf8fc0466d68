"""All passes in order: from a checked program to the plan that is emitted, and to its text.

through         logarithms of names are taken in the equations of those names
simplified      dropout that nobody draws is 1
stepwise        sums of matrices that grow are states
hoist           what does not read the state leaves the loops over time
schedule        loops only where the equations force them
with_choices    sums of which few terms are chosen are statements of their own
with_dispatch   these become calls that compute what is chosen and nothing else
with_readers    sums over a state that is a matrix are statements of their own
fused           loops that walk together are one, with what is elementwise around them
with_kernels    loops over time become calls of kernels, where there is a compiler
with_doubling   loops over time without a kernel become parallel scans, where they are linear

With `INDICIAL_VERIFY=1` each of these codes is looked at, and those of recurrences and of steps.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from indicial.compile.emit.dispatch import with_dispatch
from indicial.compile.emit.doubling import with_doubling
from indicial.compile.emit.source import Source, emit
from indicial.compile.native import toolchain
from indicial.compile.passes.choices import Choice, with_choices
from indicial.compile.passes.edges import with_edges
from indicial.compile.passes.hoist import hoist
from indicial.compile.passes.simplify import simplified, stepwise
from indicial.compile.schedule.fuse import fused
from indicial.compile.schedule.schedule import Loop, Plan, Run, schedule
from indicial.program.ir import Code
from indicial.program.logs import through
from indicial.program.meaning.arrays import writes_batch
from indicial.program.verify import verified


@dataclass(frozen=True)
class Planned:
    """What is emitted. `refused` has the loops over time that no kernel runs, and why.

    Of those, the linear ones are calls in the plan all the same.
    """

    code: Code
    plan: Plan
    refused: tuple[tuple[Loop, str], ...] = ()


def planned(
    code: Code,
    want: Sequence[str],
    draws: Collection[str] = (),
    ragged: Collection[str] = (),
    told: Collection[str] | None = None,
) -> Planned:
    """The program as it is emitted for some wanted tensors; `ragged` sizes differ in a batch.

    `told` are the sizes of data, where the inputs have others besides.
    """
    simple = verified(simplified(verified(through(code)), draws))
    if (walked := stepwise(simple, want)) is not simple and not _no_kernels(code):
        found = _scheduled(code, verified(walked), want, ragged, told)
        if not found.refused:
            return found
    return _scheduled(code, simple, want, ragged, told)


def _scheduled(
    code: Code,
    simple: Code,
    want: Sequence[str],
    ragged: Collection[str],
    told: Collection[str] | None,
) -> Planned:
    first = schedule(simple, want, told)
    if any(map(_is_nested, first.loops())) and not _no_kernels(code):
        # Loops inside a loop over time go with it, if it has a kernel then.
        edged = verified(with_edges(simple, first))
        for one in (simple,) if edged is simple else (simple, edged):
            plan = first if one is simple else schedule(one, want, told)
            found = _handed(code, hoist(one, plan, whole=True), want, ragged, told)
            if not any(_is_nested(loop) for loop, _ in found.refused):
                return found
    return _handed(code, hoist(simple, first), want, ragged, told)


def emitted(
    code: Code,
    want: Sequence[str],
    ragged: Collection[str] = (),
    told: Collection[str] | None = None,
) -> Source:
    """The text that computes the wanted tensors, without dropout."""
    made = planned(code, want, (), ragged, told)
    return emit(made.code, made.plan, want, ragged=frozenset(ragged))


def emitted_without_kernels(code: Code, want: Sequence[str]) -> Source:
    """The same without kernels: what runs once is sooner run than compiled."""
    simple = simplified(code)
    lighter = hoist(simple, schedule(simple, want))
    return emit(lighter, schedule(lighter, want), want)


def _is_nested(loop: Loop) -> bool:
    return loop.kind == "scanned" and any(not isinstance(step, Run) for step in loop.steps)


def _handed(
    given: Code,
    code: Code,
    want: Sequence[str],
    ragged: Collection[str],
    told: Collection[str] | None,
) -> Planned:
    """The passes behind `hoist`: what is handed to functions that are no part of the text."""
    plan = schedule(verified(code), want, told)
    choices: tuple[Choice, ...] = ()
    if not writes_batch(given):
        code, choices = with_choices(code, plan, want)
        plan = schedule(verified(code), want, told) if choices else plan
        plan = with_dispatch(code, plan, choices, ragged)
    scanned = [loop for loop in plan.loops() if loop.kind == "scanned"]
    reason = _no_kernels(given) if scanned else ""
    refused = tuple((loop, reason) for loop in scanned)
    if scanned and not reason:
        # Only now: what makes kernels takes longer to import than a program without loops to compile.
        from indicial.compile.native.deriving import with_kernels, with_readers

        apart = verified(with_readers(code, plan, want))
        if apart is not code:
            code = apart
            plan = with_dispatch(code, schedule(code, want, told), choices, ragged)
        together = fused(code, plan)
        handed, refused = with_kernels(code, together, want, ragged)
        if refused and together is not plan:
            handed, refused = with_kernels(code, plan, want, ragged)
        plan = handed
    if scanned and not writes_batch(given):
        plan = with_doubling(code, plan, want, ragged)
    return Planned(code, plan, refused)


def _no_kernels(code: Code) -> str:
    """Why no loop of a program has a kernel; nothing if some may have one."""
    if writes_batch(code):
        return "the batch index is written out"
    try:
        toolchain.find_compiler()
    except toolchain.NativeError as error:
        return str(error)
    return ""
