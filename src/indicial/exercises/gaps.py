"""What an exercise is made of: units of a sheet, and the gaps in them.

    **(a)** How does the work grow?       Question("a", …)
    claim work of h = 2 J^2 T         →   Gap("a1", "value", …) in  claim work of h = ___  # a1

A gap is a stretch of the sheet's text, and what stands there is the sheet's own answer.

What an answer is worth: a share from 0 to 1, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from indicial.notation.source import Source
from indicial.notation.syntax import Statement
from indicial.program.sections import Part

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
