"""Recurrences that are linear in their state: they need no loop, only a parallel scan.

    h[t,j] = G[t,j] h[t-1,j] + (1 - G[t,j]) u[t,j]

    h^{a}[t,j] = G[t,j]                             the factor of the state
    h^{b}[t,j] = (1 - G[t,j]) u[t,j]                what comes new; at the first step the start too
    h[t,j]     = h^{a}[t,j] h[t-1,j] + h^{b}[t,j]

Two steps are again one such step, `a' a h + a' b + b'`, so T steps take log2(T) rounds that double
how far they reach (Hillis and Steele 1986).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from indicial.compile.passes.algebra import ZERO, derivatives, negative, plus, times
from indicial.compile.passes.new_tensors import derived_name
from indicial.compile.passes.simplify import inlined
from indicial.compile.schedule.schedule import Loop, ScheduleError, schedule
from indicial.program import ir
from indicial.program.rewrite import rebuild


@dataclass(frozen=True)
class Linear:
    """`state` from its factors and what comes new, both of which `code` defines without a loop."""

    code: ir.Code
    state: str
    factor: str
    new: str
    axis: int
    """The axis of the state that the recurrence walks."""
    direction: int
    lag: int
    """How many steps back the state is read."""


def linear(code: ir.Code, outputs: Collection[str]) -> Linear | None:
    """The linear recurrence that a program with one loop over time is; None for any other."""
    loop = _only_loop(code, outputs)
    if loop is None:
        return None
    states = list(dict.fromkeys(s.target for s in loop.statements()))
    inner = [name for name in states if name not in outputs]
    if inner and len(states) > 1:
        code = inlined(code, inner)
        loop = _only_loop(code, outputs)
    if loop is None or len(loop.axes) != 1 or set(outputs) != set(loop.axes):
        return None
    statements = list(loop.statements())
    if len(statements) != 1 or statements[0].guard is not None:
        return None
    return _apart(code, loop, statements[0])


def _only_loop(code: ir.Code, outputs: Collection[str]) -> Loop | None:
    try:
        loops = list(schedule(code, outputs).loops())
    except ScheduleError:
        return None
    return loops[0] if len(loops) == 1 else None


def _apart(code: ir.Code, loop: Loop, statement: ir.Statement) -> Linear | None:
    """The statement as factor and rest."""
    state, axis = statement.target, loop.axes[statement.target]
    reads = {n for n in statement.body.every(ir.Read) if n.tensor == state}
    if len(reads) != 1:
        return None
    (read,) = reads
    lag = _lag(statement, read, axis) * loop.direction
    if lag < 1 or not is_linear(statement.body, read):
        return None
    begun = [(s, ir.number_at(s.left[axis])) for s in code.of(state) if s is not statement]
    if any(place is None or start.guard is not None for start, place in begun):
        return None
    own = code.tensors[state]
    outside = [s for s, place in begun if place is not None and own.axes[axis].beyond(place)]
    marks = ("a", "b", "before")
    factor, new, before = (derived_name(code.tensors, state, mark) for mark in marks)
    start = replace(read, tensor=before) if outside else ZERO
    made = [replace(s, target=before if s in outside else new) for s, _ in begun]
    made.append(replace(statement, target=new, body=_replaced(statement.body, read, start)))
    slope = derivatives(statement.body, {read}).get(read, ZERO)
    made.append(replace(statement, target=factor, body=slope))
    tensors = {n: t for n, t in code.tensors.items() if n != state}
    for name in (factor, new, before)[: 3 if outside else 2]:
        tensors[name] = ir.Tensor(name, own.axes, "defined")
    rest = [s for s in code.statements if s.target != state]
    alone = replace(code, tensors=tensors, statements=(*rest, *made), loss=None)
    return Linear(alone, state, factor, new, axis, loop.direction, lag)


def _lag(statement: ir.Statement, read: ir.Read, axis: int) -> int:
    """How far back a read goes that else is at the statement's own place; 0 for any other read."""
    lag = 0
    for number, (place, left) in enumerate(zip(read.places, statement.left, strict=True)):
        if not isinstance(place, ir.Affine) or not isinstance(left, ir.Affine):
            return 0
        if number == axis:
            back = (left.offset - place.offset).number
            if place.terms != left.terms or back is None:
                return 0
            lag = int(back)
        elif place != left:
            return 0
    return lag


def is_linear(expression: ir.Expression, atom: ir.Read) -> bool:
    """Whether an expression is `a · atom + b` with a and b free of the atom's tensor.

    `2 (h - x)/y` is; `h h`, `[h > 0] x` and `tanh(h)` are not, nor is a sum in which h stands.
    """
    if expression == atom or not _reads(expression, atom.tensor):
        return True
    if isinstance(expression, ir.Select):
        return all(
            is_linear(value, atom) and not _reads(condition, atom.tensor)
            for condition, value in expression.branches
        ) and is_linear(expression.otherwise, atom)
    if not isinstance(expression, ir.Apply):
        return False
    moving = [a for a in expression.arguments if _reads(a, atom.tensor)]
    if expression.function == "*" and len(moving) > 1:
        return False
    if expression.function == "/" and _reads(expression.arguments[1], atom.tensor):
        return False
    return expression.function in ("+", "neg", "*", "/") and all(is_linear(a, atom) for a in moving)


def _reads(expression: ir.Expression, tensor: str) -> bool:
    return tensor in expression.tensors()


def _replaced(expression: ir.Expression, read: ir.Read, by: ir.Expression) -> ir.Expression:
    """With another expression in the place of the read; what a 0 takes away is not there."""

    def leaf(node: ir.Expression) -> ir.Expression:
        if node == read:
            return by
        match node:
            case ir.Apply("+", arguments):
                return plus(*arguments)
            case ir.Apply("*", arguments):
                return times(*arguments)
            case ir.Apply("neg", (argument,)):
                return negative(argument)
            case ir.Apply("/", (above, _)) if above == ZERO:
                return ZERO
        return node

    return rebuild(expression, leaf=leaf)
