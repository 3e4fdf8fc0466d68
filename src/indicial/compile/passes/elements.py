"""Elements of tensors: where they exist, which statement defines them, what flows to them.

Flow(h[t-1,j], (t, j), value = R̄[t,j] * W[j])   to the element h[t,j]   →   R̄[t+1,j] * W[j]

Nothing flows from a reader that does not exist: `t+1` has to be in the range of the reader's t. The
condition is left out where a factor is 0 by itself there, as R̄[T,j] is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from indicial.compile.passes.algebra import (
    ONE,
    ZERO,
    both,
    compare,
    is_total,
    numeral,
    otherwise_zero,
    scaled,
    times,
)
from indicial.compile.passes.forms import Flow
from indicial.compile.passes.new_tensors import index_name
from indicial.compile.passes.solving import (
    Solution,
    in_range,
    solve,
)
from indicial.program import ir
from indicial.program.cost.conditions import negation, surely_apart, surely_in
from indicial.program.moving import Unmovable, moved, moved_size
from indicial.program.rewrite import free_indices, size_indices
from indicial.program.sizes import Size

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

    def add(self, tensor: ir.Tensor, statements: Sequence[ir.Statement] = ()) -> None:
        self.tensors[tensor.name] = tensor
        self.statements[tensor.name] = list(statements)

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
            index = next(i for i in known[0].indices if i.name == place.terms[0][0])
        tokens = {t.name for t in self.tensors.values() if t.values is not None}
        return index_name(replace(index, name="[") if index.name in tokens else index)

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
            conditions.append(_not(self.match(earlier, statement)))
        return both(*conditions)

    def match(self, earlier: ir.Statement, statement: ir.Statement) -> ir.Expression | None:
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


def _settled(
    condition: ir.Expression | None,
) -> tuple[list[tuple[ir.Affine, ir.Affine]], ir.Expression | None]:
    """The indices that a condition says are at one place, `ℓ = 0`; and what else it says."""
    match condition:
        case ir.Apply("and", conditions):
            parts = [_settled(one) for one in conditions]
            return [pair for found, _ in parts for pair in found], both(*(r for _, r in parts))
        case ir.Apply("=", (ir.IndexValue(place), ir.Constant(value))) if place.shift is not None:
            if value == int(value):
                return [(place, ir.Affine((), Size.of(int(value))))], None
        case ir.Apply("=", (ir.IndexValue(place), ir.SizeValue(size))) if place.shift is not None:
            return [(place, ir.Affine((), size))], None
    return [], condition


def _not(condition: ir.Expression | None) -> ir.Expression | None:
    if condition is None:
        return ZERO
    value = numeral(condition)
    if value is not None:
        return ZERO if value else None
    opposite = None if condition.every(ir.Read) else negation(condition)  # a nan has no opposite
    return compare(condition, "=", ZERO) if opposite is None else opposite
