"""Comments that silence messages.

R[t] = G[t]      # indicial: ignore                    all messages of this line
# indicial: ignore[unused-input, size]                 these, in the line below
$$ … $$ <!-- indicial: ignore -->                      all messages of the display
% indicial: ignore-file[unused-input]                  these, in the whole text
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from indicial.notation.markup import Display
from indicial.notation.source import Source

EVERYTHING = "*"
"""Stands for all codes."""
WHOLE_FILE = 0
"""The line number under which `ignore-file` is noted."""

_COMMENT = re.compile(
    r"(?:#|%|<!--)[ \t]*indicial:[ \t]*ignore(?P<file>-file)?(?![\w-])"
    r"(?:[ \t]*\[(?P<codes>[^\]\n]*)\])?"
)

Silences = dict[tuple[Source, int], frozenset[str]]


def find_silences(
    source: Source, displays: Sequence[Display], is_comment: Callable[[int], bool]
) -> Silences:
    """Line by line what not to say; `is_comment(offset)` tells a comment from the prose around it.

    A comment alone on its line is about the next line; one at the beginning or the end of a display
    is about all of the display.
    """
    found: Silences = {}
    comments = [m for m in _COMMENT.finditer(source.text) if is_comment(m.start())]
    if not comments:
        return found
    last_line = {d.span.line: source.place(max(d.span.end - 1, 0))[0] for d in displays}
    first_line = {last: first for first, last in last_line.items()}
    below: dict[int, int] = {}
    for match in reversed(comments):
        codes = _codes(match["codes"])
        line, column = source.place(match.start())
        if match["file"]:
            _add(found, source, WHOLE_FILE, codes)
            continue
        about = [line]
        if not source.line(line)[: column - 1].strip():
            below[line] = below.get(line + 1, line + 1)
            about.append(below[line])
        for number in about:
            for each in range(first_line.get(number, number), last_line.get(number, number) + 1):
                _add(found, source, each, codes)
    return found


def silenced(silences: Silences, code: str, source: Source, line: int) -> bool:
    """Whether a message with this code about this line is not wanted."""
    codes = silences.get((source, line), frozenset()) | silences.get(
        (source, WHOLE_FILE), frozenset()
    )
    return code in codes or EVERYTHING in codes


def _codes(listed: str | None) -> frozenset[str]:
    codes = frozenset(code.strip() for code in (listed or "").split(",") if code.strip())
    return codes or frozenset({EVERYTHING})


def _add(silences: Silences, source: Source, line: int, codes: frozenset[str]) -> None:
    silences[source, line] = silences.get((source, line), frozenset()) | codes
