"""What a step is given → tensors with a batch axis, checked.

step(state, w=5)            w: (1,)         a state of one member alone
step(state, w=tokens)       w: (B,)         the first such step makes one member B that are alike
step(state, w=5)            w: (B,)         the same token for all B members
extend(state, w=texts)      w: (B, N)       N steps of each member, or `lengths` of them

Many steps from the beginning as one pass over all of them, and the state after each member's last.

    state, out = module.extend(module.begin(), w=tokens)        w: (B, N)

    h[t,j] = … h[t-1,i] …           one kernel for all steps; h^{ago} is h at a member's last step
    Key[k,t,i] = …                  one product for all steps; it is the cache

The equations that a step is derived from are run as they are. Nothing in them looks ahead, so what
stands behind the last step of a member does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from indicial.compile.emit.running import Source, differentiating
from indicial.compile.module import checks
from indicial.compile.module.call import own_precision
from indicial.compile.native.projections import Values
from indicial.compile.passes.new_tensors import over
from indicial.compile.pipeline import emitted
from indicial.compile.schedule.schedule import ScheduleError, needed
from indicial.compile.stepping.codes import Stepping
from indicial.compile.stepping.moment import Many, without
from indicial.compile.stepping.state import Buffer, Cache, Frame, State
from indicial.program.ir import Affine, Code, Read, Statement, Tensor
from indicial.program.meaning.arrays import InterpretError, solve_sizes
from indicial.program.rewrite import tensors_read
from indicial.program.sizes import Size


@dataclass(frozen=True)
class ManySteps:
    """The inputs of some steps, with the members in front; `axes` is where the steps are.

    `count` has how many of them each member takes; None if all take all.
    """

    x: dict[str, torch.Tensor]
    axes: dict[str, int]
    steps: int
    count: torch.Tensor | None

    def at(self, step: int) -> dict[str, torch.Tensor]:
        """The inputs of one step."""
        return {name: value.select(self.axes[name], step) for name, value in self.x.items()}

    def going(self, step: int) -> torch.Tensor | None:
        """Which members take a step; None if all do."""
        if self.count is None or bool((self.count > step).all()):
            return None
        return self.count > step

    def but_last(self) -> ManySteps:
        """All steps but the last of each member."""
        x = {name: v.narrow(self.axes[name], 0, self.steps - 1) for name, v in self.x.items()}
        count = None if self.count is None else (self.count - 1).clamp(min=0)
        return ManySteps(x, self.axes, self.steps - 1, count)

    def last(self) -> dict[str, torch.Tensor]:
        """The inputs of each member's last step; of a member that takes none, those of the first."""
        if self.count is None:
            return self.at(self.steps - 1)
        rows = torch.arange(len(self.count), device=self.count.device)
        place = (self.count - 1).clamp(min=0)
        return {n: v.movedim(self.axes[n], 1)[rows, place] for n, v in self.x.items()}


