"""The call of a step's kernel, kept from one step to the next.

    weights = Weights.of(kernel, ["W", "B"], parameters)      the weights in order, for many steps
    launch = Launch(kernel)
    launch.place(7, tensor)                                   argument 7 is at another place now
    launch.run(weights, members)

At batch 1 a kernel runs for some dozen microseconds, and looking at all its arguments takes as long.
So what does not change from step to step stays written in the call.

**Busy machines.** Threads that multiply together wait for each other, and where other processes have
the cores, that may be for milliseconds. After such a wait a launch runs alone for a while.
"""

from __future__ import annotations

import ctypes
import operator
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from indicial.compile.native import products, threads
from indicial.compile.native.kernel import Call, Kernel
from indicial.program.messages import IndicialError

Values = dict[str, torch.Tensor]

SLOWEST = 5e9
"""Bytes of weights in a second, less than any core alone reads: who takes longer was kept waiting."""
PAUSE = 64
"""How many calls run alone after one that waited; twice as many each time it happens again."""


_pointer = torch.Tensor.data_ptr
_version = operator.attrgetter("_version")


def _marks(tensors: Sequence[torch.Tensor]) -> tuple[list[int], list[int]]:
    """Where tensors are, and how often they were changed."""
    pointers = list(map(_pointer, tensors))
    try:
        return pointers, list(map(_version, tensors))
    except RuntimeError:  # made in inference mode: nobody counts
        return pointers, [0 if t.is_inference() else t._version for t in tensors]


@dataclass(frozen=True)
class Held:
    """Tensors as they were when something was made of them.

    `memory` keeps what they were read from, so that nothing else can come to lie there and be taken
    for them.
    """

    tensors: tuple[torch.Tensor, ...]
    marks: tuple[list[int], list[int]]
    shapes: list[torch.Size]
    memory: tuple[torch.Tensor, ...]

    @staticmethod
    def of(tensors: Sequence[torch.Tensor]) -> Held:
        memory = tuple(tensor.detach() for tensor in tensors)
        return Held(tuple(tensors), _marks(tensors), [t.shape for t in tensors], memory)

    def still(self, tensors: tuple[torch.Tensor, ...]) -> bool:
        """Whether these are the same, with the same values."""
        if self.marks != _marks(tensors):
            return False
        return tensors is self.tensors or [t.shape for t in tensors] == self.shapes


@dataclass(frozen=True)
class Weights:
    """The arguments that are the same at all steps, and the packed ones of them.

    They hold until one is changed or exchanged.
    """

    given: Values
    held: Held
    places: tuple[tuple[int, torch.Tensor], ...]
    """Arguments by their number, without gaps."""
    packed: ctypes.c_void_p
    seconds: float
    """How long a step may take at most, unless it has to wait."""

    @staticmethod
    def of(kernel: Kernel, names: Sequence[str], given: Values, dtype: torch.dtype) -> Weights:
        tensors = tuple(given[name] for name in names)
        for name, tensor in zip(names, tensors, strict=True):
            if tensor.is_floating_point() and tensor.dtype != dtype:
                text = (
                    f"{name} is {tensor.dtype}, and was {dtype} when the state began: begin again"
                )
                raise IndicialError(text)
        numbers = [kernel.arguments.index(name) for name in names]
        whole = [tensor.detach().contiguous() for tensor in tensors]
        places = tuple(zip(numbers, whole, strict=True))
        launch = Launch(kernel)
        for number, tensor in places:
            launch.place(number, tensor)
        library = kernel.library
        packed = ctypes.c_void_p(library.packed(launch.reference))
        weakref.finalize(packed, library.unpack, packed.value)
        seconds = 2e-4 + sum(tensor.nbytes for tensor in whole) / SLOWEST
        return Weights(given, Held.of(tensors), places, packed, seconds)

    def still(self, names: Sequence[str], given: Values) -> Weights | None:
        """These, if they are what is given now; None if one was changed or exchanged."""
        if given is self.given:
            return self if self.held.still(self.held.tensors) else None
        tensors = tuple(given[name] for name in names)
        if any(t.is_inference() for t in tensors):
            return None  # nothing would tell if it had been changed
        if not self.held.still(tensors):
            return None
        return replace(self, given=given, held=replace(self.held, tensors=tensors))


class Launch:
    """What a kernel is called with. A call at a time; nothing that it points to is kept alive."""

    def __init__(self, kernel: Kernel) -> None:
        count = len(kernel.arguments) + len(kernel.kept)
        self.numbers = (ctypes.c_int64 * (len(kernel.sizes) + 1))()
        self.ends = (ctypes.c_void_p * (len(kernel.ragged) + 1))()
        self.memory = (ctypes.c_void_p * count)()
        self.rows = (ctypes.c_int64 * count)()
        self._products = products.find(kernel.real)
        self._threads: threads.Threads | None = None
        self._weights: Weights | None = None
        self._alone, self._pause = 0, PAUSE
        self.grown: dict[int, weakref.ref[torch.Tensor]] = {}
        """The caches whose places are written, by number."""
        self._run = kernel.library.run_packed
        self.call = Call(
            ctypes.addressof(self._products),
            None,
            1,
            ctypes.addressof(self.numbers),
            ctypes.addressof(self.ends),
            ctypes.addressof(self.memory),
            ctypes.addressof(self.rows),
        )
        self.reference = ctypes.byref(self.call)

    def place(self, number: int, tensor: torch.Tensor) -> None:
        self.memory[number] = tensor.data_ptr()

    def run(self, weights: Weights, members: int) -> None:
        if weights is not self._weights:
            for number, tensor in weights.places:
                self.place(number, tensor)
            self._weights = weights
        pool = threads.find() if members > 1 or not self._alone else None
        if pool is not self._threads:
            self._threads = pool
            self.call.threads = ctypes.addressof(pool) if pool is not None else None
        self.call.members = members
        begin = time.perf_counter()
        self._run(self.reference, weights.packed)
        if members == 1:
            self._note(time.perf_counter() - begin, weights.seconds)

    def _note(self, taken: float, most: float) -> None:
        """Whether the next calls run alone, from how long one took."""
        if self._alone:
            self._alone -= 1
        elif self._threads is None or taken < most:
            self._pause = PAUSE
        else:
            self._alone, self._pause = self._pause, min(2 * self._pause, 16 * PAUSE)
