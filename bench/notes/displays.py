r"""The displays of a folder of notes, found by a few regular expressions.

    displays(folder) → [Display("textbook", "textbook/rnn.md", 61, "3f0c…", "\mathbf{H} = …"), …]

The search is simple on purpose and shares nothing with the reader that is measured, so that a display
which the reader overlooks is drawn, labelled and counted like any other.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SUFFIXES = (".md", ".tex")

_ENVIRONMENTS = "equation|align|eqnarray|gather|multline|displaymath|alignat|flalign"
_BLANKED = (
    re.compile(r"(?<!\\)%[^\n]*"),
    re.compile(r"\\begin\{(verbatim|comment|lstlisting)\}.*?\\end\{\1\}", re.DOTALL),
)
_FENCED = re.compile(r"^(```+|~~~+)[^\n]*\n.*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_DISPLAYS = re.compile(
    r"\$\$(?P<dollars>.+?)\$\$"
    r"|(?<!\\)\\\[(?P<brackets>.+?)(?<!\\)\\\]"
    rf"|\\begin\{{(?P<name>(?:{_ENVIRONMENTS})\*?)\}}(?P<body>.+?)\\end\{{(?P=name)\}}"
    # A formula that has a line of a slide to itself, centred or coloured or neither.
    r"|^[ \t]*(?:\\centerline[ \t]*)?\{?(?:\\color\{\w+\})?[ \t]*"
    r"\$(?P<lone>[^$\n]+=[^$\n]+)\$[}.,; \t]*$",
    re.DOTALL | re.MULTILINE,
)
_SWALLOWING = re.compile(r"\\newcommand\{?\\(\w+)\}?\[1\]\{\s*\}")


@dataclass(frozen=True)
class Display:
    """A display, and where it stands."""

    folder: str
    file: str
    """The path below the folder of notes, with slashes."""
    start: int
    end: int
    """Where it begins and ends in the text of its file, delimiters included."""
    body: str
    text: str
    """The whole text of the file."""

    @cached_property
    def line(self) -> int:
        return self.text.count("\n", 0, self.start) + 1

    @cached_property
    def hash(self) -> str:
        """The same for the same formula, however it is broken into lines."""
        written = re.sub(r"\s+", " ", self.body).strip()
        return hashlib.sha256(written.encode()).hexdigest()[:12]

    @property
    def key(self) -> tuple[str, int, str]:
        return self.file, self.line, self.hash

    def context(self, lines: int = 8) -> str:
        """The display with some lines of prose around it, for whoever labels it."""
        rows = self.text.split("\n")
        last = self.text.count("\n", 0, self.end) + 1
        shown = rows[max(0, self.line - 1 - lines) : last + lines]
        return "\n".join(row for row in shown if row.strip() and row.strip() != r"\vfill")


def find(text: str, folder: str, file: str) -> list[Display]:
    """The displays of one text."""
    markdown = file.endswith(".md")
    hidden = _FENCED.sub(_blank, text) if markdown else text
    for pattern in _BLANKED[1:] if markdown else _BLANKED:
        hidden = pattern.sub(_blank, hidden)
    if not markdown:
        hidden = _without_swallowed(hidden)
    found = []
    for match in _DISPLAYS.finditer(hidden):
        if markdown and match["lone"]:
            continue  # a paragraph that is broken after each clause
        body = next(match[g] for g in ("dollars", "brackets", "body", "lone") if match[g])
        if body.strip():
            found.append(Display(folder, file, match.start(), match.end(), body, text))
    return found


def displays(notes: Path) -> list[Display]:
    """All displays below a folder of notes; of several that are the same the first."""
    found: dict[tuple[str, str], Display] = {}
    for folder in sorted(path for path in notes.iterdir() if path.is_dir()):
        for path in sorted(folder.rglob("*")):
            if path.suffix in SUFFIXES:
                text = path.read_text(encoding="utf-8", errors="replace")
                for display in find(text, folder.name, path.relative_to(notes).as_posix()):
                    found.setdefault((display.folder, display.hash), display)
    return list(found.values())


def draw(
    every: Sequence[Display], count: int, seed: int, known: Iterable[tuple[str, str]] = ()
) -> list[Display]:
    """As many from each folder, in random order; none of those that are `known` by folder and hash."""
    taken = set(known)
    drawn: list[list[Display]] = []
    folders = sorted({display.folder for display in every})
    for number, folder in enumerate(folders):
        left = [d for d in every if d.folder == folder and (folder, d.hash) not in taken]
        share = (count + len(folders) - 1 - number) // len(folders)
        drawn.append(random.Random(f"{seed} {folder}").sample(left, min(share, len(left))))
    # The folders take turns, so that each batch has some of both.
    longest = max(map(len, drawn), default=0)
    return [part[n] for n in range(longest) for part in drawn if n < len(part)]


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _without_swallowed(text: str) -> str:
    r"""The text without what stands in `\ignore{…}`, or in a macro of its own that drops it."""
    names = {"ignore", *_SWALLOWING.findall(text)}
    opening = re.compile(rf"\\(?:{'|'.join(sorted(names))})\s*\{{")
    start = 0
    while match := opening.search(text, start):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0) if text[end - 1] != "\\" else 0
            end += 1
        hidden = re.sub(r"[^\n]", " ", text[match.start() : end])
        text = text[: match.start()] + hidden + text[end:]
        start = end
    return text
