"""The sums that alone read a matrix-valued state: they are computed with it, and it is never stored.

S[t,i,j] = g[t] S[t-1,i,j] + k[t,i] v[t,j]          a loop over time
h[t,j]   = o[t,j] Σ_i q[t,i] S[t,i,j] / z[t]        for all steps at once, from all S

h^{(1)}[t,j] = Σ_i q[t,i] S[t,i,j]                  with_readers: goes with the loop
h[t,j]       = o[t,j] h^{(1)}[t,j] / z[t]
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from indicial.compile.native.tiles import wide_states
from indicial.compile.passes.forms import Pointwise, Product, form
from indicial.compile.passes.hoist import nests
from indicial.compile.passes.normal import normal
from indicial.compile.schedule.plan import Loop, Plan, Run, Step
from indicial.program.ir import Affine, Code, Read, Statement
from indicial.program.rewrite import tensors_read


def with_readers(code: Code, plan: Plan, want: Collection[str]) -> Code:
    """The program with every sum over a matrix-valued state as a statement of its own."""
    wide: set[str] = set()
    inside: set[int] = set()
    for nest in nests(plan.steps):
        wide |= set(wide_states(code, nest[-1], len(nest) - 1)).difference(want)
        inside |= {id(s) for s in nest[-1].statements()}
    readers = {
        s.target for s in code.statements if id(s) not in inside and tensors_read([s]) & wide
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
    inside = {id(s) for s in loop.statements()}
    beside = {id(s.statement) for s in steps if isinstance(s, Run)}
    readers: list[Statement] = []
    for statement in every:
        if id(statement) in inside or _is_start(statement, loop):
            continue
        if not tensors_read([statement]) & wide:
            continue
        axis = _walked(statement, walked, wide)
        if id(statement) not in beside or axis is None:
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


def _is_start(statement: Statement, loop: Loop) -> bool:
    if statement.target not in loop.axes:
        return False
    place = statement.left[loop.axes[statement.target]]
    return isinstance(place, Affine) and not place.terms
