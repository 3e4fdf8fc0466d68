"""A program step by step: begins, steps, keeps what the next step needs.

    decoder = Decoder(module, want=("P",))
    state = decoder.begin({"x": source})
    state = decoder.step(state, {"w": token})
    state.out["P"]                      the distribution of the next token

An output is as far ahead as it can be known: `P[t+1]` where it reads tokens up to `w[t]` only, which
is when `w[t]` is handed over. Dropout is off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import torch

from indicial.compile.emit.running import differentiating
from indicial.compile.module import checks
from indicial.compile.module.call import Lengths, Result, own_precision, result
from indicial.compile.schedule.schedule import schedule
from indicial.compile.stepping.causal import Walk, walk_of
from indicial.compile.stepping.codes import Stepping, Text, beginning, derive, step
from indicial.compile.stepping.prefill import Given, Prefill
from indicial.compile.stepping.state import (
    Begun,
    Frame,
    NativeSteps,
    SlotValues,
    State,
    Watch,
)
from indicial.program.ir import Code
from indicial.program.meaning.arrays import BATCH, writes_batch
from indicial.program.messages import IndicialError
from indicial.program.rewrite import tensors_read

if TYPE_CHECKING:
    from indicial.compile.module.module import ProgramModule


def default_outputs(code: Code, walk: Walk, wanted: Sequence[str]) -> tuple[str, ...]:
    """What a step gives when nobody says what is wanted: distributions, else what the module gives."""
    walked = [n for n, t in code.tensors.items() if code.of(n) and walk.axes(t)]
    distributions = [n for n in walked if code.tensors[n].probability]
    found = distributions or [name for name in wanted if name in walked]
    return tuple(found or walked[-1:])


FEW_STEPS = 64
"""Fewer steps are taken one by one: making a pass takes as long as some hundreds of steps."""


class Decoder:
    """Begins and steps; made once for some outputs."""

    def __init__(
        self,
        module: ProgramModule,
        want: tuple[str, ...] | None,
        along: str | None = None,
        ragged: frozenset[str] = frozenset(),
    ) -> None:
        self.module = module
        self.code = module.code
        if writes_batch(self.code):
            raise IndicialError(f"leave out the batch index {BATCH} to go step by step")
        self.walk = walk_of(module.code, module.sizes.lengths, along)
        outputs = want or default_outputs(module.code, self.walk, module.wanted)
        self.stepping: Stepping = derive(module.code, self.walk, outputs, ragged)
        self.ragged = ragged
        self.given = Given(module.code, self.stepping)
        self.slots = SlotValues(self.stepping)
        self.walks = any(loop.kind == "scanned" for loop in schedule(module.code, outputs).loops())
        room = module.sizes.known.get(self.walk.size)
        self.most = None if room is None else self.stepping.causal.most(room)
        """How many steps the parameters have room for."""
        tensors = self.stepping.step.tensors
        self._ranks = {name: len(tensors[name].axes) for name in outputs}
        self.natives = NativeSteps(self.stepping, lambda: self.in_place.want)
        self._begun = Begun(lambda: self._begin({}, None), self._parameters, lambda: self.like)
        self._watch = Watch(self._parameters)

    @property
    def like(self) -> torch.Tensor:
        return self.module._like

    # ---- the texts ----

    @cached_property
    def beginning(self) -> Text:
        return beginning(self.stepping, self.ragged)

    @cached_property
    def pure(self) -> Text:
        return step(self.stepping, self.ragged, pure=True)

    @cached_property
    def in_place(self) -> Text:
        return step(self.stepping, self.ragged, pure=False)

    @cached_property
    def each(self) -> Text:
        return step(self.stepping, self.ragged, pure=False, own=True)

    # ---- beginning ----

    def begin(self, given: Mapping[str, object], lengths: Lengths | None = None) -> State:
        """What does not depend on the steps, and what is known before the first."""
        if (self.natives.known or self._begun.known) and self._watch.changed():
            self._begun.forget()
            self.natives.forget()
        if given or lengths is not None or differentiating():
            return self._begin(given, lengths)
        return self._begun.state()

    def _parameters(self) -> tuple[torch.Tensor, ...]:
        return tuple(getattr(self.module, key) for key in self.module.state_keys.values())

    def _begin(self, given: Mapping[str, object], lengths: Lengths | None) -> State:
        module = self.module
        for name in given:
            if name in self.walk.inputs:
                text = f"{name} is handed over step by step: step(state, {name}=…)"
                raise checks.refusal("inputs", text, self.code.tensors[name])
        call = module._reader.read(given, lengths, None, self.like, False)
        for name in self._needed_inputs:
            if name not in call.x:
                raise checks.missing_input(self.code, name)
        parameters = {name: getattr(module, key) for name, key in module.state_keys.items()}
        for name, room in module._rooms.items():
            parameters[name] = room.cut(parameters[name], call.sizes)
        parameters[""] = self.like
        with own_precision(self.walks, self.like):
            found = self.beginning.source.run(parameters, call.x, call.sizes, call.lengths, {})
        batch = next(iter(call.x.values())).shape[0] if call.lifted else None
        values: dict[str, torch.Tensor] = {}
        tensors = self.stepping.step.tensors
        for name in self.stepping.kept:
            value = found[name] if name in found else call.x[name]
            (values if tensors[name].role == "input" else parameters)[name] = value
        frame = Frame(self, parameters, call.sizes, self.like)
        state = State(frame, 0, batch, values, {}, call.lengths, self._out(found, batch, True))
        self.slots.fill(state, found)
        return state

    @cached_property
    def _needed_inputs(self) -> list[str]:
        stepping = self.stepping
        read = tensors_read((*stepping.beginning.statements, *stepping.step.statements))
        inputs = [n for n, t in self.code.tensors.items() if t.role == "input"]
        return [n for n in inputs if n in read and n not in self.walk.inputs]

    # ---- steps ----

    def step(
        self, state: State, given: Mapping[str, object], active: torch.Tensor | None = None
    ) -> State:
        """One step: inputs of one step each, with a batch axis or without.

        Members that are not `active` stay where they are.
        """
        state, inputs = self.given.read(state, given)
        return self._step(state, inputs, self._going(state, active))

    def _step(
        self, state: State, inputs: dict[str, torch.Tensor], going: torch.Tensor | None
    ) -> State:
        x = state.values | inputs
        if state.own is not None or going is not None:
            return self._step_each(state, x, going)
        steps, bases = state.steps + 1, self.slots.bases
        self._check_room(steps)
        pure = differentiating()  # through it a gradient may go: nothing is written in place
        native = None if pure else self.natives.of(state)
        inside = () if pure else self.slots.inside
        outside = tuple(bases) if pure else self.slots.outside
        caches, memory = {}, {}
        for past in inside:
            caches[past] = cache = state.caches[past].room(bases[past] + steps)
            memory[past] = cache.buffer.values
        for past in outside:
            x[past] = state.caches[past].first(bases[past] + steps - 1)
        if native is not None:
            found = native.run(
                state.frame.parameters, x, memory, steps, state.lengths, state.batch or 1
            )
        else:
            for past in inside:
                x[past] = caches[past].first(bases[past] + steps)
            text = self.pure if pure else self.in_place
            found = self._run(text, state, x, steps, state.lengths)
        for past in outside:
            now, cache = self.slots.present(state, past, found, x), state.caches[past]
            count = bases[past] + steps
            caches[past] = cache.joined(count, now) if pure else cache.written(count, now)
        values = self.slots.moved(state, found, x)
        out = self._out(found, state.batch, False)
        return State(state.frame, steps, state.batch, values, caches, state.lengths, out)

    def _run(
        self,
        text: Text,
        state: State,
        x: dict[str, torch.Tensor],
        steps: int,
        lengths: dict[str, torch.Tensor],
    ) -> dict[str, torch.Tensor]:
        frame = state.frame
        sizes = {**frame.sizes, self.stepping.count: steps}
        with own_precision(self.walks, frame.like):
            return text.source.run(frame.parameters, x, sizes, lengths, {})

    def _check_room(self, steps: int) -> None:
        if self.most is None or steps <= self.most:
            return
        size = self.walk.size
        most = self.module.sizes.known[size]
        text = f"there is no step after this: {size} is {most} at most: compile(…, {size}=…)"
        raise checks.refusal("steps", text)

    # ---- steps of members that are not at the same one ----

    def _going(self, state: State, active: torch.Tensor | None) -> torch.Tensor | None:
        """Which members take the step; None if all do."""
        if active is None:
            return None
        mask = torch.as_tensor(active, dtype=torch.bool, device=self.like.device)
        if mask.shape != ((state.batch,) if state.batch is not None else ()):
            members = "one alone" if state.batch is None else state.batch
            text = f"active has the shape {tuple(mask.shape)}, but the members are {members}"
            raise checks.refusal("input-shape", text)
        return None if bool(mask.all()) else mask.reshape(-1)

    def _step_each(
        self, state: State, x: dict[str, torch.Tensor], going: torch.Tensor | None
    ) -> State:
        """A step from each member's own; those that do not go are computed, and left as they are."""
        front = state.batch or 1
        before = state.own
        if before is None:
            before = torch.full((front,), state.steps, dtype=torch.long, device=self.like.device)
        after = before + 1
        steps = int(after.max())
        self._check_room(steps if going is None else int((before + going).max()))
        slots = self.slots
        rooms = {past: state.caches[past].room(base + steps) for past, base in slots.bases.items()}
        for past, base in slots.bases.items():
            x[past] = rooms[past].first(base + steps - (past not in slots.inside))
        lengths = {**state.lengths, self.stepping.count: after}
        found = self._run(self.each, state, x, steps, lengths)
        caches = {
            past: room.placed(slots.bases[past] + after - 1, slots.present(state, past, found, x))
            for past, room in rooms.items()
        }
        values = slots.moved(state, found, x)
        out = self._out(found, state.batch, False)
        if going is not None:
            after = torch.where(going, after, before)
            values = {n: _chosen(going, v, state.values[n]) for n, v in values.items()}
            for name in out:
                held = state.out.get(name)
                if held is not None and held.shape == out[name].shape and state.batch is not None:
                    out[name] = _chosen(going, out[name], held)
        longest = int(after.max())
        return State(state.frame, longest, state.batch, values, caches, state.lengths, out, after)

    # ---- many steps ----

    def extend(self, state: State, given: Mapping[str, object], lengths: object = None) -> State:
        """Many steps: inputs with the steps as an axis, and how many of them each member takes."""
        state, many = self.given.read_many(state, given, lengths)
        if not many.steps:
            return state
        if state.steps == 0 and self.one_pass(many.steps):
            self._check_room(many.steps)
            state = self.prefill.after(state, many.but_last())
            return self._step(state, many.last(), many.going(0))
        for number in range(many.steps):
            state = self._step(state, many.at(number), many.going(number))
        return state

    def one_pass(self, steps: int) -> bool:
        """Whether so many steps from the beginning are computed together."""
        return steps >= FEW_STEPS and self.prefill.source is not None

    @cached_property
    def prefill(self) -> Prefill:
        return Prefill(self.stepping, self.ragged, self.walks)

    # ---- what comes out ----

    def _out(self, found: Mapping[str, torch.Tensor], batch: int | None, beginning: bool) -> Result:
        values = {}
        for name in self.stepping.early if beginning else self.stepping.outputs:
            value = found[name]
            lifted = value.dim() > self._ranks[name]
            if batch is None:
                value = value[0] if lifted else value
            elif not lifted:
                value = value.expand(batch, *value.shape)
            values[name] = value
        return result(values, None)


def _chosen(going: torch.Tensor, new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    """The new values of the members that go, the old ones of the others."""
    if new is old:
        return old
    return torch.where(going.reshape(-1, *[1] * (new.dim() - 1)), new, old)
