"""Brackets in the place of a factor: groups, lists, sets, bars, matrices and cases.

(a + b)  [1, 2]  {1, …, T}  ‖x‖  cases { 1 if t = 0, x otherwise }
"""

from __future__ import annotations

import re

from indicial.notation import syntax as s
from indicial.notation.faults import Refusal
from indicial.notation.names import NameGrammar
from indicial.notation.rows import CLOSERS, INNER
from indicial.notation.signs import CONDITION_WORDS
from indicial.notation.source import Span
from indicial.notation.tokens import Token

_ENCLOSED = frozenset({"bmatrix", "pmatrix"})
"""Matrices with brackets of their own: behind a brace they are elements of a set, and no cases."""


class BracketGrammar(NameGrammar):
    """Factors that an opening sign begins."""

    def bracketed(self, token: Token) -> s.Expression:
        text = token.text
        if text == "…":
            self.i += 1
            return s.Dots(span=token.span)
        if text == "•":
            self.i += 1
            self.left_open = True
            return s.Name("•", span=token.span)
        if text == "√":
            self.i += 1
            self.rooted = True
            argument = self.factor()
            argument = argument.body if isinstance(argument, s.Group) else argument
            self.rooted = False
            return s.Call(s.Name("sqrt", span=token.span), (argument,), span=self.since(token))
        if self.script_depth and text == "<":
            return self.angled(token)
        if text in ("|", "|(", "‖", "‖("):
            return self.postfix(self.between_bars(token), token)
        if text == "{" and self.latex:
            return self.neutral(token)
        if text in ("⌊", "⌈"):
            return self.postfix(self.rounded(token), token)
        if text not in ("(", "[", "{", "\\{", "⟨"):
            raise self.unexpected(token, "an expression")
        self.i += 1
        if text == "\\{" and self.peek().kind == "begin" and self.peek().text not in _ENCLOSED:
            result = self.environment(self.peek(), cases=True)
            if not self.at("null"):
                self.expect("\\}")
            else:
                self.i += 1
            return self.postfix(result, token)
        closer = CLOSERS[text]
        if self.at(closer):
            self.i += 1
            raise Refusal("empty", "empty brackets", (self.since(token),))
        self.bars.append(text)
        items = self.items((closer, "null"))
        self.bars.pop()
        self.i += 1
        return self.postfix(bracket(text, items, self.since(token)), token)

    def angled(self, token: Token) -> s.Expression:
        """`h^{<t>}`, `α^{<t,s>}`: a place in time, as `h^{(t)}`."""
        self.i += 1
        items = [self.sum()]
        while self.at(","):
            self.i += 1
            items.append(self.sum())
        self.expect(">")
        return bracket("(", tuple(items), self.since(token))

    def between_bars(self, token: Token) -> s.Expression:
        self.i += 1
        bar = token.text[0]
        closer = bar + ")" if len(token.text) == 2 else bar
        self.bars.append(closer)
        body = self.expression()
        self.bars.pop()
        self.expect(closer)
        span = self.since(token)
        if bar == "|" and isinstance(body, s.Call) and body.function == s.Name("abs"):
            return s.Norm(body.arguments[0], span=span)  # `\vert\vert x \vert\vert`
        return s.Norm(body, span=span) if bar == "‖" else s.Call(s.Name("abs"), (body,), span=span)

    def rounded(self, token: Token) -> s.Expression:
        """`⌊x⌋` is floor(x); `⌈x⌉` is -floor(-x)."""
        self.i += 1
        self.bars.append(token.text)
        body = self.expression()
        self.bars.pop()
        self.expect(CLOSERS[token.text])
        span = self.since(token)
        floor = s.Name("floor", span=token.span)
        if token.text == "⌊":
            return s.Call(floor, (body,), span=span)
        below = s.Call(floor, (s.Negative(body, span=body.span),), span=span)
        return s.Group(s.Negative(below, span=span), span=span)

    def norm_word(self, token: Token) -> s.Expression:
        """`norm(x)`, `norm_2(x)`: how plain text writes a norm inside a norm."""
        self.i += 1
        items = self.script() if self.at("_") else ()
        if not self.at("("):
            return self.after_name(s.Name("norm", sub=items, span=token.span), token)
        call = self.call(s.Name("norm", sub=items), token)
        if len(call.arguments) == 1 and len(items) < 2:
            order = items[0] if items else None
            return self.postfix(s.Norm(call.arguments[0], order, span=call.span), token)
        return self.postfix(call, token)

    def neutral(self, token: Token) -> s.Expression:
        """`{…}` on the line of LaTeX: it only keeps things together."""
        inside = self.tokens[self.i + 1 : self.i + 3]
        if len(inside) == 2 and inside[1].text == "}" and self.is_name(inside[0]):
            # `{\max}_i`, `{\rm softmax} x`: as if the braces were not there.
            self.tokens[self.i], self.tokens[self.i + 2] = inside[0], inside[0]
            self.i += 2
            return self.named(inside[0])
        self.i += 1
        if self.at("}"):
            self.i += 1
            return self.factor()
        body = self.expression()
        self.expect("}")
        raised = isinstance(body, s.Name) and body.sup and self.at("^")  # `{W_q^n}^T`
        if isinstance(body, s.Name) and not raised:
            return self.after_name(body, token)
        if raised:
            body = s.Group(body, span=self.since(token))
        loose = (
            s.Join,
            s.Comparison,
            s.Interval,
            s.Add,
            s.Negative,
            s.Hadamard,
            s.Product,
            s.Reduction,
            s.Expectation,
        )
        if isinstance(body, loose):
            body = s.Group(body, span=self.since(token))
        return self.postfix(body, token)

    # ---------------------------------------------------------------- environments

    def environment(self, token: Token, cases: bool = False) -> s.Expression:
        """`cases` and the matrices."""
        name = token.text
        self.enter(token)
        self.i += 1
        cases = cases or "cases" in name
        if not cases and name not in INNER and name != "array":
            raise Refusal("environment", f"`{name}` cannot be part of an expression", (token.span,))
        branches: list[tuple[s.Expression, s.Expression | None]] = []
        rows: list[list[s.Expression]] = []
        self.bars.append("begin")
        while self.peek().kind != "end":
            if self.done():
                raise Refusal("environment", f"`\\begin{{{name}}}` is never closed", (token.span,))
            if self.peek().kind == "row":
                self.i += 1
            elif cases:
                branches.append(self.branch(("row", "end")))
            else:
                rows.append(self.cells())
        self.bars.pop()
        self.depth -= 1
        self.i += 1
        span = self.since(token)
        if cases and branches:
            return s.Cases(tuple(branches), span=span)
        if not rows:
            raise Refusal("empty", f"`{name}` is empty", (span,))
        if all(len(row) == 1 for row in rows):
            return s.ListLiteral(tuple(row[0] for row in rows), span=span)
        return s.ListLiteral(tuple(s.ListLiteral(tuple(row)) for row in rows), span=span)

    def cells(self) -> list[s.Expression]:
        cells = [self.expression()]
        while self.at("&"):
            self.i += 1
            cells.append(self.expression())
        if (self.at(".") or self.at(",")) and self.tokens[self.i + 1].kind in ("row", "end"):
            self.i += 1
        if self.peek().kind not in ("row", "end"):
            raise self.unexpected(self.peek(), "`&`, `\\\\` or the end of the matrix")
        return cells

    def plain_cases(self, token: Token) -> s.Expression:
        """`cases { v if c, w otherwise }`, after its opening brace."""
        branches = [self.branch(())]
        while self.at(","):
            self.i += 1
            branches.append(self.branch(()))
        self.expect("}")
        return s.Cases(tuple(branches), span=self.since(token))

    def branch(self, ends: tuple[str, ...]) -> tuple[s.Expression, s.Expression | None]:
        """A value and its condition; the condition of `otherwise`, or none at all, is None."""
        if ends:
            self.without_remark()
        while self.at("&"):  # `\\{ \\begin{aligned} &a, &&t > 0 \\\\ … \\end{aligned}`
            self.i += 1
        value = self.expression(conditions=False)
        if ends and self.at(","):
            self.i += 1
        italic = self.at("&")
        while self.at("&"):
            self.i += 1
        token = self.peek()
        word = token.text if token.kind == "key" else self.spelt() if italic else ""
        condition: s.Expression | None = None
        if ends and token.kind == "text" and _OTHERWISE.fullmatch(token.text):
            self.i += 1
        elif word in ("otherwise", "else"):
            self.i += token.kind == "key"
        elif word in CONDITION_WORDS:
            self.i += token.kind == "key"
            condition = self.condition(commas=bool(ends))
        elif ends and token.kind == "text" and self.tokens[self.i + 1].kind in ends:
            self.i += 1  # words that say which case it is, and not when it holds
            condition = s.Name(token.text, font="roman", span=token.span)
        elif ends and token.kind not in ends:
            condition = self.condition(commas=True)
        while ends and (self.at(",") or self.at(".") or self.at(";")):
            self.i += 1
        if ends and self.peek().kind not in ends:
            raise self.unexpected(self.peek(), "the end of the case")
        return value, condition

    def without_remark(self) -> None:
        """Takes the words in round brackets away that end a case: `0 & j > i \\text{ (the future)}`."""
        end, depth = self.i, 0
        while self.tokens[end].kind not in (("eof",) if depth else ("row", "end", "eof")):
            depth += (self.tokens[end].kind == "begin") - (self.tokens[end].kind == "end")
            end += 1
        start = end - 1
        if self.tokens[start].text == ")":
            while self.tokens[start - 1].kind == "text":
                start -= 1
            start -= 1
            words = end - start > 2 and self.tokens[start].text == "("
        else:
            # `\\text{ (past and present)}`: one token, or several with a word of the language among them.
            words = self.tokens[start].kind == "text" and self.tokens[start].text.endswith(")")
            while words and start > self.i and not self.tokens[start].text.startswith("("):
                start -= 1
                words = self.tokens[start].kind in ("text", "key")
        if words and start > self.i:
            del self.tokens[start:end]

    def spelt(self) -> str:
        """The `if` of `x & if i > j`, letter by letter: stepped over, if it is a word of cases."""
        word, i, end = "", self.i, self.peek().span.start
        while self.tokens[i].kind in ("letter", "word") and self.tokens[i].span.start == end:
            word, end = word + self.tokens[i].text, self.tokens[i].span.end
            i += 1
        if word not in CONDITION_WORDS | {"otherwise", "else"}:
            return ""
        self.i = i
        return word


