"""Sizes as formulas: polynomials in the names of sizes, with exact coefficients.

>>> I, K = Size.of("I"), Size.of("K")
>>> str(2 * K * I + 1)
'2 I K + 1'
>>> (2 * K * I + 1).value({"I": 3, "K": 4})
25

An atom is a name (`J`), or `Strided("T", 2, depth)`: what is left of `T` after `depth` layers of
stride 2, which has a value only where the depth has one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Union


@dataclass(frozen=True, slots=True)
class Strided:
    """`⌈base / stride^depth⌉`; depth is an index or a size (or nothing), plus a number."""

    base: str
    stride: int
    index: str
    offset: int = 0

    def value(self, sizes: Mapping[str, int], indices: Mapping[str, int]) -> int:
        start = 0
        if self.index:
            start = indices[self.index] if self.index in indices else sizes[self.index]
        depth = max(0, start + self.offset)
        by: int = self.stride**depth
        return -(-sizes[self.base] // by)

    def __str__(self) -> str:
        if not self.index:
            return f"⌈{self.base}/{self.stride**self.offset}⌉"
        shift = f"{self.offset:+d}" if self.offset else ""
        return f"⌈{self.base}/{self.stride}^{{{self.index}{shift}}}⌉"


Atom = str | Strided
Monomial = tuple[tuple[Atom, int], ...]
Coefficient = int | Fraction
"""Whole numbers nearly always; halves come from counting pairs."""
Sizeable = Union["Size", int, Fraction]


@dataclass(frozen=True, slots=True)
class Size:
    """A polynomial: monomials with their coefficients, none of them zero, in a fixed order."""

    terms: tuple[tuple[Monomial, Coefficient], ...] = ()

    @staticmethod
    def of(value: Sizeable | str | Strided) -> Size:
        return value if isinstance(value, Size) else _of(value)

    @property
    def number(self) -> Coefficient | None:
        """The value, if it is the same whatever the sizes are."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return None

    @property
    def name(self) -> str | None:
        """`J`, if this is just that."""
        if len(self.terms) == 1:
            monomial, coefficient = self.terms[0]
            if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
                atom = monomial[0][0]
                return atom if isinstance(atom, str) else None
        return None

    @property
    def atoms(self) -> set[Atom]:
        return {atom for monomial, _ in self.terms for atom, _ in monomial}

    @property
    def names(self) -> set[str]:
        """The sizes that it depends on."""
        return {a if isinstance(a, str) else a.base for a in self.atoms}

    def value(self, sizes: Mapping[str, int], indices: Mapping[str, int] | None = None) -> int:
        """The number at these sizes, which may be a tracer's symbols: nothing is asked of them.

        A fraction is an error of whoever made the formula.
        """
        result: Coefficient = 0
        for monomial, coefficient in self.terms:
            factor = coefficient
            for atom, power in monomial:
                value = sizes[atom] if isinstance(atom, str) else atom.value(sizes, indices or {})
                for _ in range(power):
                    factor = factor * value
            result = result + factor
        if isinstance(result, Fraction):
            if result.denominator != 1:
                raise ValueError(f"{self} is {result} at these sizes, not a whole number")
            return int(result)
        return result

    def substitute(self, values: Mapping[str, Sizeable]) -> Size:
        """The formula with some names replaced."""
        name = self.name
        if name is not None:
            return Size.of(values[name]) if name in values else self
        if not any(isinstance(a, str) and a in values for a in self.atoms):
            return self
        return self.mapped(lambda a: values.get(a, a) if isinstance(a, str) else a)

    def mapped(self, change: Callable[[str | Strided], Sizeable | str | Strided]) -> Size:
        """The formula with something in the place of each of its atoms."""
        result = Size()
        for monomial, coefficient in self.terms:
            factor = Size.of(coefficient)
            for atom, power in monomial:
                base = Size.of(change(atom))
                for _ in range(power):
                    factor = factor * base
            result = result + factor
        return result

    def __add__(self, other: Sizeable) -> Size:
        other = other if other.__class__ is Size else _of(other)
        if not self.terms or not other.terms:
            return other if not self.terms else self
        total = dict(self.terms)
        for monomial, coefficient in other.terms:
            total[monomial] = total.get(monomial, 0) + coefficient
        return _normal(total)

    __radd__ = __add__

    def __mul__(self, other: Sizeable) -> Size:
        other = Size.of(other)
        if (number := other.number) is not None:
            return self._times(number)
        if (number := self.number) is not None:
            return other._times(number)
        total: dict[Monomial, Coefficient] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                powers: dict[Atom, int] = dict(left)
                for atom, power in right:
                    powers[atom] = powers.get(atom, 0) + power
                monomial = tuple(sorted(powers.items(), key=lambda item: str(item[0])))
                total[monomial] = total.get(monomial, 0) + a * b
        return _normal(total)

    __rmul__ = __mul__

    def _times(self, factor: Coefficient) -> Size:
        """A number times the formula."""
        if factor == 1:
            return self
        return Size(tuple((monomial, factor * c) for monomial, c in self.terms) if factor else ())

    def __neg__(self) -> Size:
        return self._times(-1)

    def __sub__(self, other: Sizeable) -> Size:
        return self + -Size.of(other)

    def __rsub__(self, other: Sizeable) -> Size:
        return Size.of(other) - self

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        text = ""
        for monomial, coefficient in self.terms:
            sign = "-" if coefficient < 0 else "+"
            magnitude = abs(coefficient)
            atoms = " ".join(f"{a}" + (_superscript(p) if p > 1 else "") for a, p in monomial)
            number = str(magnitude) if magnitude != 1 or not monomial else ""
            body = f"{number} {atoms}".strip()
            text += (f" {sign} " if text else ("-" if sign == "-" else "")) + body
        return text

    def __repr__(self) -> str:
        return f"Size({self})"


