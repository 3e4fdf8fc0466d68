"""Whether the lines of a text are documents of their own: a list, or a sentence in each line.

    lines_are(["Anna", "Bert", …])                             →  "the lines are short"
    lines_are(["A dog runs .", "Two men sit on a bench .", …])  →  "each line ends a sentence"
    lines_are(["Anna Berg, a singer of folk songs", …])         →  "the lines are in alphabetical order"
    lines_are(["It was the best of times, it was", "the worst …"])  →  None

A running text has lines that end anywhere, or blank lines between its paragraphs, or indents some.
In doubt it is one: to read lines apart forgets what stood before them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

LEAST = 50
"""Fewer lines say too little."""
NEARLY_ALL = 0.9
FEW = 0.02
WORDS = 4
"""In a short line."""
SHORT = 60
"""Characters in a short line."""
PARAGRAPH = 400
"""Characters of a line that is more than a sentence or two."""
ENDS = ".!?…。！？।؟"
CLOSING = "\"'”’»)]} "
IDEOGRAPHS = "\u2e80"
"""From here on two characters are about a word, and no blanks stand between words."""


def lines_are(lines: Sequence[str]) -> str | None:
    """Why the lines are documents, in words; None if they are a running text."""
    texts = [line for line in lines if line.strip()]
    if len(texts) < LEAST or len(lines) - len(texts) > FEW * len(lines):
        return None

    def share(holds: Callable[[str], bool]) -> float:
        return sum(map(holds, texts)) / len(texts)

    if share(lambda line: line[0].isspace()) > FEW:
        return None
    if share(_is_short) >= NEARLY_ALL:
        return "the lines are short"
    if share(lambda line: len(line) <= PARAGRAPH) < NEARLY_ALL:
        return None
    if share(_ends) >= NEARLY_ALL:
        return "each line ends a sentence"
    return "the lines are in alphabetical order" if _sorted(texts) else None


def _is_short(line: str) -> bool:
    words = len(line.split()) + sum(c >= IDEOGRAPHS for c in line) // 2
    return words <= WORDS and len(line) <= SHORT


def _ends(line: str) -> bool:
    return line.rstrip(CLOSING)[-1:] in tuple(ENDS)


def _sorted(lines: Sequence[str]) -> bool:
    """Nearly all lines in order, capitals counted with small letters or before them."""
    return any(
        sum(a <= b for a, b in pairwise(keys)) >= 0.98 * (len(keys) - 1)
        for keys in (list(lines), [line.casefold() for line in lines])
    )
