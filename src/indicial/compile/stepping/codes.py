"""The two programs that a decoder runs: what is there before the first step, and a step.

    h[-1,j] = h^{start}[j]
    h[t,j] = tanh(W[j,I] h[t-1,I] + e[w[t],j])
    P[t,v] = softmax_v e[v,J] h[t-1,J]

    beginning   h^{start,…}[j] = h^{start}[j];  P[v] = softmax_v e[v,J] h^{start,…}[J]
    step        h[j] = tanh(W[j,I] h^{ago}[I] + e[w,j]);  P[v] = softmax_v e[v,J] h[J]

Both are programs like any others: the interpreter runs them, and they are scheduled and emitted as
others are.

The emitted texts of a decoder: its beginning, and a step in two ways.

    step, pure      Key_seen = torch.cat((Key_past, Key), …)        a gradient may go through it
    step            Key_seen, = scan([Key_past, Key], …)            the present value is written in place

In place the past is handed over with room for one more value, so that nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import torch

from indicial.compile.emit.running import differentiating
from indicial.compile.emit.source import Source, emit
from indicial.compile.passes.new_tensors import over
from indicial.compile.passes.simplify import simplified
from indicial.compile.pipeline import emitted
from indicial.compile.schedule.schedule import Around, Call, Loop, Piece, Run, Step, schedule
from indicial.compile.stepping.causal import Causal, Walk, causal, unknown_end, with_keys
from indicial.compile.stepping.moment import Ago, Many, Moment, Slots, long_axis, without
from indicial.compile.stepping.support import with_support
from indicial.program import ir
from indicial.program.logs import through
from indicial.program.meaning.differing import dependent
from indicial.program.messages import IndicialError
from indicial.program.moving import moved_affine
from indicial.program.rewrite import tensors_read
from indicial.program.sizes import Size
from indicial.program.verify import verified


@dataclass(frozen=True)
class Stepping:
    """The programs, and how what one computes becomes what the next is given.

    `beginning` and `step` are read by name. A step is given `inputs` (what the caller hands over),
    `kept` (of the beginning, the same at all steps), `ago` and the pasts of `many`.
    """

    causal: Causal
    beginning: ir.Code
    step: ir.Code
    count: str
    """The size that counts the steps, this one included."""
    inputs: tuple[str, ...]
    kept: tuple[str, ...]
    ago: tuple[Ago, ...]
    many: tuple[Many, ...]
    begun: dict[str, str]
    """For `ago` and the seen of `many`: the tensor of the beginning that it starts with, if any."""
    outputs: tuple[str, ...]
    whole: ir.Code
    """The equations of all steps at once: they say of no sum how far it need not go."""

    @property
    def early(self) -> tuple[str, ...]:
        """The outputs that the beginning computes: they are one step ahead of what is given."""
        return tuple(name for name in self.outputs if self.causal.offsets[name])

    def base(self, many: Many) -> int:
        """How many values a cache of all steps holds before the first step."""
        return self.causal.walk.first + self.causal.offsets[many.tensor] - many.low

    @cached_property
    def inside(self) -> frozenset[str]:
        """The pasts of all steps whose present value is read within a step, and so is added there."""
        read = tensors_read(self.step.statements)
        return frozenset(m.past for m in self.many if m.reach is None and m.seen in read)


def derive(
    code: ir.Code, walk: Walk, outputs: Sequence[str], ragged: Collection[str] = ()
) -> Stepping:
    """The programs of a decoder that computes some outputs; an error if one looks ahead."""
    if walk.size in ragged:
        text = f"{walk.size} has no length before the steps: members that have ended are not active"
        raise IndicialError(text)
    simple = simplified(through(code))
    bounded = causal(verified(with_support(simple, walk)), walk, outputs)
    found = causal(with_keys(bounded), walk, outputs)
    for name in outputs:
        if name not in found.axes:
            text = f"{name} does not go along {walk.letter}, which has the size {walk.size}"
            raise IndicialError(f"{text}: a step has nothing of it")
    whole = with_keys(replace(bounded, code=simple))
    count = _count(found.code)
    slots = Slots(found)
    step = Moment(found, slots, Size.of(count) + (walk.first - 1))
    for statement in found.code.statements:
        if statement.target in found.axes:
            step.define(statement)
    begins = [s for s in found.code.statements if s.target not in found.axes]
    kept = tensors_read(step.statements) - found.axes.keys() - {a.name for a in slots.ago.values()}
    kept = {n for n in kept if n in found.code.tensors and _begun(found.code, n)}
    beginning, begun = _beginning(found, slots, begins)
    return Stepping(
        found,
        verified(beginning),
        verified(_step(found, slots, step, count, kept, ragged)),
        count,
        tuple(n for n in walk.inputs if _needs(slots, step, n)),
        tuple(sorted(kept)),
        tuple(slots.ago.values()),
        tuple(slots.many.values()),
        begun,
        tuple(outputs),
        whole if whole.tensors.keys() >= found.code.tensors.keys() else found.code,
    )


def _count(code: ir.Code) -> str:
    name = "n"
    while name in code.sizes:
        name += "'"
    return name


def _begun(code: ir.Code, name: str) -> bool:
    role = code.tensors[name].role
    if role == "draw":
        raise IndicialError(f"{name} is drawn anew at each call, which no step can do yet")
    return role in ("input", "defined")


def _needs(slots: Slots, step: Moment, name: str) -> bool:
    kept = {*slots.many, *(tensor for tensor, _ in slots.ago)}
    return name in tensors_read(step.statements) or name in kept


# ---- a step ----


def _step(
    found: Causal, slots: Slots, step: Moment, count: str, kept: set[str], ragged: Collection[str]
) -> ir.Code:
    code = found.code
    inputs = frozenset(n for n, t in code.tensors.items() if t.role == "input")
    differs = dependent(code, inputs, frozenset(ragged))
    tensors = {n: t for n, t in code.tensors.items() if t.role in ("parameter", "constant")}
    for name in sorted(kept):  # so that a kernel has one text in all processes
        # What is the same for all examples has no batch axis, as a parameter has none.
        role = "input" if name in differs else "parameter"
        tensors[name] = replace(code.tensors[name], role=role)
    for name in found.walk.inputs:
        tensors[name] = replace(
            code.tensors[name], axes=without(code.tensors[name], found.axes[name])
        )
    tensors |= step.tensors
    for ago in slots.ago.values():
        now = tensors[ago.tensor]
        axes = tuple(_earlier(axis, count, ago.steps) for axis in now.axes)
        tensors[ago.name] = replace(now, name=ago.name, axes=axes, role="input")
    statements = list(step.statements)
    for many in slots.many.values():
        now = tensors[many.tensor]
        axis = long_axis(many, step.present(many.tensor), code.tensors[many.tensor].axes[many.axis])
        for axis_ in now.axes:
            if count in axis_.extent.names:
                raise unknown_end(found.walk.size, code.of(many.tensor)[0], now.span)
        past = replace(axis, extent=axis.extent - 1)
        tensors[many.past] = _with(now, many, past, many.past, "input")
        tensors[many.seen] = _with(now, many, axis, many.seen, "defined")
        statements.append(_seen(tensors[many.seen], many, past))
    return replace(code.equations(tensors, statements), sizes={**code.sizes, count: None})


def _earlier(axis: ir.Axis, count: str, steps: int) -> ir.Axis:
    """An axis as it was some steps ago."""
    before = {count: Size.of(count) - steps}
    return replace(axis, lower=axis.lower.substitute(before), extent=axis.extent.substitute(before))


def _with(now: ir.Tensor, many: Many, axis: ir.Axis, name: str, role: str) -> ir.Tensor:
    axes = (*now.axes[: many.axis], axis, *now.axes[many.axis :])
    return replace(now, name=name, axes=axes, role=role)


def _seen(seen: ir.Tensor, many: Many, past: ir.Axis) -> ir.Statement:
    """`seen` is `past` and then the present value."""
    indices, places = over(seen.axes)
    old = ir.Index(f"{past.letter}·past", past.lower, past.extent)
    new = ir.Index(f"{past.letter}·now", Size(), Size.of(1))
    before = (*places[: many.axis], ir.Affine.of(old), *places[many.axis + 1 :])
    rest = (*places[: many.axis], *places[many.axis + 1 :])
    at = ir.Affine(places[many.axis].terms, -past.lower)
    parts = (ir.Part(old, ir.Read(many.past, before)), ir.Part(new, ir.Read(many.tensor, rest)))
    return ir.Statement(many.seen, places, indices, ir.Join(at, parts), span=seen.span)


# ---- the beginning ----


def _beginning(
    found: Causal, slots: Slots, begins: Sequence[ir.Statement]
) -> tuple[ir.Code, dict[str, str]]:
    """What is there before the first step is given, and with what each slot starts."""
    code, size = found.code, found.walk.size
    moment = Moment(found, slots, Size.of(found.walk.first - 1))
    for statement in code.statements:
        if found.offsets.get(statement.target):
            moment.define(statement)
    begun: dict[str, str] = {}
    for ago in slots.ago.values():
        name = moment.at_start(ago.tensor, ago.steps - 1)
        if name is not None:
            begun[ago.name] = name
    for many in list(slots.many.values()):
        if _first_seen(moment, many):
            begun[many.seen] = many.seen
    for statement in begins:
        for node in (node for part in statement.parts for node in part.walk()):
            _check_free(size, statement, node)
    statements = (*begins, *moment.statements)
    defined = {statement.target for statement in begins}
    tensors = {
        n: t
        for n, t in code.tensors.items()
        if n not in found.axes and t.role != "draw" and (t.role != "defined" or n in defined)
    }
    tensors |= moment.tensors
    return code.equations(tensors, statements), begun


def _first_seen(moment: Moment, many: Many) -> bool:
    """The values of many steps before the first: starts, and zeros elsewhere."""
    present = int(moment.present(many.tensor).number or 0)
    axis = long_axis(many, Size.of(present), moment.code.tensors[many.tensor].axes[many.axis])
    extent = int(axis.extent.number or 0)
    if extent <= 0:
        return False
    names = {
        int(axis.lower.number or 0) + extent - 1 - lag: name
        for lag in range(extent)
        if (name := moment.at_start(many.tensor, lag)) is not None
    }
    now = moment.tensors.get(many.tensor)
    if now is None:
        old = moment.code.tensors[many.tensor]
        now = replace(old, axes=without(old, moment.causal.axes[many.tensor]))
    moment.tensors[many.seen] = seen = _with(now, many, axis, many.seen, "defined")
    indices, places = over(seen.axes)
    rest = (*places[: many.axis], *places[many.axis + 1 :])
    others = (*indices[: many.axis], *indices[many.axis + 1 :])
    for at, name in names.items():
        left = (*rest[: many.axis], ir.Affine((), Size.of(at)), *rest[many.axis :])
        moment.statements.append(ir.Statement(many.seen, left, others, ir.Read(name, rest)))
    if extent > len(names):
        zero = ir.Constant(0.0)
        moment.statements.append(ir.Statement(many.seen, places, indices, zero))
    return bool(names)


def _check_free(size: str, statement: ir.Statement, node: ir.Expression) -> None:
    """What is computed before the first step does not know the last one."""
    sizes = [i.extent for i in getattr(node, "indices", ()) if isinstance(i, ir.Index)]
    if isinstance(node, ir.SizeValue):
        sizes.append(node.size)
    if any(size in s.names for s in sizes):
        raise unknown_end(size, statement, node.span)


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
    return Text(emitted(stepping.beginning, want, ragged), want)


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

    # No loop of a step goes along the input: what it is handed only looks as if it told sizes.
    plan = schedule(code, want, ()).exchanged(appended_there)
    return Text(emit(code, plan, want, ragged=ragged), want)


# ---- in place ----


def _with_room(code: ir.Code, caches: Sequence[Many]) -> ir.Code:
    """The pasts with room for the present value, which a call is going to write there."""
    tensors = dict(code.tensors)
    statements = {s.target: s for s in code.statements if s.target in {m.seen for m in caches}}
    for many in caches:
        tensors[many.past] = replace(tensors[many.past], axes=tensors[many.seen].axes)
        old = statements[many.seen]
        assert isinstance(old.body, ir.Join)
        present = old.body.parts[1].body
        body = ir.Apply("+", (ir.Read(many.past, old.left), present))
        statements[many.seen] = replace(old, body=body)
    replaced = tuple(statements.get(s.target, s) for s in code.statements)
    return replace(code, tensors=tensors, statements=replaced)


Append = Callable[..., list[torch.Tensor]]


def _append(statement: ir.Statement, many: Many, loops: Around, function: Append) -> Call:
    around = [loop for loop in loops if statement.target in loop.axes]
    fixed = dict(pair for loop in around if (pair := loop.fixed(statement)) is not None)
    assert isinstance(statement.body, ir.Apply)
    past, present = statement.body.arguments
    assert isinstance(past, ir.Read) and isinstance(present, ir.Read)
    sides = (
        (past.tensor, past.places), (present.tensor, present.places), (many.seen, statement.left),
    )  # fmt: skip
    pieces = [Piece(name, tuple(_fixed(p, fixed) for p in places)) for name, places in sides]
    whole = [number for number, place in enumerate(pieces[2].places) if place is None]
    axis = whole.index(many.axis) - len(whole)
    loop = Loop("", "", "stacked", 1, Size(), Size.of(1), axes={}, steps=(Run(statement),))
    return Call(loop, tuple(pieces[:2]), (pieces[2],), (), partial(function, axis))


def _fixed(place: ir.Place, fixed: dict[str, ir.Affine]) -> ir.Affine | None:
    """A place that loops fix, in terms of their variables; None for a whole axis."""
    if isinstance(place, ir.Affine) and any(name in fixed for name, _ in place.terms):
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
    return [put_at(room, axis, lengths[count] + (base - 1), present)]


def put_at(
    room: torch.Tensor, axis: int, places: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """`values` of each member at a place of its own along the axis; a copy, if a gradient may be asked."""
    if differentiating():
        room = room.clone()
    rows = torch.arange(len(places), device=places.device)
    room.movedim(axis, 1).index_put_((rows, places), values)
    return room
