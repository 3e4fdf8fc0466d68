"""What a kernel is written from: the stages of its loop, and what is known beside them.

plan = KernelPlan(body, stages, ["x", "W", "h^{start}"], kept=["h"], starts=…, …)
plan.is_stored("R", group)       whether R must be in memory, or stays in a register
plan.reach("h")                  1: it is read at most one step away
plan.outer_starts("h")           [(-1, "h^{start}")]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from indicial.compile.native.body import Body, Starts, is_inside
from indicial.compile.native.linear_maps import Matmul
from indicial.compile.native.stages import Fused, Stage
from indicial.compile.native.writing.c import Sizes
from indicial.compile.passes.scan import Unsupported
from indicial.program.ir import Affine, Read, Statement
from indicial.program.sizes import Size


@dataclass(frozen=True)
class Within:
    """A tensor of the loop that lies in an argument, behind what is there: a cache that grows.

    `layer` is which element of the argument's first axis it is, None if it is all of it; `axis` the
    one of its own axes along which the argument has room for more than is used.
    """

    argument: str
    layer: int | None
    axis: int


@dataclass
class KernelPlan:
    """What to write: the loop's stages, what is kept of them, and what is known of the sizes."""

    body: Body
    stages: Sequence[Stage]
    arguments: Sequence[str]
    kept: Sequence[str]
    starts: Starts
    direction: int
    lower: Size
    extent: Size
    sizes: Sizes
    real: str
    constants: Mapping[str, float] = field(default_factory=dict)
    within: Mapping[str, Within] = field(default_factory=dict)

    def is_stored(self, name: str, group: Sequence[Statement]) -> bool:
        """Whether anybody but this group reads a tensor, so that it must be in memory."""
        if name in self.kept:
            return True
        inside = {id(s) for s in group}
        for stage in self.stages:
            if isinstance(stage, Matmul):
                if any(operand.tensor == name for operand in stage.operands):
                    return True
                continue
            for other in stage.statements if isinstance(stage, Fused) else (stage.statement,):
                reads = [n for n in other.body.every(Read) if n.tensor == name]
                if any(id(other) not in inside or not self.body.is_now(n) for n in reads):
                    return True
        return False

    def reach(self, name: str) -> int:
        """How many steps away a tensor is read."""
        furthest = 0
        here = self.body.left_place(name)
        for statement in self.body.statements:
            for node in statement.body.every(Read):
                if node.tensor == name:
                    place = node.places[self.body.axes[name]]
                    assert isinstance(place, Affine)
                    number = (place.offset - here.offset).number
                    if place.terms != here.terms or number is None:
                        raise Unsupported(f"{name} is read at steps that differ, and not kept")
                    furthest = max(furthest, abs(int(number)))
        return furthest

    def outer_starts(self, name: str) -> list[tuple[Size, str]]:
        """The starts of a tensor that lie outside its range: `h[-1,j]`."""
        return [s for s in self.starts.get(name, ()) if not self._is_inner(name, s[0])]

    def inner_starts(self) -> list[tuple[str, Size, str]]:
        """The starts that are elements like others: `h[0,j]` where the steps go from 1."""
        return [
            (name, place, argument)
            for name, starts in self.starts.items()
            for place, argument in starts
            if self._is_inner(name, place)
        ]

    def _is_inner(self, name: str, place: Size) -> bool:
        axis = self.body.code.tensors[name].axes[self.body.axes[name]]
        return is_inside(name, place, axis, self.direction)