class Given:
    """Reads the inputs of steps."""

    def __init__(self, code: Code, stepping: Stepping) -> None:
        self.code = code
        self.step = stepping.step
        self.tensors = {name: self.step.tensors[name] for name in stepping.causal.walk.inputs}
        self.needed = stepping.inputs
        self.size = stepping.causal.walk.size
        self.axes = {name: stepping.causal.axes[name] + 1 for name in self.tensors}
        self.shaped = [name for name, tensor in self.tensors.items() if tensor.axes]

    def read(
        self, state: State, given: Mapping[str, object]
    ) -> tuple[State, dict[str, torch.Tensor]]:
        """The inputs, and the state with as many members."""
        self.check_names(given)
        x = {}
        for name, values in given.items():
            tensor = self.tensors[name]
            value = checks.as_tensor(tensor, values, state.frame.like)
            state, value = self.with_members(state, tensor, value)
            if tensor.values is not None:
                self.check_tokens(state, tensor, value)
            x[name] = value
        if self.shaped:
            self.check_shapes(state.frame, x)
        return state, x

    def check_names(self, given: Mapping[str, object]) -> None:
        """All inputs that a step needs are there, and nothing else is."""
        for name in self.needed:
            if name not in given:
                raise checks.missing_input(self.code, name)
        for name in given:
            if name not in self.tensors:
                text = f"{name} is not handed over step by step: begin({name}=…)"
                raise checks.refusal("inputs", text, self.code.tensors[name])

    def read_many(
        self, state: State, given: Mapping[str, object], lengths: object
    ) -> tuple[State, ManySteps]:
        """The inputs of many steps, and the state with as many members."""
        self.check_names(given)
        x = {}
        for name, values in given.items():
            tensor = self.code.tensors[name]
            value = checks.as_tensor(tensor, values, state.frame.like)
            state, x[name] = self.with_members(state, tensor, value)
        found = {name: value.shape[self.axes[name]] for name, value in x.items()}
        if len(set(found.values())) > 1:
            listed = ", ".join(f"{name}: {steps}" for name, steps in found.items())
            raise checks.refusal("input-shape", f"the number of steps differs ({listed})")
        steps = next(iter(found.values()), 0)
        count = None if lengths is None else self.counts(state, lengths, steps)
        if count is not None:
            steps = int(count.max())
            x = {name: value.narrow(self.axes[name], 0, steps) for name, value in x.items()}
        many = ManySteps(x, self.axes, steps, count)
        self.check_many(state, many)
        return state, many

    def counts(self, state: State, lengths: object, steps: int) -> torch.Tensor | None:
        """How many steps each member takes; None if all take all."""
        if isinstance(lengths, Mapping):
            if len(lengths) != 1 or self.size not in lengths:
                text = f"only {self.size} has lengths here: lengths=[…], one for each member"
                raise checks.refusal("lengths", text)
            lengths = lengths[self.size]
        if state.batch is None:
            raise checks.refusal("lengths", "lengths were given, but no input has a batch axis")
        device = state.frame.like.device
        count = checks.length_tensor(self.size, lengths, steps, state.batch, device, least=0)
        return None if bool((count == steps).all()) else count

    def check_many(self, state: State, many: ManySteps) -> None:
        for name, value in many.x.items():
            tensor = self.code.tensors[name]
            if tensor.values is not None:
                inside = None
                if many.count is not None:
                    inside = checks.before_end(tensor, value, {self.size: many.count})
                vocabulary = tensor.values.value(state.frame.sizes)
                checks.check_tokens(tensor, value, vocabulary, inside, state.batch is not None)
        if self.shaped and many.steps:
            self.check_shapes(state.frame, many.at(0))

    def with_members(
        self, state: State, tensor: Tensor, value: torch.Tensor
    ) -> tuple[State, torch.Tensor]:
        """Both with a batch axis; a state that has not begun to step takes the members of a value."""
        extra = value.dim() - len(tensor.axes)
        if extra not in (0, 1):
            raise self.wrong_axes(tensor, value)
        if not extra:
            if state.batch is None:
                return state, value.unsqueeze(0)
            return state, value.expand(state.batch, *value.shape)
        count = len(value)
        if state.batch == count:
            return state, value
        if state.batch is None and not state.steps:
            return state.select([0] * count), value  # one member as many that are alike
        have = "one member alone" if state.batch is None else f"{state.batch} members"
        text = f"{tensor.name} is for {count} members, but the state has {have}"
        raise checks.refusal("input-shape", text, self.code.tensors[tensor.name])

    def check_tokens(self, state: State, tensor: Tensor, value: torch.Tensor) -> None:
        count = state.frame.vocabularies.get(tensor.name)
        if count is None:
            assert tensor.values is not None
            count = state.frame.vocabularies[tensor.name] = tensor.values.value(state.frame.sizes)
        if value.is_cpu and value.numel() == 1 and 0 <= value.item() < count:
            return  # the quick way: at one member a look at all tokens costs as much as a product
        checks.check_tokens(tensor, value, count, None, state.batch is not None)

    def check_shapes(self, frame: Frame, x: Mapping[str, torch.Tensor]) -> None:
        """Other axes are as long as the parameters say; a frame remembers what fits it."""
        shapes = tuple((name, x[name].shape[1:]) for name in self.shaped if name in x)
        if shapes in frame.fitting:
            return
        try:
            solve_sizes(self.step, x, frozenset(x), frame.sizes, set())
        except InterpretError as error:
            raise checks.misfit(self.code, error, dict(shapes)) from error
        frame.fitting.add(shapes)

    def wrong_axes(self, tensor: Tensor, value: torch.Tensor) -> Exception:
        if tensor is self.code.tensors[tensor.name]:
            return checks.wrong_axes(tensor, value)
        count = value.dim()
        text = (
            f"{tensor.name} was given with {count} {'axis' if count == 1 else 'axes'}, but one step "
            f"of it has {len(tensor.axes)}"
        )
        return checks.refusal("input-shape", text, self.code.tensors[tensor.name])


