"""What a decoder knows between two steps.

    state = module.begin(x=source)
    state.out["P"]                      what is known before anything is generated
    state, out = module.step(state, w=token)
    state = state.select([0, 0, 2])     the first member twice, the third once

A state never changes: two steps may go on from the same one.

The values of the slots: as the first step finds them, and one step on.

h^{ago}                 0, or the start of h     →   h of the step before
L^{past}                0, or what L starts with →   the last few values of L
Key^{past}              what stands before step 0, in a cache, which grows (`Cache`)

What a decoder keeps from text to text: its beginning, and the kernels of its step.

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
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch

from indicial.compile.emit.running import TensorMap
from indicial.compile.module.call import Result, result
from indicial.compile.native import toolchain
from indicial.compile.native.routine import REALS
from indicial.compile.native.step import Growing, Held, NativeStep
from indicial.compile.passes.scan import Unsupported
from indicial.compile.stepping.codes import Stepping, put_at
from indicial.program.meaning.arrays import stored_shape
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.compile.stepping.decoder import Decoder


ROOM = 16
"""The least number of steps that a cache has room for."""


@dataclass
class Buffer:
    """Room for the values of many steps, and how often somebody wrote into it."""

    values: torch.Tensor
    writes: int = 0


@dataclass(frozen=True)
class Cache:
    """Values of all steps so far, with room for more: who comes first writes behind the last one.

    If somebody else has written into the buffer since, who comes second takes a copy first.
    """

    buffer: Buffer
    axis: int
    writes: int = 0

    def room(self, count: int) -> Cache:
        """A cache into which values up to number `count` can be written, once."""
        values = self.buffer.values
        held = values.size(self.axis)
        if self.buffer.writes != self.writes or count > held:
            shape = list(values.shape)
            shape[self.axis] = max(ROOM, held if count <= held else 2 * count)
            new = Buffer(values.new_zeros(shape))
            kept = min(held, count)
            new.values.narrow(self.axis, 0, kept).copy_(values.narrow(self.axis, 0, kept))
            return Cache(new, self.axis).room(count)
        self.buffer.writes += 1
        return Cache(self.buffer, self.axis, self.buffer.writes)

    def written(self, count: int, value: torch.Tensor) -> Cache:
        """With a value as number `count`."""
        cache = self.room(count)
        cache.buffer.values.select(self.axis, count - 1).copy_(value)
        return cache

    def joined(self, count: int, value: torch.Tensor) -> Cache:
        """The same as a copy, so that a gradient may go through it."""
        past = self.first(count - 1)
        return Cache(Buffer(torch.cat((past, value.unsqueeze(self.axis)), self.axis)), self.axis)

    def placed(self, places: torch.Tensor, value: torch.Tensor) -> Cache:
        """With each member's value at a place of its own, for which there is room already."""
        values = put_at(self.buffer.values, self.axis, places, value)
        return self if values is self.buffer.values else Cache(Buffer(values), self.axis)

    def first(self, count: int) -> torch.Tensor:
        return self.buffer.values.narrow(self.axis, 0, count)

    def select(self, rows: torch.Tensor) -> Cache:
        return Cache(Buffer(self.buffer.values.index_select(0, rows)), self.axis)


@dataclass(frozen=True)
class Frame:
    """What is the same at all steps: parameters, sizes, and tensors of no example in particular."""

    decoder: Decoder
    parameters: dict[str, torch.Tensor]
    sizes: dict[str, int]
    like: torch.Tensor
    vocabularies: dict[str, int] = field(default_factory=dict)
    fitting: set[object] = field(default_factory=set)
    """What was found out about inputs: how many values a token has, which shapes fit."""
    kernel: list[NativeStep | None] = field(default_factory=list)
    """That of a step, or that there is none, once somebody has asked."""


@dataclass(frozen=True, repr=False)
class State:
    """`steps` is how many steps were taken, `batch` how many members there are, None for one alone.

    `out` has what is known now: the outputs of the last step, or of the beginning. `own` has the
    steps of each member where they differ; `steps` is the most of them then.
    """

    frame: Frame
    steps: int
    batch: int | None
    values: dict[str, torch.Tensor]
    caches: dict[str, Cache]
    lengths: dict[str, torch.Tensor]
    out: Result = field(default_factory=Result)
    own: torch.Tensor | None = None

    def select(self, rows: Sequence[int] | torch.Tensor, *, kin: bool = False) -> State:
        """The members at these places, in this order; a place may come twice, or not at all.

        Where all are `kin`, who comes to a place began with what is there already, and a step
        follows: so nothing is done about what they began with, nor about `out`.
        """
        device = self.frame.like.device
        at = torch.as_tensor(rows, dtype=torch.long, device=device)
        stays = self.frame.decoder.stepping.kept if kin else ()
        values = {
            name: value if name in stays else value.index_select(0, at)
            for name, value in self.values.items()
        }
        caches = {name: cache.select(at) for name, cache in self.caches.items()}
        own = self.own.index_select(0, at) if self.own is not None else None
        if kin:
            return replace(self, values=values, caches=caches, own=own)
        out = {n: v if self.batch is not None else v.unsqueeze(0) for n, v in self.out.items()}
        return replace(
            self,
            batch=len(at),
            values=values,
            caches=caches,
            own=own,
            lengths={name: value.index_select(0, at) for name, value in self.lengths.items()},
            out=result({n: v.index_select(0, at) for n, v in out.items()}, self.out.loss_name),
        )

    def __repr__(self) -> str:
        members = "one member" if self.batch is None else f"{self.batch} members"
        return f"State({members} after {self.steps} step{'s' * (self.steps != 1)}; out: {self.out})"


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

    def fill(self, state: State, found: TensorMap) -> None:
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

    def moved(self, state: State, found: TensorMap, x: TensorMap) -> dict[str, torch.Tensor]:
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

    def present(self, state: State, past: str, found: TensorMap, x: TensorMap) -> torch.Tensor:
        """The value that a cache has to take up."""
        return self._present(state, self.caches[past].tensor, found, x)

    def _present(self, state: State, name: str, found: TensorMap, x: TensorMap) -> torch.Tensor:
        """What a step has of a tensor, for each member; no input may have entered it: `sin(t ω[j])`."""
        value = found[name] if name in found else x[name]
        if value.dim() == self._ranks[name]:
            value = value.expand(state.batch or 1, *value.shape)
        return value


Parameters = Callable[[], tuple[torch.Tensor, ...]]


@dataclass
class Begun:
    """A state, and what it was made of."""

    make: Callable[[], State]
    parameters: Parameters
    like: Callable[[], torch.Tensor]
    """What has the module's type and device, also where there are no parameters."""
    _known: tuple[object, Held, State] | None = None

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


@dataclass
class Watch:
    """What the parameters were like."""

    parameters: Parameters
    _seen: list[float] | None = None

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


@dataclass
class NativeSteps:
    """The kernels of one decoder; `want` tells what a step computes, when a kernel is made."""

    stepping: Stepping
    want: Callable[[], tuple[str, ...]]
    made: dict[object, NativeStep | None] = field(default_factory=dict)

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
