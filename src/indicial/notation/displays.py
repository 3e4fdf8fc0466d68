r"""What the displays of a document say: macros, tokens, trees, for each in its order.

    \newcommand{\h}{\mathbf{h}}
    $$\h_t = W \h_{t-1}$$                 →   a Parsed with one equation
    $$= W^2 \h_{t-2}$$                     →   nothing of its own: it goes on with the one above
    where $W$ is the weight matrix        →   a declaration of W

`documents.py` finds the displays; here they are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from indicial.notation.activations import said_function
from indicial.notation.faults import Fault
from indicial.notation.grouping import own_words
from indicial.notation.lookahead import speaks_of_outer
from indicial.notation.macros import Macro, Macros, expand
from indicial.notation.markup import Display, says_given
from indicial.notation.parse import Parsed, parse
from indicial.notation.plain_lines import as_typed
from indicial.notation.source import Source, Span
from indicial.notation.stated_shapes import in_space, stated_shape
from indicial.notation.syntax import Call, Declaration, Expression, Name
from indicial.notation.telling import subject, told
from indicial.notation.tokens import Token, tokenize, unquoted
from indicial.notation.vocabulary import CALLED, GIVEN, SPACE, TOLD

if TYPE_CHECKING:
    from indicial.notation.documents import Document, Section


_RELATIONS = {"=", "≈", r"\approx", r"\simeq", r"\equiv"}
"""What a display begins with that goes on with the one above."""


def parse_document(document: Document) -> list[tuple[Section, Display, Parsed]]:
    """Tokens, macros, trees: every display parsed, in the order of the document."""
    sections = (section for section in document.sections for _ in section.displays)
    shown = (item for item in _parse(document) if item[0].kind != "inline")
    return [(section, *item) for section, item in zip(sections, shown, strict=True)]


def parse_inline(document: Document) -> list[tuple[Display, Parsed]]:
    """The same for the equations inside the prose, which are part of no program."""
    return [item for item in _parse(document) if item[0].kind == "inline"]


def parse_pasted(document: Document) -> list[tuple[Display, Parsed]]:
    """The displays of a text that is one program; where it displays nothing, what its prose says."""
    shown = [(display, parsed) for _, display, parsed in parse_document(document)]
    return shown or parse_inline(document)


_ELEMENTS = re.compile(r"\b(element|component|point)[- ]?wise\s+(product|multipl)", re.IGNORECASE)


def _by_elements(text: str) -> bool:
    """Whether the ⊗ of a text is ⊙: it speaks of an element-wise product, and of no other."""
    return bool(_ELEMENTS.search(text)) and not speaks_of_outer(text)


def _parse(document: Document) -> Iterator[tuple[Display, Parsed]]:
    """Every formula parsed; one that goes on with that above it is parsed with it."""
    macros = Macros(document.macros)
    inside = {(m.span.source, m.span.start): m.span.end for m in document.macros}
    words: set[str] = set()  # `wkv_t = …` names a word for what follows
    waiting: list[Display] = []
    tokens: list[Token] = []
    faults: list[Fault] = []
    for item in document.reading:
        if isinstance(item, Macro):
            macros.define(item)
            continue
        body, latex = item.body, item.surface == "latex"
        found = unquoted(tokenize(body.source, body.start, body.end, latex=latex), item.span)
        if item.kind == "line":
            words |= {t.text for t in found[:1]}
            found = as_typed(found, words)
        if item.kind == "said" and latex and (shape := stated_shape(item)) is not None:
            found = in_space(found, item, shape)
        wrong: list[Fault] = []
        if latex:
            found, wrong = expand(_without(found, inside), macros)
        if any(t.text == "\\otimes" for t in found) and _by_elements(body.source.text):
            found = [replace(t, text="\\odot") if t.text == "\\otimes" else t for t in found]
        if waiting and not _goes_on(waiting[-1], item, found):
            yield from _parsed(waiting, tokens, faults, words)
            waiting, tokens, faults = [], [], []
        elif waiting:
            tokens.append(Token("row", "\\\\", Span(body.source, body.start, body.start)))
        waiting.append(item)
        tokens += found
        faults += wrong
    yield from _parsed(waiting, tokens, faults, words)


def _parsed(
    displays: list[Display], tokens: list[Token], faults: list[Fault], words: set[str]
) -> Iterator[tuple[Display, Parsed]]:
    """The first of several displays that belong together has all that they say."""
    for number, display in enumerate(displays):
        parsed = Parsed(())
        if number == 0:
            if display.surface == "latex":
                words |= own_words(tokens)
            parsed = parse(tokens, display.surface == "latex", display.claims, frozenset(words))
            if not parsed.statements and not parsed.faults:
                parsed = _labelled(display, tokens, parsed)
            parsed = replace(parsed, faults=(*faults, *parsed.faults))
            if display.kind == "said" and says_given(display):
                parsed = Parsed(tuple(_given(tokens, display.surface == "latex")))
            elif display.kind == "said" and (function := said_function(display)) is not None:
                parsed = Parsed(tuple(_called(display, *function)))
            elif display.kind == "said":
                said = [s for s in parsed.statements if isinstance(s, Declaration)]
                said = [s for s in said if s.keyword == SPACE and _listed(s)]
                said = said or _told(display, tokens)
                parsed = Parsed(tuple(said))
        yield display, parsed


def _listed(said: Declaration) -> bool:
    """Whether there are commas between the names: the `dZ` of `$dZ$ is $(n, m)$` is one name."""
    between = (one.span.between(two.span) for one, two in pairwise(said.items))
    return all(text is None or text.strip() for text in between)


_LABEL = re.compile(r"\b([A-Z]?[a-z]+)[ \t\xa0]*:[*_\s]*$")


def _labelled(display: Display, tokens: list[Token], parsed: Parsed) -> Parsed:
    """`Keys: $$\\{…\\}$$`: the word before a display is its label, where that makes it say something."""
    source, end = display.span.source, display.span.start
    word = _LABEL.search(source.text, max(0, end - 80), end)
    if word is None or display.surface != "latex":
        return parsed
    label = Token("text", word.group(1), Span(source, word.start(1), word.end(1)))
    colon = Token("sign", ":", Span(source, word.end(1), word.end(1) + 1))
    again = parse([label, colon, *tokens], latex=True, claims=display.claims)
    return again if again.statements and not again.faults else parsed


def _given(tokens: list[Token], latex: bool) -> Iterator[Declaration]:
    """The tokens of `h[0, I]` as a declaration."""
    word = Token(
        "text", "input", Span(tokens[0].span.source, tokens[0].span.start, tokens[0].span.start)
    )
    for statement in parse([word, *tokens], latex).statements:
        if isinstance(statement, Declaration):
            yield replace(statement, keyword=GIVEN)


def _called(display: Display, name: str, function: str) -> Iterator[Declaration]:
    """`\\phi` is tanh, as a declaration."""
    source, start = display.body.source, display.body.text.index(name) + display.body.start
    tokens = tokenize(source, start, start + len(name), latex=True)
    word = Token("text", "input", Span(source, start, start))
    for statement in parse([word, *tokens], latex=True).statements:
        if isinstance(statement, Declaration):
            base, _, label = function.partition("_")
            scripts = (Name(label, font="roman"),) if label else ()
            yield replace(statement, keyword=CALLED, domain=Name(base, sub=scripts))


def _told(display: Display, tokens: list[Token]) -> list[Declaration]:
    """The tokens of `W_q, W_k`, of which a sentence says what they are, as a declaration."""
    start = tokens[0].span.start if tokens else 0
    word = Token("text", "input", Span(display.span.source, start, start))
    tokens = subject(tokens)
    found = parse([word, *tokens], display.surface == "latex").statements if tokens else ()
    said = []
    for statement in found:
        items = (
            [_with_places(i) for i in statement.items] if isinstance(statement, Declaration) else []
        )
        if isinstance(statement, Declaration) and all(isinstance(i, Name) for i in items):
            what = Name(told(display))
            said.append(replace(statement, keyword=TOLD, items=tuple(items), domain=what))
    return said


def _with_places(item: Expression) -> Expression:
    """`M_t(i)`, "the row-vectors": the name with its places below it."""
    if isinstance(item, Call) and all(isinstance(a, Name) and a.bare for a in item.arguments):
        return replace(item.function, sub=(*item.function.sub, *item.arguments), span=item.span)
    return item


_NOTHING = frozenset({"&", "{", "}", "\\,", "\\;", "\\:", "\\!", "\\ ", "\\quad", "\\qquad"})
"""What may stand before the sign that a formula goes on with."""


def _goes_on(before: Display, display: Display, tokens: list[Token]) -> bool:
    """Whether `$$= c$$` stands directly below `$$a = b$$`: a formula too long for one line."""
    if {before.kind, before.surface, display.kind, display.surface} != {"display", "latex"}:
        return False
    if before.span.source is not display.span.source:
        return False
    between = before.span.source.text[before.span.end : display.span.start]
    first = next((token.text for token in tokens if token.text not in _NOTHING), "")
    return not between.strip() and between.count("\n") <= 1 and first in _RELATIONS


def _without(tokens: list[Token], definitions: dict[tuple[Source, int], int]) -> list[Token]:
    """The tokens that are no part of a definition."""
    kept: list[Token] = []
    end = 0
    for token in tokens:
        end = max(end, definitions.get((token.span.source, token.span.start), 0))
        if token.span.start >= end:
            kept.append(token)
    return kept
