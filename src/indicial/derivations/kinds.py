r"""What a free name may be: a number, a column, a row, a matrix, each with how unlikely it is.

\mathbf{x}   a column; \mathbf{W}   a matrix
x            in a text with bold letters a number, else a number or a column
A            a matrix, or less likely a number; where it is transposed no number
f(…)         a number, or a function of each element; f may also be a factor
"""

from __future__ import annotations

from indicial.derivations.draws import ALONE, COLUMN, MATRIX, NUMBER, ROW
from indicial.derivations.scope import Scope
from indicial.program.names.letters import is_capital

LOSSES = frozenset({"L", "J", "E", "ℒ", "𝒥", "ℓ", "l"})
"""Letters that are numbers where they are differentiated."""


def candidates(scope: Scope, key: str) -> list[tuple[str, int]]:
    """The kinds that a name may have, each with its cost."""
    if key.endswith("()"):
        found = [(NUMBER, 0), ("elementwise", 0)]
        return found if scope.bold else [*found, ("times", 0)]
    if scope.is_number(key):
        return [(NUMBER, 0)]
    counts = scope.counts.get(key, {0})
    most = max(counts)
    fonts = scope.fonts.get((key, most), {""})
    capital = is_capital(key[:1])
    if scope.bold:
        if "bold" not in fonts:
            return [(NUMBER, 0)]
        return [(MATRIX, 0)] if capital else [(COLUMN, 0), (ROW, 1)]
    if most and 0 in counts:
        return [(NUMBER, 0), (ALONE, 0), (COLUMN, 1)]
    if key in scope.depends and key[:1] in LOSSES:
        return [(NUMBER, 0), (MATRIX if capital else COLUMN, 1)]
    if capital:
        return [(MATRIX, 0), (COLUMN if key in scope.arrays else NUMBER, 1)]
    if key in scope.arrays:
        return [(COLUMN, 0), (MATRIX, 2)]
    return [(NUMBER, 0), (COLUMN, 0)]
