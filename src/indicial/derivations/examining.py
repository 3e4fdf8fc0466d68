"""The displays of a document → what came of each step of its derivations.

y = (A B)^⊤ x = A^⊤ B^⊤ x          one step: the first `=` says what y is
∂L/∂z = … = p - y                  two steps
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from indicial.derivations.limits import in_the_limit, try_limit
from indicial.derivations.scope import REFUTED, UNTRIED, Finding, Scope, Step, joined, steps
from indicial.derivations.trying import try_step
from indicial.notation.printers import name_key
from indicial.notation.reasoning import Clause, Limit
from indicial.notation.syntax import Call, Equation, Index, Name, Number, Statement
from indicial.program.sections import Block
from indicial.program.vectors.spelling import softmaxes

_WIDE = re.compile(r"(\\;\s*){3}|\\q?quad")
"""So much space stands between equations, and not inside them."""
Known = dict[tuple[object, ...], Finding]
MOST_STATEMENTS = 120
"""So many statements before a step may say something of its names."""


def examine(blocks: Sequence[Block]) -> list[Finding]:
    """What came of every step of the prose of a document."""
    findings: list[Finding] = []
    known: Known = {}
    before: list[Statement] = []
    for _, group in groupby(blocks, key=lambda block: (block.title, block.level)):
        section = list(group)
        statements = [s for block in section for s in softmaxes(joined(block.statements))]
        prose = [b for b in section if not b.strict]
        read = [s for b in prose for s in softmaxes(joined(b.statements))]
        chains = [s for s in read if isinstance(s, Equation)]
        todo = [step for chain in chains for step in steps(chain)]
        reasoned = [list(c) for b in prose for c in (s.reasoned for s in b.skipped) if c]
        said = [e for row in reasoned for c in row for e in (c.equation, *c.premises)]
        spoken = [e for e in said if not _is_definition(e)]
        statements += [e for e in said if _is_definition(e)]
        if todo or reasoned:
            scopes = [Scope(statements, spoken)]
            borrowed = _borrowed(scopes[0], before[-MOST_STATEMENTS:])
            if borrowed:
                scopes.append(Scope([*borrowed, *statements], spoken))
            for chain in chains:
                findings += _examined(list(steps(chain)), scopes, known)
            for row in reasoned:
                findings += _reasoned(row, scopes, known)
        before += statements
    return sorted(findings, key=lambda f: f.step.sides[0].span.start)


def _is_definition(equation: Equation) -> bool:
    """`c = α_a v_a + α_b v_b`, but not `α_{11} = 0`, which is found out."""
    left, *rest = equation.sides
    return (
        equation.relations == ("=",)
        and isinstance(left, Name)
        and not isinstance(rest[0], Number)
        and not equation.every(Limit)
    )


def _reasoned(row: Sequence[Clause], scopes: list[Scope], known: Known) -> Iterator[Finding]:
    """The steps of a row that reasons: those inside its clauses, and those from one to the next."""
    for number, clause in enumerate(row):
        yield from _examined(
            [replace(s, given=clause.premises) for s in steps(clause.equation)], scopes, known
        )
        last = row[number - 1].equation if number else None
        if clause.arrow and last is not None and last.sides[0] == clause.equation.sides[0]:
            if clause.equation.relations[-1] != "=" or last.relations[-1] != "=":
                continue
            sides = (last.sides[-1], clause.equation.sides[-1])
            step = Step(
                Equation(sides, ("=",), span=clause.equation.span), 0, 1, given=clause.premises
            )
            if clause.remark:
                yield Finding(step, UNTRIED, f"the arrow says “{clause.remark}”")
            else:
                yield from _examined([step], scopes, known)


def _borrowed(scope: Scope, before: Sequence[Statement]) -> list[Statement]:
    """What earlier sections say last of the names that a section reads and does not define."""
    latest: dict[str, list[Statement]] = {}
    for statement in before:
        names = _defined(statement)
        for name in names:
            latest[name] = [statement]
    found: list[Statement] = []
    waiting = [name for name in scope.counts if name not in scope.rules]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in latest or name in scope.rules or name in scope.functions:
            continue
        seen.add(name)
        for statement in latest[name]:
            if statement not in found:
                found.append(statement)
                waiting += [_key(n) for n in statement.every(Name)]
    return [s for s in before if s in found]


def _defined(statement: Statement) -> list[str]:
    """The name on a left side."""
    if not isinstance(statement, Equation) or statement.relations[0] != "=":
        return []
    left = statement.sides[0]
    head = (
        left.function if isinstance(left, Call) else left.base if isinstance(left, Index) else left
    )
    return [_key(head)] if isinstance(head, Name) else []


def _key(name: Name) -> str:
    """A name without what is below it, unless that is a word."""
    words = tuple(
        s for s in name.sub if isinstance(s, Name) and (len(s.base) > 1 or s.font == "roman")
    )
    return name_key(replace(name, sub=words))


def _examined(todo: list[Step], scopes: list[Scope], known: Known) -> Iterator[Finding]:
    """The steps of a chain; a side that has no value is stepped over."""
    if todo and any(_WIDE.search(side.span.text) for side in todo[0].equation.sides):
        yield from (Finding(s, UNTRIED, "several equations stand side by side") for s in todo)
        return
    for step in todo:
        finding = _one(step, scopes, known)
        if finding.status == UNTRIED and step.relation == "=":
            # What stands between may have no value: then this side is held against the ones before it.
            for earlier in range(step.number - 1, todo[0].number - 1, -1):
                if step.equation.relations[earlier] != "=":
                    break
                further = _one(replace(step, number=earlier), scopes, known)
                if further.status != UNTRIED:
                    finding = further
                    break
        yield finding


def _one(step: Step, scopes: list[Scope], known: Known) -> Finding:
    """What comes of a step; slides say the same again and again, and what is not refuted is kept."""
    key = (step.sides, step.relation, step.given)
    if key in known:
        return replace(known[key], step=step)
    if step.given:
        scopes = [Scope(scope.statements, scope.spoken) for scope in scopes]
        for scope, premise in itertools.product(scopes, step.given):
            scope.assume(premise)
    found = try_step(step, scopes, try_limit if in_the_limit(step) else None)
    if found.status != REFUTED:
        known[key] = found
    return found
