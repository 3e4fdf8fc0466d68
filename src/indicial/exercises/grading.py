"""An answer → a grade: what it is worth, and why, with the values that show it.

>>> grader = Grader(ask(Path("run_time.md")))
>>> grader.grade("a1", "2 J T (J + K) + 3 J T").share
1.0
>>> print(grader.grade("a3", "T^2").told)
T against T² where T = 2: 2 is not 4

Each answer is put into the sheet by itself, everything else being as the sheet has it, so a slip costs
only the gap that it is in.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from indicial.claims.experiment import HOLDS, REFUTED, UNDECIDED, Counterexample, Verdict, claimed
from indicial.claims.trying import try_claims, try_one
from indicial.exercises.asking import EMPTY, RIGHT, Exercise, Gap, Grade
from indicial.exercises.comparing import Unlike, equality, grade_design
from indicial.exercises.reading import (
    Read,
    Unread,
    cleaned,
    definitions,
    read_answer,
    taken,
    verdict_word,
)
from indicial.library.loading import resolve
from indicial.notation.literals import numbers
from indicial.notation.source import Source, Span
from indicial.notation.syntax import (
    Add,
    Claim,
    Comparison,
    Declaration,
    Derivative,
    Expression,
    Group,
    Growth,
    Negative,
    Number,
    Product,
    Quantity,
    Statement,
    Statistic,
)
from indicial.program import ir
from indicial.program.messages import IndicialError, there_is
from indicial.program.program import Program
from indicial.program.prose.parts import Part

HALF = 0.5
MUCH = 10.0
"""A bound that is so many times as far off as the sheet's, at every draw, says nothing."""


