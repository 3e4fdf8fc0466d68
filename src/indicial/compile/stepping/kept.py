"""What a decoder keeps from text to text: its beginning, and the kernels of its step.

The beginning of a decoder without inputs: it depends on the parameters only, and is made once.

begun = Begun(make, parameters, like)
begun.state()           what `make()` gives; made again when a parameter is changed or exchanged

Who writes many texts begins each of them, and a beginning runs the whole program once.

Parameters that somebody changes without a trace: `p.data.mul_(2)`.

watch = Watch(parameters)
watch.changed()         whether a value is not what it was when this was asked before

PyTorch counts how often a tensor was changed, but not through `.data`, or through memory that it
shares. Who keeps something made of the parameters from one text to the next looks at the values.

The kernel of a decoder's step, made once for each choice of sizes, type and lengths.

natives = NativeSteps(stepping, lambda: ("h", "P"))
natives.of(state)           a `NativeStep`; None where the emitted text runs
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from indicial.compile.module.call import result
from indicial.compile.native import toolchain
from indicial.compile.native.kernel import REALS
from indicial.compile.native.step import Growing, Held, NativeStep
from indicial.compile.passes.scan import Unsupported
from indicial.compile.stepping.codes import Stepping
from indicial.compile.stepping.state import Frame, State

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


class Watch:
    """What the parameters were like."""

    def __init__(self, parameters: Callable[[], Sequence[torch.Tensor]]) -> None:
        self.parameters = parameters
        self._seen: list[float] | None = None

    def changed(self) -> bool:
        """Whether values have changed; at first, nothing is known, and they have."""
        before, self._seen = self._seen, _projected(self.parameters())
        return before != self._seen


@torch.no_grad()
def _projected(tensors: Sequence[torch.Tensor]) -> list[float]:
    """Each tensor between two random vectors: only what is lost in rounding leaves this the same."""
    numbers = []
    for tensor in tensors:
        rows = tensor.reshape(tensor.shape[0] if tensor.dim() > 1 else 1, -1)
        left, right = (
            _random(seed, n, rows.dtype, rows.device) for seed, n in enumerate(rows.shape)
        )
        numbers.append(rows.mv(right).dot(left).double())
    return torch.stack(numbers).tolist() if numbers else []


@functools.lru_cache(maxsize=64)
def _random(seed: int, count: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    drawn = torch.randn(count, generator=torch.Generator().manual_seed(seed))
    return drawn.to(device, dtype)


class NativeSteps:
    """The kernels of one decoder; `want` tells what a step computes, when a kernel is made."""

    def __init__(self, stepping: Stepping, want: Callable[[], tuple[str, ...]]) -> None:
        self.stepping = stepping
        self.want = want
        self.made: dict[object, NativeStep | None] = {}

    def of(self, state: State) -> NativeStep | None:
        """The kernel of a step, where there is one; a frame remembers it."""
        frame = state.frame
        if not frame.kernel:
            ragged = frozenset(state.lengths)
            key = (frame.like.dtype, frame.like.device, ragged, *frame.sizes.values())
            if key not in self.made:
                self.made[key] = self._make(frame, ragged)
            frame.kernel.append(self.made[key])
        return frame.kernel[0]

    @property
    def known(self) -> bool:
        """Whether there is a kernel, with its weights in order."""
        return any(native is not None for native in self.made.values())

    def forget(self) -> None:
        """Put the weights of all kernels into order again."""
        for native in self.made.values():
            if native is not None:
                native.forget()

    def _make(self, frame: Frame, ragged: frozenset[str]) -> NativeStep | None:
        stepping, dtype = self.stepping, frame.like.dtype
        if frame.like.device.type != "cpu" or dtype not in REALS:
            return None
        if not toolchain.available() or stepping.count in ragged:
            return None
        if frame.decoder.most == 1:
            return (
                None  # the axis of the only step is one long, and the kernel would read its start
            )
        caches = [
            Growing(m.past, m.seen, m.axis) for m in stepping.many if m.past in stepping.inside
        ]
        sizes, count = frame.sizes, stepping.count
        try:
            return NativeStep(stepping.step, self.want(), caches, sizes, count, dtype, ragged)
        except Unsupported:
            return None
