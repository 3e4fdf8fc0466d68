"""Conditions on indices as linear constraints, and sizes compared.

t_2 ≤ t_1 + 1    →    t_2 - t_1 - 1 ≤ 0

How many points a set of index values has, as a formula.

    i: 0..I-1, t_1: 0..T-1, t_2: 0..T-1 where t_2 ≤ t_1   →   I T (T + 1) / 2

Conditions that compare an index with a number, or two indices with each other, are counted exactly;
others are left out, and the count is then an upper bound, marked as one. A formula holds for sizes
that are at least as large as the numbers that the text sets against them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from indicial.program.ir import (
    Affine,
    Apply,
    Axis,
    Constant,
    Expression,
    Index,
    IndexValue,
    SizeValue,
)
from indicial.program.rewrite import size_indices
from indicial.program.sizes import Atom, Size, Strided, nonnegative

_OPPOSITE = {"=": "≠", "≠": "=", "<": "≥", "≥": "<", ">": "≤", "≤": ">"}


@dataclass(frozen=True)
class Constraint:
    """`form ≤ 0`, or, if `differs`, `form ≠ 0`."""

    form: Affine
    differs: bool = False


def sign(size: Size) -> int | None:
    """-1, 0 or 1 for large sizes: 1 for `T - 3`; None where it depends, as for `T - J`."""
    plus = [dict(monomial) for monomial, coefficient in size.terms if coefficient > 0]
    minus = [dict(monomial) for monomial, coefficient in size.terms if coefficient < 0]
    if not size.terms:
        return 0
    if all(any(_grows_faster(p, m) for p in plus) for m in minus):
        return 1
    return -1 if all(any(_grows_faster(m, p) for m in minus) for p in plus) else None


def _grows_faster(a: dict[Atom, int], b: dict[Atom, int]) -> bool:
    return a != b and all(a.get(atom, 0) >= power for atom, power in b.items())


def larger(a: Size, b: Size) -> Size | None:
    """The larger of two sizes, where one is."""
    s = sign(a - b)
    return None if s is None else a if s >= 0 else b


def smaller(a: Size, b: Size) -> Size | None:
    s = sign(a - b)
    return None if s is None else a if s <= 0 else b


def add(a: Affine, b: Affine, factor: int = 1) -> Affine:
    """`a + factor · b`, collected."""
    terms = dict(a.terms)
    for name, times in b.terms:
        terms[name] = terms.get(name, 0) + factor * times
    kept = tuple((name, times) for name, times in sorted(terms.items()) if times)
    return Affine(kept, a.offset + factor * b.offset)


def linear(expression: Expression) -> Affine | None:
    """The expression as index arithmetic, if it is that: `t_1 - 2`, but not `x[t]`."""
    match expression:
        case IndexValue(place):
            return place
        case SizeValue(size):
            return Affine((), size)
        case Constant(value) if float(value).is_integer():
            return Affine((), Size.of(int(value)))
        case Apply("+" | "neg" as function, arguments):
            total = Affine()
            for argument in arguments:
                part = linear(argument)
                if part is None:
                    return None
                total = add(total, part, 1 if function == "+" else -1)
            return total
        case _:
            return None


def constraints(condition: Expression | None) -> tuple[list[Constraint], bool]:
    """The condition as constraints, and whether that is all that it says."""
    if condition is None:
        return [], True
    if not isinstance(condition, Apply):
        return [], False
    if condition.function == "and":
        parts = [constraints(argument) for argument in condition.arguments]
        return [c for some, _ in parts for c in some], all(exact for _, exact in parts)
    if condition.function not in _OPPOSITE:
        return [], False
    left, right = map(linear, condition.arguments)
    if left is None or right is None:
        return [], False
    up, down, one = add(left, right, -1), add(right, left, -1), Affine((), Size.of(1))
    table = {
        "≤": [Constraint(up)],
        "<": [Constraint(add(up, one))],
        "≥": [Constraint(down)],
        ">": [Constraint(add(down, one))],
        "=": [Constraint(up), Constraint(down)],
        "≠": [Constraint(up, differs=True)],
    }
    return table[condition.function], True


def inequality(condition: Expression | None) -> Affine | None:
    """What is at most 0 where a condition holds, if it is one inequality and nothing else."""
    found, exact = constraints(condition)
    return found[0].form if exact and len(found) == 1 and not found[0].differs else None


def surely_in(place: Affine, ranges: Mapping[str, Index], axis: Index | Axis) -> bool:
    """Whether a place is in a range wherever its indices are in theirs, whatever the sizes are."""
    ends = place.known_ends(ranges)
    if ends is None:
        return False
    return nonnegative(ends[0] - axis.lower) and nonnegative(axis.upper - ends[1])


def surely_apart(
    one: Affine, around: Mapping[str, Index], two: Affine, there: Mapping[str, Index]
) -> bool:
    """Whether two places surely have no value in common, each with its own indices."""
    own, other = one.known_ends(around), two.known_ends(there)
    if own is None or other is None:
        return False
    return nonnegative(own[0] - other[1] - 1) or nonnegative(other[0] - own[1] - 1)


def conjuncts(condition: Expression | None) -> list[Expression]:
    """The conditions that must hold together."""
    if condition is None:
        return []
    if isinstance(condition, Apply) and condition.function == "and":
        return [c for argument in condition.arguments for c in conjuncts(argument)]
    return [condition]


def joined(conditions: Iterable[Expression]) -> Expression | None:
    """All of them as one condition."""
    every = list(dict.fromkeys(conditions))
    if len(every) < 2:
        return every[0] if every else None
    return Apply("and", tuple(every))


def negation(condition: Expression) -> Expression | None:
    """`t_2 > t_1` for `t_2 ≤ t_1`; None for what is not a single comparison."""
    if isinstance(condition, Apply) and condition.function in _OPPOSITE:
        return Apply(_OPPOSITE[condition.function], condition.arguments, span=condition.span)
    return None


@dataclass(frozen=True)
class Count:
    """A number of points; an upper bound if it is not exact."""

    size: Size
    exact: bool = True


@dataclass(frozen=True)
class Domain:
    """Values of some indices, each in its range, under constraints."""

    indices: tuple[Index, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    exact: bool = True
    empty: bool = False

    def extend(self, indices: Iterable[Index]) -> Domain:
        """With more indices; one of the same name is replaced."""
        new = tuple(indices)
        names = {index.name for index in new}
        kept = self.project({i.name for i in self.indices} - names) if self.indices else self
        return replace(kept, indices=kept.indices + new)

    def where(self, condition: Expression | None) -> Domain:
        """Only the points at which a condition holds."""
        found, exact = constraints(condition)
        return self.under(found, exact)

    def under(self, found: Iterable[Constraint], exact: bool = True) -> Domain:
        return replace(self, constraints=(*self.constraints, *found), exact=self.exact and exact)

    def project(self, names: set[str]) -> Domain:
        """The values that these indices take: of `t_2 < t_1`, alone, `t_2: 0..T-2`."""
        if all(index.name in names for index in self.indices):
            return self
        tight = self._tightened
        ranges = {index.name: index for index in tight.indices}
        exact, empty = tight.exact, tight.empty
        kept: list[Constraint] = []
        linked: dict[str, dict[str, list[Constraint]]] = {}  # dropped index, its partner
        for constraint in tight.constraints:
            terms, offset = dict(constraint.form.terms), constraint.form.offset
            dropped = terms.keys() - names
            if len(terms) > 2 and dropped:
                exact = False
                continue
            # Two values of the dropped index leave every value of the other possible; one does not.
            single = all(ranges[name].extent.number == 1 for name in dropped)
            for name in dropped:
                for partner in terms.keys() - {name}:
                    linked.setdefault(name, {}).setdefault(partner, []).append(constraint)
                # At the value of the dropped index that asks the least of the other.
                factor = terms.pop(name)
                index = ranges[name]
                offset = offset + factor * (index.lower if factor > 0 else index.upper)
            if not dropped:
                kept.append(constraint)
            elif terms and (not constraint.differs or single):
                form = Affine(tuple(terms.items()), offset)
                kept.append(Constraint(form, constraint.differs))
        pierced = {c.form.terms[0][0] for c in tight.constraints if len(c.form.terms) == 1}
        for name, partners in linked.items():
            exact = exact and len(partners) == 1 and name not in pierced
            for partner, found in partners.items():
                number = _pairs(ranges[name], ranges[partner], found)
                exact = exact and number is not None
                empty = empty or (number is not None and sign(number) in (0, -1))
        indices = tuple(index for index in tight.indices if index.name in names)
        return Domain(indices, tuple(kept), exact, empty)

    @cached_property
    def count(self) -> Count:
        """How many points there are."""
        tight = self._tightened
        if tight.empty:
            return Count(Size())
        exact = tight.exact
        pairs: dict[tuple[str, str], list[Constraint]] = {}
        holes: dict[str, int] = {}
        for constraint in tight.constraints:
            terms = constraint.form.terms
            if len(terms) == 1:
                holes[terms[0][0]] = holes.get(terms[0][0], 0) + 1
            elif len(terms) == 2 and {factor for _, factor in terms} == {1, -1}:
                pairs.setdefault((terms[0][0], terms[1][0]), []).append(constraint)
            else:
                exact = False
        left = {index.name: index for index in tight.indices}
        total = Size.of(1)
        for (first, second), found in pairs.items():
            if first not in left or second not in left or first in holes or second in holes:
                exact = False
                continue
            number = _pairs(left[first], left[second], found)
            if number is None:
                exact = False
                continue
            del left[first], left[second]
            total = total * number
        depths = set().union(*(size_indices(index.extent) for index in tight.indices))
        for name, index in left.items():
            if name not in depths:
                total = total * (index.extent - holes.get(name, 0))
        layers = [index for name, index in left.items() if name in depths]
        return Count(bound_strides(total, layers), exact and not size_indices(total))

    @cached_property
    def _tightened(self) -> Domain:
        """The same points, with what is said about one index alone put into its range."""
        ranges = {index.name: (index.lower, index.upper) for index in self.indices}
        exact, empty = self.exact, self.empty
        rest: list[Constraint] = []
        holes: list[tuple[str, Size]] = []
        for constraint in self.constraints:
            terms, offset = constraint.form.terms, constraint.form.offset
            if not terms:
                s = sign(offset)
                exact = exact and s is not None
                empty = empty or ((s == 0) if constraint.differs else (s == 1))
                continue
            name, factor = terms[0]
            if len(terms) > 1 or abs(factor) != 1 or name not in ranges:
                rest.append(constraint)
                continue
            lower, upper = ranges[name]
            value = -factor * offset
            if constraint.differs:
                holes.append((name, value))
            elif factor > 0:
                bound = smaller(upper, value)
                ranges[name] = (lower, bound if bound is not None else upper)
                exact = exact and bound is not None
            else:
                bound = larger(lower, value)
                ranges[name] = (bound if bound is not None else lower, upper)
                exact = exact and bound is not None
        for name, value in _cut_ends(holes, ranges):
            lower, upper = ranges[name]
            below, above = sign(value - lower), sign(upper - value)
            if below is None or above is None:
                exact = False
            elif below > 0 and above > 0:
                rest.append(Constraint(Affine(((name, 1),), -value), differs=True))
        indices = []
        for index in self.indices:
            lower, upper = ranges[index.name]
            indices.append(Index(index.name, lower, upper - lower + 1))
            empty = empty or sign(upper - lower) == -1
        return Domain(tuple(indices), tuple(rest), exact, empty)


def _cut_ends(
    holes: list[tuple[str, Size]], ranges: dict[str, tuple[Size, Size]]
) -> list[tuple[str, Size]]:
    """Move the ends of ranges past the holes that lie there; return the other holes, each once."""
    left = list(dict.fromkeys(holes))
    for name, value in left * len(left):  # a hole may come to lie at an end when another is cut
        lower, upper = ranges[name]
        if value == lower:
            ranges[name] = (lower + 1, upper)
        elif value == upper:
            ranges[name] = (lower, upper - 1)
    return left


def _pairs(first: Index, second: Index, found: list[Constraint]) -> Size | None:
    """The number of pairs under constraints on `first - second`; None if it cannot be said."""
    low: Size | None = None
    high: Size | None = None
    holes = Size()
    for constraint in found:
        factor = dict(constraint.form.terms)[first.name]
        value = -factor * constraint.form.offset
        if constraint.differs:
            at, before = _up_to(first, second, value), _up_to(first, second, value - 1)
            if at is None or before is None or len(found) > 1:
                return None
            holes = at - before
        elif factor > 0:
            high = value if high is None else smaller(high, value)
            if high is None:
                return None
        else:
            low = value if low is None else larger(low, value)
            if low is None:
                return None
    total = first.extent * second.extent if high is None else _up_to(first, second, high)
    below = Size() if low is None else _up_to(first, second, low - 1)
    if total is None or below is None:
        return None
    result = total - below - holes
    return Size() if sign(result) == -1 else result


def _up_to(first: Index, second: Index, c: Size) -> Size | None:
    """The number of pairs with `first ≤ second + c`: for one range of T and c = 0, T(T+1)/2."""
    # As `second` grows, first nothing fits, then one more each time, then all of `first`.
    start = larger(second.lower, first.lower - c)
    end = smaller(second.upper, first.upper - c)
    if start is None or end is None:
        return None
    ramp = end - start + 1
    if sign(ramp) is None:
        return None
    result = Size()
    if sign(ramp) == 1:
        ends = (start + c - first.lower + 1) + (end + c - first.lower + 1)
        result = ramp * ends * Size.of(Fraction(1, 2))
    last = larger(end, second.lower - 1)
    if last is None:
        return None
    all_of = second.upper - last
    return result + all_of * first.extent if sign(all_of) == 1 else result


def bound_strides(size: Size, layers: Iterable[Index]) -> Size:
    """The sum of a size over `layers`, on which its strided parts depend; an upper bound.

    A stack that halves the text at each of L layers has at most 2T + L positions in all, not L T.
    """
    result = Size()
    ranges = tuple(layers)
    for monomial, coefficient in size.terms:
        factors = [atom for atom, power in monomial for _ in range(power)]
        term = Size.of(coefficient)
        for atom in factors:
            if isinstance(atom, str) or not atom.index:
                term = term * Size.of(atom)
        strided = [atom for atom in factors if isinstance(atom, Strided) and atom.index]
        for layer in ranges:
            own = [atom for atom in strided if atom.index == layer.name]
            term = term * (_geometric(own[0], layer) if len(own) == 1 else layer.extent)
            strided = [atom for atom in strided if len(own) != 1 or atom is not own[0]]
        for atom in strided:
            term = term * Size.of(atom.base)
        result = result + term
    return result


def _geometric(strided: Strided, layer: Index) -> Size:
    # Σ_{d ≥ first} ⌈T/s^d⌉ ≤ T/s^first · s/(s-1) + the number of layers
    first = layer.lower.number
    times = 1 if first is not None and first + strided.offset >= 1 else 2
    return times * Size.of(strided.base) + layer.extent