@dataclass
class Prefill:
    """The pass of one decoder; `walks` says whether it goes along its input step by step."""

    stepping: Stepping
    ragged: frozenset[str]
    walks: bool

    def __post_init__(self) -> None:
        self.causal = causal = self.stepping.causal
        self.tensors = tuple(n for n in _slotted(self.stepping) if causal.code.of(n))
        # How many steps further than what is given the pass has to go.
        self.ahead = max((causal.offsets[name] for name in self.tensors), default=0)

    @cached_property
    def source(self) -> Source | None:
        """The text of the pass; None where the steps cannot be computed together."""
        code, walk = _given(self.stepping), self.causal.walk
        if code is None or any(len(walk.axes(code.tensors[name])) > 1 for name in self.tensors):
            return None  # `α[t_1,t_2]` is longer at every step
        try:
            return emitted(code, self.tensors, self.ragged, {walk.size, *self.ragged})
        except ScheduleError:
            return None

    # ---- the pass ----

    def after(self, state: State, given: ManySteps) -> State:
        """The state after some steps; `state` has not taken any. Its outputs are not computed."""
        steps, count = given.steps, given.count
        found = self.run(state, self.padded(given))
        members = state.batch or 1
        every = {name: self.taken(name, value, members, steps) for name, value in found.items()}
        every |= given.x
        values = state.values | self.latest(state, every, steps, count)
        caches = {
            many.past: self.filled(state.caches[many.past], many, every[many.tensor], steps)
            for many in self.stepping.many
            if many.reach is None
        }
        return replace(state, steps=steps, values=values, caches=caches, own=count)

    def run(self, state: State, given: Values) -> Values:
        assert self.source is not None
        frame, size = state.frame, self.causal.walk.size
        name = next(iter(given))
        sizes = {**frame.sizes, size: given[name].shape[self.axis(name)]}
        parameters = dict(frame.parameters)
        for name, room in frame.decoder.module._rooms.items():
            parameters[name] = room.cut(parameters[name], sizes)
        held = state.values | {
            many.past: state.caches[many.past].first(self.stepping.base(many))
            for many in self.stepping.many
            if many.reach is None
        }
        with own_precision(self.walks, frame.like):
            return self.source.run(parameters, held | given, sizes, state.lengths, {})

    def padded(self, given: ManySteps) -> Values:
        """The inputs with something harmless behind each member's last step."""
        found = {}
        for name, value in given.x.items():
            axis = self.axis(name)
            fill = 0 if value.is_floating_point() else -1
            if given.count is not None:
                inside = torch.arange(given.steps, device=value.device) < given.count[:, None]
                value = torch.where(_along(inside, axis, value.dim()), value, fill)
            if self.ahead:
                shape = list(value.shape)
                shape[axis] = self.ahead
                value = torch.cat((value, value.new_full(shape, fill)), axis)
            found[name] = value
        return found

    def axis(self, name: str) -> int:
        """The axis of the steps, with the members in front."""
        return self.causal.axes[name] + 1

    def taken(self, name: str, value: torch.Tensor, members: int, steps: int) -> torch.Tensor:
        """Of what the pass found of a tensor, as many values as steps were taken, for each member."""
        tensor, axis = self.causal.code.tensors[name], self.causal.axes[name]
        if value.dim() == len(tensor.axes):
            value = value.expand(members, *value.shape)
        lower = int(tensor.axes[axis].lower.number or 0)
        first = self.causal.walk.first + self.causal.offsets[name]
        return value.narrow(axis + 1, first - lower, steps)

    # ---- the state ----

    def latest(self, state: State, every: Values, steps: int, count: torch.Tensor | None) -> Values:
        """What the next step finds of the last ones; before the first it is what the state holds."""
        found: Values = {}
        agos: dict[str, list[str]] = {}
        for ago in sorted(self.stepping.ago, key=lambda ago: -ago.steps):
            agos.setdefault(ago.tensor, []).append(ago.name)
        for tensor, names in agos.items():
            axis = self.axis(tensor)
            before = torch.stack([state.values[name] for name in names], axis)
            latest = _last(torch.cat((before, every[tensor]), axis), axis, len(names), steps, count)
            found |= dict(zip(names, latest.unbind(axis), strict=True))
        for many in self.stepping.many:
            if many.reach is not None:
                axis = self.axis(many.tensor)
                both = torch.cat((state.values[many.past], every[many.tensor]), axis)
                found[many.past] = _last(both, axis, many.reach, steps, count)
        return found

    def filled(self, cache: Cache, many: Many, values: torch.Tensor, steps: int) -> Cache:
        base, axis = self.stepping.base(many), self.axis(many.tensor)
        if differentiating():
            return Cache(Buffer(torch.cat((cache.first(base), values), axis)), axis)
        new = cache.room(base + steps)
        new.buffer.values.narrow(axis, base, steps).copy_(values)
        return new


