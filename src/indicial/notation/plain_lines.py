"""Text without a single formula between signs → the lines of it that are equations.

    Gates:                                no equation
    fₜ = σ(W_f [hₜ₋₁, xₜ] + b_f)          one
    where d = 512 is the size             none: words stand side by side
    x = np.zeros(3)                       none: it is code

So chats, mails and slides that were copied as text are read. A line is taken only if all of it reads
as an equation, and nothing is taken from a text in which no line shows that it is mathematics.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from indicial.notation.markup import Display
from indicial.notation.signs import ASCII_NAMES, is_word, usual_word
from indicial.notation.source import Source, Span
from indicial.notation.tokens import Token, is_sign, tokenize
from indicial.notation.vocabulary import FUNCTIONS, REDUCTIONS

LONGEST = 400
"""A longer line is a paragraph."""

_BEFORE = re.compile(
    r"[ \t>]*(?:[-*+•‣◦–][ \t]+)?(?:\(?\d{1,3}[.)][ \t]+)?"
    r"(?:[^\W\d_][\w /'’()-]{1,39}:[ \t]+)?"  # a label
)
_BEHIND = re.compile(r"[ \t]*(?:\(\d{1,3}(?:\.\d{1,3})*\))?[ \t]*[.,;]?[ \t]*$")
_CODE = re.compile(
    r"[\"`$\\;@]|(?<![_^])\{|\b(?:self|return|def|import|lambda|print|None|True|False)\b|\bfor\b.*\bin\b|==|\+\+|//|"
    r"[A-Za-z_]\w*\.[A-Za-z_]\w*|\[\s*:|:\s*\]|\b\w+\(\)|\w\[\w*\d*\]\[|->|<-|=>"
)
"""What shows that a line is a piece of a program, or of another notation."""
_EQUATION = frozenset({"=", ":=", "←", "≔"})
_KNOWN = frozenset({*FUNCTIONS, *REDUCTIONS, *ASCII_NAMES})
_MATHEMATICAL = re.compile(
    r"[^\x00-\x7f‘’“”–—…•°]|_[{A-Za-z]|\^|\w\[[a-z](?:\s*[-+]\s*1)?[\],]|\b[A-Z][ *]?[a-z]\b"
)
"""Letters of Greek, signs, scripts, indices in brackets, a matrix before a vector."""


def equation_lines(source: Source) -> list[Display]:
    """The lines of a text that are equations in the plain notation."""
    text = source.text
    found: list[Display] = []
    ends = [*source.line_starts[1:], len(text) + 1]
    for start, end in zip(source.line_starts, ends, strict=True):
        line = text[start : end - 1]
        if len(line) > LONGEST or ("=" not in line and "←" not in line and "≔" not in line):
            continue
        before, behind = _BEFORE.match(line), _BEHIND.search(line)
        first = start + (before.end() if before else 0)
        last = start + (behind.start() if behind else len(line))
        if first < last and not _CODE.search(line) and _is_equation(source, first, last):
            span = Span(source, start, start + len(line.rstrip()))
            found.append(Display(span, Span(source, first, last), "plain", "line"))
    return found if any(_MATHEMATICAL.search(d.body.text) for d in found) else []


def _is_equation(source: Source, start: int, end: int) -> bool:
    tokens = tokenize(source, start, end, latex=False)
    if sum(is_sign(token, _EQUATION) for token in _outside(tokens)) != 1:
        return False
    return tokens[0].kind == "word" and not any(map(_wordy, tokens, tokens[1:]))


def _outside(tokens: Sequence[Token]) -> list[Token]:
    """Those in no brackets."""
    kept, depth = [], 0
    for token in tokens:
        depth += is_sign(token, "([{") - is_sign(token, ")]}")
        if depth == 0:
            kept.append(token)
    return kept


def _wordy(one: Token, other: Token) -> bool:
    """Whether two tokens stand side by side as words of a sentence do."""
    return one.kind == other.kind == "word" and other.space and (_is_word(one) or _is_word(other))


def _is_word(token: Token) -> bool:
    text = token.text
    return len(text) > 2 and text.isascii() and text not in _KNOWN and usual_word(text) == text


def as_typed(tokens: Sequence[Token], words: Collection[str]) -> list[Token]:
    """A line as people type formulas: `QKᵀ` is a product, `h_t-1` without a blank is `h_{t-1}`.

    `words` are names of several letters that lines above have defined.
    """
    result: list[Token] = []
    i = depth = 0
    while i < len(tokens):
        token = tokens[i]
        scripted = bool(result) and is_sign(result[-1], "_^")
        depth += (is_sign(token, "{") and (scripted or depth > 0)) - (
            is_sign(token, "}") and depth > 0
        )
        if _late(tokens[i : i + 4]):
            sign, letter, lag, number = tokens[i : i + 4]
            opening, closing = Token("sign", "{", letter.span), Token("sign", "}", number.span)
            result += [sign, opening, letter, lag, number, closing]
            i += 4
            continue
        if token.kind == "word" and not scripted and depth == 0 and token.text not in words:
            called = i + 1 < len(tokens) and is_sign(tokens[i + 1], "([")
            result += _letters(token, called)
        else:
            result.append(token)
        i += 1
    return result


def _late(tokens: Sequence[Token]) -> bool:
    if [token.kind for token in tokens] != ["sign", "word", "sign", "number"]:
        return False
    sign, letter, lag, number = tokens
    close = not (lag.space or number.space)
    return close and is_sign(sign, "_") and is_sign(lag, "+-") and len(letter.text) == 1


def _letters(token: Token, called: bool) -> list[Token]:
    """`Wx` is W times x; `out`, `lr` and `tanh` are words."""
    text = token.text
    if not text.isalpha() or len(text) > 3 or text in _KNOWN or is_word(text, called):
        return [token]
    start = token.span.start
    places = (Span(token.span.source, start + n, start + n + 1) for n in range(len(text)))
    return [
        Token("word", letter, place, token.space and n == 0)
        for n, (letter, place) in enumerate(zip(text, places, strict=True))
    ]
