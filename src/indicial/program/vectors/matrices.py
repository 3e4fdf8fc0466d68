"""Matrix notation: when `I` is the identity, and equations of bare matrices.

matrix K[D,D']; K = I        the identity
K = I                        matrix notation that nothing declares: skipped in a document
y[i] = W[i,K] x[K]; K = I    two sizes
ε ~ N(0, σ^2 I)              the variance of each element is σ^2
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeGuard

from indicial.notation import syntax as s
from indicial.notation.faults import Skipped
from indicial.notation.printers import name_key, unicode
from indicial.program.messages import Messages
from indicial.program.names.letters import is_capital
from indicial.program.names.outline import Outline


def has_identity(statements: list[s.Statement], sketch: Outline) -> bool:
    """Whether a bare `I` is the identity: no index, size or name of the program is called so."""
    used = sketch.defined | sketch.bracketed | set(sketch.sizes) | sketch.naming.live
    for statement in statements:
        for node in statement.walk():
            if isinstance(statement, s.Declaration) and node == s.Name("I"):
                if statement.keyword == "label":
                    continue  # `label a, b in I` calls a set so, and no tensor
                return False
            if isinstance(node, s.Reduction) and node.upper is not None:
                used |= {name_key(n) for n in node.upper.every(s.Name)}
    return "I" not in used


_SIZED = re.compile(r"I\s*\}?\s*_")


def sized_identities(statements: list[s.Statement]) -> list[s.Statement]:
    """`I_n`, `\\mathbf I_d` as I, unless an equation defines it: the size of an identity shows anyway."""
    if not [st for st in statements if _SIZED.search(st.span.text)]:
        return statements
    defined = {st.left for st in statements}
    names = s.every(statements, s.Name)
    sized = {n for n in names if n == s.Name("I", sub=n.sub) and _is_size(n.sub)} - defined

    def change(node: s.Expression) -> s.Expression:
        if isinstance(node, s.Name) and node in sized:
            return replace(node, sub=())
        return node.rebuild(change)

    return s.with_sides(statements, change) if sized else statements


def _is_size(sub: tuple[s.Expression, ...]) -> bool:
    """The n of `I_n`, the nq of `I_{nq}`; the ij of `I_{ij}` are places."""
    letters = sub[0].base if len(sub) == 1 and isinstance(sub[0], s.Name) and sub[0].bare else ""
    return bool(letters) and set(letters) <= set("nNdDmMpq")


def draws_with_identity(statement: s.Statement) -> TypeGuard[s.Equation]:
    """`ε ~ N(0, I)`."""
    if not isinstance(statement, s.Equation) or not statement.draws:
        return False
    right = statement.sides[1]
    return isinstance(right, s.Call) and any(map(multiple, right.arguments))


def multiple(node: s.Expression) -> s.Expression | None:
    """The λ of `λ I`."""
    factors = s.factors(node)
    rest = tuple(f for f in factors if f != s.Name("I"))
    if len(rest) != len(factors) - 1:
        return None
    if len(rest) > 1:
        return s.Product(rest, span=node.span)
    return rest[0] if rest else s.Number("1", span=node.span)


def without_bare_matrices(
    statements: list[s.Statement], messages: Messages, document: bool, skipped: list[Skipped]
) -> list[s.Statement]:
    """`K = I` where nothing says that K is a matrix: left out, with the reason."""
    kept: list[s.Statement] = []
    reason = "matrix notation, and nothing declares the matrices"
    for statement in statements:
        if not isinstance(statement, s.Equation) or not _bare_matrices(statement, statements):
            kept.append(statement)
        elif document:
            skipped.append(Skipped(statement.span, f"it is {reason}"))
        else:
            left = unicode(statement.sides[0])
            hint = f"write `matrix {left}[D,D']` before it"
            text = f"{unicode(statement).strip()} is {reason}"
            messages.error("matrix-notation", text, statement.span, hint=hint)
    return kept


def _bare_matrices(equation: s.Equation, statements: list[s.Statement]) -> bool:
    """Only bare capitals, none of which is an index, a size or a declared name; one side is I."""
    names = [n for side in equation.sides for n in side.every(s.Name)]
    if len(equation.sides) < 2 or not any(side == s.Name("I") for side in equation.sides[1:]):
        return False
    if any(not isinstance(n, s.Name | s.Product | s.Equation) for n in equation.walk()):
        return False
    if not all(n.bare and is_capital(n.base) for n in names):
        return False
    inside = set(map(id, names))
    elsewhere = {n.base for n in s.every(statements, s.Name) if id(n) not in inside}
    return not elsewhere & {n.base for n in names}
