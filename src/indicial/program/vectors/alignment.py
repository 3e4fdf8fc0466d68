"""Shapes of vector style, and how factors side by side fit together.

k^⊤ q      row, column             a number: both are summed over one index
u u^⊤      column, row             a matrix: nothing is summed
V x        matrix, column          a column
u u        column, column          nothing that makes sense
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Shape = tuple[int, int]
NUMBER, COLUMN, ROW, MATRIX = (0, 0), (1, 0), (0, 1), (1, 1)
OF_RANK: dict[int, Shape] = {0: NUMBER, 1: COLUMN, 2: MATRIX}

KINDS: dict[Shape, str] = {NUMBER: "number", COLUMN: "column", ROW: "row", MATRIX: "matrix"}


class Mismatch(Exception):
    """Two factors that cannot stand side by side: their positions in the product."""

    def __init__(self, first: int, second: int) -> None:
        self.first, self.second = first, second


@dataclass
class Aligned:
    """A product: its shape, which factors share a summed index, who keeps the open ends."""

    shape: Shape = NUMBER
    links: list[tuple[int, int]] = field(default_factory=list)
    left: int | None = None
    right: int | None = None


def align(shapes: Sequence[Shape]) -> Aligned:
    """`u u^⊤ x`, column row column → a column; the row is summed with the column behind it."""
    result = Aligned()
    last = 0
    for number, shape in enumerate(shapes):
        if shape == NUMBER:
            continue
        if result.left is None and result.right is None:
            result.left = number if shape[0] else None
            result.right = number if shape[1] else None
        elif result.right is not None and shape[0]:
            result.links.append((result.right, number))
            result.right = number if shape[1] else None
        elif result.right is None and not shape[0]:
            result.right = number
        else:
            raise Mismatch(last, number)
        last = number
    result.shape = (int(result.left is not None), int(result.right is not None))
    return result


def flip(shape: Shape | None) -> Shape | None:
    return None if shape is None else (shape[1], shape[0])
