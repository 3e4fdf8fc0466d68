"""A loop over time, compiled: tensors in, tensors out. `arranging.build` makes it.

    kernel({"R^{in}": …, "W": …}, {"T": 128})["h"]           (B, T, J)

Arguments and results are contiguous and have the members in front,
except those that are the same for all members.

A program with a loop over time as a routine: statements in PyTorch, a kernel, statements again.

    R̄, Ḡ, …                         a kernel, backwards through time
    W̄[j,i] = Σ_t R̄[t,j] h[t-1,i]     PyTorch, all steps at once

Used for a recurrence and for its gradient; PyTorch differentiates neither. Here it runs, and is made
in `arranging.py`. Routines are stored: texts and kernels that were made once are read again, and the
equations that others are made from stay packed until then.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from indicial.compile.emit.running import Source
from indicial.compile.ground.stored import Packed, stored
from indicial.compile.native import by_hand, shared, toolchain
from indicial.compile.native.by_hand import REALS as REALS
from indicial.compile.native.projections import Gathered, Given, Outer, Outers, Projection, Values
from indicial.compile.native.reading.tile import PARTS
from indicial.compile.native.shared import CallStruct
from indicial.compile.schedule.schedule import Loop
from indicial.program.ir import Code
from indicial.program.sizes import Size


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
        shared.start_products(self.real)
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
        ends, places = ([t.data_ptr() for t in some] for some in (longs, every))
        numbers, rows = [values[name] for name in self.sizes], [row(t) for t in every]
        pool = shared.find_threads()
        call = CallStruct.of(self.real, pool, members, numbers, ends, places, rows)
        self.library.run(ctypes.byref(call))
        return kept

    def extents(self, name: str, members: int, sizes: Mapping[str, int]) -> list[int]:
        return [members, *(size.value(sizes) for size in self.shapes[name])]

    def in_rows(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor itself, if what follows its first axis has no gaps; else a copy."""
        if tensor.is_contiguous():
            return tensor
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


if TYPE_CHECKING:
    from indicial.compile.native.arranging import Design


@dataclass
class Stretch:
    """Statements that PyTorch runs; `code` has what they read as its inputs and parameters."""

    identity: str
    packed: Packed[Code]
    roles: dict[str, str]
    want: tuple[str, ...]
    summed: frozenset[str]
    known: dict[str, str] = field(default_factory=dict)
    """Other names for tensors of which it defines further elements."""
    zeros: frozenset[str] = frozenset()
    """Those of its inputs that are 0 beyond their lengths."""
    sources: dict[frozenset[str], Source] = field(default_factory=dict)

    @property
    def code(self) -> Code:
        return self.packed.value

    def run(self, given: Given) -> Values:
        known = given.known
        known = {**known, **{other: known[name] for name, other in self.known.items()}}
        ragged = frozenset(given.lengths)
        if ragged not in self.sources:
            asked = ("stretch", self.identity, sorted(ragged))
            self.sources[ragged] = stored(asked, functools.partial(self.emitted, ragged))
        p = {n: t for n, t in known.items() if self.roles.get(n) == "parameter"}
        x = {n: t for n, t in known.items() if self.roles.get(n) == "input"}
        found = self.sources[ragged].run(p, x, dict(given.sizes), given.lengths, {})
        # What reads nothing, a sum of ones, does not know what kind of number the others are.
        like = next(t for t in known.values() if t.is_floating_point())
        return {name: value.to(like.dtype) for name, value in found.items()}

    def emitted(self, ragged: frozenset[str]) -> Source:
        from indicial.compile.native.arranging import text_of  # only where nothing is stored

        return text_of(self, ragged)

    STORED = ("identity", "packed", "roles", "want", "summed", "known", "zeros")


