r"""A document's displays, with what all of it shows of their signs.

    b = \theta(a)           θ(…) is a function that is only named, and no factor (`applied.py`)
    F = Z P Z' + H          Z' is Z^⊤
    s = u_o^t v_c           u_o^t is u_o^⊤
    p = A q \Rightarrow q = A^{-1} p       two equations

Brackets, primes and arrows are used in one way throughout a text, so all of its prose decides what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from indicial.notation.faults import Skipped
from indicial.notation.syntax import Equation, Expression, Group, Name, Statement
from indicial.program.names.applied import marked
from indicial.program.names.letters import is_lone
from indicial.program.prose.parts import Block
from indicial.program.vectors.regular import primed, raised

_BETWEEN = re.compile(
    r"(?:\s|[&,.⇒⇔]|\\(?:q?quad|[;,!: ]|Rightarrow|Longrightarrow|implies|Leftrightarrow|iff)(?![A-Za-z]))*"
)


def as_used(blocks: Iterable[Block]) -> list[Block]:
    """The displays of a document as its author uses brackets, primes and arrows."""
    blocks = [_with_clauses(block) if block.skipped else block for block in blocks]
    prose = [st for block in blocks if not block.strict for st in block.statements]
    meant = raised(primed(marked(_scored(prose))))
    if meant is prose:
        return blocks
    rows = iter(meant)
    return [
        block if block.strict else replace(block, statements=[next(rows) for _ in block.statements])
        for block in blocks
    ]


def _scored(prose: list[Statement]) -> list[Statement]:
    """The `e^t` of `a^t = softmax(e^t)` beside `e_i^t`: all scores of step t, and no exponential."""
    names = [n for st in prose for n in st.every(Name) if n.base == "e" and len(n.sup) == 1]
    steps = {n.sup for n in names if n.sub and is_lone(n.sup[0])}
    if not any(n.sup in steps for n in names if not n.sub):
        return prose

    def change(node: Expression) -> Expression:
        if isinstance(node, Name) and node.base == "e" and not node.sub and node.sup in steps:
            return replace(node, sup=(Group(node.sup[0], span=node.span),))
        return node.rebuild(change)

    return [st.rebuild(change) for st in prose]


def _with_clauses(block: Block) -> Block:
    """The display with the equations between ⇒ and ⇔ as rows of their own."""
    rows = {id(row): equations for row in block.skipped if (equations := _equations(row))}
    if not rows or block.strict:
        return block
    found = [equation for equations in rows.values() for equation in equations]
    statements = sorted((*block.statements, *found), key=lambda st: st.span.start)
    skipped = [row for row in block.skipped if id(row) not in rows]
    return replace(block, statements=statements, skipped=skipped)


def _equations(row: Skipped) -> list[Equation]:
    """The clauses of a row, if it is nothing but equations with ⇒ or ⇔ between them.

    A row that begins with ⇒ says once more, and often in another style, what those above it have shown.
    """
    if row.reason[-1] not in "⇒⇔" or any(clause.arrow for clause in row.reasoned[:1]):
        return []
    equations = [clause.equation for clause in row.reasoned if not clause.premises]
    text, at = row.span.source.text, row.span.start
    for equation in equations:
        if set(equation.relations) != {"="} or not _BETWEEN.fullmatch(
            text, at, equation.span.start
        ):
            return []
        at = equation.span.end
    whole = len(equations) > 1 and _BETWEEN.fullmatch(text, at, row.span.end)
    return equations if whole else []
