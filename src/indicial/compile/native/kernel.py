"""A loop over time, compiled: tensors in, tensors out.

    kernel = build(code, loop, unbatched, keep=["h"], fixed={"J": 256}, real="float")
    kernel({"R^{in}": …, "W": …}, {"T": 128})["h"]           (B, T, J)

The code is in normal form. Arguments and results are contiguous and have the members in front,
except those that are the same for all members.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from indicial.compile.native import products, threads, toolchain
from indicial.compile.native.c import Sizes
from indicial.compile.native.scan import Unsupported
from indicial.compile.native.stages import Body, Stage, body, needs_history, stages, starts
from indicial.compile.native.text import write
from indicial.compile.native.writer import KernelPlan, Within
from indicial.compile.schedule.plan import Loop
from indicial.program.ir import Code, Read, Statement
from indicial.program.sizes import Size

REALS = {torch.float32: "float", torch.float64: "double"}


class Call(ctypes.Structure):
    """The `struct call` of kernel.h; `alive` keeps what it points to."""

    alive: tuple[Any, ...]

    _fields_ = (
        ("products", ctypes.c_void_p),
        ("threads", ctypes.c_void_p),
        ("members", ctypes.c_long),
        ("sizes", ctypes.c_void_p),
        ("lengths", ctypes.c_void_p),
        ("tensors", ctypes.c_void_p),
        ("rows", ctypes.c_void_p),
        ("team", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class Kernel:
    """The text of a kernel, and how to call it."""

    text: str
    real: str
    same: frozenset[str]
    arguments: tuple[str, ...]
    kept: tuple[str, ...]
    shapes: dict[str, tuple[Size, ...]]
    sizes: tuple[str, ...]
    fixed: dict[str, int]
    ragged: tuple[str, ...]

    def start(self) -> None:
        """Have it compiled in the background."""
        products.start(self.real)
        toolchain.start(self.text)

    @functools.cached_property
    def library(self) -> ctypes.CDLL:
        library = toolchain.load(self.text)
        library.run.argtypes = [ctypes.POINTER(Call)]
        library.packed.argtypes = [ctypes.POINTER(Call)]
        library.packed.restype = ctypes.c_void_p
        library.run_packed.argtypes = [ctypes.POINTER(Call), ctypes.c_void_p]
        library.unpack.argtypes = [ctypes.c_void_p]
        return library

    def __call__(
        self,
        tensors: Mapping[str, torch.Tensor],
        sizes: Mapping[str, int],
        members: int,
        lengths: Mapping[str, torch.Tensor] | None = None,
        into: Mapping[str, torch.Tensor] | None = None,
    ) -> dict[str, torch.Tensor]:
        """The kept tensors, from the arguments; `into` has memory for some of them."""
        inputs = [self.in_rows(name, tensors[name]) for name in self.arguments]
        values = {**self.fixed, **sizes}
        like = inputs[0]
        kept = {
            name: into[name]
            if into is not None and name in into
            else like.new_empty([members, *(s.value(values) for s in self.shapes[name])])
            for name in self.kept
        }
        every = (*inputs, *kept.values())
        longs = [(lengths or {})[name].contiguous() for name in self.ragged]
        call = self.call(every, [row(t) for t in every], values, members, longs)
        self.library.run(ctypes.byref(call))
        return kept

    def call(
        self,
        every: Sequence[torch.Tensor],
        rows: Sequence[int],
        sizes: Mapping[str, int],
        members: int,
        lengths: Sequence[torch.Tensor] = (),
    ) -> Call:
        """What the kernel takes: the memory of all arguments and results."""
        shared, pool = products.find(self.real), threads.find()
        numbers = (ctypes.c_int64 * (len(self.sizes) + 1))(*(sizes[n] for n in self.sizes))
        ends = (ctypes.c_void_p * (len(lengths) + 1))(*(t.data_ptr() for t in lengths))
        memory = (ctypes.c_void_p * len(every))(*(t.data_ptr() for t in every))
        apart = (ctypes.c_int64 * len(every))(*rows)
        call = Call(
            ctypes.addressof(shared),
            ctypes.addressof(pool) if pool is not None else None,
            members,
            ctypes.addressof(numbers),
            ctypes.addressof(ends),
            ctypes.addressof(memory),
            ctypes.addressof(apart),
        )
        call.alive = (shared, pool, numbers, ends, memory, apart)  # as long as the call is
        return call

    def in_rows(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor itself, if what follows its first axis has no gaps; else a copy."""
        if name in self.same or tensor.dim() < 3 or tensor.numel() == 0:
            return tensor.contiguous()
        whole = tensor.stride(0) == tensor.shape[1] * tensor.stride(1)
        return tensor if whole and tensor[0, 0].is_contiguous() else tensor.contiguous()


