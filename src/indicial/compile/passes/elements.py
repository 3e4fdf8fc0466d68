"""Elements of tensors: where they exist, which statement defines them, what flows to them.

Flow(h[t-1,j], (t, j), value = R̄[t,j] * W[j])   to the element h[t,j]   →   R̄[t+1,j] * W[j]

Nothing flows from a reader that does not exist: `t+1` has to be in the range of the reader's t. The
condition is left out where a factor is 0 by itself there, as R̄[T,j] is.

Where a read finds an element: the places of the read, solved for the indices around it.

    read h[t-1,i] with t, i        element h[s,k]   →  t = s+1, i = k
    read x[t+Δt,i] with t, Δt, i   element x[s,k]   →  t = s-Δt, i = k, for every Δt
    read e[w[t],i] with t, i       element e[v,k]   →  i = k, for every t where w[t] = v
    read x[2t+Δt] with t, Δt       element x[s]     →  Δt = s-2t, for every t where that is in range

A reader's index that the element does not decide is summed over; a place that cannot be solved
becomes a condition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from indicial.compile.passes.algebra import (
    ONE,
    ZERO,
    both,
    compare,
    is_total,
    numeral,
    otherwise_zero,
    scaled,
    size_value,
    times,
)
from indicial.compile.passes.forms import Flow
from indicial.compile.passes.new_tensors import index_name
from indicial.program import ir
from indicial.program.cost.conditions import linear, negation, surely_apart, surely_in
from indicial.program.moving import Places, Unmovable, moved, moved_affine, moved_size
from indicial.program.rewrite import free_indices, size_indices
from indicial.program.sizes import Size, nonnegative


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
        equation = place_value(place), place_value(target)
        plain = isinstance(place, ir.Affine) and not size_indices(place.offset)
        if not plain or isinstance(target, ir.Flat):
            self.equations.append(equation)
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
        self.equations.append(equation)
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
    return both(*conditions)


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


Left = tuple[tuple[ir.Affine | ir.Flat, ...], tuple[ir.Index, ...]]
"""The left side of a statement and its indices."""


@dataclass(frozen=True)
class Arrived:
    """A flow at an element: the sum of `value` over `summed` where both conditions hold."""

    summed: tuple[ir.Index, ...]
    outer: ir.Expression | None
    inner: ir.Expression | None
    value: ir.Expression

    @property
    def expression(self) -> ir.Expression:
        value = self.value
        if self.summed and value != ZERO:
            scale, rest = scaled(value)
            value = times(scale, ir.Reduce("sum", self.summed, self.inner, rest))
        return otherwise_zero(self.outer, value)


class Elements:
    """The tensors of a code that grows."""

    def __init__(self, code: ir.Code) -> None:
        self.tensors = dict(code.tensors)
        self.statements = {name: code.of(name) for name in code.tensors}
        self.tokens = {tensor.name for tensor in code.tensors.values() if tensor.values is not None}

    def add(self, tensor: ir.Tensor, statements: Sequence[ir.Statement] = ()) -> None:
        self.tensors[tensor.name] = tensor
        self.statements[tensor.name] = list(statements)
        if tensor.values is not None:
            self.tokens.add(tensor.name)

    # ---- where elements are ----

    def lefts(self, name: str) -> Iterator[Left]:
        """Left sides that cover all elements: the ranges of the axes, and what lies outside them.

        `h[t,j]` and, where a statement defines the start, `h[-1,j]`.
        """
        within = False
        for statement in self.statements[name]:
            if self.inside(statement):
                within = True
            else:
                yield statement.left, statement.indices
        if within or not self.statements[name]:
            yield self.box(name)

    def inside(self, statement: ir.Statement) -> bool:
        """Whether all elements of a statement are in the ranges of the axes."""
        pairs = zip(statement.left, self.tensors[statement.target].axes, strict=True)
        return all(
            isinstance(place, ir.Flat) or surely_in(place, statement.scope, axis)
            for place, axis in pairs
        )

    def box(self, name: str) -> Left:
        """All elements in the ranges of the axes, under the indices that are best known."""
        axes = self.tensors[name].axes
        names: list[str] = []
        places: dict[str, ir.Affine] = {}
        indices = []
        for number, axis in enumerate(axes):
            new = self.letter(name, number)
            while new in names:
                new += "'"
            names.append(new)
            lower, extent = moved_size(axis.lower, places), moved_size(axis.extent, places)
            places[axis.letter] = ir.Affine.of(new)
            indices.append(ir.Index(new, lower, extent))
        return tuple(ir.Affine.of(index) for index in indices), tuple(indices)

    def letter(self, name: str, number: int) -> str:
        """What an axis is called: as on the left side, unless that is the name of a token."""
        axis, known = self.tensors[name].axes[number], self.statements[name]
        index = ir.Index(axis.letter or "(", axis.lower, axis.extent)
        if (
            len(known) == 1
            and isinstance(place := known[0].left[number], ir.Affine)
            and place.terms
        ):
            index = known[0].scope[place.terms[0][0]]
        return index_name(replace(index, name="[") if index.name in self.tokens else index)

    def support(self, name: str, number: int) -> tuple[Size, Size] | None:
        """Lower end and extent of a range along an axis outside of which all elements are 0."""
        tensor, known = self.tensors[name], self.statements[name]
        axis = tensor.axes[number]
        if len(known) == 1 and isinstance(known[0].left[number], ir.Affine):
            place = known[0].left[number]
            around = known[0].scope
            assert isinstance(place, ir.Affine)
            ends = place.known_ends(around)
            return None if ends is None else (ends[0], ends[1] - ends[0] + 1)
        if size_indices(axis.extent) or not all(map(self.inside, known)):
            return None
        return axis.lower, axis.extent

    def surely(self, read: ir.Read, around: Mapping[str, ir.Index]) -> bool:
        """Whether a read of an input is always in its ranges."""
        tensor = self.tensors[read.tensor]
        if tensor.role == "defined":
            return False
        for place, axis in zip(read.places, tensor.axes, strict=True):
            if not isinstance(place, ir.Affine) or size_indices(axis.extent):
                return False
            if in_range(place, ir.Index("", axis.lower, axis.extent), {}, around) is not None:
                return False
        return True

    # ---- which statement defines them ----

    def precedence(self, statement: ir.Statement) -> ir.Expression | None:
        """That an element is defined by this statement, and not by one before it."""
        conditions = [statement.guard]
        for earlier in self.statements[statement.target]:
            if earlier is statement:
                break
            conditions.append(_not(overlap(earlier, statement)))
        return both(*conditions)

    # ---- what flows to them ----

    def arrived(self, flow: Flow, left: Left, axes: Sequence[int] | None = None) -> Arrived | None:
        """What a flow brings to an element, in its indices; None if nothing.

        With `axes`, to all elements together that have these places in common.
        """
        element, given = left
        chosen = range(len(element)) if axes is None else axes
        places = [flow.read.places[n] for n in chosen]
        targets = [element[n] for n in chosen]
        last = {index.name for index in flow.bound}
        settled, rest = _settled(flow.condition)
        flow = replace(flow, condition=rest)
        places += [place for place, _ in settled]
        targets += [number for _, number in settled]
        for only_names in (False, True):
            try:
                solution = solve(places, flow.indices, targets, given, last, only_names)
                return None if solution is None else self.turned(flow, solution)
            except Unmovable:
                continue
        raise Unmovable(f"{flow.read.tensor} cannot be turned round")

    def turned(self, flow: Flow, solution: Solution) -> Arrived:
        conditions = list(solution.equations)
        if flow.condition is not None:
            conditions.append(moved(flow.condition, solution.places))
        for name, bound in solution.bounds.items():
            index = next(i for i in flow.indices if i.name == name)
            if not self.vanishes(flow.value, index):
                conditions.append(bound)
        names = {index.name for index in solution.summed}
        outer = [c for c in conditions if not free_indices(c) & names]
        inner = [c for c in conditions if free_indices(c) & names]
        value = moved(flow.value, solution.places)
        return Arrived(solution.summed, both(*outer), both(*inner), value)

    def vanishes(self, value: ir.Expression, index: ir.Index) -> bool:
        """Whether an expression is 0 by itself where an index is out of its range."""
        match value:
            case ir.Read(tensor, places):
                return any(
                    isinstance(place, ir.Affine)
                    and place.shift is not None
                    and place.shift[0] == index.name
                    and self.support(tensor, number) == (index.lower + place.shift[1], index.extent)
                    for number, place in enumerate(places)
                )
            case ir.Apply("*", arguments):
                for number, factor in enumerate(arguments):
                    others = [a for n, a in enumerate(arguments) if n != number]
                    if self.vanishes(factor, index) and all(map(is_total, others)):
                        return True
            case ir.Apply("neg", (argument,)):
                return self.vanishes(argument, index)
            case ir.Select(((ir.Apply("≠", (asked, zero)), _),), otherwise) if (
                zero == otherwise == ZERO
            ):
                return self.vanishes(asked, index)
        return False


def overlap(earlier: ir.Statement, statement: ir.Statement) -> ir.Expression | None:
    """That a statement defines what another one does, in the indices of the other."""
    for one, two in zip(earlier.left, statement.left, strict=True):
        if (
            isinstance(one, ir.Affine)
            and isinstance(two, ir.Affine)
            and surely_apart(one, earlier.scope, two, statement.scope)
        ):
            return ZERO
    solution = solve(earlier.left, earlier.indices, statement.left, statement.indices)
    if solution is None:
        return ZERO
    guard = None if earlier.guard is None else moved(earlier.guard, solution.places)
    condition = both(*solution.equations, *solution.bounds.values(), guard)
    if solution.summed:
        condition = compare(ir.Reduce("sum", solution.summed, condition, ONE), ">", ZERO)
    return condition


def _settled(
    condition: ir.Expression | None,
) -> tuple[list[tuple[ir.Affine, ir.Affine]], ir.Expression | None]:
    """The indices that a condition says are at one place, `ℓ = 0`; and what else it says."""
    match condition:
        case ir.Apply("and", conditions):
            parts = [_settled(one) for one in conditions]
            return [pair for found, _ in parts for pair in found], both(*(r for _, r in parts))
        case ir.Apply("=", (ir.IndexValue(place), value)) if place.shift is not None:
            at = linear(value)
            if at is not None and not at.terms:
                return [(place, at)], None
    return [], condition


def _not(condition: ir.Expression | None) -> ir.Expression | None:
    if condition is None:
        return ZERO
    value = numeral(condition)
    if value is not None:
        return ZERO if value else None
    opposite = None if condition.every(ir.Read) else negation(condition)  # a nan has no opposite
    return compare(condition, "=", ZERO) if opposite is None else opposite
