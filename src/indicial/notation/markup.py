r"""What a text holds besides prose: formulas, headings, macros, comments, each with its place.

Attention:  $\alpha[t] = …$          displayed: alone on its line, behind a label
$$ h[t,j] = … $$                     displayed; so are \[ … \], \begin{align} …, ```eq …
the vector $x = y$ is …              inline
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

from indicial.notation.faults import Fault
from indicial.notation.headings import Heading
from indicial.notation.macros import Macro
from indicial.notation.source import Source, Span

Surface = Literal["plain", "latex"]
Kind = Literal["display", "inline", "cell", "said", "line"]


@dataclass(frozen=True, slots=True)
class Display:
    """A formula: `span` with its delimiters, `body` without them."""

    span: Span
    body: Span
    surface: Surface
    kind: Kind = "display"
    claims: bool = False
    """It stands in an environment `claim`: its rows are claims."""

    @property
    def strict(self) -> bool:
        """Whether it is notation and no prose: what does not read in it is a slip."""
        return self.surface == "plain" and self.kind != "line"


@dataclass(frozen=True, slots=True)
class Input:
    r"""`\input{name}`: a file that is to be read at this place."""

    name: str
    span: Span


@dataclass
class Markup:
    """What a text holds, each list in the order of the text."""

    source: Source
    displays: list[Display] = field(default_factory=list)
    inline: list[Display] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    macros: list[Macro] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    hidden: list[tuple[int, int]] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)
    claims: list[tuple[int, int]] = field(default_factory=list)
    """The environments `claim`."""
    faults: list[Fault] = field(default_factory=list)

    def is_comment(self, offset: int) -> bool:
        """Whether the offset is in a comment, or in a display, where the parser finds comments."""
        return _within(self._commented, offset)

    def covers(self, offset: int) -> bool:
        """Whether the offset is in code, a comment or a display."""
        return _within(self._covered, offset)

    @cached_property
    def _commented(self) -> list[tuple[int, int]]:
        return sorted([*((d.span.start, d.span.end) for d in self.displays), *self.comments])

    @cached_property
    def _covered(self) -> list[tuple[int, int]]:
        return sorted([*self._commented, *self.hidden])


_EMPHASISED = re.compile(
    r"(?<![\w*`])(\*{1,2}|`)(?P<name>[A-Za-z](?:_\{?\w{1,5}\}?|\^\{?\w{1,5}\}?|\[[a-z]\])?)\1(?![\w*`])"
)


def emphasised_names(markup: Markup) -> list[Display]:
    """`**W** is the weight matrix`: letters in bold, italics or the type of code, which may be names."""
    inline = [(d.span.start, d.span.end) for d in markup.inline]
    spans = {*markup.hidden}
    return [
        Display(span, Span(markup.source, *found.span("name")), "latex", "inline")
        for found in _EMPHASISED.finditer(markup.source.text)
        if (found.span() in spans or not markup.covers(found.start()))
        and not _within(inline, found.start())
        for span in [Span(markup.source, found.start(), found.end())]
    ]


def mark_claims(markup: Markup) -> None:
    """Make what is displayed in an environment `claim` claims, in place."""
    if markup.claims:
        markup.displays = [
            replace(display, claims=_within(markup.claims, display.span.start))
            for display in markup.displays
        ]


def _within(stretches: list[tuple[int, int]], offset: int) -> bool:
    number = bisect_right(stretches, (offset, sys.maxsize)) - 1
    return number >= 0 and offset < stretches[number][1]


_LABEL = r"(?!(?:Figure|Fig|Table)\b)[^\W\d_][\w /'’-]{0,39}:"
_BEFORE = re.compile(
    r"[ \t\xa0]*(?:>[ \t]?)*(?:[-*+•‣◦–][ \t]+)*(?::{1,4}[ \t]*)?"  # quotation marks, bullets, a wiki's colons
    r"(?:\\item[ \t]*)?(?:\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})[.)][ \t]+)?"  # a number
    rf"(?:[*_]{{0,2}}{_LABEL}[*_]{{0,2}}|[*_]{{2}})?[ \t\xa0]*"
)
_BETWEEN = re.compile(r"[\s,;.~\xa0&]*(?:and|\\q?quad)?[\s,;.~\xa0&]*")
_BEHIND = re.compile(
    r"[ \t\xa0]*[*_]{0,2}[.,;:]?[ \t\xa0]*(?:\([A-Za-z]?\d{1,3}(?:\.\d{1,3})*[a-z]?\))?"
    r"[.,;]?[ \t\r\xa0\\]*"
)
_LONGEST_BEFORE, _LONGEST_BETWEEN, _LONGEST_BEHIND = 80, 20, 20


def promote_lone_formulas(markup: Markup) -> None:
    """Make inline formulas that have a line to themselves displays, in place."""
    kept: list[Display] = []
    lone: list[Display] = []
    for group in _by_line(markup):
        (lone if _stands_alone(markup.source, group) else kept).extend(group)
    displays = [*markup.displays, *(replace(display, kind="display") for display in lone)]
    markup.displays = sorted(displays, key=lambda display: display.span.start)
    markup.inline = kept


def _by_line(markup: Markup) -> Iterator[list[Display]]:
    """Formulas that share a line, together."""
    group: list[Display] = []
    last_line = 0
    for formula in markup.inline:
        if group and formula.span.line != last_line:
            yield group
            group = []
        group.append(formula)
        last_line = markup.source.place(formula.span.end)[0]
    if group:
        yield group


def _stands_alone(source: Source, group: list[Display]) -> bool:
    """Whether nothing but bullets, a label, punctuation and a number shares the line."""
    text = source.text
    first, last = group[0].span, group[-1].span
    line_start = source.line_starts[first.line - 1]
    behind = text[last.end : last.end + _LONGEST_BEHIND + 1]
    if first.start - line_start > _LONGEST_BEFORE:
        return False
    if "\n" not in behind and len(behind) > _LONGEST_BEHIND:
        return False
    if not _BEFORE.fullmatch(text, line_start, first.start):
        return False
    if not _BEHIND.fullmatch(behind.partition("\n")[0]):
        return False
    return all(
        b.span.start - a.span.end <= _LONGEST_BETWEEN
        and _BETWEEN.fullmatch(text, a.span.end, b.span.start)
        for a, b in pairwise(group)
    )


def says_what(text: str, macros: Iterable[Macro]) -> bool:
    """Whether a formula inside a sentence says what a name is: `x ∈ ℝ^d`, no more; by a macro too."""
    words = set(re.findall(r"\\[A-Za-z]+", text))
    bodies = ("".join(t.text for t in macro.body) for macro in macros if macro.name in words)
    return any(map(_SAID.search, (text, *bodies))) and not says_equal(text)


_SAID = re.compile(r"(?:\\in\b|∈)\s*(?:\\mathbb\s*\{?\s*R|ℝ|\\R\b|\\RR\b|\\Re\b|R\s*\^)")


def says_given(item: Display) -> bool:
    """Whether a sentence gives the start of a state: "the initial hidden state $h[0, I]$"."""
    before = item.span.source.text[max(0, item.span.start - 60) : item.span.start]
    return bool(_FIRST.fullmatch(item.body.text)) and bool(_INITIAL.search(before))


_FIRST = re.compile(r"\s*\w+\s*\[\s*0\s*(,[^][]*)?\]\s*")
_INITIAL = re.compile(
    r"\b(initial|starting)\s+([\w-]+\s+){0,3}(state|vector|value)\s+$", re.IGNORECASE
)


def says_equal(body: str) -> bool:
    r"""Whether a formula holds an `=` outside braces: `a = b`, but not `\sum_{i=1}`."""
    depth = 0
    for match in re.finditer(r"\\.|[{}=]", body, re.DOTALL):
        sign = match.group()
        depth += (sign == "{") - (sign == "}")
        if sign == "=" and depth == 0:
            return True
    return False
