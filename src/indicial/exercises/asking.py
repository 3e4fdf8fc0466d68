"""A sheet in Markdown → an exercise: what is given in it, what is asked, and what are answers.

    ## Forward                            given: what stands before the first question of a section
    h[t,j] = tanh(…)
    **(a)** How does it grow?             a question
    Each step waits for the one before.   its answer in words, which the handout leaves out
    claim parallel time of h = T          every claim has a gap:  claim parallel time of h = ___

What stands between the title and the first section is about the sheet, and is left out.
A definition below a question is a gap if the question names it (“which factor $β$ …”). Comments say
what these rules cannot know, each about the paragraph or block below it:

    <!-- given -->                    it stays as it is
    <!-- answer -->                   it is left out, or all its definitions are gaps
    <!-- gap: V, Q -->                these definitions are gaps
    <!-- gap: V, Q by claims -->      and right is whatever fulfils the claims of the section

    claim work of h = 2 J^2 T         →   Gap("a1", "value", …) in  claim work of h = ___  # a1

A gap is a stretch of the sheet's text, and what stands there is the sheet's own answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from indicial.claims.notebooks import DESIGN, MARK, blocks
from indicial.library.loading import strict
from indicial.notation.displays import parse_document
from indicial.notation.documents import Document, read, read_text
from indicial.notation.node import Expression
from indicial.notation.parse import canonical_name
from indicial.notation.printers import name_key
from indicial.notation.scanner import PLAIN_FENCES
from indicial.notation.source import Source, Span
from indicial.notation.syntax import Call, Claim, Declaration, Equation, Index, Name, Statement
from indicial.program.messages import IndicialError
from indicial.program.prose.parts import Block, Part
from indicial.program.prose.sections import divide

BLANK = "___"
"""What stands in a handout in the place of an answer."""

Kind = Literal["value", "bound", "verdict", "definition", "constant", "matrix"]


@dataclass(frozen=True)
class Gap:
    """Something that is asked for, and the answer of the sheet.

    value        the side of a claim behind `=` or `≈`: any equivalent form is right
    bound        a side of a claim behind `≤` or `≥`: it must hold, and be as sharp as the sheet's
    verdict      whether a claim is `true` or `false`
    definition   the right side of an equation
    constant     the numbers of a constant
    matrix       a parameter of a design, of which every case is tried
    """

    label: str
    kind: Kind
    start: int
    end: int
    """Its stretch in the text of the sheet; a verdict of a claim that says no word has none."""
    key: str
    """The answer of the sheet."""
    points: float = 1.0
    statement: Statement | None = None
    side: int = 0
    """Which side of a claim is missing."""
    by_claims: bool = False
    """Right is what fulfils the claims of its section, and not only what the sheet has."""


@dataclass(frozen=True)
class Line:
    """A statement with gaps: the texts around them, one more than there are gaps."""

    start: int
    end: int
    around: tuple[str, ...]
    gaps: tuple[Gap, ...]

    def filled(self, texts: Sequence[str]) -> str:
        """`claim work of h = ___`, or with what is answered."""
        return "".join(
            part for pair in zip(self.around, (*texts, ""), strict=True) for part in pair
        )

    @property
    def labels(self) -> str:
        return " ".join(gap.label for gap in self.gaps)


@dataclass(frozen=True)
class Unit:
    """A heading, a paragraph or a block of the sheet, and what becomes of it in the handout."""

    kind: Literal["heading", "prose", "notation", "design", "code"]
    start: int
    end: int
    text: str
    """What the handout says here; nothing if it is a part of the answer."""
    language: str = ""
    """Of a block: what stands behind its ```."""
    lines: tuple[Line, ...] = ()
    question: str = ""
    """The label of the question that begins here."""
    task: str = ""
    """Of a design: what it is to do."""


@dataclass(frozen=True)
class Question:
    """A question, and what the sheet answers to it in words."""

    label: str
    text: str
    words: str = ""


@dataclass(frozen=True)
class Exercise:
    """A sheet, divided into what is given and what is asked."""

    path: Path
    source: Source
    units: tuple[Unit, ...]
    questions: Mapping[str, Question]
    parts: Sequence[Part] = field(default=(), repr=False)
    """The programs of the sheet, as its own answers make them."""

    @property
    def title(self) -> str:
        first = next((u.text for u in self.units if u.kind == "heading"), self.path.stem)
        return first.lstrip("# ").strip()

    @property
    def lines(self) -> list[Line]:
        return [line for unit in self.units for line in unit.lines]

    @property
    def gaps(self) -> dict[str, Gap]:
        return {gap.label: gap for line in self.lines for gap in line.gaps}

    @property
    def points(self) -> float:
        return sum(gap.points for gap in self.gaps.values())


@dataclass(frozen=True)
class Grade:
    """What an answer is worth, from 0 to 1, and why."""

    share: float
    told: str
    state: str = ""
    """`unread` or `empty`; all else follows from the share."""

    @property
    def word(self) -> str:
        return self.state or ("right" if self.share == 1 else "partly" if self.share else "wrong")


RIGHT = Grade(1.0, "as in the sheet")
EMPTY = Grade(0.0, "not answered", "empty")

_PARAGRAPH = re.compile(r"[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*")
_QUESTION = re.compile(r"\*\*\((?P<label>[a-z])\)\*\*")
_BY_CLAIMS = re.compile(r"\s+by\s+claims\s*$")
_POINTS = re.compile(r"\((?P<number>\d+(?:\.\d+)?)\s+points?\)")
_SECOND = re.compile(r"^#{2,6}[ \t]", re.MULTILINE)
_FORMULA = re.compile(r"\$([^$]+)\$")
_VERDICT = re.compile(r"claim\s+(?:(?P<word>true|false)\s*:\s*)?")


@dataclass(frozen=True)
class Mark:
    """What a comment says of the unit below it."""

    word: str = ""
    names: tuple[str, ...] = ()
    by_claims: bool = False


def ask(where: Path | str, name: str = "sheet.md") -> Exercise:
    """The exercise that a sheet makes; a text needs a line break to be one."""
    text = where if isinstance(where, str) and "\n" in where else None
    document = read_text(text, name) if text is not None else read(Path(where))
    if document.faults:
        raise IndicialError(f"{where if text is None else name}: {document.faults[0].message}")
    path = Path(name) if text is not None else Path(where)
    return _Asker(document, path).exercise()


@dataclass
class _Asker:
    document: Document
    path: Path
    question: str = ""
    numbers: dict[str, int] = field(default_factory=dict)
    section: int = 0
    questions: dict[str, Question] = field(default_factory=dict)
    defined: set[str] = field(default_factory=set)
    """The names that were defined so far."""
    shares: dict[str, float] = field(default_factory=dict)
    """How many points the gaps of a question have together, where the sheet says so."""

    def exercise(self) -> Exercise:
        text = self.document.source.text
        read_blocks = [
            (display.body.start, section, strict(parsed))
            for section, display, parsed in parse_document(self.document)
            if display.strict
        ]
        parsed = {start: found.statements for start, _, found in read_blocks}
        blocks = [
            Block(at.title, found.statements, found.faults, found.skipped, True, at.level, at.above)
            for _, at, found in read_blocks
        ]
        units: list[Unit] = []
        mark = Mark()
        second = _SECOND.search(text)
        above = second.start() if second else 0
        for kind, start, end, language, body in _units(text):
            said, mark = mark, Mark()
            if kind == "prose" and (found := MARK.match(text, start, end)):
                mark = _read_mark(found)
                if not text[found.end() : end].strip():
                    continue
                said, mark, start = mark, Mark(), found.end()
            if start < above and kind in ("prose", "code") and not said.word:
                said = Mark("answer")  # it is about the sheet
            statements = next((s for at, s in parsed.items() if start <= at < end), ())
            units.append(self.unit(kind, start, end, language, body, said, statements))
        exercise = Exercise(
            self.path, self.document.source, tuple(units), self.questions, divide(blocks)
        )
        return self.with_points(exercise)

    # ------------------------------------------------------------------ units

    def unit(
        self,
        kind: str,
        start: int,
        end: int,
        language: str,
        body: int,
        mark: Mark,
        statements: tuple[Statement, ...],
    ) -> Unit:
        text = self.document.source.text[start:end]
        match kind:
            case "heading":
                self.section, self.question = self.section + 1, ""
                self.share(text, f"{self.section}.")
                return Unit("heading", start, end, text)
            case "prose":
                return self.prose(start, end, text, mark)
            case "notation":
                lines = () if mark.word == "given" else tuple(self.lines(statements, mark))
                self.defined |= {n for s in statements for n in _names(s)}
                return Unit("notation", start, end, text, language, lines)
            case "design":
                lines = () if mark.word == "given" else tuple(self.matrices(body, end))
                task = [*language.split(), ""][1]
                return Unit("design", start, end, text, language, lines, task=task)
        answers = mark.word == "answer" or (self.question and mark.word != "given")
        return Unit("code", start, end, "" if answers else text, language)

    def prose(self, start: int, end: int, text: str, mark: Mark) -> Unit:
        found = _QUESTION.match(text)
        if found:
            self.question = found["label"]
            if self.question in self.questions:
                line = Span(self.document.source, start, end).line
                raise IndicialError(
                    f"{self.path}:{line}: there is a second question ({self.question})"
                )
            asked = text if mark.word == "given" else _asked(text)
            words = "" if asked == text else text[len(asked) :].strip()
            self.questions[self.question] = Question(self.question, asked, words)
            self.share(text, self.question)
            return Unit("prose", start, end, asked, question=self.question)
        if mark.word == "answer" or (self.question and mark.word != "given"):
            if self.question:
                known = self.questions[self.question]
                words = f"{known.words}\n\n{text}".strip()
                self.questions[self.question] = replace(known, words=words)
            return Unit("prose", start, end, "")
        return Unit("prose", start, end, text)

    def share(self, text: str, whose: str) -> None:
        if found := _POINTS.search(text):
            self.shares[whose] = float(found["number"])

    # ------------------------------------------------------------------ gaps

    def label(self) -> str:
        front = self.question or f"{self.section}."
        self.numbers[front] = self.numbers.get(front, 0) + 1
        return f"{front}{self.numbers[front]}"

    def lines(self, statements: tuple[Statement, ...], mark: Mark) -> Iterator[Line]:
        asked = self.asked_names() | set(mark.names)
        constants = _compared_constants(statements) if self.question else set()
        for statement in statements:
            gaps: list[Gap] = []
            names = _names(statement)
            if isinstance(statement, Claim) and not statement.plot:
                gaps = self.claim(statement, constants)
            elif isinstance(statement, Equation) and statement.relations[0] in ("=", "≈"):
                wanted = names & asked or (mark.word == "answer" and names)
                new = set(mark.names) & names or not names & self.defined
                if wanted and new:
                    gaps = [self.gap("definition", statement, _sides(statement), mark=mark)]
            elif (
                isinstance(statement, Declaration)
                and statement.value is not None
                and names & (constants | set(mark.names))
            ):
                gaps = [self.gap("constant", statement, statement.value.span)]
            if gaps:
                yield _line(statement.span, gaps)

    def asked_names(self) -> set[str]:
        """The names that the question speaks of."""
        if not self.question:
            return set()
        formulas = _FORMULA.findall(self.questions[self.question].text)
        return {canonical_name(formula) for formula in formulas}

    def claim(self, claim: Claim, constants: set[str]) -> list[Gap]:
        operands, operators = claim.comparison.operands, claim.comparison.operators
        if claim.false or "≠" in operators:
            return [self.verdict(claim)]
        if len(operands) == 2 and operators[0] in ("=", "≈"):
            if _bare(operands[1]) & constants:
                return []  # its numbers are asked for
            return [self.gap("value", claim, operands[1].span, side=1)]
        ends = [n for n in (0, len(operands) - 1) if not _is_read(operands[n])]
        ends = [n for n in ends if n or len(operands) > 2]
        if not ends or any(o not in ("≤", "≥", "<", ">") for o in operators):
            return [self.verdict(claim)]
        return [self.gap("bound", claim, operands[n].span, side=n) for n in ends]

    def verdict(self, claim: Claim) -> Gap:
        found = _VERDICT.match(claim.span.text)
        assert found is not None
        start = claim.span.start + (found.start("word") if found["word"] else found.end())
        end = start + len(found["word"] or "")
        key = "false" if claim.false else "true"
        return Gap(self.label(), "verdict", start, end, key, statement=claim)

    def gap(
        self, kind: Kind, statement: Statement, span: Span, side: int = 0, mark: Mark | None = None
    ) -> Gap:
        by_claims = mark is not None and mark.by_claims
        return Gap(
            self.label(), kind, span.start, span.end, span.text, statement=statement, side=side,
            by_claims=by_claims,
        )  # fmt: skip

    def matrices(self, start: int, end: int) -> Iterator[Line]:
        """The lines `W^Q = …` of a design; `size …` is given."""
        text = self.document.source.text
        for match in re.finditer(
            r"^(?P<left>(?!size\b)[^\n=#]+=[ \t]*)(?P<right>[^\n#]*\S)", text[start:end], re.M
        ):
            at, to = start + match.start("right"), start + match.end("right")
            gap = Gap(self.label(), "matrix", at, to, match["right"])
            yield Line(start + match.start(), to, (match["left"], ""), (gap,))

    def with_points(self, exercise: Exercise) -> Exercise:
        """The points that the sheet gives to a question, or a section, divided among its gaps."""
        if not self.shares:
            return exercise
        counts = {
            front: sum(1 for gap in exercise.gaps.values() if _front(gap.label) == front)
            for front in self.shares
        }

        def worth(gap: Gap) -> Gap:
            front = _front(gap.label)
            if not counts.get(front):
                return gap
            return replace(gap, points=self.shares[front] / counts[front])

        units = [
            replace(
                unit, lines=tuple(replace(n, gaps=tuple(map(worth, n.gaps))) for n in unit.lines)
            )
            for unit in exercise.units
        ]
        return replace(exercise, units=tuple(units))


def _front(label: str) -> str:
    """`a12` → `a`, `2.1` → `2.`."""
    return label.rstrip("0123456789")


def _line(span: Span, gaps: list[Gap]) -> Line:
    """The texts around the gaps of a statement."""
    text, at = span.source.text, span.start
    if gaps[0].kind == "constant":  # with its keyword
        at = text.rfind("\n", 0, at) + 1
    start, around = at, []
    for gap in gaps:
        around.append(text[at : gap.start])
        at = gap.end
    around.append(text[at : span.end])
    if gaps[0].kind == "verdict" and gaps[0].start == gaps[0].end:
        around[1] = f": {around[1]}"
    return Line(start, span.end, tuple(around), tuple(gaps))


def _sides(equation: Equation) -> Span:
    """All that stands behind the first sign of relation."""
    return equation.sides[1].span.to(equation.sides[-1].span)


def _names(statement: Statement) -> set[str]:
    """The names that a statement defines, each in the spellings that a mark may have."""
    match statement:
        case Equation(sides=(left, *_)):
            return _bare(left)
        case Declaration(items=items):
            return {name for item in items for name in _bare(item)}
    return set()


def _bare(node: Expression) -> set[str]:
    """`r_{n+1}[t]` → `{"r_{n+1}", "r"}`: the name that is read, with its subscript and without."""
    while isinstance(node, Index | Call):
        node = node.base if isinstance(node, Index) else node.function
    if not isinstance(node, Name):
        return set()
    return {name_key(node), name_key(replace(node, sub=()))}


def _is_read(node: Expression) -> bool:
    """Whether it is a name, with indices or without: a bound like that is not one to look for."""
    return isinstance(node, Name) or (isinstance(node, Index) and isinstance(node.base, Name))


def _compared_constants(statements: tuple[Statement, ...]) -> set[str]:
    """The constants that are one side of a claim: the numbers in them are the answer."""
    declared = {
        name
        for s in statements
        if isinstance(s, Declaration) and s.keyword == "constant"
        for name in _names(s)
    }
    compared = {
        name
        for s in statements
        if isinstance(s, Claim) and s.comparison.operators in (("=",), ("≈",))
        if _is_read(s.comparison.operands[1])  # and not `M (P[w] - 1)`
        for name in _bare(s.comparison.operands[1])
    }
    return declared & compared


def _asked(text: str) -> str:
    """A paragraph up to its last question; all of it if it asks without a question mark."""
    end = text.rfind("?")
    return text[: end + 1] if end >= 0 else text


def _read_mark(found: re.Match[str]) -> Mark:
    rest = found["rest"].strip()
    by_claims = bool(_BY_CLAIMS.search(f" {rest}"))
    names = _BY_CLAIMS.sub("", f" {rest}").split(",") if found["word"] == "gap" else []
    return Mark(
        found["word"], tuple(canonical_name(n.strip()) for n in names if n.strip()), by_claims
    )


def _units(text: str) -> Iterator[tuple[str, int, int, str, int]]:
    """Kind, start, end, the words behind ```, and where the inside of a block begins."""
    at = 0
    for opening, block in blocks(text):
        yield from _paragraphs(text, at, opening.start())
        words = opening.group().strip("`~ ")
        language = block.language
        kind = "notation" if language in PLAIN_FENCES else "code"
        if language == DESIGN:
            kind = "design"
        yield kind, opening.start(), block.end, words, block.first
        at = block.end
    yield from _paragraphs(text, at, len(text))


def _paragraphs(text: str, start: int, end: int) -> Iterator[tuple[str, int, int, str, int]]:
    for match in _PARAGRAPH.finditer(text, start, end):
        kind = "heading" if re.match(r"#{1,6}[ \t]", match.group()) else "prose"
        yield kind, match.start(), match.end(), "", match.start()
