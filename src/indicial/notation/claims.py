"""The grammar of claims: expressions, and what only a claim can speak of.

    claim std of α[0] ≈ 0.386 within 0.01       over many draws
    claim probability of (c > 1) ≤ 0.1
    claim parameters of α = 2 I J K             what the program costs
    claim parallel time = O(T)
    claim ∂y/∂x[i] = w[i]                       a derivative

`std of` takes the product that follows, as Σ does; `std(x)`, `mean(x)`, `Var(x)` take their brackets.
`probability of` has a condition in brackets, and so has `P(c > 1)`, which says the same; without a
comparison `P(…)` is a distribution of the model.
"""

from __future__ import annotations

from itertools import takewhile

from indicial.notation import syntax as s
from indicial.notation.expressions import ExpressionParser
from indicial.notation.faults import Refusal
from indicial.notation.lookahead import holds_condition, with_depths
from indicial.notation.tokens import Token
from indicial.notation.vocabulary import QUANTITIES, STATISTICS

_PHRASES = (
    *(f"{word} of" for word in STATISTICS),
    *(f"{word} of" for word in QUANTITIES),
    *(word for word in QUANTITIES if word != "elements"),
)
_LONGEST = max(len(phrase.split()) for phrase in _PHRASES)
_DEL = s.Name("∂")
_CHANCE = ("P", "Pr", "ℙ")
_CALLED = {"std": "std", "Var": "variance", "variance": "variance", "mean": "mean"}
"""`std(x)` says `std of (x)`."""


class ClaimParser(ExpressionParser):
    """Reads the sides of a claim."""

    costs = False
    """Something that the program costs is named in the claim: then `O(…)` is a growth."""

    def stated(self) -> tuple[bool, s.Comparison, s.Expression | None]:
        """`claim false: a ≈ b within 0.01`: whether it is false, its sides, its tolerance."""
        self.i = 1 if self.peek().text == "claim" else 0
        self.i += self.at(":")
        words = {word for token in self.tokens for word in token.text.split()}
        self.costs = any(set(what.split()) <= words for what in QUANTITIES)
        if self.peek().text == "not":
            raise Refusal("claim", "a claim cannot begin with `not`", (self.peek().span,),
                          "write what holds instead, `≥` for not `<`, or `claim false: …`")  # fmt: skip
        said = self.peek().text in ("true", "false") and self.ahead(":", 1)
        false = said and self.peek().text == "false"
        if self.peek().text == "false" and self.tokens[self.i + 1].kind in ("word", "number"):
            raise Refusal("claim", "missing colon after `false`", (self.peek().span,),
                          "write `claim false: a ≥ b`")  # fmt: skip
        self.i += 2 if said else 0
        comparison = self.comparison()
        tolerance = None
        if self.peek().kind == "key" and self.peek().text == "within":
            self.i += 1
            tolerance = self.interval()
        if not isinstance(comparison, s.Comparison):
            raise Refusal("claim", "this claim compares nothing", (comparison.span,),
                          "write `claim a ≈ b within 0.01`, or `claim a ≥ b`")  # fmt: skip
        if false and len(comparison.operators) > 1:
            raise Refusal("claim", "a false claim can have only one relation", (comparison.span,),
                          "which of them does not hold? make each a claim of its own")  # fmt: skip
        return false, comparison, tolerance

    def primary(self, token: Token) -> s.Expression:
        if token.text == "∂" and token.kind != "sign":
            return self.derivative(token)
        return super().primary(token)

    def named(self, token: Token) -> s.Expression:
        phrase, length = self.phrase()
        if phrase:
            self.i += length
            return self.spoken(phrase, token)
        if token.text == "O" and self.costs and self.ahead("(", 1):
            self.i += 2
            body = self.expression(conditions=False)
            self.expect(")")
            return s.Growth(body, span=self.since(token))
        if token.text in _CHANCE and self.ahead("(", 1) and self.is_outcome(self.i + 1):
            self.i += 1
            return s.Statistic("probability", self.outcome(), span=self.since(token))
        if token.text in _CALLED and self.ahead("(", 1):
            self.i += 2
            body = self.expression(conditions=False)
            self.expect(")")
            made = s.Statistic(_CALLED[token.text], s.Group(body, "("), span=self.since(token))
            return self.postfix(s.Group(made, "(", span=self.since(token)), token)
        return super().named(token)

    def phrase(self) -> tuple[str, int]:
        """`std of`, `parallel time`: the longest that stands here, and how many tokens it takes."""
        for length in range(_LONGEST, 0, -1):
            tokens = self.tokens[self.i : self.i + length]
            text = " ".join(token.text for token in tokens)
            if text not in _PHRASES or any(t.kind not in ("word", "text", "key") for t in tokens):
                continue
            if text.endswith(" of"):
                return text, length
            following = self.tokens[self.i + length]
            if following.text not in ("[", "(", "_", "^", "'"):  # a tensor of that name
                return text, length
        return "", 0

    def spoken(self, phrase: str, token: Token) -> s.Expression:
        what = phrase.removesuffix(" of")
        if what in STATISTICS:
            body = self.outcome() if what == "probability" else self.term()
            return s.Statistic(what, body, span=self.since(token))
        of = s.Named(self.spoken_name()) if phrase != what else None
        return s.Quantity(what, of, span=self.since(token))

    def outcome(self) -> s.Expression:
        """The condition in the brackets behind `probability of`."""
        self.expect("(")
        self.bars.append("(")
        condition = self.condition(commas=True)
        self.bars.pop()
        self.expect(")")
        if not s.is_condition(condition):
            raise Refusal("claim", "a probability needs a condition, but this compares nothing",
                          (condition.span,), "write `probability of (x > 1/2)`")  # fmt: skip
        return condition

    def is_outcome(self, start: int) -> bool:
        """Whether a bracket holds a comparison, `(|x| > 1)`, and no bar of its own, `(w = 1 | x)`."""
        depths = with_depths(self.tokens[start:])
        inside = takewhile(lambda pair: pair[1] > 0, depths)
        bars = sum(1 for token, depth in inside if depth == 1 and token.text == "|")
        return holds_condition(self.tokens, start) and bars % 2 == 0

    def spoken_name(self) -> s.Name:
        token = self.peek()
        if not self.is_name(token) and token.kind != "command":
            raise self.unexpected(token, "a name")
        base = self.accented(token) if token.kind == "command" else self.base_name()
        name, _ = self.decorate(base, token)
        return name

    def derivative(self, token: Token) -> s.Expression:
        """`∂y/∂x[i]`; in a fraction of LaTeX only the part that stands here."""
        self.i += 1
        above = self.factor()
        if not (self.at("/") and self.tokens[self.i + 1].text == "∂"):
            return s.Product((_DEL, above), span=self.since(token))
        self.i += 2
        return s.Derivative(above, self.factor(), span=self.since(token))

    def structure(self, token: Token) -> s.Expression:
        r"""`\frac{\partial y}{\partial x[i]}` is `∂y/∂x[i]`."""
        if token.text == "\\partial":
            return self.derivative(token)
        made = super().structure(token)
        if isinstance(made, s.Fraction):
            parts = (made.above, made.below)
            halves = [p.factors for p in parts if isinstance(p, s.Product) and p.factors[0] == _DEL]
            if len(halves) == 2 and all(len(half) == 2 for half in halves):
                return s.Derivative(halves[0][1], halves[1][1], span=made.span)
        return made
