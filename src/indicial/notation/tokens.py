"""One lexer for both surfaces. It cuts the text up and interprets nothing.

`W^{h,R}[j]` (plain) → word `W`, sign `^`, sign `{`, word `h`, sign `,`, word `R`, …
`\\tilde h_{in}` (LaTeX) → command `\\tilde`, letter `h`, sign `_`, sign `{`, letter `i`, …

So a macro can be replaced by its body, token for token, before `commands.py` says what each
command means. A token that comes from a macro has the span of the macro's call.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from dataclasses import dataclass, replace

from indicial.notation.characters import LOWERED, RAISED, STYLED, plain_letter, set_small
from indicial.notation.signs import LETTER_COMMANDS, MARKS, is_word
from indicial.notation.source import Source, Span


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text.

    kinds out of the lexer: letter, word, number, command (with its backslash), sign, mark (a
    combining accent), row (`\\\\`), newline, comment, parameter (`#1` in a macro's body), endless (for
    all of a text that is too long).
    `space` tells whether a blank stands before it; `font` is `bold`, `script`, `sans` or `roman`
    where the text says so.
    """

    kind: str
    text: str
    span: Span
    space: bool = False
    font: str = ""


def is_sign(token: Token, signs: Container[str]) -> bool:
    """`is_sign(token, ",;")`: one of these characters."""
    return token.kind == "sign" and token.text in signs


# Each alternative is a plain run without nested repetition, so matching is linear.
_COMMON = rf"""
    (?P<blank>[ \t\r\f\v\u00a0\u2009\u200a\u200b\u3000]+)
  | (?P<row>\\\\\*?(?:\[[ ]*-?[0-9.]+[ ]*[a-z]{{2}}[ ]*\])?)
  | (?P<command>\\(?:[A-Za-z]+\*?|.))
  | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+)
  | (?P<raised>[{RAISED}]+)
  | (?P<lowered>[{LOWERED}]+)
  | (?P<styled>[{STYLED}]+)
"""
_PLAIN = re.compile(
    r"(?P<newline>\n)|(?P<comment>\#[^\n]*)|"
    + _COMMON
    + r"""
  | (?P<word>[A-Za-zÀ-ÖØ-öø-ɏ][A-Za-zÀ-ÖØ-öø-ɏ0-9]*)
  | (?P<sign>\.\.\.|\.\.|\.\*|:=|<=|>=|!=|~=|==|=>|->|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)
_LATEX = re.compile(
    r"(?P<newline>\n)|(?P<comment>%[^\n]*)|(?P<parameter>\#[0-9])|"
    + _COMMON
    + r"""
  | (?P<letter>[A-Za-zÀ-ÖØ-öø-ɏ])
  | (?P<sign>\.\.\.|\.\.|\.\*|:=|<=|>=|!=|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)


LONGEST = 3_000_000
"""How many characters are read as one stretch of notation: a few seconds for the lexer alone."""


def tokenize(source: Source, start: int, end: int, latex: bool) -> list[Token]:
    """The tokens of `source.text[start:end]`; of a text that is too long, one that says so.

    >>> [t.text for t in tokenize(Source("", "2t+dt"), 0, 5, latex=False)]
    ['2', 't', '+', 'dt']
    """
    if end - start > LONGEST:
        return [Token("endless", f"{end - start:,}", Span(source, start, start + 1))]
    tokens: list[Token] = []
    text = source.text
    match = (_LATEX if latex else _PLAIN).match
    space = False
    while start < end:
        found = match(text, start, end)
        if found is None:  # cannot happen: the last alternative takes any character
            break
        kind, begin, start = found.lastgroup or "sign", start, found.end()
        if kind == "blank" or (latex and kind == "newline"):
            space = True
            continue
        span, piece = Span(source, begin, start), found.group()
        if kind in ("raised", "lowered"):
            tokens.extend(_script(piece, span, space, latex))
        elif kind == "styled":
            tokens.extend(_styled(piece, span, space, latex))
        elif kind in ("word", "letter", "sign") and len(piece) == 1 and not piece.isascii():
            tokens.extend(_split(piece, span, space, latex))
        else:
            tokens.append(Token(kind, piece, span, space))
        space = False
    return tokens


def unquoted(tokens: list[Token], display: Span) -> list[Token]:
    """Without the `>` at the beginnings of lines, if the display stands in a quotation of Markdown."""
    text = display.source.text
    if not text[text.rfind("\n", 0, display.start) + 1 : display.start].lstrip().startswith(">"):
        return tokens

    def begins(position: int) -> bool:
        return not text[text.rfind("\n", 0, position) + 1 : position].strip("> \t")

    return [t for t in tokens if t.text != ">" or not begins(t.span.start)]


def _split(character: str, span: Span, space: bool, latex: bool) -> list[Token]:
    """A character that holds several tokens: `ĥ` is `h` with a hat, `²` is `^2`."""
    if character in MARKS:
        return [Token("mark", character, span)]
    parts = unicodedata.normalize("NFD", character)
    if len(parts) > 1 and all(part in MARKS for part in parts[1:]):
        kind = "letter" if latex else "word"
        return [Token(kind, parts[0], span, space), *(Token("mark", p, span) for p in parts[1:])]
    if character == "″":
        return [Token("sign", "'", span, space), Token("sign", "'", span)]
    # Greek and script letters are names of one letter on both surfaces, so they join no word.
    letter = character.isalpha() or character in _LETTERS
    return [Token("word" if letter else "sign", character, span, space)]


_LETTERS = frozenset(LETTER_COMMANDS.values()) | {"∆"}


def _script(run: str, span: Span, space: bool, latex: bool) -> list[Token]:
    """`ₜ₋₁` is `_{t-1}`, `⁽ˡ⁾` is `^{(l)}`, `ᵀ` is `^⊤`: small letters side by side are one script."""
    small = [set_small(character) or ("^", character) for character in run]
    sign, text = small[0][0], "".join(letter for _, letter in small)
    if (sign, text) == ("^", "T"):
        text = "⊤"
    places = [Span(span.source, span.start + n, span.start + n + 1) for n in range(len(run))]
    inside = [
        replace(token, span=places[token.span.start].to(places[token.span.end - 1]))
        for token in tokenize(Source("", text), 0, len(text), latex)
    ]
    opening = [Token("sign", sign, places[0], space)]
    if len(text) == 1:
        return [*opening, *inside]
    return [*opening, Token("sign", "{", places[0]), *inside, Token("sign", "}", places[-1])]


def _styled(run: str, span: Span, space: bool, latex: bool) -> list[Token]:
    """`𝐖𝐡` is W and h in bold; `𝑡𝑎𝑛ℎ` is a word all the same."""
    read = [plain_letter(character) for character in run]
    text = "".join(letter for letter, _ in filter(None, read))
    if len(text) == len(run) and is_word(text, called=False):
        return [Token("word", text, span, space)]
    tokens: list[Token] = []
    for n, (character, known) in enumerate(zip(run, read, strict=True)):
        place = Span(span.source, span.start + n, span.start + n + 1)
        if known is None:
            tokens += _split(character, place, space, latex)
        elif known[0].isdigit():
            tokens.append(Token("number", known[0], place, space))
        else:
            tokens.append(Token("letter" if latex else "word", known[0], place, space, known[1]))
        space = False
    return tokens