class Grader:
    """Tries the answers to one exercise."""

    def __init__(self, exercise: Exercise, *, seed: int = 0, draws: int | None = None) -> None:
        self.exercise = exercise
        self.seed, self.draws = seed, draws
        self.gaps = exercise.gaps
        self.lines = {gap.label: line for line in exercise.lines for gap in line.gaps}
        self._keys: dict[int, Program] = {}

    def grade(self, label: str, answer: str, own: Sequence[str] = ()) -> Grade:
        """The grade of one answer; `own` are lines that the student added for it."""
        if not answer.strip(" _\n\t"):
            return EMPTY
        gap, line = self.gaps[label], self.lines[label]
        try:
            if gap.kind == "verdict":
                return self._verdict(gap, answer)
            if gap.kind == "matrix":
                return self.grade_together({label: answer})[label]
            code = self._key(self._part(gap)).analysis.code
            read = read_answer(gap, line, answer, code)
            if read.answer == _key_expression(gap):
                return RIGHT
            if gap.by_claims:
                return self._by_claims([gap], {label: answer})
            part = self._part(gap)
            known = set(self._key(part).analysis.code.tensors)
            extra, refused = definitions(own, known)
            grade = self._graded(gap, read, part, extra)
            if refused and grade.share < 1:
                grade = replace(grade, told="\n".join([grade.told, *refused]))
            return grade
        except Unread as error:
            return Grade(0.0, str(error), "unread")
        except IndicialError as error:
            return Grade(0.0, f"it could not be tried: {error}", "unread")
        except (ArithmeticError, RecursionError, MemoryError):
            return Grade(0.0, "it could not be tried: its numbers are too large", "unread")

    def grade_together(self, answers: dict[str, str]) -> dict[str, Grade]:
        """Gaps that are right together: the matrices of a design, and what fulfils the claims of a section."""
        found: dict[str, Grade] = {}
        for unit in self.exercise.units:
            labels = [gap.label for line in unit.lines for gap in line.gaps]
            if unit.kind == "design" and any(answers.get(label) for label in labels):
                found |= grade_design(self.exercise, unit, answers)
        groups: dict[int, list[str]] = {}
        for label, gap in self.gaps.items():
            if gap.by_claims and answers.get(label, "").strip(" _"):
                groups.setdefault(id(self._part(gap)), []).append(label)
        for labels in groups.values():
            try:
                grade = self._by_claims([self.gaps[label] for label in labels], answers)
            except (Unread, IndicialError):
                continue
            found |= dict.fromkeys(labels, grade)
        return found

    # ------------------------------------------------------------------ kinds of gaps

    def _verdict(self, gap: Gap, answer: str) -> Grade:
        said = verdict_word(cleaned(answer))
        if said is None:
            raise Unread(f"write true or false, and not `{cleaned(answer)[:40]}`")
        if said == gap.key:
            return Grade(1.0, f"it is {said}")
        tried = try_claims(
            [self._key(self._part(gap))],
            seed=self.seed,
            draws=self.draws,
            which=lambda test: test.span == gap.statement.span if gap.statement else False,
            beside=self._beside,
        )
        return Grade(0.0, f"it is {gap.key}: {told(tried[0])}" if tried else f"it is {gap.key}")

    def _graded(self, gap: Gap, read: Read, part: Part, extra: Sequence[Statement]) -> Grade:
        if gap.kind == "constant":
            return self._constant(gap, read)
        further: list[Statement] = []
        if gap.kind == "bound":
            further = list(_sharper(gap, read))
        program = self._with(part, {id(gap.statement): read.statement}, [*extra, *further])
        self._require_known(program, part)
        if gap.kind == "definition":
            return self._definition(gap, program, part)
        return self._claim(gap, read, program, further)

    def _constant(self, gap: Gap, read: Read) -> Grade:
        """The share of its numbers that are right."""
        assert isinstance(read.statement, Declaration) and isinstance(gap.statement, Declaration)
        mine, key = _array(read.statement.value), _array(gap.statement.value)
        if mine.shape != key.shape:
            shapes = " × ".join(map(str, key.shape)), " × ".join(map(str, mine.shape)) or "one"
            return Grade(0.0, f"there should be {shapes[0]} numbers, and there are {shapes[1]}")
        right = np.isclose(mine, key, rtol=1e-6, atol=1e-9)
        if right.all():
            return Grade(1.0, "the same numbers")
        at = tuple(int(n) for n in np.argwhere(~right)[0])
        place = "".join(f"[{n}]" for n in at)
        return Grade(
            _fraction(right.mean()) if right.any() else 0.0,
            f"{int(right.sum())} of {right.size} numbers are right; at {place or 'its place'}, "
            f"{mine[at]:g} is not the value of the equations, {key[at]:g}",
        )

    def _claim(self, gap: Gap, read: Read, program: Program, further: Sequence[Statement]) -> Grade:
        key = _key_expression(gap)
        assert isinstance(gap.statement, Claim) and key is not None
        for what, name in (
            (Derivative, "a derivative"),
            (Quantity, "a cost"),
            (Statistic, "a statistic"),
        ):
            if _has(read.answer, what) and not _has(key, what):
                raise Unread(f"the answer is to be worked out: it may not hold {name}")
        operands = gap.statement.comparison.operands
        other = operands[gap.side - 1 if gap.side else 1]
        repeated = not isinstance(other, Number) and other in read.answer.walk()
        if repeated and other not in key.walk():
            return Grade(0.0, "this says again what stands on the other side")
        tests = [t for t in program.analysis.code.tests if t.span.source is read.source]
        test = tests[0 if gap.side == 0 else -1]
        verdict = self._try(program, test)
        if verdict.status == HOLDS:
            if verdict.undefined:
                return Grade(0.0, f"it is not a number everywhere: {verdict.found}")
            if self._says_nothing(program, test, gap):
                told_ = (
                    "this would hold whatever stands on the other side is: it says nothing of it"
                )
                return Grade(0.0, told_)
            if isinstance(read.answer, Growth) and not isinstance(key, Growth):
                return Grade(HALF, "this is how it grows; what is asked for is the exact number")
            return (
                self._sharpness(program, further, verdict)
                if gap.kind == "bound"
                else Grade(1.0, verdict.found)
            )
        if verdict.status == UNDECIDED:
            return Grade(HALF, f"so near the edge that draws do not tell: {verdict.found}")
        if verdict.status != REFUTED:
            return Grade(0.0, f"it could not be tried: {verdict.found}", "unread")
        code = program.analysis.code
        factor = self._factor(code, test, verdict) if gap.kind == "value" else None
        if factor is not None:
            return Grade(HALF, f"right but for a factor of {factor}: {told(verdict)}")
        return Grade(0.0, told(verdict))

    def _sharpness(self, program: Program, further: Sequence[Statement], held: Verdict) -> Grade:
        """A bound that holds: as sharp as the sheet's, less so, or of no use."""
        sharp, useless = (self._tests(program, claim)[0] for claim in further)
        verdict = self._try(program, sharp)
        if verdict.status != REFUTED:
            return Grade(1.0, held.found)
        if self._try(program, useless).status == HOLDS:
            return Grade(0.0, "it holds, but it is so far off that it says nothing; look for a bound "
                              "that can be reached")  # fmt: skip
        return Grade(HALF, f"it holds, but there is a sharper bound: {_where(verdict)}")

    def _definition(self, gap: Gap, program: Program, part: Part) -> Grade:
        key = self._key(part)
        try:
            code, test = equality(program.analysis.code, key.code, _target(gap, key))
        except Unlike as error:
            return Grade(0.0, str(error))
        verdict = try_one(code, test, seed=self.seed, draws=self.draws)
        if verdict.status == HOLDS:
            if verdict.undefined:
                return Grade(0.0, f"it is not a number everywhere: {verdict.found}")
            return Grade(1.0, f"the same values: {verdict.found}")
        if verdict.status != REFUTED:
            return Grade(0.0, f"it could not be tried: {verdict.found}", "unread")
        factor = self._factor(code, test, verdict)
        if factor is not None:
            return Grade(HALF, f"right but for a factor of {factor}: {_apart(verdict)}")
        return Grade(0.0, _apart(verdict))

    def _by_claims(self, gaps: Sequence[Gap], answers: dict[str, str]) -> Grade:
        part = self._part(gaps[0])
        key = self._key(part)
        reads = {
            id(gap.statement): read_answer(
                gap, self.lines[gap.label], answers[gap.label], key.analysis.code
            ).statement
            for gap in gaps
        }
        program = self._with(part, reads, ())
        self._require_known(program, part)
        names = {_target(gap, key) for gap in gaps}
        tests = [t for t in program.analysis.code.tests if t.kind not in ("step", "plot")]
        about = [t for t in tests if names & set(claimed(program.analysis.code, t).tensors)]
        if not about:
            return Grade(0.0, "no claim of the section is about it")
        verdicts = [self._try(program, test) for test in about]
        wrong = [v for v in verdicts if not v.as_stated]
        if not wrong:
            return Grade(1.0, f"all {len(about)} claims about it hold")
        share = _fraction(1 - len(wrong) / len(about))
        about_it = wrong[0].test.left.span.text or "one of them"
        first = f"the one about {about_it}: {told(wrong[0])}"
        return Grade(share, f"{len(wrong)} of {len(about)} claims about it do not hold; {first}")

    # ------------------------------------------------------------------ what is tried

    def _try(self, program: Program, test: ir.Test) -> Verdict:
        return try_one(
            program.analysis.code, test, seed=self.seed, draws=self.draws, beside=self._beside
        )

    def _says_nothing(self, program: Program, test: ir.Test, gap: Gap) -> bool:
        """Whether a claim holds whatever its other side is: `α[a] = α[a] + 0`.

        What the other side reads is taken as open. Where the sheet's own claim holds like that too, it
        is no reason.
        """
        left, right = (test.left, test.right) if gap.side else (test.right, test.left)
        mine = {n.tensor for n in left.walk() if isinstance(n, ir.Read)}
        defined = {n for n in mine if program.analysis.code.tensors[n].role == "defined"}
        part = claimed(program.analysis.code, replace(test, left=right, right=right))
        if not defined & set(part.tensors):
            return False
        if any(isinstance(n, ir.Derivative | ir.Quantity | ir.Statistic) for n in left.walk()):
            return False
        key = self._key(self._part(gap)).code
        own = [t for t in key.tests if gap.statement is not None and t.span == gap.statement.span]
        original = own[0 if gap.side == 0 else -1] if own else None
        if original is not None and _opened(key, original, defined, self.seed).status == HOLDS:
            return False
        return _opened(program.analysis.code, test, defined, self.seed).status == HOLDS

    def _factor(self, code: ir.Code, test: ir.Test, verdict: Verdict) -> str | None:
        """The number that would make an answer right, if there is one: `-1`, `2`, `1/3`."""
        side = test.left if verdict.test.text.endswith("as in the sheet") else test.right
        other = test.right if side is test.left else test.left
        if not any(isinstance(n, ir.Read | ir.SizeValue | ir.IndexValue) for n in side.walk()):
            return None
        if test.relation not in ("=", "≈") or verdict.broken is None or isinstance(side, ir.Growth):
            return None
        try:
            mine, right = float(verdict.broken.right), float(verdict.broken.left)
            if side is test.left:
                mine, right = right, mine
        except ValueError:
            return None
        if not mine or not right or not np.isfinite([mine, right]).all():
            return None
        ratio = Fraction(right / mine).limit_denominator(64)
        if not ratio or abs(float(ratio) - right / mine) > 1e-4 * abs(right / mine):
            return None
        times = ir.Apply("*", (ir.Constant(float(ratio)), side))
        changed = replace(test, left=other, right=times)
        found = try_one(code, changed, seed=self.seed, draws=self.draws, beside=self._beside)
        return str(ratio) if found.status == HOLDS else None

    def _tests(self, program: Program, claim: Statement) -> list[ir.Test]:
        return [t for t in program.analysis.code.tests if t.span.source is claim.span.source]

    # ------------------------------------------------------------------ programs

    @cached_property
    def _beside(self) -> list[Program]:
        """The programs of the sheet, which claims may speak of by their titles."""
        return [self._key(part) for part in self.exercise.parts]

    def _key(self, part: Part) -> Program:
        """A section as the sheet has it."""
        if id(part) not in self._keys:
            self._keys[id(part)] = _program(part, part.whole)
        return self._keys[id(part)]

    def _part(self, gap: Gap) -> Part:
        """The program that a gap stands in."""
        for part in self.exercise.parts:
            if any(s is gap.statement for s in part.statements):
                return part
        for part in self.exercise.parts:  # the same line twice is one
            if gap.statement in part.statements:
                return part
        raise IndicialError("the section of this gap does not read; check the sheet")

    def _with(
        self, part: Part, instead: dict[int, Statement], further: Sequence[Statement]
    ) -> Program:
        """A section with other statements in the place of some, and further ones."""
        by_text = {s: instead[id(s)] for s in part.statements if id(s) in instead}
        made = [by_text.get(s, s) for s in part.whole]
        if not by_text:  # the gap is a line that stands there twice
            known = {g.statement: instead[id(g.statement)] for g in self.gaps.values()
                     if id(g.statement) in instead}  # fmt: skip
            made = [known.get(s, s) for s in part.whole]
        return _program(part, [*made, *further])

    def _require_known(self, program: Program, part: Part) -> None:
        """Whether an answer reads, and reads what there is."""
        key = self._key(part)
        # A step that no longer follows is wrong, not unread: values will tell.
        errors = [m for m in program.errors if m not in key.errors and m.code != "step"]
        if errors:
            first = errors[0]
            raise Unread(f"{first.text}" + (f" ({first.hint})" if first.hint else ""))
        mine, known = program.analysis.code.tensors, key.code.tensors
        new = [n for n, t in mine.items() if n not in known and t.role != "defined"]
        if new:
            close = difflib.get_close_matches(new[0], [*known, *key.code.sizes], 1)
            hint = f"; did you mean {close[0]}?" if close else f"; {there_is(known)}"
            raise Unread(f"there is no {new[0]} in this section{hint}")


