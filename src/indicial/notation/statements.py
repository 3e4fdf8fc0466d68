"""One row → its statements: a declaration, a claim, or equations with their labels and guards.

input w[t] in V, x[t,k]                two declarations
claim a ≈ b within 0.01 for t > 0      a claim
claim false: a = b                     a claim that does not hold, and says so
Sum: c = a + b, d = c for t > 0        two equations, the first with a label, the second a guard
"""

from __future__ import annotations

from collections.abc import Sequence

from indicial.notation.claims import ClaimParser
from indicial.notation.expressions import FUNCTION_NAMES, RELATION_SIGNS, ExpressionParser
from indicial.notation.faults import Refusal, Skipped
from indicial.notation.rows import CLOSERS, Row
from indicial.notation.signs import CONDITION_WORDS, EQUATION_SIGNS, NO_EQUATION
from indicial.notation.source import Span, cover
from indicial.notation.syntax import (
    KEYWORDS,
    REDUCTIONS,
    Call,
    Claim,
    Comparison,
    Conjunction,
    Declaration,
    Disjunction,
    Dots,
    Equation,
    Expression,
    Index,
    Name,
    Statement,
)
from indicial.notation.tokens import Token

_OPENING = frozenset(CLOSERS)
_CLOSING = frozenset(CLOSERS.values()) | {"null"}
_NAME_STARTS = frozenset({"letter", "word", "text"})
_SPELT = {"in": "∈", "notin": "∉"}
_NO_LABEL = frozenset(REDUCTIONS) | FUNCTION_NAMES