_OTHERWISE = re.compile(r"o\.?\s?/?w\.?", re.IGNORECASE)
"""`\\text{o.w.}`"""


def bracket(opener: str, items: tuple[s.Expression, ...], span: Span) -> s.Expression:
    """What a bracket in the place of a factor is: a group, a tuple, a list or a set."""
    several = len(items) > 1
    only = items[0]
    if several and opener in ("⟨", "("):
        return s.TupleLiteral(items, span=span)
    if opener in ("⟨", "("):
        return s.Group(only, span=span)
    if opener == "[":
        if several or isinstance(_plain(only), s.Number | s.ListLiteral):
            return s.ListLiteral(items, span=span)
        return s.Group(only, "[", span=span)
    vectors = [i.items if isinstance(i, s.TupleLiteral | s.ListLiteral) else () for i in items]
    if all(v and all(isinstance(_plain(n), s.Number) for n in v) for v in vectors):
        # `{[1, 2], [0, 3]}`: vectors in an order, which the values beside the keys share.
        return s.ListLiteral(
            tuple(s.ListLiteral(v, span=i.span) for v, i in zip(vectors, items, strict=True)),
            span=span,
        )
    if several or isinstance(only, s.Name | s.Number | s.Dots):
        return s.SetLiteral(items, span=span)
    return s.Group(only, "{", span=span)


def _plain(node: s.Expression) -> s.Expression:
    """Without its sign."""
    return node.body if isinstance(node, s.Negative) else node
