"""A draw with a covariance → one with independent noise, and the equations of its square root.

    k[n,i] ~ N(μ[n,i], C[n,i,j])

    covariance1.noise[n,i] ~ N(0, 1)
    k[n,i] = μ[n,i] + Σ_r covariance1.root[n,r,i] covariance1.noise[n,r]     C = root^⊤ root, row by row

The variance has an index that the left side lacks: it is a matrix, over the last index of the left side and that
one. It may be singular, as `1/2 μ[n,i] μ[n,j]` is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.parse import parse_text
from indicial.notation.printers import name_key, unicode
from indicial.notation.source import Span
from indicial.program.names.inverses import LETTERS
from indicial.program.names.letters import index_name, is_capital
from indicial.program.names.outline import NORMAL

TINY = "1e-12"
"""A variance that is smaller counts as this one, so that nothing is divided by 0."""


def independent(statements: Sequence[s.Statement]) -> list[s.Statement]:
    """The statements with independent draws only."""
    made: list[s.Statement] = []
    number = 0
    for statement in statements:
        found = _covariance(statement)
        if found is None:
            made.append(statement)
            continue
        number += 1
        made += _drawn(number, *found, statement.span)
    return made


def _covariance(statement: s.Statement) -> tuple[s.Index, s.Expression, s.Expression, str] | None:
    """The left side of a draw, its mean, its covariance, and the letter of the second index of that."""
    if not isinstance(statement, s.Equation) or not statement.draws:
        return None
    left, right = statement.sides
    if not isinstance(left, s.Index) or not isinstance(right, s.Call) or len(right.arguments) != 2:
        return None
    if right.word not in NORMAL:
        return None
    own = [index_name(item) for item in left.items]
    if not all(own):
        return None
    mean, variance = right.arguments
    bound = {n for r in variance.every(s.Reduction) for u in r.under for n in u.walk()}
    items = [i for n in variance.every(s.Index) for i in n.items]
    items += [i for n in variance.every(s.Comparison) for i in n.operands]
    others = {
        name_key(found)
        for item in items
        if (found := index_name(item)) is not None
        and not is_capital(found.base)
        and found not in own
        and found not in bound
    }
    return (left, mean, variance, others.pop()) if len(others) == 1 else None


def _drawn(
    number: int, left: s.Index, mean: s.Expression, variance: s.Expression, second: str, span: Span
) -> list[s.Statement]:
    *outer, row = (unicode(item) for item in left.items)
    front = "".join(f"{letter}," for letter in outer)
    k, *_, r = LETTERS
    lines = [
        f"C[{front}{row},{second}] = V",
        f"D[{front}{k}] = C[{front}{k},{k}] - Σ_{{{r} < {k}}} L[{front}{r},{k}] L[{front}{r},{k}]",
        f"L[{front}{k},{row}] = [{row} ≥ {k}] (C[{front}{row},{k}] - Σ_{{{r} < {k}}} "
        f"L[{front}{r},{row}] L[{front}{r},{k}]) / sqrt(max({TINY}, D[{front}{k}]))",
        f"Z[{front}{row}] ~ N(0, 1)",
        f"K = M + Σ_{{{r}}} L[{front}{r},{row}] Z[{front}{r}]",
    ]
    words = {"C": "matrix", "D": "rest", "L": "root", "Z": "noise"}
    names = {letter: s.Name(f"covariance{number}.{word}") for letter, word in words.items()}
    whole = {"V": variance, "M": mean, "K": left}

    def placed(node: s.Expression) -> s.Expression:
        """Under its own name, and as if it stood at the draw: nobody wrote these lines."""
        if isinstance(node, s.Name) and node.bare and node.base in whole:
            return whole[node.base]
        if isinstance(node, s.Name) and node.bare and node.base in names:
            return replace(names[node.base], span=span)
        return replace(node.rebuild(placed), span=span)

    parsed = parse_text("\n".join(lines), "covariance")
    equations = [e for e in parsed.statements if isinstance(e, s.Equation)]
    return [replace(e, sides=tuple(map(placed, e.sides)), span=span) for e in equations]


def is_made(name: str) -> bool:
    """Whether a tensor, or a size called after one, was made here: nobody wrote it."""
    return re.search(r"\bcovariance\d+\.", name) is not None
