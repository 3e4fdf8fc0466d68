"""What a module returns when nobody says what is wanted: what the program computes in the end.

ugrnn         h           R and G serve h only
lstm          c, h        both go on from step to step
transformer   loss        everything else is on the way to it
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from indicial.compile.schedule.plan import Loop, Plan
from indicial.program.ir import Affine, Code, Read, Statement


def outcomes(code: Code, plan: Plan) -> tuple[str, ...]:
    """The tensors that no other equation goes on with, in the order of the text; the loss is one.

    In a loop it is those that are carried from one step to the next. What is inside a function or a
    cell (`CELL.R`) is not shown.
    """
    found: set[str] = {code.loss} if code.loss is not None else set()
    for step in plan.steps:
        targets = {s.target for s in step.statements()}
        others = [s for s in code.statements if s.target not in targets]
        if not targets & needed_names(others):
            found |= set(carried(step)) if isinstance(step, Loop) else targets
    order = dict.fromkeys(s.target for s in code.statements)
    shown = [name for name in order if name in found and "." not in name]
    return tuple(shown or [name for name in order if name in found] or order)


def carried(loop: Loop) -> Iterator[str]:
    """What is read at another step than the one that it is computed in: the `h[t-1,i]` of a cell."""
    targets = {s.target for s in loop.statements()}
    for statement in loop.statements():
        for read in _reads(statement):
            if read.tensor in targets and not same_step(loop, statement, read):
                yield read.tensor
    for step in loop.steps:
        if isinstance(step, Loop):
            yield from carried(step)


def same_step(loop: Loop, reader: Statement, read: Read) -> bool:
    """Whether a statement of a loop reads what the same step computes, and not another."""
    fixed = loop.fixed(reader)
    place = read.places[loop.axes[read.tensor]]
    if fixed is None or not isinstance(place, Affine) or place.shift is None:
        return False
    index, value = fixed
    name, shift = place.shift
    offset = loop.offsets.get(read.tensor, 0)
    return name == index and (value.offset + shift + offset).number == 0


def _reads(statement: Statement) -> Iterator[Read]:
    parts = [statement.body] + ([statement.guard] if statement.guard is not None else [])
    for part in parts:
        for node in part.walk():
            if isinstance(node, Read):
                yield node


def needed_names(statements: Iterable[Statement]) -> set[str]:
    """The tensors that some statements read."""
    return {read.tensor for statement in statements for read in _reads(statement)}
