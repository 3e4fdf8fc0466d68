"""One step of a decoder as one kernel: at batch 1 it costs what reading the weights costs.

    native = NativeStep(code, want, caches, sizes, count="n", dtype=torch.float32)
    native.run(parameters, given, caches, 7, {}, 1)      the wanted tensors of the 7th step

The layers are written out, the weights are put into order once and kept so until one of them
changes. Caches grow in place: their memory is handed over with room for one more value.

The call of a step's kernel, kept from one step to the next.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from indicial.compile.native import shared
from indicial.compile.native.arranging import build
from indicial.compile.native.projections import Values
from indicial.compile.native.reading.body import one_step
from indicial.compile.native.routine import REALS, Kernel, row
from indicial.compile.native.shared import CallStruct
from indicial.compile.native.writing.writer import Within
from indicial.compile.passes.hoist import NotUnrolled, unrolled
from indicial.compile.passes.normal import normal
from indicial.compile.passes.scan import Unsupported
from indicial.program.ir import Code, Read
from indicial.program.messages import IndicialError

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
        blank = [0] * (len(kernel.arguments) + len(kernel.kept))
        sizes, ends = [0] * len(kernel.sizes), [0] * len(kernel.ragged)
        self.call = CallStruct.of(kernel.real, None, 1, sizes, ends, blank, blank)
        self.numbers, self.ends, self.memory, self.rows = self.call.alive[2:]
        self._threads: shared.Threads | None = None
        self._weights: Weights | None = None
        self._alone, self._pause = 0, PAUSE
        self.grown: dict[int, weakref.ref[torch.Tensor]] = {}
        """The caches whose places are written, by number."""
        self._run = kernel.library.run_packed
        self.reference = ctypes.byref(self.call)

    def place(self, number: int, tensor: torch.Tensor) -> None:
        self.memory[number] = tensor.data_ptr()

    def run(self, weights: Weights, members: int) -> None:
        if weights is not self._weights:
            for number, tensor in weights.places:
                self.place(number, tensor)
            self._weights = weights
        pool = shared.find_threads() if members > 1 or not self._alone else None
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


MOST_STATEMENTS = 400
"""Beyond this compiling would take longer than it saves."""


@dataclass(frozen=True)
class Growing:
    """A cache: `past` is the argument, `seen` the past with the present value, `axis` which grows."""

    past: str
    seen: str
    axis: int


class NativeStep:
    """The kernel of a step for some sizes; `Unsupported` where there is none."""

    def __init__(
        self,
        code: Code,
        want: Sequence[str],
        caches: Sequence[Growing],
        sizes: Mapping[str, int],
        count: str,
        dtype: torch.dtype,
        ragged: frozenset[str] = frozenset(),
    ) -> None:
        self.want = tuple(want)
        self.tensors = code.tensors
        fixed = {n: v for n, v in sizes.items() if n != count and n not in ragged}
        try:
            # Not verified: a layer before the first is read as 0, and no statement defines it.
            flat = normal(unrolled(code, want, fixed | {count: 2}))
        except NotUnrolled as reason:
            raise Unsupported(str(reason)) from reason
        if len(flat.statements) > MOST_STATEMENTS:
            raise Unsupported(f"{len(flat.statements)} statements are too many for one kernel")
        flat, within = _growing(flat, caches)
        code, loop = one_step(flat, {s.target for s in flat.statements})
        self.layers = {name: _layers(name, code) for name in want}
        keep = [layer for layers in self.layers.values() for layer in layers.values()]
        same = frozenset(n for n, t in code.tensors.items() if t.role in ("parameter", "constant"))
        self.kernel: Kernel = build(
            code, loop, same, keep, fixed=fixed, ragged=ragged, real=REALS[dtype], within=within
        )
        self.weights = [n for n in self.kernel.arguments if n in same]
        self.sizes = dict(sizes)
        self.count = count
        self.like = torch.empty(0, dtype=dtype)
        self._find_places({g.past: g.axis for g in caches})
        self._weights: Weights | None = None
        self._launches: list[Launch] = []
        self._blanks: dict[tuple[str, int], torch.Tensor] = {}

    def _find_places(self, room: Mapping[str, int]) -> None:
        """The numbers of the arguments and results that each step brings."""
        kernel, number = self.kernel, self.kernel.arguments.index
        changing = [n for n in kernel.arguments if n not in self.weights]
        for name in changing:
            if name not in self.tensors:  # `M@-1`, where a table begins
                raise Unsupported(f"{name} is read, and no step is given it")
        self._caches = [(number(n), n, room[n] + 1) for n in changing if n in room]
        own = [n for n in changing if n not in room]
        # One axis has no rows: where the memory begins is all there is to know.
        self._plain = [(number(n), n) for n in own if len(self.tensors[n].axes) < 2]
        self._rowed = [(number(n), n) for n in own if len(self.tensors[n].axes) >= 2]
        first = len(kernel.arguments)
        self._results = [
            (
                name,
                None if any(self.count in a.extent.names for a in self.tensors[name].axes)
                else [a.extent.value(self.sizes) for a in self.tensors[name].axes],
                [(first + kernel.kept.index(one), at) for at, one in self.layers[name].items()],
            )
            for name in self.want
        ]  # fmt: skip
        self._counts = [n for n, size in enumerate(kernel.sizes) if size == self.count]
        self._others = [(n, self.sizes[s]) for n, s in enumerate(kernel.sizes) if s != self.count]

    def run(
        self,
        parameters: Values,
        given: Values,
        caches: Values,
        steps: int,
        lengths: Values,
        members: int,
    ) -> Values:
        """The wanted tensors; caches have room for one more value, which is written there."""
        known = self._weights  # another thread may forget it
        weights = known and known.still(self.weights, parameters)
        if weights is None:
            weights = Weights.of(self.kernel, self.weights, parameters, self.like.dtype)
        self._weights = weights
        launch = self._launch()
        memory, rows = launch.memory, launch.rows
        alive = []  # until the kernel has run
        for number, name in self._plain:
            tensor = given[name].contiguous()
            memory[number] = tensor.data_ptr()
            alive.append(tensor)
        for number, name in self._rowed:
            tensor = self.kernel.in_rows(name, given[name])
            memory[number], rows[number] = tensor.data_ptr(), row(tensor)
            alive.append(tensor)
        for number, name, axis in self._caches:
            tensor = caches[name]
            if number in launch.grown and launch.grown[number]() is tensor:
                continue
            memory[number] = tensor.data_ptr()
            rows[number] = tensor.stride(axis - 1) // tensor.stride(axis)
            launch.grown[number] = weakref.ref(tensor)
        for number, name in enumerate(self.kernel.ragged):
            tensor = lengths[name].contiguous()
            launch.ends[number] = tensor.data_ptr()
            alive.append(tensor)
        for number in self._counts:
            launch.numbers[number] = steps
        found = {}
        for name, shape, places in self._results:
            found[name] = whole = self._blank(name, shape, steps, members)
            begin = whole.data_ptr()
            for number, at in places:
                start = 0 if at is None else at * whole.stride(1) * whole.itemsize
                memory[number], rows[number] = begin + start, whole.stride(0)
        launch.run(weights, members)
        self._launches.append(launch)
        return found

    def forget(self) -> None:
        """Put the weights into order again before the next step."""
        self._weights = None

    def _blank(
        self, name: str, shape: Sequence[int] | None, steps: int, members: int
    ) -> torch.Tensor:
        """Memory for a result; like one that was made before, as that takes least time."""
        if shape is None:
            sizes = {**self.sizes, self.count: steps}
            own = (a.extent.value(sizes) for a in self.tensors[name].axes)
            return self.like.new_empty((members, *own))
        known = self._blanks.get((name, members))
        if known is None:
            known = self.like.new_empty((members, *shape))
            if len(shape) == 1 and None not in self.layers[name]:
                # The layers are numbers: a kernel writes those of all members side by side.
                known = self.like.new_empty((*shape, members)).t()
            self._blanks[name, members] = known
        return torch.empty_like(known)

    def _launch(self) -> Launch:
        """One that is not in use: threads of Python may take steps at the same time."""
        try:
            return self._launches.pop()
        except IndexError:
            launch = Launch(self.kernel)
        for number, size in self._others:
            launch.numbers[number] = size
        return launch


def _growing(code: Code, caches: Sequence[Growing]) -> tuple[Code, dict[str, Within]]:
    """The code without copies of whole caches; what has been seen lies in the cache itself."""
    by_seen = {g.seen: g for g in caches}
    within: dict[str, Within] = {}
    statements = []
    for statement in code.statements:
        name, _, layer = statement.target.partition("@")
        growing = by_seen.get(name)
        if growing is None:
            statements.append(statement)
            continue
        number = int(layer) if layer else None
        own = code.tensors[growing.past].axes
        first = 0 if number is None else number - int(own[0].lower.number or 0)
        axis = growing.axis + 1 - (number is not None)
        within[statement.target] = Within(growing.past, first if layer else None, axis)
        if not (isinstance(statement.body, Read) and statement.body.tensor == growing.past):
            statements.append(statement)
    return replace(code, statements=tuple(statements)), within


def _layers(name: str, code: Code) -> dict[int | None, str]:
    """The tensors that a wanted one was written out as, by their place."""
    if name in code.tensors:
        return {None: name}
    ends = [n.removeprefix(f"{name}@") for n in code.tensors if n.startswith(f"{name}@")]
    numbers = sorted(int(end) for end in ends if end.isdigit())  # `1^{(1)}` is a part of layer 1
    return {number - numbers[0]: f"{name}@{number}" for number in numbers}
