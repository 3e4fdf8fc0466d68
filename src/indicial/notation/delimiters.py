r"""Where a formula between dollars or brackets ends, and whether it is one.

    $$ … $$      \[ … \]      \( … \)      closing(text, "$$", start)
    it costs $5 or $6                       closing_dollar finds a $, and is_money says no

Each character is looked at a bounded number of times: a bracket that is never closed is looked for
only up to where the next one opens.
"""

from __future__ import annotations

import re

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


def is_display(text: str, start: int, end: int) -> bool:
    r"""Whether `\[ … \]` in Markdown has its lines to itself; else it is an escaped bracket."""
    before, after = line_before(text, start), line_after(text, end)
    return not before.strip(" \t>-*+") and not after.strip(" \t\r.,;")


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