class RowParser:
    """One row: a declaration, a claim, or equations with their labels and guards."""

    def __init__(self, row: Row, latex: bool, claims: bool = False) -> None:
        self.latex = latex
        self.all_claims = claims
        self.tokens = [t for t in row.tokens if t.kind != "newline"]
        self.statements: list[Statement] = []
        self.skipped: list[Skipped] = []

    def run(self) -> None:
        tokens = self.tokens
        while tokens and (_is(tokens[-1], ",.;") or tokens[-1].kind == "quad"):
            tokens.pop()
        while tokens and tokens[0].kind == "quad":
            tokens.pop(0)
        if not tokens:
            return
        for token in tokens:
            reason = NO_EQUATION.get(token.text) if token.kind == "sign" else None
            if token.kind == "command" and token.text in ("\\xrightarrow", "\\xleftarrow"):
                reason = NO_EQUATION["→"]
            if reason:
                self.skip(reason)
                return
        self.drop_loop_header()
        self.split_claim_words()
        tokens = self.tokens
        first = tokens[0].text
        named = len(tokens) > 1 and tokens[0].kind in ("word", "text")
        if self.all_claims and not any(map(_is_relation, self.top_level())):
            self.skip("it states no equation")
        elif self.all_claims or (named and first == "claim" and self.claims()):
            self.claim()
        elif named and first in KEYWORDS and self.declares():
            self.declaration(first)
        else:
            self.equations()

    def drop_loop_header(self) -> None:
        """`for j, i: h[j] += …`: an equation holds for all its indices anyway."""
        tokens = self.tokens
        if tokens[0].text != "for" or tokens[0].kind not in ("key", "text", "word"):
            return
        end = 1
        while end + 1 < len(tokens) and tokens[end].kind in ("letter", "word"):
            end += 1
            while end + 1 < len(tokens) and (_is(tokens[end], "_'") or _is(tokens[end - 1], "_")):
                end += 1
            if not _is(tokens[end], ","):
                break
            end += 1
        if end < len(tokens) and (tokens[end].kind == "quad" or _is(tokens[end], ":")):
            end += 1
        if 1 < end < len(tokens) and not _is_relation(tokens[end]):
            self.tokens = tokens[end:]

    def split_claim_words(self) -> None:
        """`\\text{claim std of } x`: one token for each word."""
        first = self.tokens[0]
        if first.kind == "text" and (self.all_claims or first.text.startswith("claim ")):
            words = first.text.split()
            self.tokens[:1] = [Token("text", word, first.span, first.space) for word in words]

    def skip(self, reason: str) -> None:
        self.skipped.append(Skipped(cover(t.span for t in self.tokens), reason))

    # ---------------------------------------------------------------- declarations, claims

    def declares(self) -> bool:
        """`size J = 2`, but not `size = 2`; in LaTeX `\\text{input } x = …` is a label."""
        second = self.tokens[1]
        if second.kind not in (*_NAME_STARTS, "command", "sigma"):
            return False
        if self.latex and self.tokens[0].text not in ("constant", "size", "range"):
            return "=" not in {t.text for t in self.tokens}
        return True

    def claims(self) -> bool:
        """`claim (a) = b` claims; `claim = 2`, `claim[t] = 2` define something of that name."""
        second = self.tokens[1]
        tensor = _is(second, "[(") and not second.space and self.tokens[0].kind == "word"
        return not tensor and not _is(second, "_^'") and not _is_relation(second)

    def declaration(self, keyword: str) -> None:
        parser = ExpressionParser(self.tokens, self.latex)
        parser.i = 1
        start = parser.peek()
        items: list[Expression] = []
        while True:
            items.append(parser.factor())
            if not isinstance(items[-1], Name | Index | Call):
                raise Refusal("declaration", "a declaration of something that is no name",
                              (items[-1].span,))  # fmt: skip
            domain = value = None
            relation = parser.relation()
            if relation == "∈":
                domain = parser.interval()
                relation = parser.relation()
            if relation == "=":
                value = parser.expression(conditions=False)
            elif relation is not None:
                raise parser.unexpected(parser.tokens[parser.i - 1], "`=` or `in`")
            if domain or value or parser.done():
                span = parser.since(start)
                self.statements.append(Declaration(keyword, tuple(items), domain, value, span=span))
                items = []
            if parser.done():
                return
            parser.expect(",")
            start = start if items else parser.peek()

    def claim(self) -> None:
        self.tokens = [token for token in self.tokens if token.kind != "quad"]
        parser = ClaimParser(self.tokens, self.latex)
        false, comparison, tolerance = parser.stated()
        if not parser.done() and not _begins_guard(parser.peek()):
            raise parser.unexpected(parser.peek(), "`within`, `for` or the end of the claim")
        guard = self.guard(parser)
        span = parser.since(self.tokens[0])
        self.statements.append(Claim(comparison, tolerance, guard, false, span=span))

    # ---------------------------------------------------------------- equations

    def equations(self) -> None:
        label = self.take_label()
        self.drop_spaces()
        relations = {_SPELT.get(t.text, t.text) for t in self.top_level() if _is_relation(t)}
        if not relations:
            self.skip("it states no equation")
        elif not relations & EQUATION_SIGNS:
            self.skip("it states a range" if "∈" in relations else "it is an inequality")
        else:
            parser = ExpressionParser(self.tokens, self.latex)
            while not parser.done():
                self.equation(parser, label)
                label = ""

    def take_label(self) -> str:
        """A text before the left side: `Attention: α[…] = …`, `\\text{Attention } α[…] = …`."""
        depth = 0
        for i, token in enumerate(self.tokens):
            if token.kind == "sign":
                depth += (token.text in _OPENING) - (token.text in _CLOSING)
                if depth == 0 and token.text == ":":
                    label = _label(self.tokens[:i])
                    del self.tokens[: i + 1]
                    return label
            if depth == 0 and _is_relation(token):
                break
        first, second = self.tokens[0], self.tokens[1:2]
        if first.kind == "text" and first.text not in _NO_LABEL and second:
            starts = second[0].kind in ("letter", "word", "text", "command", "sigma", "quad")
            if starts or (" " in first.text and not _is_relation(second[0])):
                del self.tokens[0]
                return first.text
        return ""

    def top_level(self) -> list[Token]:
        """The tokens outside all brackets and environments."""
        found, depth = [], 0
        for token in self.tokens:
            if token.kind == "sign":
                depth += (token.text in _OPENING) - (token.text in _CLOSING)
            depth += (token.kind == "begin") - (token.kind == "end")
            if depth == 0:
                found.append(token)
        return found

    def drop_spaces(self) -> None:
        """Keeps a wide space only where it separates two equations, or one from its guard."""
        kept: list[Token] = []
        ahead = self.segments_ahead()
        depth = 0
        related = False
        for i, token in enumerate(self.tokens):
            if token.kind == "sign":
                depth += (token.text in _OPENING) - (token.text in _CLOSING)
            depth += (token.kind == "begin") - (token.kind == "end")
            related = related or (depth == 0 and _is_relation(token))
            if token.kind == "quad":
                last = kept[-1] if kept else None
                goes_on = last is None or last.kind == "quad" or _goes_on(last) or _is(last, ",;")
                if depth or goes_on or not related or not ahead[i]:
                    continue
            kept.append(token)
        self.tokens = kept

    def segments_ahead(self) -> list[bool]:
        """For each token: does a condition, or something with a relation, follow until the next
        separator? Read from the back, so that it takes one pass."""
        answers = [False] * len(self.tokens)
        depth, related = 0, False
        following: Token | None = None
        for i in range(len(self.tokens) - 1, -1, -1):
            token = self.tokens[i]
            if token.kind == "sign":
                depth += (token.text in _CLOSING) - (token.text in _OPENING)
            depth += (token.kind == "end") - (token.kind == "begin")
            separator = depth == 0 and (token.kind == "quad" or _is(token, ","))
            if separator:
                answers[i] = following is not None and (
                    _begins_guard(following) or (related and not _goes_on(following))
                )
                related = False
            else:
                related = related or (depth == 0 and _is_relation(token))
            if token.kind != "quad":
                following = token
        return answers

    def equation(self, parser: ExpressionParser, label: str) -> None:
        start = parser.peek()
        sides: list[Expression] = []
        relations: list[str] = []
        if _is_relation(start):
            sides.append(Dots(span=Span(start.span.source, start.span.start, start.span.start)))
        else:
            sides.append(parser.expression(conditions=False))
        while (relation := parser.relation()) is not None:
            sign = parser.tokens[parser.i - 1]
            relations.append(relation)
            if parser.done() or _is_relation(parser.peek()):
                raise Refusal(
                    "syntax", f"nothing stands on the right of `{sign.text}`", (sign.span,)
                )
            sides.append(parser.expression(conditions=False))
        span = parser.since(start)
        guard = self.guard(parser)
        if not relations:
            raise Refusal("syntax", "no relation stands in this part", (span,),
                          "a comma outside brackets separates equations")  # fmt: skip
        if set(relations) <= EQUATION_SIGNS:
            sides_, relations_ = tuple(sides), tuple(relations)
            self.statements.append(Equation(sides_, relations_, guard, label, span=span))
        else:
            reason = "it states a range" if "∈" in relations else "it is an inequality"
            self.skipped.append(Skipped(span, reason))

    def guard(self, parser: ExpressionParser) -> Expression | None:
        """The condition behind an equation; stands at the next equation or the end afterwards."""
        separated = False
        while _is(parser.peek(), ",;") or parser.peek().kind == "quad" or _is_key(parser, "and"):
            separated = True
            parser.i += 1
        if parser.done():
            return None
        token = parser.peek()
        word = _begins_guard(token)
        if not word and not separated:
            raise parser.unexpected(token, "an operator, a relation or the end")
        if word and token.text == "where" and self.next_is_equation(parser, parser.i + 1):
            parser.i += 1
            return None
        if not word and self.next_is_equation(parser, parser.i):
            return None
        while _begins_guard(parser.peek()) and not parser.done():
            parser.i += 1
        condition = parser.condition(commas=True)
        if not parser.done():
            raise parser.unexpected(parser.peek(), "the end of the condition")
        parts = condition.parts if isinstance(condition, Conjunction) else (condition,)
        if not word and not any(isinstance(part, Comparison | Disjunction) for part in parts):
            raise Refusal("syntax", "no relation stands in this part", (condition.span,),
                          "a comma outside brackets separates equations")  # fmt: skip
        # `∀ i` on its own restricts nothing.
        real = tuple(part for part in parts if isinstance(part, Comparison | Disjunction))
        if len(real) < 2:
            return real[0] if real else None
        return Conjunction(real, span=condition.span)

    def next_is_equation(self, parser: ExpressionParser, i: int) -> bool:
        """Does the part up to the next separator hold `=`, and is it no `i = 1, …, n`?"""
        depth, found = 0, False
        while parser.tokens[i].kind != "eof":
            token = parser.tokens[i]
            if token.kind == "sign":
                depth += (token.text in _OPENING) - (token.text in _CLOSING)
            depth += (token.kind == "begin") - (token.kind == "end")
            if depth == 0 and _is_relation(token):
                if token.text not in EQUATION_SIGNS:
                    return False
                found = True
            if depth == 0 and (_is(token, ",") or token.kind == "quad"):
                return found and not _is(parser.tokens[i + 1], "…")
            i += 1
        return found


def _label(tokens: Sequence[Token]) -> str:
    """Words, numbers and round brackets as they stood; anything else says nothing in a label."""
    kinds = ("letter", "word", "text", "key", "number")
    kept = [t for t in tokens if t.kind in kinds or _is(t, "()")]
    return "".join((" " if t.space else "") + t.text for t in kept).strip()


def _is(token: Token, signs: str) -> bool:
    return token.kind == "sign" and token.text in signs


def _is_key(parser: ExpressionParser, word: str) -> bool:
    return parser.peek().kind == "key" and parser.peek().text == word


def _is_relation(token: Token) -> bool:
    if token.kind == "key":
        return token.text in ("in", "notin")
    return token.kind == "sign" and token.text in RELATION_SIGNS


def _begins_guard(token: Token) -> bool:
    return (token.kind == "key" and token.text in CONDITION_WORDS) or _is(token, "∀")


def _goes_on(token: Token) -> bool:
    return _is_relation(token) or (token.kind == "sign" and token.text in "+-·*/⊙")
