"""Conditions on indices as linear constraints, and sizes compared.

t_2 ≤ t_1 + 1    →    t_2 - t_1 - 1 ≤ 0
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from indicial.program.ir import Affine, Apply, Constant, Expression, IndexValue, SizeValue
from indicial.program.sizes import Atom, Size

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
