"""What came of the steps of a document's derivations → messages.

    a step that is refuted              an error, with the draw that refutes it
    one that holds under a condition    a note that says which
    one that was not tried              a note with the reason

A program tries its own steps too, in index notation; what is found here takes the place of what it says of
the same step, and a step that it has tried is not listed as open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from indicial.derivations.scope import (
    CONDITIONAL,
    HOLDS,
    NOT_FOUND,
    REFUTED,
    UNTRIED,
    Finding,
    is_derivation,
    joined,
    steps,
)
from indicial.notation.source import Span
from indicial.notation.syntax import Equation
from indicial.program.messages import Message
from indicial.program.program import Program
from indicial.program.prose.doubts import at_a_distance, unrolled
from indicial.program.prose.parts import Block

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
        from indicial.derivations.examining import examine

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
            (m.severity == "error" or m.code == "usual-form")
            and m.code not in STEPS
            and _overlap(m.span, span)
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
    certain = certain and not _shrunk(finding.draw)
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


def _shrunk(draw: Mapping[str, str]) -> bool:
    """Whether a weight was tried as a number beside vectors: nothing here says that it is a matrix."""
    weights = [value for name, value in draw.items() if name[0] in "WUV"]
    lists = any(value.startswith("[") for value in draw.values())
    return lists and any(not value.startswith("[") for value in weights)
