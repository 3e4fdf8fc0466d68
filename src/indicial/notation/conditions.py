"""Conditions: comparisons, and several of them joined.

t_2 ≤ t_1 < T    i = 0 or j = 0    not w[t] = v and t > 0    i = 1, …, n

`not` binds tighter than `and`, `and` tighter than `or`; ¬ ∧ ∨ say the same. A comma is `and` behind
`for` and in cases, where it separates nothing else.
"""

from __future__ import annotations

from indicial.notation import syntax as s
from indicial.notation.operators import OperatorGrammar
from indicial.notation.signs import LOGIC_SIGNS, RELATION_SIGNS
from indicial.notation.tokens import is_sign

_RELATION_KEYS = {"in": "∈", "notin": "∉", "is": "="}


class ConditionGrammar(OperatorGrammar):
    """What holds or does not hold."""

    def comparison(self) -> s.Expression:
        start = self.peek()
        operands, operators = [self.interval()], []
        while (relation := self.relation()) is not None:
            operators.append(relation)
            operands.append(self.interval())
        if not operators:
            return _parity(operands[0])
        return _parity(s.Comparison(tuple(operands), tuple(operators), span=self.since(start)))

    def relation(self) -> str | None:
        """The relation that stands here, stepped over, or None."""
        token = self.peek()
        if token.kind == "sign" and token.text in RELATION_SIGNS:
            self.i += 1
            return token.text
        if token.kind == "key" and token.text in _RELATION_KEYS:
            self.i += 1
            return _RELATION_KEYS[token.text]
        return None

    def condition(self, commas: bool = False) -> s.Expression:
        """Comparisons with `or`, `and`, `not`; a comma is `and` where it separates nothing else.

        One method for three levels: each bracket of a formula passes here, and the stack is short.
        """
        start = self.peek()
        either: list[list[s.Expression]] = [[]]
        while True:
            part = self.negation() if self.at_not() else self.comparison()
            if commas and self.at(",") and self.ahead("…", 1):
                part = self.counted(part)
            either[-1].append(part)
            if self.logic("or"):
                either.append([])
            elif not self.logic("and") and not (commas and self.comma()):
                break
        span = self.since(start)
        parts = [
            a[0] if len(a) == 1 else s.Conjunction(tuple(a), span=a[0].span.to(a[-1].span))
            for a in either
        ]
        return parts[0] if len(parts) == 1 else s.Disjunction(tuple(parts), span=span)

    def logic(self, word: str) -> bool:
        """`and`, `or`, or its sign: steps over it if it stands here."""
        token = self.peek()
        found = token.text == word if token.kind == "key" else is_sign(token, LOGIC_SIGNS[word])
        self.i += found
        return found

    def comma(self) -> bool:
        """Commas and wide spaces: steps over them, and says whether a condition follows."""
        before = self.i
        while self.at(",") or self.peek().kind == "quad":
            self.i += 1
        return self.i > before and not self.done() and self.peek().kind not in ("row", "end")

    def at_not(self) -> bool:
        token = self.peek()
        if is_sign(token, LOGIC_SIGNS["not"]):
            return True
        if token.text != "not" or token.kind not in ("word", "text"):
            return False
        following = self.tokens[self.i + 1]
        return self.starts_factor(following) or is_sign(following, "-¬")

    def negation(self) -> s.Expression:
        """`not t = 0`; the `not` stands here."""
        start = self.peek()
        self.i += 1
        self.enter(start)
        body = self.negation() if self.at_not() else self.comparison()
        self.depth -= 1
        return s.Negation(body, span=self.since(start))

    def counted(self, part: s.Expression) -> s.Expression:
        """`i = 1, …, n` is `i ∈ {1, …, n}`."""
        items: list[s.Expression] = []
        name = part
        if isinstance(part, s.Comparison) and part.operators == ("=",):
            name, first = part.operands
            items.append(first)
        while self.at(","):
            self.i += 1
            items.append(self.interval())
        members = s.SetLiteral(tuple(items), span=self.since(self.peek()))
        return s.Comparison((name, members), ("∈",), span=part.span)


def _parity(node: s.Expression) -> s.Expression:
    """`j is even`, `j \\text{ odd}`: what is left of j when its half is taken away twice is 0, or 1."""
    match node:
        case s.Comparison(operands=(number, s.Name() as word), operators=("=",)):
            pass
        case s.Product(factors=(number, s.Name() as word)):
            pass
        case _:
            return node
    if word.base not in ("even", "odd") or not word.bare:
        return node
    span = node.span
    half = s.Fraction(number, s.Number("2", span=span), span=span)
    halved = s.Call(s.Name("floor", span=span), (half,), span=span)
    twice = s.Product((s.Number("2", span=span), halved), span=span)
    rest = s.Add((number, s.Negative(twice, span=span)), span=span)
    left = s.Number("0" if word.base == "even" else "1", span=span)
    return s.Comparison((rest, left), ("=",), span=span)
