"""Reductions, expectations, and the commands that stack or frame what they are given.

Σ_{t=1}^T …   softmax_{t_2 ≤ t_1} …   E_{y ~ Pop} …   \\frac{a}{b}   \\sqrt{x}
"""

from __future__ import annotations

from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.brackets import BracketGrammar, bracket
from indicial.notation.faults import Refusal
from indicial.notation.lookahead import nesting
from indicial.notation.rows import CLOSERS
from indicial.notation.tokens import Token, is_sign

TAKES_PRODUCT = frozenset({"sum", "prod", "max", "min", "mean"})
"""Reductions whose body is the product that follows; the others take the whole sum."""
EXPECTED = (s.Name("E"), s.Name("𝔼"))
"""Letters that an expectation begins with, if draws stand below."""
_ALSO_FUNCTIONS = frozenset({"max", "min", "mean", "argmax", "argmin"})

VOCABULARIES = frozenset({"V", "𝒱", "Vocab", "vocab", "Vocabulary", "vocabulary"})
"""What words are counted in: a sum over all of it is a sum over its index."""


class OperatorGrammar(BracketGrammar):
    """Factors that an operator or a command begins."""

    # ---------------------------------------------------------------- reductions

    def reduction(
        self, operator: str, token: Token, under: tuple[s.Expression, ...]
    ) -> s.Expression:
        """The operator has been read; scripts and body follow."""
        upper: s.Expression | None = None
        scripted = bool(under)
        while self.at("_") or self.at("^"):
            scripted = True
            if self.at("_"):
                under += self.script()
            else:
                items, _, _ = self.superscript()
                upper = items[0] if items else None
        following = self.peek()
        body_follows = self.starts_factor(following) or (scripted and self.at("-"))
        if not body_follows:
            base = "Σ" if token.kind == "sigma" else operator
            sup = () if upper is None else (upper,)
            return self.after_name(s.Name(base, sub=under, sup=sup, span=self.since(token)), token)
        braced = self.at("\\{") or (self.latex and self.at("{") and self.listed())
        if not scripted and braced and operator in _ALSO_FUNCTIONS:
            return self.postfix(self.of_set(s.Name(operator, span=token.span), token), token)
        if not scripted and self.at("(") and operator in _ALSO_FUNCTIONS:
            return self.postfix(self.call(s.Name(operator, span=token.span), token), token)
        held = self.at("(") or (self.latex and self.at("["))
        if operator == "softmax" and held and (not scripted or (self.latex and self.followed())):
            return self.softmax_of_brackets(token, under)
        body = self.term() if operator in TAKES_PRODUCT else self.sum()
        if not scripted and operator in _ALSO_FUNCTIONS and isinstance(body, s.Cases):
            values, conditions = zip(*body.branches, strict=True)
            if not any(conditions):  # `\\min \\begin{cases} a \\\\ b \\end{cases}`
                return s.Call(s.Name(operator, span=token.span), values, span=self.since(token))
        if self.left_open and len(under) == 1:
            body = _filled(body, under[0])
        under = tuple(_of_all_words(one) for place in under for one in _apart(place))
        match under:
            case (s.Comparison() as first, s.Dots(), last) if upper is None:  # `min_{m=1,…,M}`
                under, upper = (first,), last
            case (s.Comparison((name, s.SetLiteral(ends=(low, high))), ("∈",)),) if upper is None:
                upper = high  # `Σ_{i ∈ {1, …, n}}`
                under = (s.Comparison((name, low), ("=",), span=under[0].span),)
        if self.latex and isinstance(upper, s.Call) and upper.word == "abs":
            upper = upper.arguments[0]  # `Σ_{j=1}^{|V|}`: as many as there are
        return s.Reduction(operator, under, upper, body, span=self.since(token))

    def of_set(self, operator: s.Name, token: Token) -> s.Expression:
        """`\\max\\{a, b\\}`, or `max{a, b}` without its backslashes: the largest of these."""
        closer = CLOSERS[self.peek().text]
        self.i += 1
        self.bars.append("call")
        arguments = self.items((closer,))
        self.bars.pop()
        self.expect(closer)
        return s.Call(operator, arguments, span=self.since(token))

    def listed(self) -> bool:
        """Whether the brace that stands here holds several things: a comma is no part of one."""
        depth = 0
        for token in self.tokens[self.i :]:
            depth += nesting(token)
            if depth == 0:
                return False
            if depth == 1 and is_sign(token, ","):
                return True
        return False

    def followed(self) -> bool:
        r"""Whether a factor stands behind the bracket here: `\text{softmax}_j(q^\top k_j) v_j`."""
        depth, i = 0, self.i
        while depth or i == self.i:
            depth += nesting(self.tokens[i])
            i += 1
        # In index notation a softmax is of all that follows: `softmax_w (a[t,J]) e[w,J]`.
        places = any(token.text == "[" for token in self.tokens[self.i + 1 : i])
        return not places and self.starts_factor(self.tokens[i])

    def softmax_of_brackets(
        self, token: Token, under: tuple[s.Expression, ...] = ()
    ) -> s.Expression:
        opener = self.peek()
        self.i += 1
        self.bars.append("(")
        items = self.items((CLOSERS[opener.text],))
        self.bars.pop()
        self.i += 1
        body = bracket("(", items, self.since(opener))
        return self.postfix(
            s.Reduction("softmax", under, None, body, span=self.since(token)), token
        )

    def draws(self, items: tuple[s.Expression, ...]) -> tuple[s.Expression, ...]:
        """`w_1, …, w_T ~ Train, t ~ {1, …, T}` → two draws; () if nothing is drawn."""
        draws: list[s.Expression] = []
        waiting: list[s.Expression] = []
        for item in items:
            if isinstance(item, s.Comparison) and "~" in item.operators:
                left, *rest = item.operands
                if waiting:
                    left = s.TupleLiteral((*waiting, left), span=waiting[0].span.to(left.span))
                    waiting = []
                draws.append(replace(item, operands=(left, *rest)))
            else:
                waiting.append(item)
        return (*draws, *waiting) if draws else ()

    # ---------------------------------------------------------------- commands

    def structure(self, token: Token) -> s.Expression:
        text = token.text
        if text in ("\\frac", "\\dfrac", "\\tfrac", "\\cfrac"):
            self.i += 1
            # Above and below a fraction no bracket is needed: the bar is one.
            above, below = s.inner(self.argument()), s.inner(self.argument())
            return self.postfix(s.Fraction(above, below, span=self.since(token)), token)
        if text == "\\sqrt":
            return self.postfix(self.root(token), token)
        if text in ("\\underset", "\\overset", "\\stackrel"):
            return self.stacked(token)
        if text in ("\\underbrace", "\\overbrace"):
            self.i += 1
            body = self.argument()
            if self.at("_") or self.at("^"):
                self.remark()
            return self.postfix(s.Group(body, span=self.since(token)), token)
        if text in ("\\mathop", "\\mathrel", "\\mathbin", "\\ensuremath"):
            self.i += 1
            return self.factor()
        return self.after_name(self.accented(token), token)

    def remark(self) -> None:
        """What stands below a brace, in whatever notation: the `_{= -1}` of `\\underbrace{…}_{= -1}`."""
        if not self.ahead("{", 1):
            self.superscript() if self.at("^") else self.script()
            return
        depth = 0
        self.i += 1
        while not self.done():
            depth += self.at("{") - self.at("}")
            self.i += 1
            if depth == 0:
                return

    def root(self, token: Token) -> s.Expression:
        self.i += 1
        degree: s.Expression | None = None
        if self.at("["):
            self.i += 1
            degree = None if self.at("]") else self.expression()
            self.expect("]")
        first = self.peek()
        body = self.argument()
        if first.text != "{" and isinstance(body, s.Name) and self.at("_"):
            # TeX puts one token below the root, and everybody reads `\\sqrt\\beta_t` as that of β_t.
            body = replace(body, sub=self.script(), span=self.since(first))
        if degree is None:
            return s.Call(s.Name("sqrt", span=token.span), (body,), span=self.since(token))
        exponent = s.Fraction(s.Number("1"), degree)
        return s.Power(s.Group(body, span=body.span), exponent, span=self.since(token))

    def stacked(self, token: Token) -> s.Expression:
        """`\\underset{w}{softmax}` is `softmax_{w}`; a sign above a name is a superscript."""
        self.i += 1
        items = self.braced_script()
        if self.at("{") and self.ahead("}", 2):
            operator = self.reduction_word(self.tokens[self.i + 1])
            if operator:
                self.i += 3
                return self.reduction(operator, token, items)
        elif operator := self.reduction_word(self.peek()):
            self.i += 1
            return self.reduction(operator, token, items)
        body = self.argument()
        if not isinstance(body, s.Name):
            raise Refusal("stacked", "a sign can only go above or below a name",
                          (self.since(token),), skip=True)  # fmt: skip
        if body in EXPECTED and (draws := self.draws(items)):
            return s.Expectation(draws, self.sum(), span=self.since(token))
        below = token.text == "\\underset"
        body = replace(body, sub=items) if below else replace(body, sup=items)
        return self.after_name(body, token)