class Built:
    """A part that a kernel runs: one for each type and each set of sizes that are fixed."""

    identity: str
    same: frozenset[str]
    kernels: dict[object, Kernel]

    def run(self, given: Given) -> Values:
        """What it computes."""
        raise NotImplementedError

    def kernel(
        self,
        dtype: torch.dtype,
        sizes: Mapping[str, int],
        ragged: frozenset[str],
        fixed: Collection[str],
    ) -> Kernel:
        """The kernel for some sizes; made when it is first asked for."""
        constant = {name: sizes[name] for name in fixed if name not in ragged}
        key = (dtype, tuple(constant.items()), ragged)
        if key not in self.kernels:
            asked = (type(self).__name__, self.identity, REALS[dtype], constant, sorted(ragged))
            make = functools.partial(self.build, REALS[dtype], constant, ragged)
            self.kernels[key] = stored(asked, make)
        return self.kernels[key]

    def called(self, given: Given) -> tuple[Kernel, torch.Tensor, int]:
        """The kernel of a call, a tensor of its type, and how many members there are."""
        some = next(t for t in given.known.values() if t.is_floating_point())
        kernel = self.kernel(some.dtype, given.sizes, frozenset(given.lengths), given.fixed)
        batched = (given.known[n] for n in kernel.arguments if n not in self.same)
        return kernel, some, next((t.shape[0] for t in batched), 1)

    def build(self, real: str, fixed: Mapping[str, int], ragged: frozenset[str]) -> Kernel:
        raise NotImplementedError


@dataclass
class Native(Built):
    """A loop that a kernel runs."""

    identity: str
    packed: Packed[tuple[Code, Loop]]
    same: frozenset[str]
    keep: tuple[str, ...]
    shapes: dict[str, tuple[Size, ...]]
    """Of what is kept, of one member."""
    groups: list[tuple[str, ...]] = field(default_factory=list)
    """Which of them lie side by side in memory."""
    kernels: dict[object, Kernel] = field(default_factory=dict)

    @property
    def code(self) -> Code:
        return self.packed.value[0]

    @property
    def loop(self) -> Loop:
        return self.packed.value[1]

    def run(self, given: Given) -> Values:
        kernel, some, members = self.called(given)
        sizes, lengths = given.sizes, given.lengths
        wide, views = self.side_by_side(some, members, sizes, lengths)
        return {**kernel(given.known, sizes, members, lengths, {**given.into, **views}), **wide}

    def side_by_side(
        self, like: torch.Tensor, members: int, sizes: Mapping[str, int], ragged: Collection[str]
    ) -> tuple[Values, Values]:
        """Memory for each group, under its members' names, and for each member a view of it."""
        wide, views = {}, {}
        for group in self.groups:
            shapes = [[size.value(sizes) for size in self.shapes[n]] for n in group]
            widths = [math.prod(shape[1:]) for shape in shapes]
            extents = [members, shapes[0][0], sum(widths)]
            whole = memory(like, extents, [self.shapes[n] for n in group], ragged)
            wide["|".join(group)] = whole
            at = itertools.accumulate([0, *widths])
            for name, shape, start, width in zip(group, shapes, at, widths, strict=False):
                piece = whole.narrow(2, start, width)
                views[name] = piece.view(*piece.shape[:2], *shape[1:])
        return wide, views

    def build(self, real: str, fixed: Mapping[str, int], ragged: frozenset[str]) -> Kernel:
        from indicial.compile.native.arranging import build  # only where nothing is stored

        return build(
            self.code, self.loop, self.same, self.keep, fixed=fixed, ragged=ragged, real=real,
            designed=self.design,
        )  # fmt: skip

    @functools.cached_property
    def design(self) -> Design:
        from indicial.compile.native.arranging import design

        return design(self.code, self.loop, self.same, self.keep)

    STORED = ("identity", "packed", "same", "keep", "shapes", "groups")