def _program(part: Part, statements: Sequence[Statement]) -> Program:
    return Program(statements, title=part.title, document=True, resolve=resolve)


def _opened(code: ir.Code, test: ir.Test, names: set[str], seed: int) -> Verdict:
    """The claim with some tensors as inputs that may be anything."""
    tensors = {n: replace(t, role="input") if n in names else t for n, t in code.tensors.items()}
    statements = tuple(s for s in code.statements if s.target not in names)
    return try_one(replace(code, tensors=tensors, statements=statements), test, seed=seed)


def _sharper(gap: Gap, read: Read) -> Sequence[Claim]:
    """Two claims: that a bound is as sharp as the sheet's, and that it is far off everywhere."""
    assert isinstance(read.statement, Claim) and isinstance(gap.statement, Claim)
    key = _key_expression(gap)
    assert key is not None
    operands, operators = gap.statement.comparison.operands, gap.statement.comparison.operators
    behind = gap.side > 0
    other = operands[gap.side - 1] if behind else operands[1]
    sign = operators[gap.side - 1] if behind else operators[0]
    upper = (sign in ("≤", "<")) == behind

    def minus(a: Expression, b: Expression) -> Expression:
        low, high = (b, a) if upper else (a, b)
        return Group(Add((Group(high), Negative(Group(low)))))

    def claim(left: Expression, relation: str, right: Expression, name: str) -> Claim:
        span = Span(Source(name, name), 0, len(name))
        made = Comparison((left, right), (relation,))
        return Claim(made, None, gap.statement.guard, span=span)  # type: ignore[union-attr]

    # Both sides with the other operand: it has the indices that a condition may speak of.
    sharp = claim(minus(read.answer, other), "≤", minus(key, other), "sharp")
    far = Product((Number(f"{MUCH:g}"), minus(key, other)))
    return [sharp, claim(minus(read.answer, other), ">", far, "far")]