def _last(
    values: torch.Tensor, axis: int, width: int, steps: int, count: torch.Tensor | None
) -> torch.Tensor:
    """The last `width` values of each member; so many stood before its first step."""
    if count is None:
        return values.narrow(axis, steps, width)
    places = _along(count[:, None] + torch.arange(width, device=count.device), axis, values.dim())
    shape = list(values.shape)
    shape[axis] = width
    return values.gather(axis, places.expand(shape))


def _along(pairs: torch.Tensor, axis: int, rank: int) -> torch.Tensor:
    """Something for each member and place, as a tensor with other axes of 1."""
    shape = [1] * rank
    shape[0], shape[axis] = pairs.shape
    return pairs.reshape(shape)


# ---- the equations ----


def _given(stepping: Stepping) -> Code | None:
    """The equations of all steps, given what a first step is given; None if that is not enough."""
    code, walked = stepping.whole, stepping.causal.axes
    held = {*stepping.kept, *(ago.name for ago in stepping.ago), *(m.past for m in stepping.many)}
    tensors = code.tensors | {name: stepping.step.tensors[name] for name in held}
    unknown = {n for n, t in code.tensors.items() if t.role in ("input", "defined")}
    unknown -= {*walked, *stepping.kept}
    statements = [s for s in needed(code, _slotted(stepping)) if s.target in walked]
    if tensors_read(statements) & unknown:
        starts = [s for n in walked if code.of(n) for s in _starts(stepping, n)]
        statements = starts + [s for s in statements if not _before(stepping, s)]
        if tensors_read(statements) & unknown:
            return None
    # What a state holds of all steps is as long as there were steps.
    sizes = {**code.sizes, stepping.count: None}
    return replace(code.equations(tensors, statements), sizes=sizes)


def _slotted(stepping: Stepping) -> list[str]:
    """The tensors of which the state holds values."""
    names = [ago.tensor for ago in stepping.ago] + [many.tensor for many in stepping.many]
    return list(dict.fromkeys(names))


def _before(stepping: Stepping, statement: Statement) -> bool:
    """Whether it says something about a step before those that are going to be taken."""
    causal, name = stepping.causal, statement.target
    at = statement.left[causal.axes[name]]
    if not isinstance(at, Affine) or at.terms or at.offset.number is None:
        return False
    return at.offset.number < causal.walk.first + causal.offsets[name]


def _starts(stepping: Stepping, name: str) -> Iterator[Statement]:
    """`h[-1,j] = h^{ago}[j]`: what the beginning has computed, each as the state holds it."""
    axis = stepping.causal.axes[name]
    first = stepping.causal.walk.first + stepping.causal.offsets[name]
    held: dict[int, tuple[str, Affine | None]] = {}
    for many in stepping.many:
        if many.tensor == name:
            lowest = first - many.reach if many.reach is not None else many.low
            shift = lowest if many.reach is not None else 0
            for place in range(lowest, first):
                held[place] = many.past, Affine((), Size.of(place - shift))
    held |= {first - a.steps: (a.name, None) for a in stepping.ago if a.tensor == name}
    axes = without(stepping.causal.code.tensors[name], axis)
    indices, places = over(axes)
    for place, (slot, at) in held.items():
        left = (*places[:axis], Affine((), Size.of(place)), *places[axis:])
        read = places if at is None else (*places[:axis], at, *places[axis:])
        yield Statement(name, left, indices, Read(slot, read))