@dataclass
class Tiled(Built):
    """A kernel that takes tiles of a matrix state through time (`tiles.py`)."""

    identity: str
    packed: Packed[tuple[Code, tuple[str, ...], int]]
    """The program, what is wanted of it, and which of its kernels this is."""
    same: frozenset[str]
    shapes: dict[str, tuple[Size, ...]]
    """Of the outputs, of one member."""
    across: frozenset[str]
    """Those that add up over the columns, which threads may divide."""
    whole: frozenset[str]
    """Those whose every element is written, but for steps that a member has not."""
    summed: frozenset[str]
    """Those that are wanted as the sum over all members."""
    kernels: dict[object, Kernel] = field(default_factory=dict)

    def run(self, given: Given) -> Values:
        kernel, some, members = self.called(given)
        sizes, lengths, threads = given.sizes, given.lengths, torch.get_num_threads()
        parts = 1 if members >= threads else threads
        found = {}
        for name, shape in self.shapes.items():
            count = members * parts if name in self.across else members
            make = some.new_empty if name in self.whole and not lengths else some.new_zeros
            found[name] = make([count, *(size.value(sizes) for size in shape)])
        kernel(given.known, {**sizes, PARTS: parts}, members * parts, lengths, found)
        if parts > 1:
            for name in self.across:
                found[name] = found[name].view(members, parts, *found[name].shape[1:]).sum(1)
        for name in found:
            if name in self.summed:
                found[name] = found[name].sum(0)
            elif name in self.same:
                found[name] = found[name][0]
        return found

    def build(self, real: str, fixed: Mapping[str, int], ragged: frozenset[str]) -> Kernel:
        from indicial.compile.native.arranging import build_tile  # only where nothing is stored

        return build_tile(*self.packed.value, self.same, fixed=fixed, ragged=ragged, real=real)

    STORED = ("identity", "packed", "same", "shapes", "across", "whole", "summed")


Part = Stretch | Native | Tiled | Outer | Outers | Projection | Gathered


ROWS = 4
"""As many members a thread make products of one step as quick as those of all steps."""
NEAR = 1 << 20
"""Bytes of weights that stay close enough to a core to be read at every step."""


@dataclass
class Inside:
    """The same parts, but that products of an input with weights are taken in the kernel, step by step.

    With some members a thread they take as long as one product of all steps, and what they give is
    read from the nearest cache, not from memory.
    """

    parts: list[Part]
    operand: str
    weights: tuple[str, ...]

    def suits(self, given: Values) -> bool:
        many = given[self.operand].shape[0] >= ROWS * torch.get_num_threads()
        return many and sum(given[name].nbytes for name in self.weights) <= NEAR


@dataclass
class Routine:
    """Parts that compute the wanted tensors from a program's inputs and parameters, in order."""

    want: tuple[str, ...]
    copies: dict[str, str]
    """Those of them that equal another, element by element."""
    fixed: tuple[str, ...]
    """The sizes that calls do not change: those of parameters, but for the number of steps."""
    parts: list[Part]
    inside: Inside | None = None

    def start(self, dtype: torch.dtype, sizes: Mapping[str, int], ragged: frozenset[str]) -> None:
        """Have the kernels compiled in the background, as far as the sizes are known."""
        known = sizes.keys() >= {name for name in self.fixed if name not in ragged}
        if known and dtype in REALS:
            if any(isinstance(part, Outer | Outers) for part in self.parts):
                by_hand.start_outer(REALS[dtype])
            for part in self.parts if self.inside is None else self.inside.parts:
                if isinstance(part, Built):
                    part.kernel(dtype, sizes, ragged, self.fixed).start()

    def run(
        self,
        given: Values,
        sizes: Mapping[str, int],
        lengths: Values,
        into: Values | None = None,
    ) -> Values:
        """The wanted tensors; `into` has memory in which some of them are to lie."""
        known, into = dict(given), into or {}
        inside = self.inside if self.inside is not None and self.inside.suits(given) else self
        here = Given(known, sizes, lengths, self.fixed, into)
        for part in inside.parts:
            known |= part.run(here)
        found = {name: known[self.copies.get(name, name)] for name in self.want}
        for name, memory in into.items():
            if found[name].data_ptr() != memory.data_ptr():
                memory.copy_(found[name].view_as(memory))
        return found
