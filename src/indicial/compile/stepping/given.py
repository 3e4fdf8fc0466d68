"""What a step is given → tensors with a batch axis, checked.

step(state, w=5)            w: (1,)         a state of one member alone
step(state, w=tokens)       w: (B,)         the first such step makes one member B that are alike
step(state, w=5)            w: (B,)         the same token for all B members
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from indicial.compile.module import checks
from indicial.compile.stepping.codes import Stepping
from indicial.compile.stepping.state import Frame, State
from indicial.program.ir import Code, Tensor
from indicial.program.meaning.arrays import InterpretError, solve_sizes


class Given:
    """Reads the inputs of steps."""

    def __init__(self, code: Code, stepping: Stepping) -> None:
        self.code = code
        self.step = stepping.step
        self.tensors = {name: self.step.tensors[name] for name in stepping.causal.walk.inputs}
        self.needed = stepping.inputs
        self.shaped = [name for name, tensor in self.tensors.items() if tensor.axes]

    def read(
        self, state: State, given: Mapping[str, object]
    ) -> tuple[State, dict[str, torch.Tensor]]:
        """The inputs, and the state with as many members."""
        for name in self.needed:
            if name not in given:
                raise checks.missing_input(self.code, name)
        x = {}
        for name, values in given.items():
            tensor = self.tensors.get(name)
            if tensor is None:
                text = f"{name} is not handed over step by step: begin({name}=…)"
                raise checks.refusal("inputs", text, self.code.tensors[name])
            value = checks.as_tensor(tensor, values, state.frame.like)
            extra = value.dim() - len(tensor.axes)
            if extra == 1:
                state = self.with_members(state, name, len(value))
            elif extra:
                raise self.wrong_axes(tensor, value)
            elif state.batch is None:
                value = value.unsqueeze(0)
            else:
                value = value.expand(state.batch, *value.shape)
            if tensor.values is not None:
                self.check_tokens(state, tensor, value)
            x[name] = value
        if self.shaped:
            self.check_shapes(state.frame, x)
        return state, x

    def with_members(self, state: State, name: str, count: int) -> State:
        """The state, if it has as many members; one that has not begun to step takes their number."""
        if state.batch == count:
            return state
        if state.batch is None and not state.steps:
            return state.expanded(count)
        have = "one member alone" if state.batch is None else f"{state.batch} members"
        text = f"{name} is for {count} members, but the state has {have}"
        raise checks.refusal("input-shape", text, self.code.tensors[name])

    def check_tokens(self, state: State, tensor: Tensor, value: torch.Tensor) -> None:
        count = state.frame.vocabularies.get(tensor.name)
        if count is None:
            assert tensor.values is not None
            count = state.frame.vocabularies[tensor.name] = tensor.values.value(state.frame.sizes)
        if value.device.type == "cpu" and value.numel() == 1 and 0 <= int(value) < count:
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
        count = value.dim()
        text = (
            f"{tensor.name} was given with {count} {'axis' if count == 1 else 'axes'}, but one step "
            f"of it has {len(tensor.axes)}"
        )
        return checks.refusal("input-shape", text, self.code.tensors[tensor.name])
