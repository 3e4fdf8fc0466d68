"""The beginning of a decoder without inputs: it depends on the parameters only, and is made once.

begun = Begun(make, parameters, like)
begun.state()           what `make()` gives; made again when a parameter is changed or exchanged

Who writes many texts begins each of them, and a beginning runs the whole program once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from indicial.compile.module.result import result
from indicial.compile.native.launch import Held
from indicial.compile.stepping.state import State

Parameters = Callable[[], tuple[torch.Tensor, ...]]


class Begun:
    """A state, and what it was made of."""

    def __init__(
        self, make: Callable[[], State], parameters: Parameters, like: Callable[[], torch.Tensor]
    ) -> None:
        self.make = make
        self.parameters = parameters
        self.like = like
        """What has the module's type and device, also where there are no parameters."""
        self._known: tuple[object, Held, State] | None = None

    @property
    def known(self) -> bool:
        return self._known is not None

    def forget(self) -> None:
        """Make it again when it is asked for next."""
        self._known = None

    def state(self) -> State:
        now = self.parameters()
        kind = self.like().dtype, self.like().device
        mode = torch.is_inference_mode_enabled(), *kind, *map(_precision, _devices(now))
        held = self._known  # another thread may forget it
        if held is None or held[0] != mode or not held[1].still(now):
            state = self.make()
            if any(t.is_inference() or t.is_meta for t in now):
                return state  # nothing would tell if one had been changed
            self._known = held = mode, Held.of(now), state
        known = held[2]
        # What is given away may be changed by whoever has it.
        out = {name: value.clone() for name, value in known.out.items()}
        return replace(known, out=result(out, None))


def _precision(kind: str) -> torch.dtype | None:
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None


def _devices(tensors: tuple[torch.Tensor, ...]) -> set[str]:
    return {tensor.device.type for tensor in tensors} - {"meta"}