@lru_cache(maxsize=4096)
def _of(value: int | Fraction | str | Strided) -> Size:
    if isinstance(value, str | Strided):
        return Size(((((value, 1),), 1),))
    return _normal({(): value})


def _degree(term: tuple[Monomial, Coefficient]) -> tuple[int, list[tuple[str, int]]]:
    monomial = term[0]
    return (-sum(power for _, power in monomial), [(str(a), -p) for a, p in monomial])


def _normal(total: Mapping[Monomial, Coefficient]) -> Size:
    terms = [(m, c) for m, c in total.items() if c]
    return Size(tuple(sorted(terms, key=_degree) if len(terms) > 1 else terms))


def total(sizes: Iterable[Size]) -> Size:
    """The sum of many sizes, whose terms are put in order once."""
    found: dict[Monomial, Coefficient] = {}
    for size in sizes:
        for monomial, coefficient in size.terms:
            found[monomial] = found.get(monomial, 0) + coefficient
    return _normal(found)


@lru_cache(maxsize=64)
def _superscript(power: int) -> str:
    return "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(d)] for d in str(power))


def nonnegative(size: Size, empty: Collection[str] = ()) -> bool:
    """Each name is 1 + something: if no coefficient of that is negative, nor is the size.

    Names that may be `empty` are only something.
    """
    least = {name: Size.of(name) + 1 for name in size.names.difference(empty)}
    strided = [atom for atom in size.atoms if isinstance(atom, Strided)]
    if strided:
        # What a stride leaves of 1 or more is 1 or more as well.
        least |= {f"{a}": Size.of(f"{a}") + 1 for a in strided if a.base not in empty}
        size = size.mapped(str)
    shifted = size.substitute(least)
    return all(coefficient >= 0 for _, coefficient in shifted.terms)


def divided(base: Size, by: Strided) -> Size:
    """What strides leave of a size: of `⌈X/2⌉` with stride 2 it is `⌈X/4⌉`, of 32 it is 16."""
    if base.number is not None and not by.index:
        return Size.of(-(-int(base.number) // by.stride**by.offset))
    inner = next(iter(base.atoms), None)
    if base == Size.of(inner or 0) and isinstance(inner, Strided):
        if inner.stride == by.stride and not inner.index:
            return Size.of(replace(by, base=inner.base, offset=by.offset + inner.offset))
        if not inner.index and not by.index:
            both = inner.stride**inner.offset * by.stride**by.offset
            return Size.of(Strided(inner.base, both, "", 1))
    return Size.of(replace(by, base=base.name or by.base))
