"""Code in Markdown, which hides what is in it: fenced blocks and spans in backticks.

```eq            Fence("eq", …): the language decides what becomes of the inside
a = b
```
write `$x = 1$`  a code span
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from indicial.notation.source import Source

_BACKTICKS = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_DIRECTIVE_OPTION = re.compile(r"[ \t]*:[\w-]+:[^\n]*\n")


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: its inside is `text[first:last]`, and all of it ends at `end`."""

    language: str
    first: int
    last: int
    end: int


def fence(text: str, opening: str, behind: int, quoted: bool = False) -> Fence | None:
    """The block whose opening line ends at `behind`; None if the line is only a code span.

    A block that is never closed goes on to the end of the text, or of the quotation that it is in.
    """
    sign = opening[0]
    length = len(opening) - len(opening.lstrip(sign))
    if sign == "`" and "`" in opening[length:]:
        return None
    words = opening[length:].replace("{", " ").replace("}", " ").split(maxsplit=1)
    language = words[0].strip(".,").lower() if words else ""
    first = min(behind + 1, len(text))
    closing = rf"{re.escape(sign) * length}{re.escape(sign)}*[ \t\r]*$"
    ends = rf"^[ \t]*>[ \t>]*{closing}|^(?![ \t]*>)" if quoted else rf"^[ \t]*{closing}"
    match = re.compile(ends, re.M).search(text, first)
    last, end = (match.start(), match.end()) if match else (len(text), len(text))
    while option := _DIRECTIVE_OPTION.match(text, first, last):
        first = option.end()
    return Fence(language, first, last, end)


class CodeSpans:
    """The code spans of a text, found with one pass over its backticks."""

    def __init__(self, source: Source) -> None:
        self._text = source.text
        self._runs: dict[int, list[int]] | None = None

    def end(self, start: int, length: int) -> int | None:
        """The end of the span that `length` backticks open, in the same paragraph."""
        if self._runs is None:
            self._runs = {}
            for match in _BACKTICKS.finditer(self._text):
                self._runs.setdefault(len(match.group()), []).append(match.start())
        runs = self._runs.get(length, [])
        number = bisect_right(runs, start)
        if number == len(runs) or _BLANK_LINE.search(self._text, start, runs[number]):
            return None
        return runs[number] + length
