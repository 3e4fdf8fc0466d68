"""A page of text in columns, for a terminal: labels on the left, what they say on the right.

>>> page = Page(80)
>>> page.put("inputs", page.flow(["x[t,k]", "w[t] in V"]))
>>> page.lines
['inputs      x[t,k]   w[t] in V']

Widths count columns, not characters: a combining accent takes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from indicial.program import messages
from indicial.program.messages import columns

LABEL = 12
"""The width of the column of labels."""
WIDTH = 80
GAP = "   "
HARD = "\N{NO-BREAK SPACE}"


class Page:
    """Lines with a column of labels on the left."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[str] = []

    @property
    def room(self) -> int:
        return self.width - LABEL

    def put(self, label: str, lines: Iterable[str]) -> None:
        for number, line in enumerate(lines):
            head = label if number == 0 else ""
            self.lines.append(f"{pad(head, LABEL)}{line}".rstrip())

    def flow(self, items: Iterable[str], gap: str = GAP) -> list[str]:
        """Items one after the other, as many to a line as fit."""
        lines: list[str] = []
        for item in items:
            if lines and columns(lines[-1]) + len(gap) + columns(item) <= self.room:
                lines[-1] += gap + item
            else:
                lines += self.fold(item)
        return lines

    def fold(self, text: str) -> list[str]:
        """A sentence in lines that fit."""
        return messages.wrapped(text, self.room, "")

    def grid(self, cells: Sequence[tuple[str, str]]) -> list[str]:
        """Pairs in aligned columns, as many beside each other as fit."""
        # As few rows as fit, and then as few columns as that takes: 3 + 3 rather than 4 + 2.
        for across in sorted(range(1, 5), key=lambda n: (-(-len(cells) // n), n)):
            spans = []
            for start in range(across):
                of = cells[start::across] or [("", "")]
                spans.append((max(columns(a) for a, _ in of), max(columns(b) for _, b in of)))
            if across == 1 or sum(a + b + 1 for a, b in spans) + 3 * (across - 1) <= self.room:
                rows = [cells[n : n + across] for n in range(0, len(cells), across)]
                return [
                    GAP.join(
                        f"{pad(a, left)} {pad(b, right)}"
                        for (a, b), (left, right) in zip(row, spans, strict=False)
                    ).rstrip()
                    for row in rows
                ]
        return []


def pad(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def wrapped(line: str, width: int, margin: str = "  ") -> list[str]:
    """A line in pieces that fit, broken at spaces; pieces after the first are indented."""
    indent = margin + " " * (len(line) - len(line.lstrip()))
    return messages.wrapped(indent + " ".join(line.split()), width, indent + "    ")
