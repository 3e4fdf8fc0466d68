r"""What is shown: text, with nothing in it that a terminal obeys, in the signs that it knows.

    with shown_safely():
        print("a\x1b[2J")       on a terminal: a\x1b[2J, as it is written here
        print("Σ_t → σ")        where only ASCII can be written: Sigma_t -> sigma

Texts, names, data and what a model says may hold anything; a control character among them could move
the cursor or change what stands above. What goes to a file or a pipe stays as it is. Colours and
cursor movements of our own go to `raw(stream)`.
"""

from __future__ import annotations

import codecs
import io
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from indicial.notation.signs import ASCII_LETTERS, RELATIONS

OBEYED = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters but tab and newline, what turns the direction of writing, halves of characters."""

FEWER = {
    **ASCII_LETTERS,
    **{sign: spelt for spelt, sign in RELATIONS.items() if spelt.isascii()},
    "…": "...", "→": "->", "←": "<-", "↔": "<->", "×": "x", "·": "*", "−": "-", "–": "-", "—": "-",
    "√": "sqrt", "∞": "inf", "∂": "d", "∈": "in", "⊤": "T", "∧": "and", "∨": "or", "¬": "not",
    "‘": "'", "’": "'", "“": '"', "”": '"', "░": ".", "▒": "+", "▓": "%", "█": "#", "␣": "_",
    "⌈": "ceil(", "⌉": ")", "⌊": "floor(", "⌋": ")",
}  # fmt: skip
"""What stands for a sign where there is only ASCII; most accents are left out by themselves."""

HANDLERS = {"strict": "indicial-fewer-signs", "surrogateescape": "indicial-fewer-signs-or-bytes"}
"""What is done with a sign that cannot be written, for what Python would do: with the locale C it gives
back the bytes of a file's name that is no text, and fails at any other sign."""


def escaped(text: str) -> str:
    r"""A text that a terminal shows and does not obey: `\x1b` for the escape character."""
    return OBEYED.sub(lambda found: repr(found[0])[1:-1], text)


class Shown:
    """A stream to a terminal; everything but writing is that of the stream."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(escaped(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def raw(stream: Any) -> IO[str]:
    """Where our own colours and movements of the cursor go."""
    found: IO[str] = stream.stream if isinstance(stream, Shown) else stream
    return found


@contextmanager
def shown_safely() -> Iterator[None]:
    """While this lasts, what is printed is escaped on a terminal, and no sign is too many."""
    before = sys.stdout, sys.stderr
    errors = {s: s.errors for s in before if isinstance(s, io.TextIOWrapper)}
    for stream in errors:
        if stream.errors in HANDLERS:
            stream.reconfigure(errors=HANDLERS[stream.errors])
    if (
        isinstance(sys.stdin, io.TextIOWrapper)
        and codecs.lookup(sys.stdin.encoding).name == "ascii"
    ):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    sys.stdout, sys.stderr = (
        Shown(stream) if stream is not None and _is_terminal(stream) else stream
        for stream in before
    )
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for stream, kind in errors.items():
            if not stream.closed:
                stream.reconfigure(errors=kind)


def _is_terminal(stream: IO[str]) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # it is closed
        return False


def _fewer(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _plain(error.object[error.start]), error.start + 1


def _fewer_or_bytes(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeEncodeError) and "\udc80" <= error.object[error.start] <= "\udcff":
        return bytes([ord(error.object[error.start]) - 0xDC00]), error.start + 1
    return _fewer(error)


def _plain(sign: str) -> str:
    if sign in FEWER:
        return FEWER[sign]
    power = re.fullmatch("<super> ([0-9A-F]{4})", unicodedata.decomposition(sign))
    if power:
        return "^" + chr(int(power[1], 16)).encode("ascii", "replace").decode()
    simple = unicodedata.normalize("NFKD", sign)
    if unicodedata.combining(sign):
        return ""
    kind, _, lines = unicodedata.name(sign, "").partition(" ")
    if kind == "BRAILLE":
        return " " if lines.endswith("BLANK") else "*"
    if kind == "BOX":  # arcs, axes and curves are drawn of these
        return (
            "+" if " AND " in lines else "|" if lines.endswith(("VERTICAL", "UP", "DOWN")) else "-"
        )
    kept = "".join(c for c in simple if c.isascii())
    return kept or sign.encode("ascii", "backslashreplace").decode()


codecs.register_error(HANDLERS["strict"], _fewer)
codecs.register_error(HANDLERS["surrogateescape"], _fewer_or_bytes)
