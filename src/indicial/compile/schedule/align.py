"""Which axis of each tensor of a group is the same step: more choices than `cost.chain.scans` makes.

    Ā[t,r] = … C̄[t,j] …        axis t of both
    h̄[t,j] = Σ_{t' > t} … Ā[t',t]    axis t of h̄ goes with either axis of Ā

Beginning at any of the tensors, those next to it are settled before those further away, so that
what is tied to one axis of Ā nearby decides, not a long way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from indicial.program.cost.chain import Scan
from indicial.program.cost.dependence import ANYWHERE, Edge
from indicial.program.ir import Code


def aligned(code: Code, tensors: Sequence[str], edges: Sequence[Edge]) -> Iterator[Scan]:
    """Choices of one axis of each tensor, each once."""
    seen: list[dict[str, int]] = []
    for first in tensors:
        for axis in range(len(code.tensors[first].axes)):
            axes = _grown(code, {first: axis}, edges)
            if len(axes) == len(tensors) and axes not in seen:
                seen.append(axes)
                distances = (e.distance(axes[e.ends[0]], axes[e.ends[1]]) for e in edges)
                yield Scan(axes, tuple(distances))


def _grown(code: Code, axes: dict[str, int], edges: Sequence[Edge]) -> dict[str, int]:
    while True:
        new: dict[str, tuple[float, int]] = {}
        for edge in edges:
            here, there = edge.ends
            if (here in axes) == (there in axes):
                continue
            name = there if here in axes else here
            for number in range(len(code.tensors[name].axes)):
                ends = (axes[here], number) if name == there else (number, axes[there])
                low, high = edge.distance(*ends)
                if (low, high) != ANYWHERE:
                    new[name] = min(new.get(name, (high - low, number)), (high - low, number))
        if not new:
            return axes
        axes = axes | {name: number for name, (_, number) in new.items()}
