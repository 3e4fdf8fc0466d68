"""What a decoder knows between two steps.

    state = module.begin(x=source)
    state.out["P"]                      what is known before anything is generated
    state, out = module.step(state, w=token)
    state = state.select([0, 0, 2])     the first member twice, the third once

A state never changes: two steps may go on from the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch

from indicial.compile.module.result import Result, result

if TYPE_CHECKING:
    from indicial.compile.stepping.decoder import Decoder

ROOM = 16
"""The least number of steps that a cache has room for."""


@dataclass
class Cache:
    """Values of all steps so far, with room for more: who comes first writes behind the last one.

    `filled` counts the values that some state has; another state that has fewer takes a copy before
    it writes.
    """

    values: torch.Tensor
    axis: int
    filled: int

    def room(self, count: int) -> Cache:
        """A cache in which value number `count` can be written."""
        if self.filled == count - 1 and count <= self.values.shape[self.axis]:
            self.filled = count
            return self
        shape = list(self.values.shape)
        shape[self.axis] = max(ROOM, 2 * count)
        values = self.values.new_empty(shape)
        values.narrow(self.axis, 0, count - 1).copy_(self.values.narrow(self.axis, 0, count - 1))
        return Cache(values, self.axis, count)

    def first(self, count: int) -> torch.Tensor:
        return self.values.narrow(self.axis, 0, count)


@dataclass(frozen=True)
class Frame:
    """What is the same at all steps: parameters, sizes, and tensors of no example in particular."""

    decoder: Decoder
    parameters: dict[str, torch.Tensor]
    sizes: dict[str, int]


@dataclass(frozen=True, repr=False)
class State:
    """`steps` is how many steps were taken, `batch` how many members there are, None for one alone.

    `out` has what is known now: the outputs of the last step, or of the beginning.
    """

    frame: Frame
    steps: int
    batch: int | None
    values: dict[str, torch.Tensor]
    caches: dict[str, Cache]
    lengths: dict[str, torch.Tensor]
    out: Result = field(default_factory=Result)

    def select(self, rows: Sequence[int] | torch.Tensor) -> State:
        """The members at these places, in this order; a place may come twice, or not at all."""
        device = self.frame.decoder.like.device
        at = torch.as_tensor(rows, dtype=torch.long, device=device)
        alone = self.batch is None
        return replace(
            self,
            batch=len(at),
            values={name: value.index_select(0, at) for name, value in self.values.items()},
            caches={
                n: replace(c, values=c.values.index_select(0, at)) for n, c in self.caches.items()
            },
            lengths={name: value.index_select(0, at) for name, value in self.lengths.items()},
            out=result(
                {
                    n: (v.unsqueeze(0) if alone else v).index_select(0, at)
                    for n, v in self.out.items()
                },
                self.out.loss_name,
            ),
        )

    def expanded(self, batch: int) -> State:
        """One member as many that are alike."""
        return self.select([0] * batch)

    def __repr__(self) -> str:
        members = "one member" if self.batch is None else f"{self.batch} members"
        return f"State({members} after {self.steps} step{'s' * (self.steps != 1)}; out: {self.out})"
