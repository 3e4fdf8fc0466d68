"""The emitted texts of a decoder: its beginning, and a step in two ways.

    step, pure      Key_seen = torch.cat((Key_past, Key), …)        a gradient may go through it
    step            Key_seen, = scan([Key_past, Key], …)            the present value is written in place

In place the past is handed over with room for one more value, so that nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from indicial.compile.emit.running import differentiating
from indicial.compile.emit.source import Source, emit
from indicial.compile.planned import planned
from indicial.compile.schedule.plan import Around, Call, Loop, Piece, Plan, Run, Step
from indicial.compile.schedule.schedule import schedule
from indicial.compile.stepping.codes import Stepping
from indicial.compile.stepping.moment import Many
from indicial.program.ir import Affine, Apply, Code, Join, Place, Read, Statement
from indicial.program.moving import moved_affine
from indicial.program.sizes import Size


@dataclass(frozen=True)
class Text:
    """A source, and what it computes."""

    source: Source
    want: tuple[str, ...]


def beginning(stepping: Stepping, ragged: frozenset[str]) -> Text:
    """What is computed before the first step."""
    defined = {statement.target for statement in stepping.beginning.statements}
    names = [*stepping.begun.values(), *stepping.kept, *stepping.early]
    want = tuple(dict.fromkeys(name for name in names if name in defined))
    ready = planned(stepping.beginning, want, (), ragged)
    return Text(emit(ready.code, ready.plan, want, ragged=ragged), want)


def step(stepping: Stepping, ragged: frozenset[str], *, pure: bool, own: bool = False) -> Text:
    """One step; what it computes goes into the slots of the next.

    With `own`, each member is at a step of its own.
    """
    appended = stepping.inside if own or not pure else frozenset()
    wanted = list(stepping.outputs)
    wanted += [ago.tensor for ago in stepping.ago if ago.steps == 1]
    wanted += [many.seen for many in stepping.many if many.reach is not None]
    wanted += [m.tensor for m in stepping.many if m.reach is None and m.past not in appended]
    if own:
        # The text works on a copy, with something harmless behind each member's last step.
        ragged = ragged | {stepping.count}
        wanted += [many.tensor for many in stepping.many if many.past in appended]
    code = stepping.step
    want = tuple(dict.fromkeys(name for name in wanted if code.of(name)))
    caches = {many.seen: many for many in stepping.many if many.past in appended}
    code = _with_room(code, list(caches.values()))

    def appended_there(step: Step, around: Around) -> Step | None:
        if not isinstance(step, Run) or step.statement.target not in caches:
            return None
        many = caches[step.statement.target]
        if not own:
            return _append(step.statement, many, around, append)
        there = partial(append_each, stepping.count, stepping.base(many))
        return _append(step.statement, many, around, there)

    plan = _stacked(code, schedule(code, want)).exchanged(appended_there)
    return Text(emit(code, plan, want, ragged=ragged), want)


def _stacked(code: Code, plan: Plan) -> Plan:
    """No loop of a step goes along the input: what it is handed only looks as if it told sizes."""
    same = [[statement] for statement in code.statements]
    return plan.rebuild(code.statements, same, lambda loop: replace(loop, kind="stacked"))


# ---- in place ----


def _with_room(code: Code, caches: Sequence[Many]) -> Code:
    """The pasts with room for the present value, which a call is going to write there."""
    tensors = dict(code.tensors)
    statements = {s.target: s for s in code.statements if s.target in {m.seen for m in caches}}
    for many in caches:
        tensors[many.past] = replace(tensors[many.past], axes=tensors[many.seen].axes)
        old = statements[many.seen]
        assert isinstance(old.body, Join)
        present = old.body.parts[1].body
        places = tuple(p for p in old.left if isinstance(p, Affine))
        body = Apply("+", (Read(many.past, places), present))
        statements[many.seen] = replace(old, body=body)
    replaced = tuple(statements.get(s.target, s) for s in code.statements)
    return replace(code, tensors=tensors, statements=replaced)


Append = Callable[..., list[torch.Tensor]]


def _append(statement: Statement, many: Many, loops: Around, function: Append) -> Call:
    around = [loop for loop in loops if statement.target in loop.axes]
    fixed = dict(pair for loop in around if (pair := loop.fixed(statement)) is not None)
    assert isinstance(statement.body, Apply)
    past, present = statement.body.arguments
    assert isinstance(past, Read) and isinstance(present, Read)
    left = tuple(p for p in statement.left if isinstance(p, Affine))
    sides = ((past.tensor, past.places), (present.tensor, present.places), (many.seen, left))
    pieces = [Piece(name, tuple(_fixed(p, fixed) for p in places)) for name, places in sides]
    whole = [number for number, place in enumerate(pieces[2].places) if place is None]
    axis = whole.index(many.axis) - len(whole)
    loop = Loop("", "", "stacked", 1, Size(), Size.of(1), axes={}, steps=(Run(statement),))
    return Call(loop, many.seen, tuple(pieces[:2]), (pieces[2],), (), partial(function, axis))


def _fixed(place: Place, fixed: dict[str, Affine]) -> Affine | None:
    """A place that loops fix, in terms of their variables; None for a whole axis."""
    if isinstance(place, Affine) and any(name in fixed for name, _ in place.terms):
        return moved_affine(place, fixed)
    return None


def append(
    axis: int,
    arguments: Sequence[torch.Tensor],
    sizes: Sequence[int],
    lengths: dict[str, torch.Tensor],
) -> list[torch.Tensor]:
    """The past with the present value in its last place; the axis counts from the end."""
    room, present = arguments
    room.select(axis, -1).copy_(present)
    return [room]


def append_each(
    count: str,
    base: int,
    axis: int,
    arguments: Sequence[torch.Tensor],
    sizes: Sequence[int],
    lengths: dict[str, torch.Tensor],
) -> list[torch.Tensor]:
    """The past with each member's present value behind as many as the member has."""
    room, present = arguments
    return [placed(room, axis, lengths[count] + (base - 1), present)]


def placed(
    room: torch.Tensor, axis: int, places: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """`values` of each member at a place of its own along the axis; a copy, if a gradient may be asked."""
    if differentiating():
        room = room.clone()
    rows = torch.arange(len(places), device=places.device)
    room.movedim(axis, 1).index_put_((rows, places), values)
    return room
