"""Messages to the author of a text: what is wrong, where, what was derived, what to do.

    cell.eq:3:22: error: h has 2 indices, but 1 is written [index-count]
      3 | h[t,j] = G[t,j] h[t-1] + R[t,j]
        |                 ^^^^^^ 1 index
        | ^^^^^^ 2 indices
      hint: write h[t-1,j]

A message points at every place that takes part. All messages of a text are collected and shown
together, errors before warnings of the same line.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from indicial.notation.source import NOWHERE, Source, Span
from indicial.program.terminal import escaped

SEVERITIES = ("error", "warning", "note")


class IndicialError(Exception):
    """Whatever a user of the library did wrong, in words for that user."""


@dataclass(frozen=True)
class Message:
    """One message. The first site is the place of the message; each has a remark of its own."""

    severity: str
    code: str
    text: str
    sites: tuple[tuple[Span, str], ...] = ()
    hint: str = ""
    details: tuple[str, ...] = ()
    """What was found, below the places: the values that break a claim."""
    fix: tuple[Span, str] | None = field(default=None, compare=False)
    """What the hint says to write, and where: it is tried before it is shown."""
    otherwise: str = field(default="", compare=False)
    """The hint if that does not help."""

    @property
    def span(self) -> Span:
        return self.sites[0][0] if self.sites else NOWHERE

    @property
    def about(self) -> tuple[str, str, int]:
        """What makes it the same message in a text that was changed a little: code, words, line."""
        return self.code, self.text, self.span.line

    def order(self) -> tuple[str, int, int]:
        return (self.span.source.name, self.span.start, SEVERITIES.index(self.severity))

    def to_json(self) -> dict[str, Any]:
        """What an editor needs; lines and columns count from 1, the end is exclusive."""
        row: dict[str, Any] = {
            **_place(self.span),
            "severity": self.severity,
            "code": self.code,
            "message": self.text,
            "hint": self.hint,
            "details": list(self.details),
            "sites": [{**_place(s), "text": s.text, "remark": r} for s, r in self.sites],
        }
        if self.fix is not None:
            row["fix"] = {**_place(self.fix[0]), "text": self.fix[1]}
        return row

    def render(self, width: int = 80) -> str:
        """The message as a person reads it in a terminal."""
        span = self.span
        known = bool(self.sites) and span.source is not NOWHERE.source
        place = f"{span.source.name}:{span.line}:{span.column}: " if known else ""
        head = wrapped(f"{place}{self.severity}: {self.text} [{self.code}]", width, "    ")
        return "\n".join([*head, *self.excerpt(width)])

    def excerpt(self, width: int = 80) -> list[str]:
        """What stands below the first sentence: the lines involved with their carets, details, the hint."""
        lines: list[str] = []
        for excerpt in _excerpts(self.sites, width):
            lines.extend(excerpt.lines(width, self.span.source))
        for detail in self.details:
            lines.extend(wrapped(f"  {detail}", width, "    "))
        if self.hint:
            lines.extend(wrapped(f"  hint: {self.hint}", width, "        "))
        return lines


def counted(number: int, word: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {word}{'s' * (number != 1)}"


def there_is(names: Iterable[str]) -> str:
    """What may be meant, behind a name that is not known: `there are J, K`, `there is only J`."""
    known = list(names)
    if not known:
        return "there is none"
    return f"there is only {known[0]}" if len(known) == 1 else f"there are {', '.join(known)}"


def _place(span: Span) -> dict[str, Any]:
    end_line, end = span.source.place(span.end)
    line, column = span.source.place(span.start)
    return {
        "file": span.source.name, "line": line, "column": column, "end_line": end_line, "end": end,
    }  # fmt: skip


def wrapped(text: str, width: int, hang: str) -> list[str]:
    """The text in lines of at most this width, broken at blanks; further lines begin with `hang`."""
    lines: list[str] = []
    line = ""
    for number, word in enumerate(text.split(" ")):
        longer = f"{line} {word}" if number else word
        if line.strip() and columns(longer) > width:
            lines.append(line)
            longer = hang + word
        line = longer
    return [*lines, line]


def columns(text: str) -> int:
    """How many columns a text takes in a terminal: combining accents take none."""
    if text.isascii():
        return len(text)
    total = 0
    for character in text:
        if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
            continue
        total += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return total


@dataclass
class _Excerpt:
    """A line of the text, as far as it is shown, with the carets below it."""

    source: Source
    number: int
    shown: str
    left: int = 0
    """How much of the line is cut off before it."""
    carets: list[tuple[list[tuple[int, int]], str]] = field(default_factory=list)
    """For each line of carets: where each run begins and how long it is, and the remark."""

    def holds(self, span: Span, start: int, end: int) -> bool:
        """Whether a stretch of the same line can be seen here."""
        inside = self.left + bool(self.left) <= start and end < self.left + len(self.shown)
        whole = not self.left and not self.shown.endswith("…")
        return (self.source, self.number) == (span.source, span.line) and (inside or whole)

    def mark(self, start: int, length: int, remark: str) -> None:
        """Adds carets: beside others of the same remark, where there is room, else below."""
        for runs, known in self.carets:
            if known == remark and all(start > s + n or s > start + length for s, n in runs):
                runs.append((start, length))
                return
        self.carets.append(([(start, length)], remark))

    def lines(self, width: int, home: Source) -> list[str]:
        gutter = f"{self.number:>4} | "
        pad = " " * (len(gutter) - 2) + "| "
        result = [] if self.source is home else [f"  {self.source.name}:"]
        result.append(gutter + escaped(self.shown))
        for runs, remark in self.carets:
            row = ""
            for start, length in sorted(runs):
                row += " " * (start - len(row)) + "^" * length
            if not remark or len(pad) + len(row) + 1 + columns(remark) <= width:
                result.append(f"{pad}{row} {remark}".rstrip())
                continue
            # No room behind the carets: the remark ends where the line ends.
            indent = max(0, width - len(pad) - columns(remark))
            result += [pad + row, f"{pad}{' ' * indent}{remark}"]
        return result


def _excerpts(sites: Iterable[tuple[Span, str]], width: int) -> list[_Excerpt]:
    """The lines that the spans begin on; a long line is cut around the span."""
    found: list[_Excerpt] = []
    for span, remark in sites:
        if span.source is NOWHERE.source:
            continue
        line = span.source.line(span.line)
        start = span.column - 1
        end = max(start + 1, min(len(line), start + (span.end - span.start)))
        excerpt = next((e for e in found if e.holds(span, start, end)), None)
        if excerpt is None:
            room = max(20, width - len(f"{span.line:>4} | "))
            left = max(0, min(start - room // 4, len(line) - room)) if len(line) > room else 0
            shown = line[left : left + room].replace("\t", " ")
            shown = ("…" + shown[1:]) if left and shown else shown
            shown = (shown[:-1] + "…") if left + room < len(line) else shown
            excerpt = _Excerpt(span.source, span.line, shown, left)
            found.append(excerpt)
        first, last = start - excerpt.left, end - excerpt.left
        marked = max(1, columns(escaped(excerpt.shown[first:last])))
        excerpt.mark(columns(escaped(excerpt.shown[:first])), marked, remark)
    return found


@dataclass
class Messages:
    """A collector; the same code at the same place is said once."""

    items: list[Message] = field(default_factory=list)
    _said: set[tuple[str, Span | None]] = field(default_factory=set)

    def add(
        self,
        severity: str,
        code: str,
        text: str,
        *sites: Span | tuple[Span, str],
        hint: str = "",
        fix: tuple[Span, str] | None = None,
        otherwise: str = "",
    ) -> None:
        pairs = tuple(s if isinstance(s, tuple) else (s, "") for s in sites)
        message = Message(severity, code, text, pairs, hint, fix=fix, otherwise=otherwise)
        said = (code, pairs[0][0] if pairs else None)
        if said not in self._said:
            self._said.add(said)
            self.items.append(message)

    def join(self, code: str, text: str, *sites: tuple[Span, str], hint: str = "") -> None:
        """An error that may be said already, of another place: then that place is added to it."""
        for number, known in enumerate(self.items):
            if known.code == code and known.text == text and known.sites[1:2] == sites[1:2] != ():
                if sites[0] not in known.sites:
                    joined = (*known.sites, sites[0])
                    self.items[number] = Message(known.severity, code, text, joined, known.hint)
                return
        self.error(code, text, *sites, hint=hint)

    def error(self, code: str, text: str, *sites: Span | tuple[Span, str], **hints: Any) -> None:
        self.add("error", code, text, *sites, **hints)

    def warning(self, code: str, text: str, *sites: Span | tuple[Span, str], **hints: Any) -> None:
        self.add("warning", code, text, *sites, **hints)

    def note(self, code: str, text: str, *sites: Span | tuple[Span, str], hint: str = "") -> None:
        self.add("note", code, text, *sites, hint=hint)


def in_order(messages: Iterable[Message]) -> list[Message]:
    return sorted(messages, key=Message.order)


def refused(errors: Iterable[Message]) -> IndicialError:
    """What is raised where a program with mistakes is to run; a cell that two layers share is told once."""
    return IndicialError("\n".join(dict.fromkeys(m.render() for m in in_order(errors))))
