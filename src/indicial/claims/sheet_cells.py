"""The cells of a sheet, run one by one: each is checked together with those before it.

>>> sheet = Sheet()
>>> sheet.run("shares", 1, "α[n] = softmax_n x[n]").verdicts
[]
>>> [v.line() for v in sheet.run("shares", 2, "claim Σ_n α[n] = 1").verdicts]
['shares 2:2: claim holds: Σ_n α[n] = 1: equal but for rounding, …']

What is said of a cell depends on the parts of its section up to it, and on the section that it goes on
with, so it is the same whenever it is run. A part that is run again takes the place of what it was; if its
text is another one, the claims of the cells below it are tried again too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from indicial.claims.experiment import Verdict
from indicial.claims.trying import try_claims
from indicial.library.loading import programs, strict
from indicial.notation.faults import GAP
from indicial.notation.notebooks import MAGIC
from indicial.notation.parse import Parsed, parse
from indicial.notation.silences import Silences, find_silences, silenced
from indicial.notation.source import Source
from indicial.notation.syntax import Statement
from indicial.notation.tokens import tokenize
from indicial.program.messages import IndicialError, Message
from indicial.program.program import Program
from indicial.program.sections import Block

UNSETTLED = "unused-"
"""Messages with such a code are not said of a part: a later one may use it."""


@dataclass
class Cell:
    """A part of a section as it was run last."""

    name: str
    number: int
    source: Source
    parsed: Parsed
    silences: Silences
    seed: int = 0
    draws: int | None = None
    said: list[str] = field(default_factory=list)
    """Its verdicts in words."""
    gaps: tuple[int, ...] = ()
    """The lines with a `___` that is not filled in yet; they are left out."""


@dataclass(frozen=True)
class Outcome:
    """What came of running a cell; without a program if there are errors."""

    program: Program | None
    statements: list[Statement]
    """What stands in the cell itself."""
    messages: list[Message]
    verdicts: list[Verdict]
    below: list[Verdict]
    """Verdicts on cells below it that are others than before."""
    gaps: tuple[int, ...] = ()
    """The lines that were left out, since they have a gap."""


class Sheet:
    """The cells that were run so far, by the name of their section and their number."""

    def __init__(self) -> None:
        self._sections: dict[str, dict[int, Cell]] = {}
        self._after: dict[str, str] = {}
        self._programs: dict[str, list[Program]] = {}

    def run(
        self,
        name: str,
        number: int,
        text: str,
        after: str = "",
        *,
        seed: int = 0,
        draws: int | None = None,
    ) -> Outcome:
        """Checks a part and tries its claims; `after` is the section whose names it may read."""
        self._admit(name, number, after)
        section = self._sections.setdefault(name, {})
        former = section.get(number)
        cell = _cell(name, number, text)
        cell.seed, cell.draws = seed, draws
        section[number] = cell
        if number == 1:
            self._after[name] = after
        made, messages = self._checked(cell)
        failed = any(message.severity == "error" for message in messages)
        verdicts = [] if failed else self._tried(cell, made)
        another = former is not None and former.source.text != cell.source.text
        below = self._tried_below(cell) if another and not failed else []
        return Outcome(
            None if failed or not made else made[-1],
            list(cell.parsed.statements),
            messages,
            verdicts,
            below,
            cell.gaps,
        )

    def _admit(self, name: str, number: int, after: str) -> None:
        """Whether all that the cell needs has been run."""
        section = self._sections.get(name, {})
        missing = [str(n) for n in range(1, number) if n not in section]
        if missing:
            parts = f"part {missing[0]}" if len(missing) == 1 else f"parts {', '.join(missing)}"
            raise IndicialError(
                f"{parts} of {name} must be run first: run the cells above this one"
            )
        if after and after not in self._sections:
            raise IndicialError(
                f"{name} goes on with {after}: run the cells of that section, above this one, first"
            )
        if after and name in (after, *self._before(after)):
            raise IndicialError(f"{name} cannot go on with {after}, which goes on with {name}")

    def _before(self, name: str) -> list[str]:
        """The sections that one goes on with, the nearest first."""
        found: list[str] = []
        while (name := self._after.get(name, "")) and name not in found:
            found.append(name)
        return found

    def _checked(self, cell: Cell) -> tuple[list[Program], list[Message]]:
        """The programs in which lines of the cell stand, and what is to be said of them."""
        chain = [*reversed(self._before(cell.name)), cell.name]
        cells = [
            part
            for name in chain
            for number, part in sorted(self._sections[name].items())
            if name != cell.name or number <= cell.number
        ]
        silences = {place: codes for part in cells for place, codes in part.silences.items()}
        blocks = [
            Block(_title(part.name), p.statements, p.faults, p.skipped)
            for part in cells
            for p in [part.parsed]
        ]
        made = programs(
            blocks, (), lambda m: silenced(silences, m.code, m.span.source, m.span.line)
        )
        here = [p for p in made if p.title == _title(cell.name)]
        self._programs[cell.name] = here
        holding = [p for p in here if _stands_in(cell, p)] or here[-1:]
        said = {m: None for p in holding for m in p.mistakes if not m.code.startswith(UNSETTLED)}
        return holding, list(said)

    def _tried(self, cell: Cell, made: list[Program]) -> list[Verdict]:
        """The verdicts on the claims of a cell; they are kept as what was said of it."""
        verdicts = try_claims(
            made,
            seed=cell.seed,
            draws=cell.draws,
            which=lambda test: test.span.source is cell.source,
            beside=[program for known in self._programs.values() for program in known],
        )
        cell.said = [words(verdict) for verdict in verdicts]
        return verdicts

    def _tried_below(self, cell: Cell) -> list[Verdict]:
        """The claims of cells below are tried again; those that came out as before are left out."""
        found: list[Verdict] = []
        for other in self._below(cell):
            if not other.said:
                continue
            before = other.said
            made, messages = self._checked(other)
            if not any(message.severity == "error" for message in messages):
                verdicts = self._tried(other, made)
                found += [verdict for verdict in verdicts if words(verdict) not in before]
        return found

    def _below(self, cell: Cell) -> Iterator[Cell]:
        """The cells whose programs hold lines of this one, or may."""
        for name, section in self._sections.items():
            if name == cell.name:
                yield from (part for n, part in sorted(section.items()) if n > cell.number)
            elif cell.name in self._before(name):
                yield from (part for _, part in sorted(section.items()))


def words(verdict: Verdict) -> str:
    """A verdict as it is printed."""
    return verdict.line() if verdict.as_stated else verdict.message().render()


def _cell(name: str, number: int, text: str) -> Cell:
    # With the line of the magic, so that lines are counted as in the cell.
    source = Source(f"{name} {number}", f"{MAGIC}\n{text}")
    tokens = tokenize(source, len(MAGIC) + 1, len(source.text), latex=False)
    silences = find_silences(source, (), lambda offset: True)
    parsed = strict(parse(tokens, latex=False))
    gaps = tuple(fault.spans[0].line for fault in parsed.faults if fault.code == GAP)
    parsed = replace(parsed, faults=tuple(f for f in parsed.faults if f.code != GAP))
    return Cell(name, number, source, parsed, silences, gaps=gaps)


def _title(name: str) -> str:
    """The heading that a name was made of, as far as it matters: `problem_3` starts afresh."""
    return name.replace("_", " ")


def _stands_in(cell: Cell, program: Program) -> bool:
    return any(statement.span.source is cell.source for statement in program.written)
