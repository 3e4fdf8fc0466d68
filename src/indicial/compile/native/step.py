"""One step of a decoder as one kernel: at batch 1 it costs what reading the weights costs.

    native = NativeStep(code, want, caches, sizes)
    native.run(parameters, given, {"n": 7}, {})         the wanted tensors of this step

The layers are written out, the weights are put into order once and kept so until one of them
changes. Caches grow in place: their memory is handed over with room for one more value.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from indicial.compile.native.kernel import REALS, Kernel, build, row
from indicial.compile.native.scan import Unsupported
from indicial.compile.native.writer import Within
from indicial.compile.passes.normal import normal
from indicial.compile.passes.unroll import NotUnrolled, unrolled
from indicial.compile.schedule.plan import Loop, Run
from indicial.program.ir import (
    Affine,
    Axis,
    Code,
    Expression,
    Index,
    Read,
    Statement,
)
from indicial.program.rewrite import rebuild
from indicial.program.sizes import Size

Values = dict[str, torch.Tensor]
MOST_STATEMENTS = 400
"""Beyond this compiling would take longer than it saves."""
STEP = Index("step°", Size(), Size.of(1))


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
            flat = normal(unrolled(code, want, fixed | {count: 2}))
        except NotUnrolled as reason:
            raise Unsupported(str(reason)) from reason
        if len(flat.statements) > MOST_STATEMENTS:
            raise Unsupported(f"{len(flat.statements)} statements are too many for one kernel")
        flat, within = _growing(flat, caches)
        code, loop = _one_step(flat)
        self.layers = {name: _layers(name, code) for name in want}
        keep = [layer for layers in self.layers.values() for layer in layers.values()]
        same = frozenset(n for n, t in code.tensors.items() if t.role in ("parameter", "constant"))
        self.kernel: Kernel = build(
            code, loop, same, keep, fixed=fixed, ragged=ragged, real=REALS[dtype], within=within
        )
        self.weights = [n for n in self.kernel.arguments if n in same]
        self.room = {g.past: g.axis for g in caches}
        self.dtype = dtype
        self._versions: tuple[tuple[int, int], ...] = ()
        self._packed: ctypes.c_void_p | None = None

    def run(
        self,
        parameters: Values,
        given: Values,
        sizes: Mapping[str, int],
        lengths: Values,
        members: int,
    ) -> Values:
        """The wanted tensors; caches are given as views of memory with room for more."""
        kernel = self.kernel
        arguments = [
            given[n]
            if n in self.room
            else kernel.in_rows(n, (given if n in given else parameters)[n])
            for n in kernel.arguments
        ]
        rows = [self._row(n, t) for n, t in zip(kernel.arguments, arguments, strict=True)]
        like = next(a for a in arguments if a.is_floating_point())
        found = {
            name: like.new_empty(
                [members, *(a.extent.value(sizes) for a in self.tensors[name].axes)]
            )
            for name in self.want
        }
        views = {}
        for name, layers in self.layers.items():
            for number, layer in layers.items():
                whole = found[name]
                views[layer] = whole if number is None else whole.select(1, number)
        results = [views[name] for name in kernel.kept]
        rows += [t.stride(0) for t in results]
        ends = [lengths[n].contiguous() for n in kernel.ragged]
        call = kernel.call([*arguments, *results], rows, sizes, members, ends)
        kernel.library.run_packed(ctypes.byref(call), self._weights(call, parameters))
        return found

    def _row(self, name: str, tensor: torch.Tensor) -> int:
        if name in self.room:
            axis = self.room[name] + 1  # behind the members
            return tensor.stride(axis - 1) // tensor.stride(axis)
        return row(tensor)

    def _weights(self, call: ctypes.Structure, parameters: Values) -> ctypes.c_void_p | None:
        """The weights in order, made anew when one of them was changed or exchanged."""
        versions = tuple((parameters[n].data_ptr(), parameters[n]._version) for n in self.weights)
        if versions != self._versions:
            self._packed = ctypes.c_void_p(self.kernel.library.packed(ctypes.byref(call)))
            weakref.finalize(self._packed, self.kernel.library.unpack, self._packed.value)
            self._versions = versions
        return self._packed


def _growing(code: Code, caches: Sequence[Growing]) -> tuple[Code, dict[str, Within]]:
    """The code without copies of whole caches; what has been seen lies in the cache itself."""
    by_seen = {g.seen: g for g in caches}
    within: dict[str, Within] = {}
    tensors = dict(code.tensors)
    statements = []
    for statement in code.statements:
        name, _, layer = statement.target.partition("@")
        growing = by_seen.get(name)
        if growing is None:
            statements.append(statement)
            continue
        number = int(layer) if layer else None
        own = tensors[growing.past].axes
        first = 0 if number is None else number - int(own[0].lower.number or 0)
        axis = growing.axis + 1 - (number is not None)
        within[statement.target] = Within(growing.past, first if layer else None, axis)
        if not (isinstance(statement.body, Read) and statement.body.tensor == growing.past):
            statements.append(statement)
    return replace(code, tensors=tensors, statements=tuple(statements)), within


def _one_step(code: Code) -> tuple[Code, Loop]:
    """The statements as a loop of one step, which is what kernels are made of."""
    defined = {s.target for s in code.statements}
    here = Affine.of(STEP)

    def leaf(node: Expression) -> Expression:
        if isinstance(node, Read) and node.tensor in defined:
            return replace(node, places=(here, *node.places))
        return node

    def walked(s: Statement) -> Statement:
        return replace(
            s,
            left=(here, *s.left),
            indices=(STEP, *s.indices),
            body=rebuild(s.body, leaf=leaf),
            guard=rebuild(s.guard, leaf=leaf) if s.guard is not None else None,
        )

    tensors = {
        n: replace(t, axes=(Axis(STEP.name, STEP.lower, STEP.extent), *t.axes))
        if n in defined
        else t
        for n, t in code.tensors.items()
    }
    statements = tuple(walked(s) for s in code.statements)
    loop = Loop(
        "step·", STEP.name, "scanned", 1, STEP.lower, STEP.extent, dict.fromkeys(defined, 0),
        tuple(Run(s) for s in statements),
    )  # fmt: skip
    return replace(code, tensors=tensors, statements=statements), loop


def _layers(name: str, code: Code) -> dict[int | None, str]:
    """The tensors that a wanted one was written out as, by their place."""
    if name in code.tensors:
        return {None: name}
    found = [n for n in code.tensors if n.partition("@")[0] == name]
    numbers = sorted(int(n.partition("@")[2]) for n in found)
    return {number - numbers[0]: f"{name}@{number}" for number in numbers}
