"""A text that is being edited: its lines, its offsets, what became of places in it; and what is known of it.

>>> text = Text("a = 1\\nb = 𝔼\\n", units=16)
>>> text.offset(1, 6)          # the end of 𝔼, which is two units of UTF-16
11
>>> edit = text.edit((0, 0), (0, 1), "xyz")
>>> str(text), moved(4, [edit])
('xyz = 1\\nb = 𝔼\\n', 6)

Lines are kept apart, so that an edit costs as much as it is long, and not as the text is. `Findings` are plain
data that goes from one process to another; all places are offsets in the text. Nothing here reads: who answers
an editor starts at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

LETTER, FUNCTION, BUILT, MODEL, TENSOR = "letter", "function", "built-in", "model", "tensor"
"""What a name can be."""


@dataclass(frozen=True)
class Occurrence:
    """A name at one place of the text."""

    start: int
    end: int
    """The name with its scripts, without its brackets."""
    key: str
    kind: str
    thing: int
    """The same for all occurrences of one name."""
    program: int
    defines: bool = False
    latex: bool = False
    base: tuple[int, int] | None = None
    """Where its letter or word stands; None if a macro stands for it."""
    bare: bool = True
    """It has no indices below or above it, so that all of it is the name."""
    capital: bool = False
    """A letter that stands for its range: the I of `W[j,I]`."""


@dataclass(frozen=True)
class Diagnostic:
    """A message at its place."""

    start: int
    end: int
    severity: str
    code: str
    text: str
    hint: str = ""
    related: tuple[tuple[int, int, str], ...] = ()
    fix: tuple[int, int, str] | None = None
    """What the hint says to write, and where."""


@dataclass(frozen=True)
class Equation:
    """A stretch of the text that defines something, with what it costs."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Shape:
    """The sizes of a name, shown behind its first occurrence."""

    at: int
    text: str
    reason: str


@dataclass
class Findings:
    """Everything that the server answers with."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    names: list[Occurrence] = field(default_factory=list)
    about: dict[tuple[int, str, str], str] = field(default_factory=dict)
    """What there is to say of a name, by its program, kind and key."""
    equations: list[Equation] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    sections: list[tuple[int, int, str]] = field(default_factory=list)
    failure: str = ""
    """Why nothing is known: the text is too much for the checker."""


Position = tuple[int, int]
"""Line and column as an editor counts them: from 0, the column in units of its encoding."""
Edit = tuple[int, int, int]
"""What was replaced, from one offset to another, and how long the new text is."""

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def _lines(text: str) -> list[str]:
    """Lines with their ends, as the protocol divides them: form feeds and the like end none."""
    return _LINES.findall(text)


class Text:
    """`units` is 8, 16 or 32: what a column counts."""

    def __init__(self, text: str, units: int = 16) -> None:
        self.lines = _lines(text)
        self.units = units

    def __str__(self) -> str:
        return "".join(self.lines)

    def offset(self, line: int, column: int) -> int:
        """Where a position is in the whole text; one outside is moved to the nearest inside."""
        return sum(map(len, self.lines[: max(0, line)])) + self._index(line, column)

    def _index(self, line: int, column: int) -> int:
        """How many characters of a line stand before a column."""
        if not 0 <= line < len(self.lines):
            return 0
        text = self.lines[line].rstrip("\r\n")
        if self.units == 32 or text.isascii():
            return max(0, min(column, len(text)))
        for number, character in enumerate(text):
            if column <= 0:
                return number
            column -= self._width(character)
        return len(text)

    def _width(self, character: str) -> int:
        if self.units == 16:
            return 2 if ord(character) > 0xFFFF else 1
        return len(character.encode("utf-8", "surrogatepass")) if self.units == 8 else 1

    def positions(self, offsets: Iterable[int]) -> dict[int, Position]:
        """The positions of offsets; one walk through the lines for all of them."""
        found: dict[int, Position] = {}
        line, start = 0, 0
        for offset in sorted(set(offsets)):
            while line < len(self.lines) and start + len(self.lines[line]) <= offset:
                start += len(self.lines[line])
                line += 1
            before = self.lines[line][: offset - start] if line < len(self.lines) else ""
            wide = self.units != 32 and not before.isascii()
            column = sum(map(self._width, before)) if wide else len(before)
            found[offset] = line, column
        if self.lines and not self.lines[-1].endswith(("\n", "\r")):
            last = len(self.lines) - 1  # behind the last sign of a text that ends without a newline
            end = self.offset(last, 1 << 30)
            width = sum(map(self._width, self.lines[last]))
            found |= {o: (last, width) for o in found if o >= end}
        return found

    def edit(self, start: Position, end: Position, new: str) -> Edit:
        """Replaces what stands between two positions; tells where that was."""
        first, last = (min(max(line, 0), len(self.lines)) for line in (start[0], end[0]))
        last = max(first, last)
        begin, finish = self._index(first, start[1]), self._index(last, end[1])
        before = sum(map(len, self.lines[:first]))
        replaced = self.lines[first : last + 1]
        whole = "".join(replaced)
        stop = max(begin, sum(map(len, replaced[: last - first])) + finish)
        # A line that is cut before its end goes on with the next, and `\r` may meet `\n`.
        changed = whole[:begin] + new + whole[stop:]
        following = self.lines[last + 1 : last + 2]
        if not changed.endswith("\n") and following:
            changed += following[0]
            last += 1
        self.lines[first : last + 1] = _lines(changed)
        if first and self.lines[first - 1].endswith("\r") and changed.startswith("\n"):
            self.lines[first - 1 : first + 1] = _lines("".join(self.lines[first - 1 : first + 1]))
        return before + begin, before + stop, len(new)


def moved(offset: int, edits: Sequence[Edit]) -> int:
    """Where a place is after some edits; one inside of what was replaced is at its beginning."""
    for start, end, length in edits:
        if offset >= end:
            offset += length - (end - start)
        elif offset > start:
            offset = start
    return offset


def before(offset: int, edits: Sequence[Edit]) -> int:
    """Where a place was before some edits: the other way round."""
    for start, end, length in reversed(edits):
        if offset >= start + length:
            offset -= length - (end - start)
        elif offset > start:
            offset = start
    return offset


def touched(start: int, end: int, edits: Sequence[Edit]) -> bool:
    """Whether an edit changed something between two places, or at one of them."""
    for first, last, length in edits:
        if first <= end and start <= last and (last > first or first < end):
            return True
        start, end = (moved(o, [(first, last, length)]) for o in (start, end))
    return False
