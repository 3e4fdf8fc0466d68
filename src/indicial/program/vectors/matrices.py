"""Matrix notation: when `I` is the identity, and equations of bare matrices.

matrix K[D,D']; K = I        the identity
K = I                        matrix notation that nothing declares: skipped in a document
y[i] = W[i,K] x[K]; K = I    two sizes
"""

from __future__ import annotations

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
                return False
            if isinstance(node, s.Reduction) and node.upper is not None:
                used |= {name_key(n) for n in node.upper.walk() if isinstance(n, s.Name)}
    return "I" not in used


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
    names = [n for side in equation.sides for n in side.walk() if isinstance(n, s.Name)]
    if len(equation.sides) < 2 or not any(side == s.Name("I") for side in equation.sides[1:]):
        return False
    if any(not isinstance(n, s.Name | s.Product | s.Equation) for n in equation.walk()):
        return False
    if not all(n.bare and is_capital(n.base) for n in names):
        return False
    inside = {id(n) for n in names}
    elsewhere = {
        node.base
        for statement in statements
        for node in statement.walk()
        if isinstance(node, s.Name) and id(node) not in inside
    }
    return not elsewhere & {n.base for n in names}
