"""Numbers and formulas as people read them.

>>> count(1234567), short(12345678), in_bytes(12345678)
('1,234,567', '12.3 M', '49.4 MB')
>>> formula(Size.of("J") * Size.of("T") * 65536)
'65,536 J T'
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from indicial.program.sizes import Atom, Size

BYTES = 4
"""The bytes of one element in float32."""

_COEFFICIENT = re.compile(r"(?:^-?|(?<=[+-] ))(\d{4,})(?=[ /]|$)")


def count(number: int) -> str:
    """1234567 → `1,234,567`."""
    return f"{number:,}"


def short(number: float) -> str:
    """Three digits and a letter: 12345678 → `12.3 M`, 950 → `950`."""
    size = abs(number)
    for factor, letter in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= 0.9995 * factor:
            if size >= 9995e15:
                return f"{number:.2e}"
            return f"{_three_digits(number / factor)} {letter}"
    return f"{number:,.0f}"


def in_bytes(elements: int) -> str:
    """How much memory elements in float32 take: 12345678 → `49.4 MB`."""
    text = short(elements * BYTES)
    return f"{text}B" if text[-1].isalpha() else f"{text} B"


def both(number: int) -> str:
    """Exact, and from a million on also short: `12,345,678 (12.3 M)`."""
    if abs(number) < 1_000_000:
        return count(number)
    return f"{count(number)} ({short(number)})" if abs(number) < 10**15 else short(number)


def formula(size: Size) -> str:
    """A formula with its large numbers grouped: `65,536 J T + J`."""

    def grouped(match: re.Match[str]) -> str:
        number = match.group(1)
        return match.group(0).removesuffix(number) + f"{int(number):,}"

    return _COEFFICIENT.sub(grouped, str(size))


def tight(size: Size) -> str:
    """A formula in a range: `T-1`."""
    return formula(size).replace(" + ", "+").replace(" - ", "-")


def leading(size: Size) -> Size:
    """Without the terms that another one outgrows in every size: `4 J² T + 10 J T` → `4 J² T`."""
    powers = [dict(monomial) for monomial, _ in size.terms]
    having: dict[Atom, list[dict[Atom, int]]] = {}
    for one in powers:
        for atom in one:
            having.setdefault(atom, []).append(one)

    def outgrown(mine: dict[Atom, int]) -> bool:
        others = min((having[atom] for atom in mine), key=len, default=powers)
        return any(
            other != mine and all(other.get(atom, 0) >= power for atom, power in mine.items())
            for other in others
        )

    kept = zip(powers, size.terms, strict=True)
    return Size(tuple(term for mine, term in kept if not outgrown(mine)))


def value(size: Size, sizes: Mapping[str, int]) -> int | None:
    """The number at these sizes, if they are enough for one."""
    try:
        return size.value(sizes)
    except (KeyError, ValueError):
        return None


def _three_digits(number: float) -> str:
    digits = 2 if abs(number) < 9.995 else 1 if abs(number) < 99.95 else 0
    return f"{number:.{digits}f}"
