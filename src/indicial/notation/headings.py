"""Which lines of a text are headings: a heading starts a new program.

>>> source = Source("notes.md", "# GRU\\n\\ntext\\n\\n**Problem 2. Attention.** Let x be\\n")
>>> [heading.title for heading in headings(source, lambda offset: False)]
['GRU', 'Problem 2. Attention.']

Five kinds are sure of themselves: `# Title`, `== Title ==`, an underlined line, a bold or plain `Problem 2.` (or
a bold line alone), a numbered line alone (`1 Gates and states`). Slides and scanned notes
have none of these: there, a short line that stands alone in title case is one (`Plain Cells`).

Two things look like headings and start no program, because they need what was defined above them:
a lettered part (`# a. Show that`, `(ii)`) and a `Solution`, however they are set. Only a letter
alone on its line (`a.`, then `b.`) is the heading of an answer that stands for itself: `part a`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from indicial.notation.source import Source

_MARKDOWN = re.compile(r"[ ]{0,3}(?P<level>#{1,6})[ \t]+(?P<title>\S.*)")
_WIKI = re.compile(r"(?P<level>={2,6})[ \t]*(?P<title>[^=\s][^=]*?)[ \t]*(?P=level)")
_UNDERLINE = re.compile(r"[ ]{0,3}(?P<sign>={2,}|-{2,}|[~^\"]{3,})[ \t]*")
_UNDER_LEVELS = {"=": 1, "-": 2, "~": 3, "^": 4, '"': 5}
"""What a line is underlined with; the last three are reStructuredText's."""
_BOLD = re.compile(r"[ ]{0,3}(?P<mark>\*{2,3}|__)(?P<title>[^\s*_][^*\n]*?)(?P=mark)(?P<rest>.*)")
_NUMBERED_WORD = re.compile(
    r"(?:Problem|Exercise|Question|Example|Section|Chapter|Lecture|Assignment|Task|Part|Step)"
    r"[ ]+\d+(?:\.\d+)*",
    re.IGNORECASE,
)
_PROBLEM = re.compile(
    r"(?P<title>(?:Problem|Exercise|Question|Section|Chapter|Lecture|Assignment)[ ]+\d+(?:\.\d+)*)"
    r"[ ]*(?:[.:)]|$)"
)
_NUMBER = re.compile(r"\d{1,2}(?P<levels>(?:\.\d{1,2}){0,3})(?P<dot>\.?)[ \t]+(?P<title>[A-Z].*)")
_PART = re.compile(r"\(?(?:[a-z]|[ivx]{1,4})[.)](?:\s|$)")
_LONE_LETTER = re.compile(r"\(?(?P<letter>[a-z])[.)]")
_SAME_PROGRAM = re.compile(
    r"(?:solutions?|answers?|proof|hints?|remarks?|notes?)[\s:.\d]*", re.IGNORECASE
)
_PART_TITLE = re.compile(r"(?:^|, )part [a-z]$")
_CAPTION = re.compile(r"(?:Figure|Fig\.?|Table|Algorithm|Listing)\s*\d")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")

# A line of two or three words that begins with one of these is the beginning of a sentence
# ("Then we have"), not a title ("Schur product").
_SENTENCE_STARTS = {
    "a", "also", "and", "as", "assume", "at", "because", "but", "by", "consider", "define",
    "each", "every", "finally", "first", "for", "from", "hence", "here", "how", "i", "if", "in",
    "is", "it", "let", "next", "note", "now", "of", "on", "or", "our", "recall", "second", "see",
    "set", "similarly", "since", "so", "suppose", "that", "the", "then", "there", "therefore",
    "these", "this", "thus", "to", "we", "what", "when", "where", "which", "with", "you",
}  # fmt: skip

# The words that title case leaves small.
_SMALL_WORDS = {
    "a", "al", "an", "and", "as", "at", "but", "by", "et", "for", "from", "in", "into", "is", "nor",
    "of", "on", "or", "over", "per", "the", "to", "under", "via", "vs", "with",
}  # fmt: skip

SLIDE = 9
"""The level of what stands under any section."""

