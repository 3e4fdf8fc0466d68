"""The displays of a document → what came of each step of its derivations.

y = (A B)^⊤ x = A^⊤ B^⊤ x          one step: the first `=` says what y is
∂L/∂z = … = p - y                  two steps
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from indicial.derivations.chains import UNTRIED, Finding, joined, steps
from indicial.derivations.scope import Scope
from indicial.derivations.trying import try_step
from indicial.notation.printers import name_key
from indicial.notation.syntax import Call, Equation, Index, Name, Statement
from indicial.program.sections import Block

_WIDE = re.compile(r"(\\;\s*){3}|\\q?quad")
"""So much space stands between equations, and not inside them."""
MOST_STATEMENTS = 120
"""So many statements before a step may say something of its names."""


def examine(blocks: Sequence[Block]) -> list[Finding]:
    """What came of every step of the prose of a document."""
    findings: list[Finding] = []
    before: list[Statement] = []
    for _, group in groupby(blocks, key=lambda block: (block.title, block.level)):
        section = list(group)
        statements = [s for block in section for s in joined(block.statements)]
        prose = [s for b in section if not b.strict for s in joined(b.statements)]
        chains = [s for s in prose if isinstance(s, Equation) and list(steps(s))]
        if chains:
            scopes = [Scope(statements)]
            borrowed = _borrowed(scopes[0], before[-MOST_STATEMENTS:])
            if borrowed:
                scopes.append(Scope([*borrowed, *statements]))
            for chain in chains:
                findings += _examined(chain, scopes)
        before += statements
    return findings


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
                waiting += [_key(n) for n in statement.walk() if isinstance(n, Name)]
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


def _examined(chain: Equation, scopes: list[Scope]) -> Iterator[Finding]:
    """The steps of a chain; a side that has no value is stepped over."""
    todo = list(steps(chain))
    if any(_WIDE.search(side.span.text) for side in chain.sides):
        yield from (Finding(s, UNTRIED, "several equations stand side by side") for s in todo)
        return
    for step in todo:
        finding = try_step(step, scopes)
        if finding.status == UNTRIED and step.number > todo[0].number:
            # What stands between may have no value: then this side is held against the ones before it.
            for earlier in range(step.number - 1, todo[0].number - 1, -1):
                if chain.relations[earlier] != "=":
                    break
                further = try_step(replace(step, number=earlier), scopes)
                if further.status != UNTRIED:
                    finding = further
                    break
        yield finding
