"""Where a read finds an element: the places of the read, solved for the indices around it.

    read h[t-1,i] with t, i        element h[s,k]   →  t = s+1, i = k
    read x[t+Δt,i] with t, Δt, i   element x[s,k]   →  t = s-Δt, i = k, for every Δt
    read e[w[t],i] with t, i       element e[v,k]   →  i = k, for every t where w[t] = v
    read x[2t+Δt] with t, Δt       element x[s]     →  Δt = s-2t, for every t where that is in range

A reader's index that the element does not decide is summed over; a place that cannot be solved
becomes a condition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from indicial.compile.passes.algebra import compare, size_value
from indicial.compile.passes.new_tensors import index_name
from indicial.program import ir
from indicial.program.moving import Places, moved, moved_affine, moved_size
from indicial.program.rewrite import free_indices, size_indices
from indicial.program.sizes import nonnegative


@dataclass
class Solution:
    """`places` says where each solved index is; `summed` are the others, each over its range.

    `equations` are the conditions on them from places that could not be solved; `bounds` says for
    each solved index that it is in its range, where that is not plain.
    """

    places: dict[str, ir.Affine]
    summed: tuple[ir.Index, ...]
    equations: list[ir.Expression] = field(default_factory=list)
    bounds: dict[str, ir.Expression] = field(default_factory=dict)


def solve(
    read: Sequence[ir.Place],
    indices: Sequence[ir.Index],
    element: Sequence[ir.Affine | ir.Flat],
    given: Sequence[ir.Index],
    last: Collection[str] = (),
    only_names: bool = False,
) -> Solution | None:
    """The values of `indices` at which a read finds an element; None if there are none.

    The element's places hold the indices `given`. Indices in `last` are summed over rather than
    solved for, where there is a choice. With `only_names`, an index is solved for only if it is
    one of the given indices, with the same range.
    """
    solver = _Solver(indices, given, last, only_names)
    for place, target in zip(read, element, strict=True):
        if not solver.equate(place, target):
            return None
    return solver.solution()


class _Solver:
    """Places so far, each in terms of the given indices and of those not solved.

    Names are told apart by a mark: the reader's t and the element's t are two.
    """

    def __init__(
        self,
        indices: Sequence[ir.Index],
        given: Sequence[ir.Index],
        last: Collection[str],
        only_names: bool,
    ) -> None:
        self.indices = {index.name: index for index in indices}
        self.given = {index.name: index for index in given}
        self.last = set(last)
        self.only_names = only_names
        self.open = {name: ir.Affine.of(_MARK + name) for name in self.indices}
        self.places = dict(self.open)
        self.equations: list[tuple[ir.Expression, ir.Expression]] = []

    def equate(self, place: ir.Place, target: ir.Affine | ir.Flat) -> bool:
        """Let the place be the target; False if it cannot be."""
        if isinstance(place, ir.Flat) and isinstance(target, ir.Flat):
            pairs = zip(place.indices, target.indices, strict=True)
            return all(self.equate(ir.Affine.of(a), ir.Affine.of(b)) for a, b in pairs)
        if (
            not isinstance(place, ir.Affine)
            or isinstance(target, ir.Flat)
            or size_indices(place.offset)
        ):
            self.equations.append((place_value(place), place_value(target)))
            return True
        at = moved_affine(place, self.places)
        rest = moved_affine(ir.Affine((("+", 1), ("-", -1))), {"+": target, "-": at})
        if not rest.terms and rest.offset.number is not None:
            return rest.offset.number == 0
        for name in sorted(self.indices, key=lambda name: name in self.last):
            factor = dict(at.terms).get(_MARK + name, 0)
            if abs(factor) == 1 and self.places[name] == self.open[name]:
                rest_of_it = moved_affine(rest, {_MARK + name: ir.Affine()})
                value = moved_affine(ir.Affine((("x", factor),)), {"x": rest_of_it})
                if self.allowed(name, value):
                    self.settle(name, value)
                    return True
        self.equations.append((place_value(place), place_value(target)))
        return True

    def allowed(self, name: str, value: ir.Affine) -> bool:
        if not self.only_names:
            return True
        if value.shift is None or value.shift[1] or value.shift[0] not in self.given:
            return False
        index, other = self.indices[name], self.given[value.shift[0]]
        plain = not size_indices(index.lower) | size_indices(index.extent)
        return plain and index.range == other.range

    def settle(self, name: str, value: ir.Affine) -> None:
        known = {_MARK + name: value}
        self.places = {n: moved_affine(p, known) for n, p in self.places.items()}

    def solution(self) -> Solution:
        """With names for the open indices that none of the given ones has."""
        taken = set(self.given)
        final: dict[str, ir.Affine] = {}
        for name in self.indices:
            if self.places[name] == self.open[name]:
                fresh = index_name(self.indices[name])
                while fresh in taken:
                    fresh += "'"
                taken.add(fresh)
                final[_MARK + name] = ir.Affine.of(fresh)
        places = {name: moved_affine(place, final) for name, place in self.places.items()}
        summed = []
        for name, index in self.indices.items():
            if _MARK + name in final:
                shift = places[name].shift
                assert shift is not None
                low, extent = moved_size(index.lower, places), moved_size(index.extent, places)
                summed.append(ir.Index(shift[0], low, extent))
        around = {**self.given, **{index.name: index for index in summed}}
        result = Solution(places, tuple(summed))
        for left, right in self.equations:
            # The index comes first: `ℓ = L`, but `w[t] = v`.
            left = moved(left, places)
            pair = (left, right) if free_indices(left) else (right, left)
            result.equations.append(ir.Apply("=", pair))
        for name, index in self.indices.items():
            if _MARK + name not in final:
                condition = in_range(places[name], index, places, around)
                if condition is not None:
                    result.bounds[name] = condition
        return result


_MARK = "?"


def in_range(
    place: ir.Affine, index: ir.Index, places: Places, around: Mapping[str, ir.Index]
) -> ir.Expression | None:
    """That a place is in the range of an index; None where it always is."""
    low, extent = moved_size(index.lower, places), moved_size(index.extent, places)
    high = low + extent - 1
    ends = place.known_ends(around)
    conditions = []
    if ends is None or not nonnegative(ends[0] - low):
        conditions.append(compare(size_value(low), "≤", ir.IndexValue(place)))
    if ends is None or not nonnegative(high - ends[1]):
        conditions.append(compare(ir.IndexValue(place), "≤", size_value(high)))
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else ir.Apply("and", tuple(conditions))


def place_value(place: ir.Place) -> ir.Expression:
    """A place as a number: `t-1`, the token w[t], `k·I + i` for (k,i)."""
    if isinstance(place, ir.Gather):
        return place.read
    if isinstance(place, ir.Affine):
        return ir.IndexValue(place) if place.terms else size_value(place.offset)
    value: ir.Expression | None = None
    for index in place.indices:
        digit: ir.Expression = ir.IndexValue(ir.Affine(((index.name, 1),), -index.lower))
        if value is not None:
            digit = ir.Apply("+", (ir.Apply("*", (value, ir.SizeValue(index.extent))), digit))
        value = digit
    assert value is not None
    return value
