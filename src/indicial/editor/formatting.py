"""Equations with the blanks that the printer gives them, and with nothing else changed.

    h[t, j]=tanh( W[j,I]h[t-1,I] )  # a cell    →    h[t,j] = tanh(W[j,I] h[t-1,I])  # a cell

A line is only changed if the printed one has the same signs and reads as the same equation. What stands
in several lines was broken by its author, and stays as it is; so does whatever does not read.
"""

from __future__ import annotations

from indicial.notation.parse import parse_text
from indicial.notation.printers import plain, unicode
from indicial.notation.source import Span
from indicial.notation.syntax import Statement


def formatted(text: str) -> list[tuple[int, int, str]]:
    """What to replace by what: `(start, end, new)`, in the order of the text."""
    parsed = parse_text(text)
    comments = {span.line: span for span in parsed.comments}
    by_line: dict[int, list[Statement]] = {}
    for statement in parsed.statements:
        first, last = statement.span.line, statement.span.source.place(statement.span.end)[0]
        for row in range(first, last + 1):
            by_line.setdefault(row, []).append(statement)
    changes: list[tuple[int, int, str]] = []
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        body = line.removesuffix("\r")
        new = _line(body, start, by_line.get(number, []), comments.get(number))
        if new != body:
            changes.append((start, start + len(body), new))
        start += len(line) + 1
    return changes


def _line(body: str, start: int, statements: list[Statement], comment: Span | None) -> str:
    at = len(body) if comment is None else max(0, comment.start - start)
    code, said = body[:at], body[at:].rstrip()
    if not code.strip():
        return body.rstrip()
    return _code(code, statements) + (f"  {said}" if said else "")


def _code(code: str, statements: list[Statement]) -> str:
    """A line without its comment."""
    kept = code.rstrip()
    if len(statements) != 1:
        return kept
    (statement,) = statements
    printed = plain(statement) if code.isascii() else unicode(statement)
    if "".join(printed.split()) != "".join(code.split()) or "\n" in printed:
        return kept  # other signs, or only a part of what the equation says
    again = parse_text(printed)
    whole = not again.faults and not again.skipped and again.statements == (statement,)
    return printed if whole else kept
