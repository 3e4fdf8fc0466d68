"""Which statement has to run before which: `G` before `h`, and `h` at `t-1` before `G`.

>>> [(need.reader.target, need.definer.target) for need in needs(code)]
[('R', 'h'), ('G', 'h'), ('h', 'G'), ('h', 'h'), ('h', 'R')]

The nodes are statements, not tensors, so that `L[0,t,j] = …` is no part of the recurrence of
`L[ℓ+1,t,j] = …` that it starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from indicial.program.cost.conditions import add
from indicial.program.cost.dependence import Edge, circles, edges
from indicial.program.ir import Affine, Code, Index, Statement
from indicial.program.sizes import Size


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
    ranges = {index.name: index for index in definer.indices}
    for place, left in zip(edge.read.places, definer.left, strict=True):
        if not isinstance(place, Affine) or not isinstance(left, Affine):
            continue
        if _alike(place, edge.indices, left, ranges):
            continue
        lowest, highest = _bounds(left, ranges)
        below = add(place, Affine((), lowest), -1)  # always negative?
        above = add(Affine((), highest), place, -1)
        if _negative(_bounds(below, edge.indices)[1]):
            return True
        if _negative(_bounds(above, edge.indices)[1]):
            return True
    return False


def _alike(
    place: Affine, around: Mapping[str, Index], left: Affine, ranges: Mapping[str, Index]
) -> bool:
    """Whether both run over the same range, of some size: what is so nearly always."""
    if place.shift is None or left.shift is None:
        return False
    here, there = around[place.shift[0]], ranges[left.shift[0]]
    same = (here.lower, here.extent) == (there.lower, there.extent)
    return same and here.extent.name is not None


def _bounds(form: Affine, ranges: Mapping[str, Index]) -> tuple[Size, Size]:
    low = high = form.offset
    for name, factor in form.terms:
        index = ranges[name]
        ends = (index.lower, index.upper) if factor > 0 else (index.upper, index.lower)
        low, high = low + factor * ends[0], high + factor * ends[1]
    return low, high


def _negative(size: Size) -> bool:
    """Whether a size is below 0 at all values that its names can have, 1 among them."""
    if any(not isinstance(atom, str) for atom in size.atoms):
        return False
    constant = sum(c for monomial, c in size.terms if not monomial)
    others = [c for monomial, c in size.terms if monomial]
    return all(c < 0 for c in others) and constant + sum(others) < 0


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
