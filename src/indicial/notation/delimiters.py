r"""Where a formula between dollars or brackets ends, or code in Markdown, and whether it is one.

    $$ … $$      \[ … \]      \( … \)      closing(text, "$$", start)
    it costs $5 or $6                       closing_dollar finds a $, and is_money says no
    ```eq … ```, `$x = 1$`                  code, which hides what is in it; the language of a fence decides

Each character is looked at a bounded number of times: a bracket that is never closed is looked for
only up to where the next one opens.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from indicial.notation.source import Source

_BLANK_LINE = r"\n[ \t\r]*\n"
_DOLLAR = re.compile(rf"\\.|\$|{_BLANK_LINE}", re.DOTALL)
_BRACKETS = {
    "$$": ("$$", re.compile(rf"\\.|\$\$|{_BLANK_LINE}", re.DOTALL)),
    r"\[": (r"\]", re.compile(rf"\\[\[\]]|\\.|{_BLANK_LINE}", re.DOTALL)),
    r"\(": (r"\)", re.compile(rf"\\[()]|\\.|{_BLANK_LINE}", re.DOTALL)),
}
"""For each opening sign the closing one, and what is looked at on the way there."""


def closing(text: str, opening: str, start: int) -> int | None:
    """The end of the bracket, which may hold blank lines only if it stands on its own line."""
    sign, pattern = _BRACKETS[opening]
    before, after = line_before(text, start), line_after(text, start + 2)
    own_line = not before.strip(" \t>") and not after.strip(" \t\r")
    blank = False
    for match in pattern.finditer(text, start + 2):
        found = match.group()
        if found == sign:
            if blank and _has_prose(text[start : match.start()]):
                return None
            return match.end()
        if found == opening:
            return None
        if found[0] == "\n":
            inside = text[start : match.start()]
            if not own_line and inside.count("\\begin{") <= inside.count("\\end{"):
                return None
            blank = True
    return None


def closing_dollar(text: str, start: int) -> int | None:
    """The end of `$ … $` in one paragraph; None if nothing is between the dollars."""
    match = _DOLLAR.search(text, start + 1)
    while match is not None and match.group()[0] == "\\":
        match = _DOLLAR.search(text, match.end())
    if match is None or match.group() != "$" or match.start() == start + 1:
        return None
    return match.end()


def is_money(text: str, start: int, end: int) -> bool:
    """Whether two dollars in Markdown are no formula: `$5 or $6`, or blanks inside them."""
    tight = not (text[start + 1].isspace() or text[end - 2].isspace())
    alone = not (line_before(text, start).strip() or line_after(text, end).strip(" \t\r.,;"))
    if text[end : end + 1].isdigit():
        return True
    return not (tight or (alone and "\n" not in text[start:end]))


_COMMAND = re.compile(r"\\[A-Za-z]{2}")


def is_display(text: str, start: int, end: int) -> bool:
    r"""Whether `\[ … \]` in Markdown is a formula: it has its lines to itself, or is an equation with a command.

    Else it is an escaped bracket.
    """
    before, after = line_before(text, start), line_after(text, end)
    if not before.strip(" \t>-*+") and not after.strip(" \t\r.,;"):
        return True
    inside = text[start + 2 : end - 2]
    return "=" in inside and _COMMAND.search(inside) is not None


_BARE_END = re.compile(r"\][ \t]*[.,;]?[ \t\r]*$|\n[ \t\r]*\n[ \t\r]*\n|^[ \t]*\[", re.M)


def bare_display(text: str, inner: int) -> int | None:
    """Where a display ends whose brackets lost their backslashes; None if it is no formula of LaTeX."""
    for match in _BARE_END.finditer(text, inner, inner + 2000):
        if match.group()[0] != "]":
            return None
        inside = text[inner : match.start()]
        if all(inside.count(a) == inside.count(b) for a, b in ("[]", "{}")):
            formula = _COMMAND.search(inside) or re.search(r"[A-Za-z][_^]", inside)
            return match.start() if formula and re.search(r"=|\\[A-Za-z]", inside) else None
    return None


def line_before(text: str, offset: int) -> str:
    """The last signs of the line in front of the offset."""
    near = text[max(0, offset - 80) : offset]
    return near.rpartition("\n")[2]


def line_after(text: str, offset: int) -> str:
    """The next signs of the line behind the offset."""
    return text[offset : offset + 400].partition("\n")[0]


def _has_prose(text: str) -> bool:
    """Whether a line of a would-be display is a sentence: then its end is another's beginning."""
    return any(
        "\\" not in line and sum(len(word) > 1 and word.isalpha() for word in line.split()) >= 4
        for line in text.splitlines()
    )


_OPTION = re.compile(r"[ \t]*:[\w-]+:[^\n]*")


def directive(text: str, start: int, behind: int) -> tuple[int, int]:
    """Where the body of `.. math::` begins and ends: the rest of its line, and what is indented below it."""
    indent = _indent(text[text.rfind("\n", 0, start) + 1 :])
    line_end = text.find("\n", behind)
    end = position = len(text) if line_end < 0 else line_end
    first = behind if text[behind:end].strip() else end
    while position < len(text):
        following = text.find("\n", position + 1)
        following = len(text) if following < 0 else following
        line = text[position + 1 : following]
        if line.strip() and _indent(line) <= indent:
            break
        if first == position and _OPTION.fullmatch(line):
            first = following
        end = following if line.strip() else end
        position = following
    return min(first, end), end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


_BACKTICKS = re.compile(r"`+")
_EMPTY_LINE = re.compile(r"\n[ \t\r]*\n")
_DIRECTIVE_OPTION = re.compile(r"[ \t]*:[\w-]+:[^\n]*\n")


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: its inside is `text[first:last]`, and all of it ends at `end`."""

    language: str
    first: int
    last: int
    end: int


def fence(text: str, opening: str, behind: int, quoted: bool = False) -> Fence | None:
    """The block whose opening line ends at `behind`; None if the line is only a code span, or underlines a title.

    A block that is never closed goes on to the end of the text, or of the quotation that it is in.
    """
    sign = opening[0]
    length = len(opening) - len(opening.lstrip(sign))
    if sign == "`" and "`" in opening[length:]:
        return None
    above = line_before(text, max(0, behind - len(opening) - 1)).strip()
    if sign == "~" and opening.strip() == "~" * length and 0 < len(above) <= length:
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
        if number == len(runs) or _EMPTY_LINE.search(self._text, start, runs[number]):
            return None
        return runs[number] + length
