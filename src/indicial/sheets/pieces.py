"""A sheet in Markdown → its pieces: prose, notation, code.

    What does the query get?      Piece("prose", "What does the query get?")
    ```indicial
    s[n] = k[n,I] q[I]        →   Piece("notation", "s[n] = k[n,I] q[I]")
    ```
    ```console
    $ indicial check a.eq     →   Piece("code", "%indicial check a.eq")
    ```

Blocks run as in a document (CONTRIBUTING.md): `python`, `pycon`, `console`, `design`, and those with `file=NAME`.
All others, and those with `no-run`, stay prose.
"""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from indicial.notation.delimiters import fence
from indicial.notation.scanner import PLAIN_FENCES

DESIGN = "design"
"""The language of blocks that hold the matrices of a design."""
MARK = re.compile(r"<!--\s*(?P<word>given|answer|gap)\b:?(?P<rest>[^>]*?)-->[ \t]*\n*")
"""A comment that says what becomes of a paragraph in an exercise (`exercises/asking.py`)."""
_OPENING = re.compile(r"^(?:`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]", re.MULTILINE)
_SHELL = re.compile(r"[|<>;&$`*]")
"""What only a shell understands."""


@dataclass(frozen=True)
class Piece:
    """A stretch of the sheet, which begins at `start`, as the text of a cell."""

    kind: Literal["prose", "notation", "code"]
    text: str
    start: int = 0
    end: int = 0
    expected: str | None = None
    """What the sheet says that a piece of code prints; `...` stands for anything."""

    @property
    def varies(self) -> bool:
        """The sheet leaves open what is printed: it may be different each time."""
        return self.expected is not None and "..." in self.expected


def pieces(text: str) -> list[Piece]:
    """The pieces of a sheet in their order; a heading begins a new one."""
    found: list[Piece] = []
    prose, position = "", 0
    for opening in _OPENING.finditer(text):
        if opening.start() < position:
            continue  # inside the block before
        block = fence(text, opening.group(), opening.end())
        if block is None:
            continue
        cells = list(_code(block.language, opening.group(), text[block.first : block.last]))
        before, inside = text[position : opening.start()], text[opening.start() : block.end]
        position = block.end
        *sections, prose = _at_headings(prose, before)
        found += _prose(sections)
        if not cells:
            prose += inside
            continue
        found += _prose([prose])
        prose = ""
        found += [
            Piece(piece.kind, piece.text.strip("\n"), opening.start(), block.end, piece.expected)
            for piece in cells
        ]
    return found + _prose(_at_headings(prose, text[position:]))


def _prose(texts: list[str]) -> list[Piece]:
    shown = [MARK.sub("", text) for text in texts]
    return [Piece("prose", text.strip("\n")) for text in shown if text.strip()]


def _at_headings(before: str, text: str) -> list[str]:
    """The prose so far and what follows it, divided where a heading stands in what follows."""
    starts = [0, *(match.start() for match in _HEADING.finditer(text)), len(text)]
    first, *rest = (text[a:b] for a, b in pairwise(starts))
    return [before + first, *rest]


def _code(language: str, opening: str, text: str) -> Iterator[Piece]:
    """The cells of a block; none if it is to stay prose."""
    words = opening.strip("`~ ").split()
    file = next((word[5:] for word in words if word.startswith("file=")), "")
    if "no-run" in words:
        return
    if language in PLAIN_FENCES:
        yield Piece("notation", text)
    if language == DESIGN:
        yield Piece("code", f"%%indicial {' '.join(words)}\n{text}")
    if file:
        yield Piece("code", f"%%writefile {file}\n{text}")
    elif language == "python":
        yield Piece("code", text)
    elif language == "pycon":
        yield from _examples(text)
    elif language == "console":
        yield from _commands(text)


def _examples(text: str) -> Iterator[Piece]:
    """The examples of a session: a cell ends where something is printed."""
    source = ""
    for example in doctest.DocTestParser().get_examples(text):
        source += example.source
        if example.want:
            yield Piece("code", source, expected=example.want)
            source = ""
    if source:
        yield Piece("code", source)


def _commands(text: str) -> Iterator[Piece]:
    """Each `$ command` with the lines that it prints; ours runs in the kernel, others in a shell."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = re.sub(r"\\\n(?:> )?", "", part).partition("\n")
        ours = command.startswith("indicial ") and not _SHELL.search(command)
        yield Piece("code", f"{'%' if ours else '!'}{command}", expected=expected)
