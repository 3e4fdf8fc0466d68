"""A table that begins along both of its edges → one equation with cases, which one kernel runs.

    D[-1,-1] = 0;  D[-1,j] = ∞;  D[i,-1] = ∞
    D[i,j] = c[i,j] + min(D[i-1,j], D[i,j-1], D[i-1,j-1])

    D^{all}[i,j] = cases { 0 if i = -1 and j = -1, ∞ if i = -1 and j ≥ 0, ∞ if j = -1 and i ≥ 0,
                           c[i,j] + min(D^{all}[i-1,j], …) if i ≥ 0 and j ≥ 0, 0 otherwise }
    D[i,j] = D^{all}[i,j]

    s[t,0,j] = s[t-1,L,j];  s[t,ℓ,j] = … for ℓ ≥ 1      →      s[t,ℓ,j] = …, ℓ from 1 on

A kernel that walks both indices has a place for what begins at the first step of the outer one, not for what
begins at the first step of the inner one at every step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from indicial.compile.passes.forms import is_pointwise
from indicial.compile.passes.new_tensors import derived_name, over
from indicial.compile.schedule.schedule import Loop, Plan
from indicial.program import ir
from indicial.program.cost.conditions import conjuncts, inequality, joined
from indicial.program.moving import Unmovable, moved
from indicial.program.rewrite import with_reads
from indicial.program.sizes import Size, nonnegative


def _with_ranges(code: ir.Code) -> ir.Code:
    """The program with ranges in the place of conditions that are nothing else."""
    statements = tuple(map(_in_range, code.statements))
    changed = any(new is not old for new, old in zip(statements, code.statements, strict=True))
    return replace(code, statements=statements) if changed else code


def _in_range(statement: ir.Statement) -> ir.Statement:
    rest, scope = [], dict(statement.scope)
    for part in conjuncts(statement.guard):
        form = inequality(part)  # at most 0
        shift = None if form is None or len(form.terms) != 1 else form.terms[0]
        if form is None or shift is None or shift[0] not in scope or abs(shift[1]) != 1:
            rest.append(part)
            continue
        index = scope[shift[0]]
        low = form.offset if shift[1] < 0 else index.lower
        high = -form.offset if shift[1] > 0 else index.upper
        inside = (low - index.lower, index.upper - high, high - low + 1)
        if all(map(nonnegative, inside)):
            scope[index.name] = ir.Index(index.name, low, high - low + 1)
        else:
            rest.append(part)
    if len(rest) == len(conjuncts(statement.guard)):
        return statement
    return replace(statement, indices=tuple(scope.values()), guard=joined(rest))


def with_edges(code: ir.Code, plan: Plan) -> ir.Code:
    """The program with such an equation for each tensor of loops inside loops that has several.

    With sums in them they stay several, of a tensor that has its edges in its range.
    """
    code = _with_ranges(code)
    inner = [s for loop in plan.loops() for s in loop.steps if isinstance(s, Loop)]
    for name in dict.fromkeys(name for loop in inner for name in loop.axes):
        statements = code.of(name)
        if len(statements) > 1 and code.tensors[name].values is None:
            code = _whole(code, name, statements)
    return code


def _whole(code: ir.Code, name: str, statements: Sequence[ir.Statement]) -> ir.Code:
    """The program with the table and its edges as one tensor; as it was where that cannot be said."""
    old = code.tensors[name]
    ranges = [_range([_ends(s, axis) for s in statements]) for axis in range(len(old.axes))]
    if None in ranges:
        return code
    whole = derived_name(code.tensors, name, "all")
    axes = tuple(
        ir.Axis(axis.letter, low, high - low + 1)
        for axis, (low, high) in zip(old.axes, filter(None, ranges), strict=True)
    )
    indices, places = over(axes)
    made = [replace(s, target=whole) for s in statements]
    if all(is_pointwise(s.body) for s in statements):
        try:
            scope = {index.name: index for index in indices}
            cases = [case(s, places, scope) for s in statements]
        except Unmovable:
            return code
        branches = tuple((test, says) for test, says in cases if test is not None)
        rest = (says for test, says in cases if test is None)
        body = ir.Select(branches, next(rest, ir.Constant(0.0)))
        made = [ir.Statement(whole, places, indices, body, span=statements[-1].span)]
    own, here = over(old.axes)
    made.append(ir.Statement(name, here, own, ir.Read(name, here), span=statements[-1].span))
    kept = [s for s in code.statements if s.target != name]

    def change(read: ir.Read) -> ir.Read:
        return replace(read, tensor=whole) if read.tensor == name else read

    changed = (s.rebuild(partial(with_reads, change=change)) for s in (*made, *kept))
    tensors = {**code.tensors, whole: replace(old, name=whole, axes=axes, probability=False)}
    return replace(code, tensors=tensors, statements=tuple(changed))


def _ends(statement: ir.Statement, axis: int) -> tuple[Size, Size] | None:
    """Which places along an axis an equation is about: those of one index, or one."""
    place = statement.left[axis]
    if isinstance(place, ir.Flat) or (place.terms and place.shift is None):
        return None
    return place.ends(statement.scope)


def _range(ends: Sequence[tuple[Size, Size] | None]) -> tuple[Size, Size] | None:
    """From the first to the last of all those places; a single one is at the beginning."""
    known = [pair for pair in ends if pair is not None]
    if len(known) < len(ends):
        return None
    low, high = known[-1]  # the most general equation comes last
    for first, last in known:
        if (first - low).number is None or (first != last and (last - high).number is None):
            return None
        low = first if int((first - low).number or 0) < 0 else low
        if first != last:
            high = last if int((last - high).number or 0) > 0 else high
        elif int((first - known[-1][0]).number or 0) > 0:
            return None
    return low, high


def case(
    statement: ir.Statement, left: Sequence[ir.Affine | ir.Flat], scope: Mapping[str, ir.Index],
    alike: bool = False,
) -> tuple[ir.Expression | None, ir.Expression]:  # fmt: skip
    """Where an equation holds, in the indices of a left side, and what it says there.

    `Unmovable` where that cannot be said, or the ranges are not `alike`, if they are to be.
    """
    tests: list[ir.Expression] = []
    at: dict[str, ir.Affine] = {}
    for own, there in zip(statement.left, left, strict=True):
        if isinstance(own, ir.Flat) or isinstance(there, ir.Flat):
            if own != there:
                raise Unmovable(f"{own} at {there}")
            continue
        here = ir.IndexValue(there)
        if not own.terms:
            tests += [ir.Apply("=", (here, ir.IndexValue(own)))] * bool(there.terms)
            continue
        ((name, factor),) = own.terms
        if name in at or [f for _, f in there.terms] != [factor] or factor != 1:
            raise Unmovable(f"{own} at {there}")
        at[name] = ir.Affine(there.terms, there.offset - own.offset)
        ends = zip("≥≤", own.ends(statement.scope), there.ends(scope), strict=True)
        apart = [(sign, end) for sign, end, whole in ends if end != whole]
        if apart and alike:
            raise Unmovable(f"{own} at {there}")
        tests += [ir.Apply(sign, (here, ir.SizeValue(end))) for sign, end in apart]
    guard = [moved(statement.guard, at)] if statement.guard is not None else []

    def beside(read: ir.Read) -> ir.Read:
        """`D[i-1,0]` in what is said where j = 0: `D[i-1,j]`, so that a step knows it for the one before."""
        if read.tensor != statement.target:
            return read
        three = zip(read.places, statement.left, left, strict=True)
        return replace(read, places=tuple(_along(*each) for each in three))

    return joined([*guard, *tests]), with_reads(moved(statement.body, at), beside)


def _along(there: ir.Place, own: ir.Affine | ir.Flat, left: ir.Affine | ir.Flat) -> ir.Place:
    """A number that is read where a number is defined, as so many places from the left side."""
    here, read = ir.number_at(own), ir.number_at(there)
    if here is None or read is None or not isinstance(left, ir.Affine):
        return there
    return ir.Affine(left.terms, left.offset + (read - here))
