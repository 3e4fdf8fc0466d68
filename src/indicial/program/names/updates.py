r"""Updates in place, in prose → equations for what is new.

    v \leftarrow \mu v + g              v_+ = μ v + g
    \theta \leftarrow \theta - \eta v   θ_+ = θ - η v_+

The rows of a display follow one another: what has been updated is new in all rows below.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.program.names.letters import COUNTING, is_letter

ARROW = re.compile(r"←|⟵|\\(?:long)?leftarrow|\\gets|:=|\\coloneqq")
"""What may stand between a thing and its new value."""
NEW = s.Name("+", font="roman")


def updated(rows: Sequence[s.Statement]) -> list[s.Statement]:
    """The rows of a display, with a name of its own for what each of them makes new."""
    new: dict[s.Name, s.Name] = {}
    found: list[s.Statement] = []
    for row in rows:
        name = _made_new(row)
        if name is None and not new:
            found.append(row)
            continue
        if name in new:  # twice
            return list(rows)
        row = _read_anew(row, new, name)
        if name is not None:
            new[name] = replace(name, sub=(*name.sub, replace(NEW, span=name.span)))
            assert isinstance(row, s.Equation)
            row = replace(row, sides=(new[name], *row.sides[1:]))
        found.append(row)
    return found


def _made_new(row: s.Statement) -> s.Name | None:
    """The θ of `θ ← θ - η g`."""
    left = row.left if isinstance(row, s.Equation) else None
    if not isinstance(row, s.Equation) or not isinstance(left, s.Name) or len(row.sides) != 2:
        return None
    letters = {n.base for i in left.scripts for n in i.every(s.Name) if is_letter(n.base)}
    if not letters <= COUNTING or not (ARROW.search(row.span.text) or _changes(row, left)):
        return None  # the y of θ_y may be a part of the name, or an index
    ends = {end for n in row.sides[1].every(s.Name) for end in n.ends}
    return left if left in row.sides[1].every(s.Name) or left in ends else None


def _changes(row: s.Equation, left: s.Name) -> bool:
    """`θ = θ - v_t`, which is no equation: a sum that begins with what it is said to be."""
    right = row.sides[1]
    return left.bare and isinstance(right, s.Add) and right.terms[0] == left


def _read_anew(row: s.Statement, new: dict[s.Name, s.Name], left: s.Name | None) -> s.Statement:
    """A row with what has been updated above it; a gradient by that is one at its new value."""

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name):
            known = new.get(node)
            return node if known is None else replace(known, span=node.span, font=node.font)
        return node.rebuild(change)

    if not isinstance(row, s.Equation) or not new:
        return row
    kept = row.sides[:1] if left is not None else ()
    return replace(row, sides=(*kept, *map(change, row.sides[len(kept) :])))