def without_fraction_brackets(factor: s.Expression) -> s.Expression:
    if isinstance(factor, s.Negative):
        return replace(factor, body=without_fraction_brackets(factor.body))
    return (
        factor.body
        if isinstance(factor, s.Group) and isinstance(factor.body, s.Fraction)
        else factor
    )


def _filled(node: s.Expression, place: s.Expression) -> s.Expression:
    r"""`softmax_m(k_\bullet · q)`: the place that is left open is the one that it runs over."""
    if node == s.Name("•"):
        return place
    if isinstance(node, s.Name):
        return replace(node, sub=tuple(_filled(i, place) for i in node.sub))
    return node.rebuild(lambda inner: _filled(inner, place))


def _apart(under: s.Expression) -> tuple[s.Expression, ...]:
    """`Σ_{(u,i)}` runs over both."""
    pair = isinstance(under, s.TupleLiteral) and all(isinstance(i, s.Name) for i in under.items)
    return under.items if isinstance(under, s.TupleLiteral) and pair else (under,)


def _of_all_words(under: s.Expression) -> s.Expression:
    """`Σ_{w ∈ V}` runs over all words, as `Σ_w` does."""
    match under:
        case s.Comparison(
            operands=(s.Name() as word, s.Name(sub=(), sup=()) as words), operators=("∈",)
        ):
            return word if words.base in VOCABULARIES else under
    return under
