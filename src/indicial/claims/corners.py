"""The sizes that a claim is tried at: 1, 2, 3, all different, and each alone small or large.

>>> corners(code, 300_000)                  # sizes T and J, both open
[{"T": 1, "J": 1}, {"T": 2, "J": 2}, {"T": 1, "J": 3}, {"T": 3, "J": 3}, {"T": 4, "J": 5}, …]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from indicial.program.explain.facts import tie
from indicial.program.ir import Code
from indicial.program.meaning.sample import extent_value, least_sizes, work
from indicial.program.messages import IndicialError

LARGE = 32
"""What one size is when it alone is large."""
MOST_ALONE = 6
"""Of more sizes than this not each is tried alone."""
MOST_WORK = 2_000_000
"""Nothing is tried at which a single draw computes more numbers than this."""


def corners(code: Code, most_work: int, few: bool = False) -> list[dict[str, int]]:
    """The sizes to try, small ones first; a size with a value keeps it.

    `few` leaves out what is unlikely to tell more, for claims that take many draws at each. Sizes
    at which a draw computes more numbers than `most_work` are left out, if there are others.
    """
    fixed = {name: value for name, value in code.sizes.items() if value is not None}
    ties = {name: letter for name, letter in tie(code).items() if name not in fixed}
    least = least_sizes(code)
    open_ = [name for name in code.sizes if name not in fixed and name not in ties]
    found: dict[tuple[tuple[str, int], ...], dict[str, int]] = {}
    for values in _values(open_, few):
        sizes = fixed | {name: max(value, least.get(name, 1)) for name, value in values.items()}
        for name, letter in ties.items():
            sizes[name] = max(sizes[letter], least.get(name, 1))
        _widen(code, sizes, set(open_) | set(ties))
        if work(code, sizes) > (most_work if found else MOST_WORK):
            continue
        found.setdefault(tuple(sizes.items()), sizes)
    if not found:
        raise IndicialError(
            "one draw computes more than two million numbers at these sizes; set smaller ones with "
            "--set"
        )
    _require_rows_fit(code, found.values())
    return sorted(found.values(), key=lambda sizes: work(code, sizes))


def _values(names: list[str], few: bool) -> Iterator[dict[str, int]]:
    yield dict.fromkeys(names, 1)
    yield dict.fromkeys(names, 2)
    yield {name: 4 + number % 4 for number, name in enumerate(names)}
    for name in names[:MOST_ALONE]:
        yield {**dict.fromkeys(names, 2), name: LARGE}
    if not few:
        yield dict.fromkeys(names, 3)
        yield {name: 7 - number % 4 for number, name in enumerate(names)}
        for name in names[:MOST_ALONE]:
            yield {**dict.fromkeys(names, 3), name: 1}


def _orthonormal(code: Code, sizes: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """The tensors with orthonormal rows: how many rows, and how long they are."""
    for draw in code.draws:
        if draw.distribution == "orthonormal":
            extents = [extent_value(a.extent, sizes) for a in code.tensors[draw.tensor].axes]
            rows, length = (1, 1, *extents)[-2:]
            yield draw.tensor, rows, length


def _widen(code: Code, sizes: dict[str, int], open_: set[str]) -> None:
    """Makes room for orthonormal rows: there are no more of them than they are long."""
    for tensor, rows, length in _orthonormal(code, dict(sizes)):
        name = code.tensors[tensor].axes[-1].extent.name if code.tensors[tensor].axes else None
        if rows > length and name in open_:
            sizes[name] = rows


def _require_rows_fit(code: Code, found: Iterable[Mapping[str, int]]) -> None:
    for sizes in found:
        for tensor, rows, length in _orthonormal(code, sizes):
            if rows > length:
                raise IndicialError(
                    f"{tensor} has {rows} rows of length {length}, and no more than {length} of "
                    f"these can be orthonormal"
                )
