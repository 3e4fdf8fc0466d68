"""What a text gets told when it does not read: faults, and what was left out on purpose.

`a = f(x` gives Fault("bracket", "`(` is never closed", (span of `(`, span of the row's end));
`a ≫ b` gives Skipped(span, "it uses ≫").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from indicial.notation.source import Span

GAP = "gap"
"""The code of a fault about `___`: a handout that is not filled in yet."""


@dataclass(frozen=True)
class Fault:
    """A slip in the writing, with every place that takes part in it."""

    code: str
    message: str
    spans: tuple[Span, ...]
    hint: str = ""
    row: Span | None = field(default=None, compare=False)
    """All of the row that does not read."""
    severity: str = "error"
    fix: tuple[Span, str] | None = field(default=None, compare=False)
    """What the hint says to write, and where: it is tried before it is shown."""


def warned(code: str, message: str, *spans: Span, hint: str = "", write: str = "") -> Fault:
    """A warning; with `write` its hint is to write that at the first of its places."""
    hint = hint or (f"write {write}" if write else "")
    fix = (spans[0], write) if write else None
    return Fault(code, message, spans, hint, severity="warning", fix=fix)


@dataclass(frozen=True)
class Skipped:
    """A formula that is no equation of tensors, and why."""

    span: Span
    reason: str
    reasoned: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    """The clauses of a row that reasons (`reasoning.py`)."""


BESIDE = "a part of its display is not read"
"""Why a row is left out that could be read by itself."""


class Refusal(Exception):
    """Raised inside the parser and caught there, once a row; never seen by a caller."""

    def __init__(
        self, code: str, message: str, spans: tuple[Span, ...], hint: str = "", skip: bool = False
    ) -> None:
        super().__init__(message)
        self.fault = Fault(code, message, spans, hint)
        self.skip = skip
