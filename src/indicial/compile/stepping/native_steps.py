"""The kernel of a decoder's step, made once for each choice of sizes, type and lengths.

natives = NativeSteps(stepping, lambda: ("h", "P"))
natives.of(state)           a `NativeStep`; None where the emitted text runs
"""

from __future__ import annotations

from collections.abc import Callable

from indicial.compile.native import toolchain
from indicial.compile.native.kernel import REALS
from indicial.compile.native.scan import Unsupported
from indicial.compile.native.step import Growing, NativeStep
from indicial.compile.stepping.codes import Stepping
from indicial.compile.stepping.state import Frame, State


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
        caches = [
            Growing(m.past, m.seen, m.axis) for m in stepping.many if m.past in stepping.inside
        ]
        sizes, count = frame.sizes, stepping.count
        try:
            return NativeStep(stepping.step, self.want(), caches, sizes, count, dtype, ragged)
        except Unsupported:
            return None
