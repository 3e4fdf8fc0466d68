"""Where a piece of text stands: files, spans in them, lines and columns.

>>> source = Source("cell.eq", "a = 1\\nb[j] = a")
>>> span = Span(source, 6, 10)
>>> span.text, span.line, span.column
('b[j]', 2, 1)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True, eq=False)
class Source:
    """A text with a name. Two sources are the same only if they are the same object."""

    name: str
    text: str

    @staticmethod
    def restored(name: str, text: str) -> Source:
        """From what was stored: what stood nowhere still does."""
        return Source(name, text) if name or text else NOWHERE.source

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return Source.restored, (self.name, self.text)

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset at which each line begins."""
        return [0, *(i + 1 for i, c in enumerate(self.text) if c == "\n")]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its end."""
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a source: `source.text[start:end]`."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        return self.source.place(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.place(self.start)[1]

    def to(self, other: Span) -> Span:
        """The stretch from the beginning of this one to the end of the other."""
        if other.source is not self.source:
            return self
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))

    def between(self, other: Span) -> str | None:
        """What stands between this one and a later one; None if they are not one after the other."""
        apart = other.source is self.source and self.end <= other.start
        return self.source.text[self.end : other.start] if apart else None

    def within(self, outer: Span) -> bool:
        """Whether all of it is a part of the other."""
        return self.source is outer.source and outer.start <= self.start and self.end <= outer.end


NOWHERE = Span(Source("", ""), 0, 0)
"""The span of what was made by a program and stands in no text."""


def cover(spans: Iterable[Span]) -> Span:
    """The shortest stretch that holds all of these."""
    result = NOWHERE
    for span in spans:
        result = span if result is NOWHERE else result.to(span)
    return result
