r"""A document's displays, with what all of it shows of their signs.

    b = \theta(a)           θ(…) is a function that is only named, and no factor (`applied.py`)
    F = Z P Z' + H          Z' is Z^⊤
    s = u_o^t v_c           u_o^t is u_o^⊤
    p = A q \Rightarrow q = A^{-1} p       two equations
    X_{i,:}, W_{:,j}                       a row and a column
    h = f[a ⊙ b], m [1 - w e]              no indices: the brackets hold what f is taken of, and a factor

Brackets, primes and arrows are used in one way throughout a text, so all of its prose decides what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from indicial.notation.faults import Skipped
from indicial.notation.syntax import (
    Add,
    Call,
    Equation,
    Expression,
    Fraction,
    Group,
    Hadamard,
    Index,
    ListLiteral,
    Name,
    Negative,
    Norm,
    Number,
    Product,
    Reduction,
    Statement,
    Transpose,
    every,
    head,
)
from indicial.program.names.applied import marked
from indicial.program.names.letters import ALL, is_lone
from indicial.program.names.naming import activates
from indicial.program.names.uses import BUILT_IN, PROBABILITY
from indicial.program.prose.parts import Block
from indicial.program.vectors.leaves import is_ones
from indicial.program.vectors.regular import primed, raised

_BETWEEN = re.compile(
    r"(?:\s|[&,.⇒⇔]|\\(?:q?quad|[;,!: ]|Rightarrow|Longrightarrow|implies|Leftrightarrow|iff)(?![A-Za-z]))*"
)


def as_used(blocks: Iterable[Block]) -> list[Block]:
    """The displays of a document as its author uses brackets, primes and arrows."""
    blocks = [_with_clauses(block) if block.skipped else block for block in blocks]
    prose = [st for block in blocks if not block.strict for st in block.statements]
    meant = raised(primed(marked(_scored(_bracketed(_sliced(prose))))))
    if meant is prose:
        return blocks
    rows = iter(meant)
    return [
        block if block.strict else replace(block, statements=[next(rows) for _ in block.statements])
        for block in blocks
    ]


def _sliced(prose: list[Statement]) -> list[Statement]:
    """`X_{i,:}` → a row of X, `W_{:,j}` → a column of W; `G_{l,:,:}` is G_l, a matrix for each l."""
    prose_with_parts = [st for st in prose if ":" in st.span.text]
    if not any(ALL in _places(name) for name in every(prose_with_parts, Name)):
        return prose
    heads = {st.left.stem for st in prose if isinstance(st.left, Name) and ALL in _places(st.left)}

    def change(node: Expression) -> Expression:
        if not isinstance(node, Name) or ALL not in (places := _places(node)):
            return node.rebuild(change) if not isinstance(node, Name) else node
        numbering = tuple(i for i in places if i != ALL)
        last = places[: len(numbering)] == numbering
        if last and (node.stem in heads or len(places) > 2):
            return replace(node, sub=numbering)
        if len(places) > 2 or not numbering:
            return node
        whole = Group(replace(node, sub=()), span=node.span)
        return Index(whole, places, span=node.span)

    return [st.rebuild(change) for st in prose]


def _places(name: Name) -> tuple[Expression, ...]:
    """The `i, :` of `X_{i,:}` and `X_{[i,:]}`."""
    listed = name.sub[0] if len(name.sub) == 1 else None
    return listed.items if isinstance(listed, ListLiteral) else name.sub


OPERATORS = frozenset({"E", "P", "H", "I", "V"}) | PROBABILITY
"""Capitals that are followed by square brackets and are no matrices."""


def _bracketed(prose: list[Statement]) -> list[Statement]:
    """`f[g ⊙ (a - μ) + b]`, `M_{t-1}(i) [1 - w_t(i) e_t]`: what the brackets hold can be no index."""
    if not any(_holds_a_value(node) for node in every(prose, Index)):
        return prose

    def change(node: Expression) -> Expression:
        node = node.rebuild(change) if not isinstance(node, Name) else node
        if not isinstance(node, Index) or not _holds_a_value(node):
            return node
        (held,) = node.items
        if isinstance(node.base, Name):
            call = Call(node.base, (held,), span=node.span)
            if call.word in BUILT_IN or activates(call):
                return call
        factors = node.base, Group(held, "[", span=held.span)
        elementwise = any(map(is_ones, held.every(Number)))  # `[1 - w e]`
        return (
            Hadamard(factors, span=node.span) if elementwise else Product(factors, span=node.span)
        )

    return [st.rebuild(change) for st in prose]


def _holds_a_value(node: Index) -> bool:
    """Whether there is an operation in the brackets that no index is computed by."""
    held = node.items[0]
    if len(node.items) != 1 or not isinstance(held, Add | Product | Negative | Hadamard | Fraction):
        return False
    name = head(node)
    if not isinstance(name, Name) or name.base in OPERATORS:
        return False
    operations = held.every(Hadamard, Transpose, Norm, Reduction)
    return bool(operations) or any(n.font == "bold" for n in held.every(Name))


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