_LONGEST_TITLE = 60
_LONGEST_NUMBERED_TITLE = 80


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading that stands at `text[start:end]`."""

    start: int
    end: int
    title: str
    level: int
    """1 for what holds most; slides and problems have `SLIDE`, and hold no sections."""


def headings(source: Source, hidden: Callable[[int], bool], titles: bool = True) -> list[Heading]:
    """The headings of a Markdown or plain text; `hidden(offset)` tells code and displays.

    `titles` allows lone lines in title case, if there is hardly another heading.
    """
    lines = _Lines(source, hidden)
    found = [h for n in range(len(lines)) if (h := _sure(lines, n)) is not None]
    if titles and len(found) < 2:
        lone = [h for n in range(len(lines)) if (h := _title_line(lines, n)) is not None]
        found = sorted({h.start: h for h in [*lone, *found]}.values(), key=lambda h: h.start)
    found = [heading for heading in found if starts_program(heading.title)]
    return sorted([*found, *_parts(lines, found)], key=lambda h: h.start)


def starts_program(title: str) -> bool:
    """False for `Solution:` and for a lettered part such as `(b) Show that …`."""
    return bool(title) and not (_SAME_PROGRAM.fullmatch(title) or _PART.match(title))


def plain_title(text: str) -> str:
    r"""A title without its markup: `The \emph{GRU} cell` → `The GRU cell`."""
    text = re.sub(r"\\[A-Za-z]+\*?|[{}~*`]|__", " ", text[:400])
    return " ".join(text.split())[:200]


def is_part(title: str) -> bool:
    """Whether a title is that of a lettered part: `1 Attention, part e`."""
    return _PART_TITLE.search(title) is not None


class _Lines:
    """The lines of a text, each blank, hidden, or a candidate."""

    def __init__(self, source: Source, hidden: Callable[[int], bool]) -> None:
        self.source = source
        self.starts = source.line_starts
        self.hidden = [hidden(start) for start in self.starts]

    def __len__(self) -> int:
        return len(self.starts)

    def text(self, number: int) -> str:
        """The line, or nothing if it is hidden; beyond the text all lines are blank."""
        if not 0 <= number < len(self.starts) or self.hidden[number]:
            return ""
        return self.source.line(number + 1).rstrip()

    def blank(self, number: int) -> bool:
        if not 0 <= number < len(self.starts):
            return True
        return not self.hidden[number] and not self.source.line(number + 1).strip()

    def alone(self, number: int) -> bool:
        return self.blank(number - 1) and self.blank(number + 1)

    def heading(
        self, number: int, title: str, length: int | None = None, level: int = SLIDE
    ) -> Heading:
        start = self.starts[number]
        end = start + (len(self.text(number)) if length is None else length)
        return Heading(start, end, plain_title(title), level)


def _sure(lines: _Lines, number: int) -> Heading | None:
    line = lines.text(number)
    if not line:
        return None
    if match := _MARKDOWN.fullmatch(line):
        level = len(match["level"])
        return lines.heading(number, match["title"].rstrip("# \t"), level=level)
    if match := _WIKI.fullmatch(line):
        return lines.heading(number, match["title"], level=len(match["level"]))
    before_blank = lines.blank(number - 1)
    underline = _UNDERLINE.fullmatch(lines.text(number + 1)) if before_blank else None
    if underline and line.lstrip()[0] not in "-+*•>|#$\\":
        return lines.heading(number, line, level=_UNDER_LEVELS[underline["sign"][0]])
    if before_blank and (match := _BOLD.fullmatch(line)):
        title, rest = match["title"].strip(), match["rest"].strip()
        if _NUMBERED_WORD.match(title):
            return lines.heading(number, title, match.end("title"))
        if not rest.strip(".") and not title.endswith(":"):
            return lines.heading(number, title)
    if before_blank and (match := _PROBLEM.match(line)):
        return lines.heading(number, match["title"], match.end("title"))
    if lines.alone(number) and (match := _NUMBER.fullmatch(line.strip())):
        title = match["title"]
        list_item = bool(match["dot"]) and not match["levels"]
        if len(title) <= _LONGEST_NUMBERED_TITLE and _reads_as_title(title):
            level = 1 + match["levels"].count(".")
            unsure = list_item and not _title_case(title)
            return None if unsure else lines.heading(number, line, level=level)
    return None


def _parts(lines: _Lines, found: list[Heading]) -> list[Heading]:
    """The lone letters under each heading, in the order of the alphabet.

    After `c.`, an `i.` is a numeral, the first point of part c; only after `h.` it is a part.
    """
    starts = {heading.start: heading.title for heading in found}
    parts: list[Heading] = []
    above = last = ""
    for number in range(len(lines)):
        if lines.starts[number] in starts:
            above, last = starts[lines.starts[number]], ""
        match = _LONE_LETTER.fullmatch(lines.text(number).strip())
        if match is None or not lines.alone(number):
            continue
        letter = match["letter"]
        if letter > last and (letter not in "ivx" or ord(letter) == ord(last or "a") + 1):
            title = f"{above}, part {letter}" if above else f"part {letter}"
            parts.append(lines.heading(number, title))
            last = letter
    return parts


def _title_line(lines: _Lines, number: int) -> Heading | None:
    """`Minimal Gate RNN (MGRNN)`: short, alone, in title case, without a final stop."""
    line = lines.text(number).strip()
    if not line or len(line) > _LONGEST_TITLE or not lines.alone(number):
        return None
    if not _reads_as_title(line) or line[0] in "-+*•>|#([0123456789" or _CAPTION.match(line):
        return None
    words = _WORD.findall(line)
    if not words:
        return None
    short = len(words) <= 3 and words[0][0].isupper() and words[0].lower() not in _SENTENCE_STARTS
    return lines.heading(number, line) if short or _title_case(line) else None


def _title_case(line: str) -> bool:
    """Whether every longer word is capitalised, and the first word in any case."""
    words = _WORD.findall(line)
    return bool(words) and all(
        word[0].isupper() or (number > 0 and word in _SMALL_WORDS)
        for number, word in enumerate(words)
    )


def _reads_as_title(line: str) -> bool:
    """No final punctuation, no formula, no table, no code; at least one real word."""
    return (
        line[-1] not in ".,;:!?"
        and not any(sign in line for sign in "$\\=|`{}")
        and any(len(word) > 2 for word in _WORD.findall(line[:200]))
    )
