"""A document's programs: which of its equations belong together.

A heading starts a new program, and so does a second, different definition of a name; an identical
repeat does not. What a program reads and does not define is taken from the program before it, if
that defines it: slides go on where the last one stopped, and a solution uses what its problem says.
A numbered problem or exercise starts afresh, and so does a part of one that a lone `b.` begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from indicial.notation.faults import Fault, Skipped
from indicial.notation.headings import is_part
from indicial.notation.syntax import Declaration, Equation, Name, Number, Statement
from indicial.program.loops import STEPS
from indicial.program.messages import Messages
from indicial.program.naming import GROUPS
from indicial.program.outline import Definition, outline
from indicial.program.shapes import uses

FRESH = ("problem", "exercise", "question", "task", "assignment")
"""Headings that begin with one of these words share nothing with what stood before."""


@dataclass
class Part:
    """The statements of one program, and what was taken from the program before it."""

    title: str
    statements: list[Statement] = field(default_factory=list)
    borrowed: list[Statement] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


@dataclass(frozen=True)
class Block:
    """The statements of one display."""

    title: str
    statements: Sequence[Statement]
    faults: Sequence[Fault] = ()
    skipped: Sequence[Skipped] = ()


def divide(blocks: Iterable[Block]) -> list[Part]:
    """The programs of a document, in order."""
    parts: list[Part] = []
    section: list[Part] = []
    title: str | None = None
    for block in blocks:
        if block.title != title or not section:
            title = block.title
            parts.extend(section)
            section = [Part(title)]
        for statement in block.statements:
            part = section[-1]
            if statement in part.statements:
                continue
            if _redefines(part, statement):
                part = Part(title, _trailing_lists(part))
                section.append(part)
            part.statements.append(statement)
        section[-1].faults.extend(block.faults)
        section[-1].skipped.extend(block.skipped)
    parts.extend(section)
    for before, part in pairwise(parts):
        if part.title == before.title or not _fresh(part.title):
            _borrow(part, before)
    return [p for p in parts if p.statements or p.faults or p.skipped]


def _fresh(title: str) -> bool:
    """Whether a heading shares nothing with what stood before: `Problem 3`, and the answer to a part."""
    return title.casefold().startswith(FRESH) or is_part(title)


def _trailing_lists(part: Part) -> list[Statement]:
    """The lists of parameters at the end of a part: they belong to what comes behind them."""
    count = 0
    for statement in reversed(part.statements):
        left = statement.sides[0] if isinstance(statement, Equation) else None
        if not isinstance(left, Name) or left.base not in GROUPS:
            break
        count += 1
    moved = part.statements[len(part.statements) - count :]
    del part.statements[len(part.statements) - count :]
    return moved


def _definitions(statements: Iterable[Statement]) -> list[Definition]:
    return outline(list(statements), Messages(), document=True).definitions


def _redefines(part: Part, statement: Statement) -> bool:
    """Whether a statement defines again, and differently, what the part defines already."""
    if not isinstance(statement, Equation) or statement.relations[0] in STEPS:
        return False
    known = _definitions([*part.statements, statement])
    new = [d for d in known if d.equation is statement]
    for one in new:
        for other in known:
            if other.equation is statement or other.key != one.key:
                continue
            if _special(one) == _special(other) and one.body != other.body:
                return True
    return False


def _special(definition: Definition) -> tuple[object, ...]:
    """What tells `L_0` from `L_{ℓ+1}`: numbers on the left, and a guard."""
    numbers = tuple((n, i) for n, i in enumerate(definition.items) if isinstance(i, Number))
    guard = definition.equation.guard
    if guard is not None:
        left = {n for n in definition.left.walk() if isinstance(n, Name)}
        if not any(n in left for n in guard.walk()):
            guard = None  # `c = u_a + u_i, i ∈ {d, c}` speaks of a label, and defines all of c
    return (numbers, guard)


def _borrow(part: Part, before: Part) -> None:
    """Takes over the equations for what the part reads and does not define."""
    available: dict[str, list[Definition]] = {}
    earlier = [*before.borrowed, *before.statements]
    for definition in _definitions(earlier):
        available.setdefault(definition.key, []).append(definition)
    if not available:
        return
    sketch = outline(part.statements, Messages(), document=True)
    defined = sketch.defined
    pending = [d.body for d in sketch.definitions]
    taken: list[Statement] = []
    while pending:
        body = pending.pop()
        for use in uses(sketch, body):
            key = use.reference.key
            if use.kind != "tensor" or key in defined or key not in available:
                continue
            defined = defined | {key}
            for definition in available[key]:
                if definition.equation not in taken:
                    taken.append(definition.equation)
                    pending.append(definition.body)
    if taken:
        declared = [d for d in earlier if isinstance(d, Declaration)]
        part.borrowed = [*declared, *(e for e in earlier if e in taken)]
