"""A loop over time → its kernel.

    kernel = build(code, loop, unbatched, keep=["h"], fixed={"J": 256}, real="float")

The code is in normal form. What the kernel does, its `design`, is the same for all sizes and types.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from indicial.compile.native.body import Body, Starts, begun_with, body, needs_history, starts
from indicial.compile.native.kernel import Kernel
from indicial.compile.native.stages import Stage, stages
from indicial.compile.native.tile import TIME, faded
from indicial.compile.native.tiles import tiling
from indicial.compile.native.writing.c import CSizes
from indicial.compile.native.writing.kernel_plan import KernelPlan, Within
from indicial.compile.native.writing.text import write
from indicial.compile.native.writing.tile_text import write_tile
from indicial.compile.passes.scan import Unsupported
from indicial.compile.schedule.plan import Loop
from indicial.compile.schedule.schedule import schedule
from indicial.program.ir import Code, Statement
from indicial.program.rewrite import tensors_read


@dataclass(frozen=True)
class Design:
    """A kernel before its sizes and its type are known."""

    body: Body
    starts: Starts
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
    sizes = CSizes(fixed, ragged)
    constants = {n: v for n, v in code.constants.items() if isinstance(v, int | float)}
    if len(constants) < len(code.constants):
        raise Unsupported("a constant with indices")
    text = write(
        KernelPlan(
            own.body, own.stages, arguments, own.kept, own.starts, loop.direction, loop.lower,
            loop.extent, sizes, real, constants, within or {},
        )
    )  # fmt: skip
    gapless = unbatched | begun_with(own.starts)
    made = _kernel(code, text, real, gapless, arguments, own.kept, sizes)
    begun = {name: len(pairs) for name, pairs in own.starts.items()}
    partial = [n for n in own.kept if not own.body.is_whole(n, begun.get(n, 0))]
    return replace(made, partial=frozenset(partial))


def build_tile(
    code: Code,
    want: Sequence[str],
    number: int,
    same: frozenset[str],
    *,
    fixed: Mapping[str, int],
    ragged: frozenset[str] = frozenset(),
    real: str = "float",
) -> Kernel:
    """One of the kernels of a program whose state is a matrix."""
    tile = faded(tiling(code, schedule(code, want), want).tiles[number])
    if any(ragged & extent.names for role, (_, extent) in tile.ranges.items() if role != TIME):
        raise Unsupported("the state's own sizes differ between members")
    sizes = CSizes(fixed, ragged)
    for name in sorted(ragged):
        sizes.variable(name)
    text, arguments = write_tile(code, tile, same, sizes, real)
    return _kernel(code, text, real, same, arguments, tile.outputs, sizes)


def _kernel(
    code: Code,
    text: str,
    real: str,
    gapless: frozenset[str],
    arguments: Sequence[str],
    kept: Sequence[str],
    sizes: CSizes,
) -> Kernel:
    shapes = {n: tuple(a.extent for a in code.tensors[n].axes) for n in kept}
    return Kernel(
        text, real, gapless, tuple(arguments), tuple(kept), shapes, tuple(sizes.names),
        dict(sizes.fixed), tuple(sorted(sizes.ragged)),
    )  # fmt: skip


def _ordered(code: Code, names: Collection[str]) -> list[str]:
    return [name for name in code.tensors if name in names]


def _arguments(code: Code, statements: Sequence[Statement], loop: Loop, begin: Starts) -> list[str]:
    found = begun_with(begin) | tensors_read(statements)
    return _ordered(code, found - loop.axes.keys() - code.constants.keys())
