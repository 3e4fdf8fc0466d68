"""The values of the slots: as the first step finds them, and one step on.

h^{ago}                 0, or the start of h     →   h of the step before
L^{past}                0, or what L starts with →   the last few values of L
Key^{past}              what stands before step 0, in a cache, which grows (`state.Cache`)
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from indicial.compile.stepping.codes import Stepping
from indicial.compile.stepping.state import Buffer, Cache, State
from indicial.program.meaning.arrays import stored_shape
from indicial.program.messages import IndicialError

Tensors = Mapping[str, torch.Tensor]


class SlotValues:
    """The slots of one decoder: values of some steps ago, windows of a few steps, caches of all."""

    def __init__(self, stepping: Stepping) -> None:
        self.stepping = stepping
        self.caches = {m.past: m for m in stepping.many if m.reach is None}
        self.windows = {m.past: m for m in stepping.many if m.reach is not None}
        self.inside = tuple(stepping.inside)
        """The caches whose present value is added within a step; the others, after it."""
        self.outside = tuple(past for past in self.caches if past not in self.inside)
        self.bases = {past: stepping.base(many) for past, many in self.caches.items()}
        self._ranks = {name: len(tensor.axes) for name, tensor in stepping.step.tensors.items()}
        self._agos = tuple((a.name, a.tensor, a.steps) for a in stepping.ago)
        self._names = {(tensor, steps): name for name, tensor, steps in self._agos}

    # ---- before the first step ----

    def fill(self, state: State, found: Tensors) -> None:
        """Put into a new state what the first step finds."""
        begun = self.stepping.begun
        for name, _, _ in self._agos:
            state.values[name] = self._first(state, name, found.get(begun.get(name, "")))
        for past, many in self.windows.items():
            seen = found.get(begun.get(many.seen, ""))
            if seen is not None:
                axes = self.stepping.step.tensors[past].axes
                seen = seen.narrow(seen.dim() - len(axes) + many.axis, 1, many.reach or 0)
            state.values[past] = self._first(state, past, seen)
        for past, many in self.caches.items():
            value = self._first(state, past, found.get(begun.get(many.seen, "")))
            state.caches[past] = Cache(Buffer(value), many.axis + 1, -1)

    def _first(self, state: State, name: str, value: torch.Tensor | None) -> torch.Tensor:
        """A slot's first value, for each member; where nothing starts it, 0 or no token."""
        tensor = self.stepping.step.tensors[name]
        front, like = state.batch or 1, state.frame.like
        if value is None:
            sizes = {**state.frame.sizes, self.stepping.count: 1}
            for axis in tensor.axes:
                for size in axis.extent.names - sizes.keys():
                    raise IndicialError(f"nothing says how large {size} is: compile(…, {size}=…)")
            shape = (front, *stored_shape(tensor, sizes))
            if tensor.values is not None:
                return torch.full(shape, -1, dtype=torch.long, device=like.device)
            return like.new_zeros(shape)
        if value.dim() == len(tensor.axes):
            value = value.unsqueeze(0)
        return value.expand(front, *value.shape[1:])

    # ---- from step to step ----

    def moved(self, state: State, found: Tensors, x: Tensors) -> dict[str, torch.Tensor]:
        """The slots but for the caches, one step on: the step was given `x` and has `found`."""
        values = state.values.copy()
        for name, tensor, back in self._agos:
            if back > 1:
                values[name] = state.values[self._names[tensor, back - 1]]
            else:
                values[name] = self._present(state, tensor, found, x)
        for past, many in self.windows.items():
            values[past] = found[many.seen].narrow(many.axis + 1, 1, many.reach or 0)
        return values

    def present(self, state: State, past: str, found: Tensors, x: Tensors) -> torch.Tensor:
        """The value that a cache has to take up."""
        return self._present(state, self.caches[past].tensor, found, x)

    def _present(self, state: State, name: str, found: Tensors, x: Tensors) -> torch.Tensor:
        """What a step has of a tensor, for each member; no input may have entered it: `sin(t ω[j])`."""
        value = found[name] if name in found else x[name]
        if value.dim() == self._ranks[name]:
            value = value.expand(state.batch or 1, *value.shape)
        return value
