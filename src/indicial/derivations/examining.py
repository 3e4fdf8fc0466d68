"""The displays of a document → what came of each step of its derivations.

y = (A B)^⊤ x = A^⊤ B^⊤ x          one step: the first `=` says what y is
∂L/∂z = … = p - y                  two steps

What came of them is told in messages:

    a step that is refuted              an error, with the draw that refutes it
    one that holds under a condition    a note that says which
    one that was not tried              a note with the reason

A program tries its own steps too, in index notation; what is found here takes the place of what it says of
the same step, and a step that it has tried is not listed as open.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby

from indicial.derivations.limits import in_the_limit, try_limit
from indicial.derivations.scope import (
    CONDITIONAL,
    HOLDS,
    NOT_FOUND,
    REFUTED,
    UNTRIED,
    Finding,
    Scope,
    Step,
    is_derivation,
    joined,
    steps,
)
from indicial.derivations.trying import try_step
from indicial.notation.printers import name_key
from indicial.notation.reasoning import Clause, Limit
from indicial.notation.source import Span
from indicial.notation.syntax import Call, Equation, Index, Name, Number, Statement
from indicial.program.doubts import at_a_distance, unrolled
from indicial.program.messages import Message
from indicial.program.program import Program
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


STEPS = ("step", "step-start", "step-open")
"""The codes of what a program says of its steps."""


def derives(blocks: Sequence[Block]) -> bool:
    """Whether the prose of a document derives something."""
    chains = any(is_derivation(s) and any(True for _ in steps(s)) for s in _equations(blocks))
    return chains or _reasons(blocks)


def _reasons(blocks: Sequence[Block]) -> bool:
    return any(s.reasoned for b in blocks if not b.strict for s in b.skipped)


def _equations(blocks: Sequence[Block]) -> Iterator[Equation]:
    """Those of the prose."""
    for block in blocks:
        if not block.strict:
            yield from (s for s in joined(block.statements) if isinstance(s, Equation))


class Derivations:
    """The steps of a document, tried when somebody asks."""

    def __init__(self, blocks: Sequence[Block], programs: Sequence[Program]) -> None:
        self._blocks = blocks
        self._programs = programs

    @cached_property
    def findings(self) -> list[Finding]:
        chains = any(any(True for _ in steps(s)) for s in _equations(self._blocks))
        if not chains and not _reasons(self._blocks):
            return []

        return examine(self._blocks)

    def amend(self, program: Program, messages: list[Message]) -> list[Message]:
        """The messages of a program, with what was found of its steps."""
        # Where both refute a step in brackets, the program's message has the author's indices.
        sure = [m for m in messages if m.code in STEPS and m.severity == "error"]
        agreed = [f for f in self.findings if f.status == REFUTED and _told(f, sure)]
        decided = [f for f in self.findings if f.status != UNTRIED and f not in agreed]
        kept = [m for m in messages if m.code not in STEPS or not _about(m.span, decided)]
        own = [f for f in self._at_home.get(id(program), ()) if f not in agreed]
        return kept + [m for f in own if (m := self._message(f)) is not None]

    @cached_property
    def _at_home(self) -> dict[int, list[Finding]]:
        """The findings by the identity of the program that they stand in."""
        found: dict[int, list[Finding]] = {}
        for finding in self.findings:
            found.setdefault(id(self._home(finding)), []).append(finding)
        return found

    def _home(self, finding: Finding) -> Program:
        """The program that a step stands in, or else the first of the document."""
        span = finding.step.equation.span
        for program in self._programs:
            spans = [*(s.span for s in program.written), *(s.span for s in program.skipped)]
            if any(_overlap(span, other) for other in spans):
                return program
        return self._programs[0]

    def _message(self, finding: Finding) -> Message | None:
        left, right = finding.step.sides
        sites = ((left.span, "this"), (right.span, "and this"))
        if finding.status == HOLDS and finding.reason:
            return Message("note", "step-limit", f"this step holds {finding.reason}", sites)
        if finding.status == HOLDS:
            return None
        if finding.status == REFUTED:
            return None if self._wrong(finding.step.equation.span) else _refutation(finding)
        if finding.status == CONDITIONAL:
            return Message("note", "step-condition", f"this step holds {finding.reason}", sites)
        if self._tried(left.span):
            return None
        text = f"this step was not tried: {finding.reason}"
        if finding.reason.startswith(NOT_FOUND):
            text = f"this step{finding.reason.removeprefix('it')}"
        return Message("note", "step-open", text, sites)

    def _wrong(self, span: Span) -> bool:
        """Whether an equation is wrong in another way, which comes first."""
        return any(
            m.severity == "error" and m.code not in STEPS and _overlap(m.span, span)
            for program in self._programs
            for m in program.judged()
        )

    def _tried(self, span: Span) -> bool:
        """Whether a program tries the step itself, or has said why not."""
        return any(
            test.relation == "=" and _same(test.left.span, span)
            for program in self._programs
            for test in program.analysis.code.tests
        )


def _about(span: Span, findings: Sequence[Finding]) -> bool:
    return any(_same(span, f.step.sides[0].span) for f in findings)


def _told(finding: Finding, messages: Sequence[Message]) -> bool:
    left, right = (side.span for side in finding.step.sides)
    return "[" in left.text + right.text and any(_same(m.span, left) for m in messages)


def _same(one: Span, other: Span) -> bool:
    return one.source is other.source and one.start == other.start


def _overlap(one: Span, other: Span) -> bool:
    return one.source is other.source and one.start < other.end and other.start < one.end


def _refutation(finding: Finding) -> Message:
    left, right = finding.step.sides
    place = (
        f" {finding.place}"
        if finding.place.startswith("in")
        else f" at {finding.place}"
        if finding.place
        else ""
    )
    text = f"this step does not follow: {finding.left} is not {finding.right}{place}"
    draw = ", ".join(f"{name} = {value}" for name, value in finding.draw.items())
    equation = finding.step.equation
    certain = is_derivation(equation) and not at_a_distance(equation) and not unrolled(equation)
    return Message(
        "error" if certain else "note",
        "step",
        text,
        ((left.span, "this"), (right.span, "is not always this")),
        f"it would hold if {finding.reason}; if so, say it"
        if finding.reason
        else "look for a lost sign, factor or transpose, or for a swapped index",
        (f"with {draw}",) if draw else (),
    )
