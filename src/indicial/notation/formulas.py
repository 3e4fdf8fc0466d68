"""A text with its formulas, for the rules that hold the one against the other.

the word vector $w[w, I]$          words: `the word vector`, and blanks; formulas: `w[w, I]`
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from indicial.notation.faults import Fault
from indicial.notation.markup import Display
from indicial.notation.source import Source, Span


@dataclass(frozen=True)
class Prose:
    """A text, its formulas in order, and the words around them."""

    source: Source
    formulas: Sequence[Display]

    @cached_property
    def words(self) -> str:
        """The text with blanks in the place of formulas, so that offsets stay."""
        text = list(self.source.text)
        for formula in self.formulas:
            start, end = formula.span.start, formula.span.end
            text[start:end] = (c if c == "\n" else " " for c in text[start:end])
        return "".join(text)

    def span(self, formula: Display, match: re.Match[str], group: int = 0) -> Span:
        start = formula.body.start
        return Span(self.source, start + match.start(group), start + match.end(group))


def warned(
    code: str,
    message: str,
    *spans: Span,
    hint: str = "",
    write: str = "",
    where: Span | None = None,
) -> Fault:
    """A warning; with `write` its hint is to write that, at the first of its places or `where`."""
    fix = (where or spans[0], write) if write else None
    return Fault(
        code,
        message,
        spans,
        hint or (f"write {write}" if write else ""),
        severity="warning",
        fix=fix,
    )
