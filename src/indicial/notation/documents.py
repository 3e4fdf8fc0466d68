r"""Documents: every displayed equation of a text, with its place, divided by headings.

    ## UGRNN                               Section("UGRNN", displays = (h[t,j] = …,))
    The state is                     →
    $$h[t,j] = G[t,j] h[t-1,j]$$           inline = (G[t,j] = 1,)
    or, where $G[t,j] = 1$, its past.

`read` takes `.eq` (all of it is notation), `.tex`, `.md`, `.txt`, `.ipynb`, and by its looks any
other text. Nothing here raises for what a text says: what is wrong is in `faults`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Literal

from indicial.notation import files
from indicial.notation.activations import defines_called, said_function
from indicial.notation.faults import Fault
from indicial.notation.headings import Heading, headings
from indicial.notation.macros import Braces, Macro, definitions
from indicial.notation.markup import (
    Display,
    Input,
    Kind,
    Markup,
    emphasised_names,
    mark_claims,
    promote_lone_formulas,
    says_equal,
    says_given,
    says_what,
)
from indicial.notation.notebooks import cells
from indicial.notation.plain_lines import equation_lines
from indicial.notation.scanner import inputs, scan
from indicial.notation.silences import Silences, find_silences, silenced
from indicial.notation.source import Source, Span
from indicial.notation.stated_shapes import stated_shape
from indicial.notation.telling import told
from indicial.notation.vocabulary import KEYWORDS

__all__ = ["Display", "Document", "Section", "read", "read_text"]

DEEPEST_INPUT = 20
MOST_INPUTS = 200
"""How many files a document may pull in, counting repeats: a bound for cascades."""

Flavour = Literal["plain", "formula", "tex", "prose", "notebook"]

_BY_SUFFIX: dict[str, Flavour] = {
    ".eq": "plain",
    ".tex": "tex",
    ".ltx": "tex",
    ".sty": "tex",
    ".md": "prose",
    ".markdown": "prose",
    ".ipynb": "notebook",
}


@dataclass(frozen=True)
class Section:
    """What stands under a heading; without one, `title` is empty."""

    title: str
    span: Span
    displays: tuple[Display, ...]
    level: int = 0
    """How deep its heading is; 0 without one."""
    above: tuple[str, ...] = ()
    """The titles that it stands under."""


@dataclass(frozen=True)
class Document:
    """A text with its equations.

    `reading` has formulas and definitions of macros in the order in which they are read, files that
    were pulled in at the place of their `\\input`.
    """

    source: Source
    sections: tuple[Section, ...] = ()
    inline: tuple[Display, ...] = ()
    macros: tuple[Macro, ...] = ()
    silences: Silences = field(default_factory=dict)
    included: tuple[Source, ...] = ()
    faults: tuple[Fault, ...] = ()
    reading: tuple[Display | Macro, ...] = ()
    flavour: Flavour = "plain"
    formulas: tuple[Display, ...] = ()
    """All formulas of the text itself, inside sentences too, in their order."""
    path: Path | None = None
    """The file that it was read from."""

    @property
    def displays(self) -> tuple[Display, ...]:
        """All that is displayed, whatever section it is in."""
        return tuple(display for section in self.sections for display in section.displays)

    def silenced(self, code: str, span: Span) -> bool:
        """Whether a comment in the text asks for no such message about this place."""
        return silenced(self.silences, code, span.source, span.line)


def read(where: str | Path | Source) -> Document:
    """Read a file, or a text that is a `Source` already.

    A file that is missing or no file gives a document with a fault and nothing else.
    """
    if isinstance(where, Source):
        return _Reader(where, None).document()
    path = Path(where)
    source, faults = files.load(path, str(where))
    if not source.text:
        return Document(source, faults=tuple(faults))
    return _Reader(source, path, faults).document()


def read_text(text: str, name: str = "text", path: Path | None = None) -> Document:
    r"""Read a text; the ending of the name says what it is, without one its looks do.

    >>> [d.body.text for d in read_text("Here is $$a = b$$", "notes.md").displays]
    ['a = b']

    `path` is the file that the text will be, if it is one: `\input` looks for others from there.
    """
    source, faults = files.clean(text, name)
    return _Reader(source, path, faults).document()


def flavour(name: str, text: str) -> Flavour:
    """What kind of text this is: by the ending of its name, else by its looks."""
    suffix = PurePath(name).suffix.lower()
    known = _BY_SUFFIX.get(suffix)
    if known == "plain":
        return by_looks(text) if _SHOWN.search(re.sub(r"#[^\n]*", "", text)) else "plain"
    if known is not None:
        return known
    looks = by_looks(text)
    if looks in ("plain", "formula") and suffix in (".txt", ".text", ".rst", ".qmd", ".rmd"):
        return "prose"
    return looks


def by_looks(text: str) -> Flavour:
    r"""What a text without a name is: `\[ … \]` is LaTeX, `$$ … $$` Markdown, `y = \tanh x` a formula."""
    if "\\begin{document}" in text or "\\documentclass" in text:
        return "tex"
    if _DELIMITED.search(text):
        return "tex" if _TEX.search(text) and not _MARKDOWN.search(text) else "prose"
    if _PLAIN.search(text):
        return "plain"
    if re.search(r"\\[A-Za-z]", text):
        return "formula"
    return "prose" if _SPOKEN.search(text) else "plain"


_TEX = re.compile(
    r"\\\[|\\begin\{(?:equation|align|eqnarray|gather|multline|displaymath|split|flalign|frame)"
    r"|\\(?:sub)*section|\\frametitle"
)
_OTHER_MARKUP = (
    r"```|<math\b|:math:`|^[ \t]*\.\.[ \t]+math::"
    r"|^[ \t]*\[(?=[ \t]*$|[ \t][^\n]*\\[A-Za-z][^\n]*\][ \t.,]*$)"
)
_MARKDOWN = re.compile(rf"^#{{1,6}} |{_OTHER_MARKUP}", re.MULTILINE)
_DELIMITED = re.compile(rf"\$|\\\(|{_OTHER_MARKUP}|{_TEX.pattern}", re.MULTILINE)
"""What stands around formulas in prose."""
_SHOWN = re.compile(rf"\$[^$\n]+\$|\\\(|{_TEX.pattern}")
"""What shows that a file of equations holds LaTeX."""
_PLAIN = re.compile(rf"^[ \t]*(?:{'|'.join((*KEYWORDS, 'claim'))})\b|#|.\[.+\].*=", re.MULTILINE)
"""What only the plain notation has; square brackets read the same on both surfaces."""

_SPOKEN = re.compile(
    r"^[ \t]*(?:[A-Z][a-z]{2,}|[A-Z]{2,}|[a-z]+[ \t][a-z]+)[\w’' \t,()-]*[:.,]?[ \t]*$",
    re.MULTILINE,
)
"""A line of nothing but words between equations: a title, a label, a sentence."""


@dataclass
class _Open:
    """A section that is being filled."""

    title: str
    source: Source
    start: int
    level: int = 0
    displays: list[Display] = field(default_factory=list)


class _Reader:
    """Reads one document and the files it pulls in."""

    def __init__(self, source: Source, path: Path | None, faults: list[Fault] | None = None):
        self.source = source
        self.path = path
        self.root = path.parent.resolve() if path is not None else None
        self.faults = list(faults or ())
        self.sections = [_Open("", source, 0)]
        self.inline: list[Display] = []
        self.reading: list[Display | Macro] = []
        self.silences: Silences = {}
        self.included: dict[Path, Source] = {}
        self.formulas: list[Display] = []
        self.inputs = 0

    def document(self) -> Document:
        kind = flavour(self.source.name, self.source.text)
        if kind == "notebook":
            self.notebook()
        elif kind == "formula":
            self.formula(self.source)
        elif kind == "plain":
            self.sections[0].title = PurePath(self.source.name).stem
            self.plain(self.source, 0, "display")
        else:
            within = [self.path.resolve()] if self.path is not None else []
            self.text(self.source, kind == "tex", within)
        return Document(
            self.source,
            self.closed_sections(),
            tuple(self.inline),
            tuple(item for item in self.reading if isinstance(item, Macro)),
            self.silences,
            tuple(self.included.values()),
            tuple(self.faults),
            tuple(self.reading),
            kind,
            tuple(self.formulas),
            self.path,
        )

    def notebook(self) -> None:
        found, faults = cells(self.source)
        self.faults += faults
        for cell in found:
            if cell.markdown:
                self.text(cell.source, False, [], titles=False)
            else:
                self.plain(cell.source, cell.start, "cell")

    def formula(self, source: Source) -> None:
        """LaTeX without anything around it: one display, or one for each line."""
        text = source.text
        starts = [0]
        if "\\\\" not in text and "\\begin{" not in text:
            for start in source.line_starts[1:]:
                line = text[starts[-1] : start]
                depth = sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
                if depth <= 0 and text[start:].lstrip()[:1] not in tuple("=+-&"):
                    starts.append(start)
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
            body = Span(source, start, end)
            if body.text.strip():
                self.add(Display(body, body, "latex"))

    def plain(self, source: Source, start: int, kind: Kind) -> None:
        """A text that is notation from `start` to its end."""
        body = Span(source, start, len(source.text))
        if body.text.strip():
            self.add(Display(Span(source, 0, len(source.text)), body, "plain", kind))
            self.silences |= find_silences(source, (), lambda offset: True)

    def text(self, source: Source, tex: bool, within: list[Path], titles: bool = True) -> None:
        r"""A text with formulas in it; `within` are the files that led here, itself last."""
        markup = scan(source, tex, self.preambles(source, within) if tex else ())
        promote_lone_formulas(markup)
        mark_claims(markup)
        if not tex:
            markup.headings = headings(source, markup.covers, titles)
            markup.inline += emphasised_names(markup)
        if not (tex or markup.displays or any(says_equal(d.body.text) for d in markup.inline)):
            lines = equation_lines(source)
            markup.displays = [d for d in lines if not markup.covers(d.span.start)]
        self.faults += markup.faults
        if source is self.source:
            every = (*markup.displays, *markup.inline)
            self.formulas = sorted(every, key=lambda formula: formula.span.start)
        self.silences |= find_silences(source, markup.displays, markup.is_comment)
        for item in _in_order(markup):
            if isinstance(item, Heading):
                self.sections.append(_Open(item.title, source, item.start, item.level))
            elif isinstance(item, Macro):
                self.reading.append(item)
            elif isinstance(item, Input):
                self.input(item, within)
            elif item.kind != "inline":
                self.add(item)
            elif (
                says_what(item.body.text, markup.macros)
                or says_given(item)
                or told(item)
                or stated_shape(item)
                or said_function(item)
            ):
                self.add(replace(item, kind="said"))
            elif defines_called(item, markup.displays):
                self.add(replace(item, kind="display"))
            elif says_equal(item.body.text):
                self.inline.append(item)
                self.reading.append(item)

    def add(self, display: Display) -> None:
        self.sections[-1].displays.append(display)
        self.reading.append(display)

    def input(self, item: Input, within: list[Path]) -> None:
        r"""Read the file of an `\input` at its place, unless something forbids it."""
        self.inputs += 1
        place = item.span
        if self.root is None or not within:
            message = f"`{item.name}` is not read: this text is not in a file"
            self.faults.append(files.unread(message, place))
            return
        if self.inputs > MOST_INPUTS:
            if self.inputs == MOST_INPUTS + 1:
                message = f"more than {MOST_INPUTS} files are included; the rest is not read"
                self.faults.append(files.unread(message, place))
            return
        path, faults = files.find_input(item.name, within[-1].parent, self.root, place)
        self.faults += faults
        if path is None:
            return
        if path in within:
            self.faults.append(files.unread(f"`{item.name}` includes itself", place))
        elif len(within) > DEEPEST_INPUT:
            message = f"files include each other more than {DEEPEST_INPUT} deep"
            self.faults.append(files.unread(message, place))
        else:
            self.text(self.load(path), True, [*within, path])

    def load(self, path: Path) -> Source:
        """The text of a file that is pulled in, read once."""
        assert self.root is not None
        if path not in self.included:
            name = str(PurePath(self.source.name).parent / os.path.relpath(path, self.root))
            self.included[path], faults = files.load(path, name)
            self.faults += faults
        return self.included[path]

    def preambles(self, source: Source, within: list[Path]) -> list[Macro]:
        r"""The macros of the files that a text pulls in: some of them begin slides, or hide text."""
        found: list[Macro] = []
        if self.root is None or not within:
            return found
        for item in list(inputs(source))[:MOST_INPUTS]:
            path, _ = files.find_input(item.name, within[-1].parent, self.root, item.span)
            if path is not None and path not in within:
                text = self.load(path)
                found += definitions(text, 0, len(text.text), Braces(text.text))
        return found

    def closed_sections(self) -> tuple[Section, ...]:
        """The sections that hold something; each ends where the next one in its file begins."""
        ends: dict[Source, int] = {}
        closed = []
        for section, above in reversed([*zip(self.sections, self.titles_above(), strict=True)]):
            end = ends.get(section.source, len(section.source.text))
            ends[section.source] = section.start
            if section.displays:
                span = Span(section.source, section.start, max(section.start, end))
                displays = tuple(section.displays)
                closed.append(Section(section.title, span, displays, section.level, above))
        return tuple(reversed(closed))

    def titles_above(self) -> Iterator[tuple[str, ...]]:
        """For each section the titles of those around it."""
        around: list[_Open] = []
        for section in self.sections:
            around = [other for other in around if 0 < other.level < section.level]
            yield tuple(other.title for other in around)
            around.append(section)


def _in_order(markup: Markup) -> list[Display | Heading | Macro | Input]:
    """All that a text holds, in the order of the text."""
    found: list[tuple[int, int, Display | Heading | Macro | Input]] = [
        *((heading.start, 0, heading) for heading in markup.headings),
        *((macro.span.start, 1, macro) for macro in markup.macros),
        *((item.span.start, 2, item) for item in markup.inputs),
        # A display comes behind the definitions that it holds.
        *((display.span.end - 1, 3, display) for display in [*markup.displays, *markup.inline]),
    ]
    return [item for _, _, item in sorted(found, key=lambda entry: entry[:2])]
