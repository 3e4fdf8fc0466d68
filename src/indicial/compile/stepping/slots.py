"""What a step finds of the steps before it, under names of its own.

    h[t-1,j]            h^{ago}[j]              one value, that of so many steps ago
    L[t-ΔT,i]           L^{seen}[s,i]           the last few values, the present one included
    Key[k,t_2,i]        Key^{seen}[k,s,i]       all values, the present one included

A step is handed `ago` and `past`; `seen` is `past` with the present value behind it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from indicial.compile.passes.new_tensors import derived_name
from indicial.compile.stepping.causal import Causal, reads
from indicial.program.ir import Affine, Axis, Place, Statement, Tensor
from indicial.program.sizes import Size


@dataclass(frozen=True)
class Ago:
    """The value of a tensor `steps` steps before its present one."""

    tensor: str
    steps: int
    name: str


@dataclass(frozen=True)
class Many:
    """Values of a tensor along the steps: the last `reach` before the present one, or all.

    `axis` is where the steps are, `low` the first step that there is.
    """

    tensor: str
    axis: int
    low: int
    reach: int | None
    past: str
    seen: str


class Slots:
    """The slots of a program, made when a read asks for them; all names are new."""

    def __init__(self, causal: Causal) -> None:
        self.causal = causal
        self.taken = dict.fromkeys(causal.code.tensors)
        self.ago: dict[tuple[str, int], Ago] = {}
        self.many: dict[str, Many] = {}
        # `now` has the reads of many steps, by identity, that may meet the present one.
        self.reaches, self.now = _reaches(causal)

    def back(self, tensor: str, steps: int) -> Ago:
        """A value of some steps ago; those between are kept as well, to become it."""
        for number in range(1, steps + 1):
            if (tensor, number) not in self.ago:
                self.ago[tensor, number] = Ago(tensor, number, self.new(tensor, "ago"))
        return self.ago[tensor, steps]

    def along(self, tensor: str) -> Many:
        """Values of many steps: as far back as any read of the tensor goes."""
        if tensor not in self.many:
            axis, low = self.causal.axes[tensor], self.low(tensor)
            names = self.new(tensor, "past"), self.new(tensor, "seen")
            self.many[tensor] = Many(tensor, axis, low, self.reaches[tensor], *names)
        return self.many[tensor]

    def new(self, tensor: str, mark: str) -> str:
        name = derived_name(self.taken, tensor, mark)
        self.taken[name] = None
        return name

    def low(self, tensor: str) -> int:
        """The first step of a tensor, its start included: -1 for `h[-1,j] = …`."""
        code, axis = self.causal.code, self.causal.axes[tensor]
        lower = code.tensors[tensor].axes[axis].lower.number
        places = [statement.left[axis] for statement in code.of(tensor)]
        numbers = [p.offset.number for p in places if isinstance(p, Affine) and not p.terms]
        return int(min(n for n in (lower, *numbers, self.causal.walk.first) if n is not None))


def long_axis(many: Many, present: Size, axis: Axis) -> Axis:
    """The axis of `seen`, where the tensor's present step is `present`.

    Of the last few steps the oldest is 0, so that nothing depends on how many there were.
    """
    if many.reach is not None:
        return Axis(axis.letter, Size(), Size.of(many.reach + 1))
    return Axis(axis.letter, Size.of(many.low), present - many.low + 1)


def without(tensor: Tensor, axis: int) -> tuple[Axis, ...]:
    """The axes of a tensor but for one."""
    return tuple(a for n, a in enumerate(tensor.axes) if n != axis)


def _reaches(causal: Causal) -> tuple[dict[str, int | None], set[int]]:
    """How many steps back the reads go whose distance varies; None if there is no end.

    With it, which of these reads may meet the present step; the others need not wait for it.
    """
    result: dict[str, int | None] = {}
    now: set[int] = set()
    for edge in reads(causal.code, causal.walk, causal.axes):
        reader, read = edge.ends
        low, high = edge.distance(causal.axes[reader], causal.axes[read])
        if low == high and not _by_index(edge.read.places[causal.axes[read]], edge.statement):
            continue
        ahead = causal.offsets[read] - causal.offsets[reader]
        if ahead - high <= 0:
            now.add(id(edge.read))
        known = result.get(read, 0)
        endless = low == -math.inf or known is None
        result[read] = None if endless else max(int(ahead - low), known or 0)
    return result, now


def _by_index(place: Place, statement: Statement) -> bool:
    """Whether a place moves with an index that is summed: `t-Δt`, be it only one value of it."""
    own = {index.name for index in statement.indices}
    return isinstance(place, Affine) and any(name not in own for name, _ in place.terms)