def row(tensor: torch.Tensor) -> int:
    """How far apart rows are; the stride of an axis of one element means nothing."""
    if tensor.dim() < 2:
        return 0
    return tensor.stride(1) if tensor.shape[1] > 1 else tensor.stride(0)


@dataclass(frozen=True)
class Design:
    """A kernel before its sizes and its type are known."""

    body: Body
    starts: Mapping[str, Sequence[tuple[Size, str]]]
    arguments: Sequence[str]
    kept: Sequence[str]
    stages: Sequence[Stage]


def design(code: Code, loop: Loop, unbatched: frozenset[str], keep: Collection[str]) -> Design:
    """What the kernel of a loop does, in order; `Unsupported` where there is none."""
    walked = body(code, loop, unbatched)
    begin = starts(code, loop)
    kept = _ordered(code, {*keep, *needs_history(walked)} & loop.axes.keys())
    arguments = _arguments(code, walked.statements, loop, begin)
    return Design(walked, begin, arguments, kept, stages(walked, kept))


def build(
    code: Code,
    loop: Loop,
    unbatched: frozenset[str],
    keep: Collection[str],
    *,
    fixed: Mapping[str, int],
    ragged: frozenset[str] = frozenset(),
    real: str = "float",
    within: Mapping[str, Within] | None = None,
    designed: Design | None = None,
) -> Kernel:
    """The kernel of a loop; `Unsupported` where there is none."""
    own = designed or design(code, loop, unbatched, keep)
    lying = {place.argument for place in (within or {}).values()}
    arguments = _ordered(code, {*own.arguments, *lying})
    sizes = Sizes(fixed, ragged)
    constants = {n: v for n, v in code.constants.items() if isinstance(v, int | float)}
    if len(constants) < len(code.constants):
        raise Unsupported("a constant with indices")
    text = write(
        KernelPlan(
            own.body, own.stages, arguments, own.kept, own.starts, loop.direction, loop.lower,
            loop.extent, sizes, real, constants, within or {},
        )
    )  # fmt: skip
    shapes = {n: tuple(a.extent for a in code.tensors[n].axes) for n in own.kept}
    return Kernel(
        text,
        real,
        unbatched,
        tuple(arguments),
        tuple(own.kept),
        shapes,
        tuple(sizes.names),
        dict(fixed),
        tuple(sorted(ragged)),
    )


def _ordered(code: Code, names: Collection[str]) -> list[str]:
    return [name for name in code.tensors if name in names]


def _arguments(
    code: Code,
    statements: Sequence[Statement],
    loop: Loop,
    begin: Mapping[str, Sequence[tuple[Size, str]]],
) -> list[str]:
    found = {name for pairs in begin.values() for _, name in pairs}
    for statement in statements:
        parts = (statement.body, statement.guard)
        for node in (n for part in parts if part is not None for n in part.walk()):
            if isinstance(node, Read):
                found.add(node.tensor)
    inside = loop.axes.keys()
    return _ordered(code, {n for n in found if n not in inside and n not in code.constants})
