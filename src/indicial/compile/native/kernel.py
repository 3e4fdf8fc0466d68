"""A loop over time, compiled: tensors in, tensors out.

    kernel = build(code, loop, unbatched, keep=["h"], fixed={"J": 256}, real="float")
    kernel({"R^{in}": …, "W": …}, {"T": 128})["h"]           (B, T, J)

The code is in normal form. Arguments and results are contiguous and have the members in front,
except those that are the same for all members.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch

from indicial.compile.native import products, threads, toolchain
from indicial.compile.native.c import Sizes
from indicial.compile.native.scan import Unsupported
from indicial.compile.native.stages import body, needs_history, stages, starts
from indicial.compile.native.text import write
from indicial.compile.native.writer import KernelPlan
from indicial.compile.schedule.plan import Loop
from indicial.program.ir import Code, Read, Statement
from indicial.program.sizes import Size

REALS = {torch.float32: "float", torch.float64: "double"}


class Call(ctypes.Structure):
    """The `struct call` of kernel.h."""

    _fields_ = (
        ("products", ctypes.c_void_p),
        ("threads", ctypes.c_void_p),
        ("members", ctypes.c_long),
        ("sizes", ctypes.c_void_p),
        ("lengths", ctypes.c_void_p),
        ("tensors", ctypes.c_void_p),
        ("rows", ctypes.c_void_p),
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

    @functools.cached_property
    def run(self) -> Callable[..., None]:
        function = toolchain.load(self.text).run
        function.argtypes = [ctypes.POINTER(Call)]
        function.restype = None
        return cast("Callable[..., None]", function)

    def __call__(
        self,
        tensors: Mapping[str, torch.Tensor],
        sizes: Mapping[str, int],
        members: int,
        lengths: Mapping[str, torch.Tensor] | None = None,
        into: Mapping[str, torch.Tensor] | None = None,
    ) -> dict[str, torch.Tensor]:
        """The kept tensors, from the arguments; `into` has memory for some of them."""
        inputs = [self._in_rows(name, tensors[name]) for name in self.arguments]
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
        shared, pool = products.find(self.real), threads.find()
        # Named, so that what the call points to lives until it returns.
        numbers = (ctypes.c_int64 * (len(self.sizes) + 1))(*(values[n] for n in self.sizes))
        ends = (ctypes.c_void_p * (len(longs) + 1))(*(t.data_ptr() for t in longs))
        memory = (ctypes.c_void_p * len(every))(*(t.data_ptr() for t in every))
        rows = (ctypes.c_int64 * len(every))(*map(_row, every))
        call = Call(
            ctypes.addressof(shared),
            ctypes.addressof(pool) if pool is not None else None,
            members,
            ctypes.addressof(numbers),
            ctypes.addressof(ends),
            ctypes.addressof(memory),
            ctypes.addressof(rows),
        )
        self.run(ctypes.byref(call))
        return kept

    def _in_rows(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor itself, if what follows its first axis has no gaps; else a copy."""
        if name in self.same or tensor.dim() < 3 or tensor.numel() == 0:
            return tensor.contiguous()
        whole = tensor.stride(0) == tensor.shape[1] * tensor.stride(1)
        return tensor if whole and tensor[0, 0].is_contiguous() else tensor.contiguous()


def _row(tensor: torch.Tensor) -> int:
    """How far apart rows are; the stride of an axis of one element means nothing."""
    if tensor.dim() < 2:
        return 0
    return tensor.stride(1) if tensor.shape[1] > 1 else tensor.stride(0)


def build(
    code: Code,
    loop: Loop,
    unbatched: frozenset[str],
    keep: Collection[str],
    *,
    fixed: Mapping[str, int],
    ragged: frozenset[str] = frozenset(),
    real: str = "float",
) -> Kernel:
    """The kernel of a loop; `Unsupported` where there is none."""
    walked = body(code, loop, unbatched)
    begin = starts(code, loop)
    kept = _ordered(code, {*keep, *needs_history(walked)} & loop.axes.keys())
    arguments = _arguments(code, walked.statements, loop, begin)
    sizes = Sizes(fixed, ragged)
    constants = {n: v for n, v in code.constants.items() if isinstance(v, int | float)}
    if len(constants) < len(code.constants):
        raise Unsupported("a constant with indices")
    text = write(
        KernelPlan(
            walked, stages(walked, kept), arguments, kept, begin, loop.direction, loop.lower,
            loop.extent, sizes, real, constants,
        )
    )  # fmt: skip
    shapes = {n: tuple(a.extent for a in code.tensors[n].axes) for n in kept}
    return Kernel(
        text,
        real,
        unbatched,
        tuple(arguments),
        tuple(kept),
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
