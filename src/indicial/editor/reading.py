"""A text → what an editor shows of it: all of it is what `check` and `explain` compute.

>>> found = find("input x[i]\\ny[j] = W[j,I] x[I]", "y.eq")
>>> [d.code for d in found.diagnostics], [n.key for n in found.names if n.defines]
([], ['x', 'y'])

Hints that say what to write → changes of the text, each tried before it is offered.

    unknown name hh: did you mean h?        hh[t-1,j]  →  h[t-1,j]
    is this a state? write h[t-1,j]         h[t,j]     →  h[t-1,j]

Most checks say in words what to write, and the place is that of the message. Whether that was understood
shows when the text is read again: the message must be gone, and no error in its place.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path

from indicial import library
from indicial.editor import occurrences as places
from indicial.editor.occurrences import (
    TENSOR,
    Diagnostic,
    Equation,
    Findings,
    Occurrence,
    Shape,
    occurrences,
)
from indicial.library.loading import load_document
from indicial.notation.documents import Document, read_text
from indicial.notation.source import Span
from indicial.notation.syntax import Equation as Written
from indicial.notation.syntax import Statement
from indicial.program.explain.facts import made
from indicial.program.explain.places import Descriptions
from indicial.program.messages import IndicialError, Message, in_order
from indicial.program.names.letters import capital
from indicial.program.program import Program

_MEANT = re.compile(r"did you mean (?:\S+ at the same )?`?([^\s`?]+)`?(?: there| here)?\?")
_WRITE = re.compile(
    r"(?:^|; )write `?(?P<new>[^`:]+?)`?"
    r"(?: instead of (?P<old>\w+))?(?:[,:] .*| (?:if|instead|here|unless|or|on|in)\b.*)?$"
)
_NAME = re.compile(r"\\?[^\W\d_][^\W_]*(?:[\^_](?:\{[^}]*\}|[^\W_]))*")
_BRACKETS = re.compile(r"\[[^\[\]]*\]")

Fix = tuple[Span, str]


def with_fix(message: Message, program: Program, tried: bool = True) -> Message:
    """A message with the change that its hint asks for, if there is one that helps."""
    if message.fix is not None or not message.hint or not tried or message.severity == "note":
        return message
    for fix in _candidates(message):
        if program.mended(message, *fix):
            return replace(message, fix=fix)
    return message


def _candidates(message: Message) -> Iterator[Fix]:
    """What a hint may mean, the likeliest first."""
    meant, write = _MEANT.search(message.hint), _WRITE.search(message.hint)
    new = meant[1] if meant else write["new"] if write else ""
    if not new or "…" in new:
        return
    text = message.span.text

    def put(found: re.Match[str] | None, what: str = new) -> Iterator[Fix]:
        if found is not None and found[0] != what:
            start = message.span.start
            yield Span(message.span.source, start + found.start(), start + found.end()), what

    old = write["old"] if write else None
    if old or len(new) == 1:  # an index: `t` in the place of `t-1`, or of `T-1`
        letter = rf"\b{re.escape(old or new)}\b"
        yield from put(re.search(rf"{letter}\s*[+-]\s*\d+|{letter}", text))
    if _BRACKETS.fullmatch(new):
        yield from put(_BRACKETS.search(text))
    elif _NAME.fullmatch(new):
        names = list(_NAME.finditer(text))
        names.sort(key=lambda n: SequenceMatcher(None, n[0].casefold(), new.casefold()).ratio())
        yield from (fix for name in names[:-3:-1] for fix in put(name))
    elif text[:1] == new[:1]:
        yield from put(re.compile(".*", re.DOTALL).match(text))


SHORT, TRYING = 50_000, 1.0
"""How long a text may be for what its hints say to be tried, and for how many seconds: who types waits."""


def find(text: str, name: str, path: str = "", notes: bool = False) -> Findings:
    """Reads a text; nothing that it holds makes this raise."""
    try:
        document = _document(text, name, path)
        return _find(document, load_document(document), notes)
    except IndicialError as error:
        return Findings(failure=str(error))
    except RecursionError:
        return Findings(failure="this text is nested too deep; give inner parts names of their own")
    except MemoryError:
        return Findings(failure="there is not enough memory for this text")


def _document(text: str, name: str, path: str) -> Document:
    return read_text(text, name, Path(path) if path else None)


def _find(document: Document, programs: Sequence[Program], notes: bool) -> Findings:
    of = {m: p for p in reversed(programs) for m in p.messages if notes or m.severity != "note"}
    until = time.monotonic() + (TRYING if len(document.source.text) <= SHORT else 0)
    said = [with_fix(m, of[m], time.monotonic() < until) for m in in_order(of)]
    names = occurrences(document, programs)
    found = Findings([_diagnostic(m, document) for m in said], names)
    descriptions = [Descriptions(program) for program in programs]
    for one in names:
        where = one.program, one.kind, one.key
        if where not in found.about:
            found.about[where] = _said(descriptions[one.program], one.kind, one.key)
    places: set[Span] = set()
    for program, described in zip(programs, descriptions, strict=True):
        defined = {s.span: s.target for s in program.analysis.code.statements}
        for statement in program.written:
            span, target = statement.span, defined.get(statement.span, "")
            here = span.source is document.source and span not in places
            if described.facts is None or not here or not _is_named(program, statement, target):
                continue
            places.add(span)  # what a later program takes over stands here once
            found.equations.append(Equation(span.start, span.end, _said(described, TENSOR, target)))
    found.shapes = list(_shapes(document, names, descriptions))
    found.sections = [
        (s.span.start, s.span.end, s.title)
        for s in document.sections
        if s.title and s.span.source is document.source
    ]
    return found


def _said(described: Descriptions, kind: str, key: str) -> str:
    """What is said of a name where the cursor is: Markdown."""
    match kind:
        case places.MODEL:
            lines = [key, f"a model of the library: {library.summary(key)}"]
        case places.BUILT:
            lines = [key, "a function"]
        case places.FUNCTION:
            hole = key in described.program.holes
            lines = [key, "a function that is only named" if hole else "a function"]
        case places.LETTER:
            lines = described.index(key)
        case _:
            lines = described.name(key)
    if not lines:
        return ""
    first, role, *rest = lines
    return "\n\n".join([f"**{first}**, {role}", *rest])


def _is_named(program: Program, statement: Statement, target: str) -> bool:
    """Whether an equation of the text computes something that has a name there."""
    tensor = program.analysis.code.tensors.get(target)
    if tensor is None or not isinstance(statement, Written):
        return False
    return not made(program.analysis.code, tensor)


def _shapes(
    document: Document, names: Sequence[Occurrence], descriptions: Sequence[Descriptions]
) -> Iterable[Shape]:
    """Behind the first place where a name stands in a formula of its own."""
    text = document.source.text
    displayed = [d.body for d in document.displays if d.body.source is document.source]
    seen: set[int] = set()
    for one in names:
        if one.kind != TENSOR or one.thing in seen:
            continue
        if not any(body.start <= one.start < body.end for body in displayed):
            continue
        shape, reason = _shape(descriptions[one.program], one.key)
        if shape:
            seen.add(one.thing)
            yield Shape(_behind(text, one.end), f": {shape}", reason)


def _shape(described: Descriptions, key: str) -> tuple[str, str]:
    """The sizes of a name, and who it is; empty where there are none, or its letters say them."""
    tensor, facts = described.code.tensors.get(key), described.facts
    if tensor is None or not tensor.axes or facts is None:
        return "", ""
    as_written = " × ".join(capital(axis.letter or "·") for axis in tensor.axes)
    if as_written == described.sizes(tensor) and not described.program.reading.convention:
        return "", ""
    return described.sizes(tensor), ", ".join(described.name(key)[:2])


def _behind(text: str, end: int) -> int:
    """Where the brackets behind a name end: `h[t,j]▮`."""
    if text[end : end + 1] != "[":
        return end
    close = text.find("]", end)
    inner = text[end:close]
    return close + 1 if 0 <= close < end + 80 and inner.count("[") == 1 else end


def _diagnostic(message: Message, document: Document) -> Diagnostic:
    """A message as it is shown in the text; one about another file stands at the beginning."""

    def here(span: Span) -> bool:
        return span.source is document.source

    span = message.span
    start, end = (span.start, span.end) if here(span) else (0, 0)
    elsewhere = "" if here(span) or not span.source.name else f"{span.source.name}:{span.line}: "
    fix = message.fix if message.hint and message.fix and here(message.fix[0]) else None
    return Diagnostic(
        start, end, message.severity, message.code,
        "\n".join([elsewhere + message.text, *message.details]), message.hint,
        tuple((s.start, s.end, remark) for s, remark in message.sites[1:] if here(s)),
        (fix[0].start, fix[0].end, fix[1]) if fix else None,
    )  # fmt: skip


def try_the_claims(text: str, name: str, path: str = "") -> Findings:
    """What came of the claims of a text: diagnostics, and how near those came that hold."""
    from indicial.claims.trying import has_claims, try_claims

    found = Findings()
    try:
        document = _document(text, name, path)
        programs = load_document(document)
        if not any(map(has_claims, programs)):
            return found
        for verdict in try_claims(programs):
            span = verdict.test.span
            if not verdict.as_stated:
                found.diagnostics.append(_diagnostic(verdict.message(), document))
            elif span.source is document.source:
                word = "refuted" if verdict.false else "holds"
                found.shapes.append(Shape(span.end, f" {word}", verdict.found))
    except (IndicialError, RecursionError, MemoryError) as error:
        found.failure = str(error)
    return found