def _key_expression(gap: Gap) -> Expression | None:
    return taken(gap.statement, gap)[0]


def _target(gap: Gap, key: Program) -> str:
    """The tensor that a definition is of."""
    span = gap.statement.span if gap.statement is not None else None
    for statement in key.code.statements:
        if (
            span is not None
            and span.start <= statement.span.start < span.end
            and statement.span.source is span.source
        ):
            return statement.target
    raise IndicialError("the definition of this gap is not read; check the sheet")


def _has(node: Expression, what: type) -> bool:
    return any(isinstance(n, what) for n in node.walk())


def _array(value: Expression | None) -> Any:
    """The numbers of a constant."""
    try:
        return np.array(numbers(value), np.float64)
    except (ValueError, ZeroDivisionError, TypeError, OverflowError):
        raise Unread("these are not numbers, in rows that are all of one length") from None


def _fraction(share: float) -> float:
    return round(float(share), 4)


def told(verdict: Verdict) -> str:
    """What came of a claim: what was found, where, and with which values."""
    return verdict.found if verdict.broken is None else _shown(verdict.found, verdict.broken)


def _where(verdict: Verdict) -> str:
    broken = verdict.broken
    assert broken is not None
    return _shown(f"it is off by {broken.left}, where {broken.right} can be reached,", broken)


def _apart(verdict: Verdict) -> str:
    """How an answer differs from the right value: `it is 2 and should be 3, at t = 0 …`."""
    broken = verdict.broken
    assert broken is not None
    return _shown(f"it is {broken.left}, and should be {broken.right}", broken)


def _shown(said: str, broken: Counterexample) -> str:
    """What is said of a counterexample, where that is, and its values."""
    values = ", ".join(f"{n} = {v}" for n, v in broken.draw.items())
    return f"{said}{broken.where}" + (f"\nwith {values}" if values else "")
