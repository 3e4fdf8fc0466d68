"""What is known of a text that is being edited: plain data that goes from one process to another.

    found = find("y[j] = W[j,I] x[I]", "y.eq")        (`reading.py`)
    found.diagnostics, found.names, found.about[program, kind, key], …

All places are offsets in the text. Nothing here reads: who answers an editor starts at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LETTER, FUNCTION, BUILT, MODEL, TENSOR = "letter", "function", "built-in", "model", "tensor"
"""What a name can be."""


@dataclass(frozen=True)
class Occurrence:
    """A name at one place of the text."""

    start: int
    end: int
    """The name with its scripts, without its brackets."""
    key: str
    kind: str
    thing: int
    """The same for all occurrences of one name."""
    program: int
    defines: bool = False
    latex: bool = False
    base: tuple[int, int] | None = None
    """Where its letter or word stands; None if a macro stands for it."""
    bare: bool = True
    """It has no indices below or above it, so that all of it is the name."""
    capital: bool = False
    """A letter that stands for its range: the I of `W[j,I]`."""


@dataclass(frozen=True)
class Diagnostic:
    """A message at its place."""

    start: int
    end: int
    severity: str
    code: str
    text: str
    hint: str = ""
    related: tuple[tuple[int, int, str], ...] = ()
    fix: tuple[int, int, str] | None = None
    """What the hint says to write, and where."""


@dataclass(frozen=True)
class Equation:
    """A stretch of the text that defines something, with what it costs."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Shape:
    """The sizes of a name, shown behind its first occurrence."""

    at: int
    text: str
    reason: str


@dataclass
class Findings:
    """Everything that the server answers with."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    names: list[Occurrence] = field(default_factory=list)
    about: dict[tuple[int, str, str], str] = field(default_factory=dict)
    """What there is to say of a name, by its program, kind and key."""
    equations: list[Equation] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    sections: list[tuple[int, int, str]] = field(default_factory=list)
    failure: str = ""
    """Why nothing is known: the text is too much for the checker."""
