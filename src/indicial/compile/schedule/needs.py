"""Which statement has to run before which: `G` before `h`, and `h` at `t-1` before `G`.

>>> [(need.reader.target, need.definer.target) for need in needs(code)]
[('R', 'h'), ('G', 'h'), ('h', 'G'), ('h', 'h'), ('h', 'R')]

The nodes are statements, not tensors, so that `L[0,t,j] = …` is no part of the recurrence of
`L[ℓ+1,t,j] = …` that it starts.

Which axis of each tensor of a group is the same step: more choices than `cost.chain.scans` makes.

    Ā[t,r] = … C̄[t,j] …        axis t of both
    h̄[t,j] = Σ_{t' > t} … Ā[t',t]    axis t of h̄ goes with either axis of Ā

Beginning at any of the tensors, those next to it are settled before those further away, so that
what is tied to one axis of Ā nearby decides, not a long way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from indicial.program.cost.conditions import surely_apart
from indicial.program.cost.dependence import ANYWHERE, Edge, Scan, circles, edges
from indicial.program.ir import Affine, Code, Index, Statement


@dataclass(frozen=True)
class Need:
    """`reader` reads, along `edge`, what `definer` may define."""

    reader: Statement
    definer: Statement
    edge: Edge


def needs(code: Code) -> list[Need]:
    """Every read of a defined tensor, once for each statement that it may meet."""
    known: list[Need] | None = code.__dict__.get("_needs")
    if known is None:
        known = code.__dict__["_needs"] = [
            Need(edge.statement, definer, edge)
            for edge in edges(code)
            for definer in code.of(edge.read.tensor)
            if not _misses(edge, definer)
        ]
    return list(known)


def _misses(edge: Edge, definer: Statement) -> bool:
    """Whether a read can never meet what a statement defines: `L[0]` and `L[ℓ+1]`."""
    ranges = definer.scope
    for place, left in zip(edge.read.places, definer.left, strict=True):
        if not isinstance(place, Affine) or not isinstance(left, Affine):
            continue
        if _alike(place, edge.indices, left, ranges):
            continue
        if surely_apart(place, edge.indices, left, ranges):
            return True
    return False


def _alike(
    place: Affine, around: Mapping[str, Index], left: Affine, ranges: Mapping[str, Index]
) -> bool:
    """Whether both run over the same range, of some size: what is so nearly always."""
    if place.shift is None or left.shift is None:
        return False
    here, there = around[place.shift[0]], ranges[left.shift[0]]
    same = here.range == there.range
    return same and here.extent.name is not None


def components(
    statements: Sequence[Statement], found: Sequence[Need]
) -> Iterator[tuple[list[Statement], list[Need]]]:
    """The statements in groups that need each other, what is needed first coming first.

    With each group come the needs inside it; none, if it is one statement that does not need
    itself.
    """
    number = {id(s): n for n, s in enumerate(statements)}
    by_reader: list[list[Need]] = [[] for _ in statements]
    for need in found:
        if id(need.reader) in number and id(need.definer) in number:
            by_reader[number[id(need.reader)]].append(need)
    for circle in circles([[number[id(n.definer)] for n in needs] for needs in by_reader]):
        inside = set(circle)
        yield (
            [statements[n] for n in circle],
            [n for s in circle for n in by_reader[s] if number[id(n.definer)] in inside],
        )


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
