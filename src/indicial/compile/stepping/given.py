"""What a step is given → tensors with a batch axis, checked.

step(state, w=5)            w: (1,)         a state of one member alone
step(state, w=tokens)       w: (B,)         the first such step makes one member B that are alike
step(state, w=5)            w: (B,)         the same token for all B members
extend(state, w=texts)      w: (B, N)       N steps of each member, or `lengths` of them
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from indicial.compile.module import checks
from indicial.compile.stepping.codes import Stepping
from indicial.compile.stepping.state import Frame, State
from indicial.program.ir import Code, Tensor
from indicial.program.meaning.arrays import InterpretError, solve_sizes


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
                    inside = checks.inside(tensor, value, {self.size: many.count})
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
            return state.expanded(count), value
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
