"""A loop over time, compiled: tensors in, tensors out. `building.build` makes it.

    kernel({"R^{in}": …, "W": …}, {"T": 128})["h"]           (B, T, J)

Arguments and results are contiguous and have the members in front,
except those that are the same for all members.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from indicial.compile.native import products, threads, toolchain
from indicial.program.sizes import Size

PARTS = "°parts"
"""The size that says into how many parts the columns of a member are divided."""

REALS = {torch.float32: "float", torch.float64: "double"}


class CallStruct(ctypes.Structure):
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


def memory(
    like: torch.Tensor,
    extents: Sequence[int],
    shapes: Iterable[Sequence[Size]],
    ragged: Collection[str],
) -> torch.Tensor:
    """Memory for tensors of these shapes that a kernel computes; zeros where it may leave something out.

    Where an axis ends early for a member, a kernel writes nothing beyond, and others read it.
    """
    early = bool(ragged) and any(s.names & {*ragged} for shape in shapes for s in shape)
    return like.new_zeros(extents) if early else like.new_empty(extents)


@dataclass(frozen=True)
class Kernel:
    """The text of a kernel, and how to call it."""

    text: str
    real: str
    gapless: frozenset[str]
    arguments: tuple[str, ...]
    kept: tuple[str, ...]
    shapes: dict[str, tuple[Size, ...]]
    sizes: tuple[str, ...]
    fixed: dict[str, int]
    ragged: tuple[str, ...]
    partial: frozenset[str] = frozenset()
    """What it keeps and does not write everywhere: the rest is 0."""

    def start(self) -> None:
        """Have it compiled in the background."""
        products.start(self.real)
        toolchain.start(self.text)

    @functools.cached_property
    def library(self) -> ctypes.CDLL:
        library = toolchain.load(self.text)
        library.run.argtypes = [ctypes.POINTER(CallStruct)]
        library.packed.argtypes = [ctypes.POINTER(CallStruct)]
        library.packed.restype = ctypes.c_void_p
        library.run_packed.argtypes = [ctypes.POINTER(CallStruct), ctypes.c_void_p]
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
            else memory(like, self.extents(name, members, values), [self.shapes[name]], self.ragged)
            for name in self.kept
        }
        for name in self.partial:
            kept[name].zero_()
        every = (*inputs, *kept.values())
        longs = [(lengths or {})[name].contiguous() for name in self.ragged]
        call = self.call(every, [row(t) for t in every], values, members, longs)
        self.library.run(ctypes.byref(call))
        return kept

    def extents(self, name: str, members: int, sizes: Mapping[str, int]) -> list[int]:
        return [members, *(size.value(sizes) for size in self.shapes[name])]

    def call(
        self,
        every: Sequence[torch.Tensor],
        rows: Sequence[int],
        sizes: Mapping[str, int],
        members: int,
        lengths: Sequence[torch.Tensor] = (),
    ) -> CallStruct:
        """What the kernel takes: the memory of all arguments and results."""
        shared, pool = products.find(self.real), threads.find()
        numbers = (ctypes.c_int64 * (len(self.sizes) + 1))(*(sizes[n] for n in self.sizes))
        ends = (ctypes.c_void_p * (len(lengths) + 1))(*(t.data_ptr() for t in lengths))
        memory = (ctypes.c_void_p * len(every))(*(t.data_ptr() for t in every))
        apart = (ctypes.c_int64 * len(every))(*rows)
        call = CallStruct(
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
        if name in self.gapless or tensor.dim() < 3 or tensor.numel() == 0:
            return tensor.contiguous()
        within = 1
        (_, steps, *inner), (member, step, *apart) = tensor.shape, tensor.stride()
        whole = member == steps * step
        for extent, stride in zip(reversed(inner), reversed(apart), strict=True):
            whole = whole and (stride == within or extent == 1)
            within *= extent
        return tensor if whole else tensor.contiguous()


def row(tensor: torch.Tensor) -> int:
    """How far apart rows are; the stride of an axis of one element means nothing."""
    if tensor.dim() < 2:
        return 0
    return tensor.stride(1) if tensor.shape[1] > 1 else tensor.stride(0)
