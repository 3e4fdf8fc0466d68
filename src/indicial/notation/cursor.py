"""The cursor that all of the grammar moves along, and the grammar's parts as they see each other.

The grammar is one class in five files: names, brackets, operators, conditions, expressions; each begins
where the one before it ends, and calls of later parts go through the methods declared here.
"""

from __future__ import annotations

from collections.abc import Sequence

from indicial.notation.faults import Refusal
from indicial.notation.rows import NESTING
from indicial.notation.source import NOWHERE, Span
from indicial.notation.syntax import Call, Expression, Name
from indicial.notation.tokens import Token


class Cursor:
    """A place in a list of tokens; the list is the parser's own, and ends with an `eof`."""

    def __init__(self, tokens: list[Token], latex: bool) -> None:
        end = tokens[-1].span if tokens else NOWHERE
        self.tokens = [*tokens, Token("eof", "", Span(end.source, end.end, end.end))]
        self.latex = latex
        self.i = 0
        self.depth = 0
        self.script_depth = 0
        self.bars = [""]
        """What encloses this place: it tells which `|` opens, closes or stands for `given`."""
        self.rooted = False
        """A name comes directly behind a `√` without brackets."""

    def peek(self) -> Token:
        return self.tokens[self.i]

    def done(self) -> bool:
        return self.tokens[self.i].kind == "eof"

    def at(self, sign: str) -> bool:
        token = self.tokens[self.i]
        return token.kind == "sign" and token.text == sign

    def ahead(self, sign: str, steps: int) -> bool:
        i = self.i + steps
        return (
            i < len(self.tokens) and self.tokens[i].text == sign and self.tokens[i].kind == "sign"
        )

    def expect(self, sign: str) -> None:
        if not self.at(sign):
            raise self.unexpected(self.peek(), f"`{sign}`")
        self.i += 1

    def since(self, start: Token) -> Span:
        """From a token to the last one that was read."""
        last = self.tokens[max(self.i - 1, 0)]
        return start.span if last is start else start.span.to(last.span)

    def enter(self, token: Token) -> None:
        self.depth += 1
        # Two levels of calls for each bracket (an expression, and its factor), and the scripts.
        if self.depth > 2 * NESTING:
            raise Refusal("nesting", f"nested more than {NESTING} deep", (token.span,),
                          "give an inner part a name of its own")  # fmt: skip

    def unexpected(self, token: Token, wanted: str) -> Refusal:
        if token.kind == "eof":
            message = f"{wanted} is missing at the end"
        elif token.kind == "command":
            return Refusal("command", f"unknown command `{token.text}`", (token.span,),
                           "define it, or write the sign that it stands for")  # fmt: skip
        else:
            message = f"expected {wanted}, found `{token.text}`"
        return Refusal("syntax", message, (token.span,))


class Grammar(Cursor):
    """What the parts of the grammar need of each other."""

    def expression(self, conditions: bool = True) -> Expression:
        raise NotImplementedError

    def condition(self, commas: bool = False) -> Expression:
        raise NotImplementedError

    def interval(self) -> Expression:
        raise NotImplementedError

    def sum(self) -> Expression:
        raise NotImplementedError

    def term(self) -> Expression:
        raise NotImplementedError

    def factor(self) -> Expression:
        raise NotImplementedError

    def primary(self, token: Token) -> Expression:
        raise NotImplementedError

    def starts_factor(self, token: Token) -> bool:
        raise NotImplementedError

    def named(self, token: Token) -> Expression:
        raise NotImplementedError

    def after_name(self, name: Name, token: Token) -> Expression:
        raise NotImplementedError

    def call(self, function: Name, token: Token) -> Call:
        raise NotImplementedError

    def items(self, until: Sequence[str]) -> tuple[Expression, ...]:
        raise NotImplementedError

    def postfix(self, base: Expression, token: Token) -> Expression:
        raise NotImplementedError
