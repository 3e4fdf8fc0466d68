"""The grammar of expressions, by recursive descent; one method for each level of binding.

    join        a; b
    comparison  a ≤ b < c         (in brackets, scripts and conditions only)
    interval    1..T
    sum         a + b - c
    hadamard    a ⊙ b
    product     a b/c · d         `/` divides the product so far by the next factor
    factor      W^Q[j,I]  f(x)  (a+b)^2  Σ_i …  ln x  ‖x‖

`Σ ∏ max min mean` take the product that follows, with its sign; `softmax argmax argmin` and
`E_{…~…}` take the whole sum. `softmax(x)` without a subscript is a function of its brackets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indicial.notation.faults import Refusal
from indicial.notation.names import NameGrammar
from indicial.notation.rows import CLOSERS, INNER
from indicial.notation.signs import CONDITION_WORDS, RELATIONS
from indicial.notation.syntax import (
    FUNCTIONS,
    Add,
    Call,
    Cases,
    Comparison,
    Conjunction,
    Dots,
    Expectation,
    Expression,
    Fraction,
    Group,
    Hadamard,
    Index,
    Interval,
    Join,
    ListLiteral,
    Name,
    Negative,
    Norm,
    Number,
    Power,
    Product,
    Reduction,
    SetLiteral,
    Transpose,
    TupleLiteral,
)
from indicial.notation.tokens import Token

RELATION_SIGNS = frozenset(RELATIONS.values())
_RELATION_KEYS = {"in": "∈", "notin": "∉", "is": "="}
_FACTOR_KINDS = frozenset({"letter", "word", "sigma", "text", "number", "command", "begin"})
_FACTOR_SIGNS = frozenset({"(", "[", "{", "\\{", "⟨", "√", "…", "|(", "‖("})
_PRODUCT_SIGNS = frozenset({"·", "*"})
TAKES_PRODUCT = frozenset({"sum", "prod", "max", "min", "mean"})
_ALSO_FUNCTIONS = frozenset({"max", "min", "mean", "argmax", "argmin"})
FUNCTION_NAMES = frozenset(FUNCTIONS) - {"σ"}
"""Functions that take the next factor when no bracket follows; a bare σ is a letter."""
_BRACKETED_FUNCTIONS = frozenset({"tanh", "exp", "ln", "log", "cos", "sin", "sqrt"})
_INDEXABLE = (Name, Call, Index, Transpose, Reduction)


class ExpressionParser(NameGrammar):
    """Reads expressions from a row whose brackets are known to match."""

    # ---------------------------------------------------------------- levels of binding

    def expression(self, conditions: bool = True) -> Expression:
        """`a; b`, or what binds tighter. Without conditions it stops at a relation."""
        start = self.peek()
        self.enter(start)
        parts = [self.comparison() if conditions else self.interval()]
        while self.at(";"):
            self.i += 1
            if self.done():
                break
            parts.append(self.comparison() if conditions else self.interval())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Join(tuple(parts), span=self.since(start))

    def comparison(self) -> Expression:
        start = self.peek()
        operands, operators = [self.interval()], []
        while (relation := self.relation()) is not None:
            operators.append(relation)
            operands.append(self.interval())
        if not operators:
            return operands[0]
        return Comparison(tuple(operands), tuple(operators), span=self.since(start))

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

    def conjunction(self, commas: bool) -> Expression:
        """Conditions with `and` between them, or commas where these separate nothing else."""
        start = self.peek()
        parts: list[Expression] = []
        while True:
            part = self.comparison()
            if commas and self.at(",") and self.ahead("…", 1):
                part = self.counted(part)
            parts.append(part)
            if self.peek().kind == "key" and self.peek().text == "and":
                self.i += 1
            elif commas and (self.at(",") or self.peek().kind == "quad"):
                while self.at(",") or self.peek().kind == "quad":
                    self.i += 1
                if self.done():
                    break
            else:
                break
        return parts[0] if len(parts) == 1 else Conjunction(tuple(parts), span=self.since(start))

    def counted(self, part: Expression) -> Expression:
        """`i = 1, …, n` is `i ∈ {1, …, n}`."""
        items: list[Expression] = []
        name = part
        if isinstance(part, Comparison) and part.operators == ("=",):
            name, first = part.operands
            items.append(first)
        while self.at(","):
            self.i += 1
            items.append(self.interval())
        members = SetLiteral(tuple(items), span=self.since(self.peek()))
        return Comparison((name, members), ("∈",), span=part.span)

    def interval(self) -> Expression:
        start = self.peek()
        lower = self.sum()
        if not self.at(".."):
            return lower
        self.i += 1
        return Interval(lower, self.sum(), span=self.since(start))

    def sum(self) -> Expression:
        start = self.peek()
        terms = [self.term()]
        while self.at("+") or self.at("-"):
            if self.at("+"):
                self.i += 1
            terms.append(self.term())
        return terms[0] if len(terms) == 1 else Add(tuple(terms), span=self.since(start))

    def term(self) -> Expression:
        """`-a b`: the sign goes before the whole product."""
        start = self.peek()
        if self.at("+"):
            self.i += 1
            return self.term_after(start)
        if self.at("-"):
            self.i += 1
            return Negative(self.term_after(start), span=self.since(start))
        return self.hadamard()

    def term_after(self, start: Token) -> Expression:
        self.enter(start)
        body = self.term()
        self.depth -= 1
        return body

    def hadamard(self) -> Expression:
        start = self.peek()
        factors = [self.product()]
        while self.at("⊙"):
            self.i += 1
            factors.append(self.signed(self.product))
        return factors[0] if len(factors) == 1 else Hadamard(tuple(factors), span=self.since(start))

    def product(self) -> Expression:
        start = self.peek()
        factors = [self.factor()]
        while True:
            token = self.peek()
            if token.kind == "sign" and token.text in _PRODUCT_SIGNS:
                self.i += 1
                factors.append(self.signed(self.factor))
            elif token.kind == "sign" and token.text == "/":
                self.i += 1
                above = self.build(factors, start)
                below = self.signed(self.factor)
                span = self.since(start)
                factors = [Fraction(without_brackets(above), without_brackets(below), span=span)]
            elif self.starts_factor(token):
                factors.append(self.factor())
            else:
                return self.build(factors, start)

    def build(self, factors: list[Expression], start: Token) -> Expression:
        if len(factors) == 1:
            return factors[0]
        # Brackets around a fraction say nothing in a product: `x (a/b)` is `x \frac{a}{b}`.
        plain = tuple(map(without_fraction_brackets, factors))
        return Product(plain, span=self.since(start))

    def starts_factor(self, token: Token) -> bool:
        if token.kind == "sign":
            if token.text == "|":
                return self.bars[-1] not in ("call", "|")
            if token.text == "‖":
                return self.bars[-1] != "‖"
            return token.text in _FACTOR_SIGNS
        return token.kind in _FACTOR_KINDS

    # ---------------------------------------------------------------- factors

    def factor(self) -> Expression:
        token = self.peek()
        self.enter(token)
        result = self.primary(token)
        self.depth -= 1
        return result

    def primary(self, token: Token) -> Expression:
        if token.kind == "number":
            self.i += 1
            return self.postfix(Number(token.text, span=token.span), token)
        if token.kind == "command":
            return self.structure(token)
        if token.kind == "begin":
            return self.postfix(self.environment(token), token)
        if token.kind == "sign":
            return self.bracketed(token)
        if self.is_name(token):
            return self.named(token)
        raise self.unexpected(token, "an expression")

    def named(self, token: Token) -> Expression:
        """What begins with a name: a reduction, a call, an expectation, a tensor."""
        operator = self.reduction_word(token)
        if operator:
            self.i += 1
            return self.reduction(operator, token, ())
        if (
            token.text == "norm"
            and token.kind == "word"
            and (self.ahead("(", 1) or self.ahead("_", 1))
        ):
            return self.norm_word(token)
        if token.text == "cases" and token.kind == "word" and self.ahead("{", 1):
            self.i += 2
            return self.postfix(self.plain_cases(token), token)
        name = self.base_name()
        return self.after_name(name, token)

    def after_name(self, name: Name, token: Token) -> Expression:
        if name == Name("E") and self.at("_"):
            items = self.script()
            draws = self.draws(items)
            if draws:
                return Expectation(draws, self.sum(), span=self.since(token))
            name = replace(name, sub=items)
        name, transposed = self.decorate(name, token)
        if transposed:
            return self.postfix(Transpose(name, span=self.since(token)), token)
        if self.at("("):
            return self.postfix(self.call(name, token), token)
        if name.base in FUNCTION_NAMES and not name.accents:
            following = self.peek()
            bracket = following.text == "[" and following.kind == "sign"
            if self.starts_factor(following) and (not bracket or name.base in _BRACKETED_FUNCTIONS):
                return Call(name, (self.factor(),), span=self.since(token))
        return self.postfix(name, token)

    def call(self, function: Expression, token: Token) -> Call:
        """`f(a, b)`, `P(a | b, …)`: the bracket stands here."""
        self.i += 1
        self.bars.append("call")
        arguments = () if self.at(")") else self.items((")", "|", "mid"))
        given = None
        if self.at("|") or self.at("mid"):
            self.i += 1
            given = () if self.at(")") else self.items((")",))
        self.bars.pop()
        self.expect(")")
        return Call(function, arguments, given, span=self.since(token))

    def items(self, until: Sequence[str]) -> tuple[Expression, ...]:
        """Expressions with commas between them; stands before the closing sign afterwards."""
        items: list[Expression] = []
        while True:
            items.append(self.expression())
            if self.at(","):
                self.i += 1
                if any(self.at(sign) for sign in until):
                    return tuple(items)
                continue
            if any(self.at(sign) for sign in until):
                return tuple(items)
            raise self.unexpected(self.peek(), " or ".join(f"`{s}`" for s in (",", until[0])))

    def postfix(self, base: Expression, token: Token) -> Expression:
        """Brackets and scripts behind a factor."""
        while True:
            if self.at("[") and isinstance(base, _INDEXABLE):
                self.i += 1
                self.bars.append("[")
                items = self.items(("]",))
                self.bars.pop()
                self.expect("]")
                base = Index(base, items, span=self.since(token))
            elif self.at("^"):
                base = self.raised(base, token)
            elif self.at("_") and not isinstance(base, Number):
                items = self.script()
                if isinstance(base, Norm) and base.order is None and len(items) == 1:
                    base = Norm(base.body, items[0], span=self.since(token))
                elif items:
                    base = Index(base, items, span=self.since(token))
            else:
                return base

    def raised(self, base: Expression, token: Token) -> Expression:
        items, primes, transposed = self.superscript()
        if primes:
            raise Refusal("prime", "a prime after a bracket", (self.since(token),),
                          "put it directly behind the name")  # fmt: skip
        if len(items) == 1:
            if isinstance(base, Fraction | Transpose | Reduction):
                base = Group(base, span=base.span)
            base = Power(base, items[0], span=self.since(token))
        elif items:
            raise Refusal("exponent", "a power with several exponents", (self.since(token),))
        return Transpose(base, span=self.since(token)) if transposed else base

    # ---------------------------------------------------------------- brackets

    def bracketed(self, token: Token) -> Expression:
        text = token.text
        if text == "…":
            self.i += 1
            return Dots(span=token.span)
        if text == "√":
            self.i += 1
            argument = without_one_bracket(self.factor())
            return Call(Name("sqrt", span=token.span), (argument,), span=self.since(token))
        if text in ("|", "|(", "‖", "‖("):
            return self.postfix(self.between_bars(token), token)
        if text == "{" and self.latex:
            return self.neutral(token)
        if text not in ("(", "[", "{", "\\{", "⟨"):
            raise self.unexpected(token, "an expression")
        self.i += 1
        if text == "\\{" and self.peek().kind == "begin":
            result = self.environment(self.peek(), cases=True)
            if not self.at("null"):
                self.expect("\\}")
            else:
                self.i += 1
            return self.postfix(result, token)
        closer = CLOSERS[text]
        if self.at(closer):
            self.i += 1
            raise Refusal("empty", "brackets with nothing in them", (self.since(token),))
        self.bars.append(text)
        items = self.items((closer, "null"))
        self.bars.pop()
        self.i += 1
        return self.postfix(bracket(text, items, self, token), token)

    def between_bars(self, token: Token) -> Expression:
        self.i += 1
        bar = token.text[0]
        closer = bar + ")" if len(token.text) == 2 else bar
        self.bars.append(closer)
        body = self.expression()
        self.bars.pop()
        self.expect(closer)
        span = self.since(token)
        return Norm(body, span=span) if bar == "‖" else Call(Name("abs"), (body,), span=span)

    def norm_word(self, token: Token) -> Expression:
        """`norm(x)`, `norm_2(x)`: how plain text writes a norm inside a norm."""
        self.i += 1
        items = self.script() if self.at("_") else ()
        if not self.at("("):
            return self.after_name(Name("norm", sub=items, span=token.span), token)
        call = self.call(Name("norm", sub=items), token)
        if len(call.arguments) == 1 and len(items) < 2:
            order = items[0] if items else None
            return self.postfix(Norm(call.arguments[0], order, span=call.span), token)
        return self.postfix(call, token)

    def neutral(self, token: Token) -> Expression:
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
            return self.primary(self.peek())
        body = self.expression()
        self.expect("}")
        if isinstance(body, Name):
            return self.after_name(body, token)
        loose = (
            Join,
            Comparison,
            Interval,
            Add,
            Negative,
            Hadamard,
            Product,
            Reduction,
            Expectation,
        )
        if isinstance(body, loose):
            body = Group(body, span=self.since(token))
        return self.postfix(body, token)

    # ---------------------------------------------------------------- reductions

    def reduction(self, operator: str, token: Token, under: tuple[Expression, ...]) -> Expression:
        """The operator has been read; scripts and body follow."""
        upper: Expression | None = None
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
            return self.after_name(Name(base, sub=under, sup=sup, span=self.since(token)), token)
        if not scripted and self.at("("):
            if operator in _ALSO_FUNCTIONS:
                return self.postfix(self.call(Name(operator, span=token.span), token), token)
            if operator == "softmax":
                return self.softmax_of_brackets(token)
        body = self.term() if operator in TAKES_PRODUCT else self.sum()
        return Reduction(operator, under, upper, body, span=self.since(token))

    def softmax_of_brackets(self, token: Token) -> Expression:
        opener = self.peek()
        self.i += 1
        self.bars.append("(")
        items = self.items((")",))
        self.bars.pop()
        self.i += 1
        body = bracket("(", items, self, opener)
        return self.postfix(Reduction("softmax", (), None, body, span=self.since(token)), token)

    def draws(self, items: tuple[Expression, ...]) -> tuple[Expression, ...]:
        """`w_1, …, w_T ~ Train, t ~ {1, …, T}` → two draws; () if nothing is drawn."""
        draws: list[Expression] = []
        waiting: list[Expression] = []
        for item in items:
            if isinstance(item, Comparison) and "~" in item.operators:
                left, *rest = item.operands
                if waiting:
                    left = TupleLiteral((*waiting, left), span=waiting[0].span.to(left.span))
                    waiting = []
                draws.append(replace(item, operands=(left, *rest)))
            else:
                waiting.append(item)
        return (*draws, *waiting) if draws else ()

    # ---------------------------------------------------------------- commands, environments

    def structure(self, token: Token) -> Expression:
        text = token.text
        if text in ("\\frac", "\\dfrac", "\\tfrac", "\\cfrac"):
            self.i += 1
            above = without_brackets(self.argument())
            below = without_brackets(self.argument())
            return self.postfix(Fraction(above, below, span=self.since(token)), token)
        if text == "\\sqrt":
            return self.postfix(self.root(token), token)
        if text in ("\\underset", "\\overset", "\\stackrel"):
            return self.stacked(token)
        if text in ("\\underbrace", "\\overbrace"):
            self.i += 1
            body = self.argument()
            if self.at("_") or self.at("^"):
                self.superscript() if self.at("^") else self.script()
            return self.postfix(Group(body, span=self.since(token)), token)
        if text in ("\\boxed", "\\mathop", "\\mathrel", "\\mathbin", "\\ensuremath"):
            self.i += 1
            return self.primary(self.peek())
        return self.after_name(self.accented(token), token)

    def root(self, token: Token) -> Expression:
        self.i += 1
        degree: Expression | None = None
        if self.at("["):
            self.i += 1
            degree = self.expression()
            self.expect("]")
        body = self.argument()
        if degree is None:
            return Call(Name("sqrt", span=token.span), (body,), span=self.since(token))
        exponent = Fraction(Number("1"), degree)
        return Power(Group(body, span=body.span), exponent, span=self.since(token))

    def stacked(self, token: Token) -> Expression:
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
        if not isinstance(body, Name):
            raise Refusal("stacked", "a sign above or below something that is no name",
                          (self.since(token),), skip=True)  # fmt: skip
        if body == Name("E") and (draws := self.draws(items)):
            return Expectation(draws, self.sum(), span=self.since(token))
        below = token.text == "\\underset"
        body = replace(body, sub=items) if below else replace(body, sup=items)
        return self.after_name(body, token)

    def environment(self, token: Token, cases: bool = False) -> Expression:
        """`cases` and the matrices."""
        name = token.text
        self.i += 1
        cases = cases or "cases" in name
        if not cases and name not in INNER and name != "array":
            raise Refusal("environment", f"`{name}` inside an expression", (token.span,))
        branches: list[tuple[Expression, Expression | None]] = []
        rows: list[list[Expression]] = []
        self.bars.append("begin")
        while self.peek().kind != "end":
            if self.done():
                raise Refusal("environment", f"`\\begin{{{name}}}` has no end", (token.span,))
            if self.peek().kind == "row":
                self.i += 1
            elif cases:
                branches.append(self.branch(("row", "end")))
            else:
                rows.append(self.cells())
        self.bars.pop()
        self.i += 1
        span = self.since(token)
        if cases and branches:
            return Cases(tuple(branches), span=span)
        if not rows:
            raise Refusal("empty", f"`{name}` with nothing in it", (span,))
        if all(len(row) == 1 for row in rows):
            return ListLiteral(tuple(row[0] for row in rows), span=span)
        return ListLiteral(tuple(ListLiteral(tuple(row)) for row in rows), span=span)

    def cells(self) -> list[Expression]:
        cells = [self.expression()]
        while self.at("&"):
            self.i += 1
            cells.append(self.expression())
        if self.peek().kind not in ("row", "end"):
            raise self.unexpected(self.peek(), "`&`, `\\\\` or the end of the matrix")
        return cells

    def plain_cases(self, token: Token) -> Expression:
        """`cases { v if c, w otherwise }`, after its opening brace."""
        branches = [self.branch(())]
        while self.at(","):
            self.i += 1
            branches.append(self.branch(()))
        self.expect("}")
        return Cases(tuple(branches), span=self.since(token))

    def branch(self, ends: tuple[str, ...]) -> tuple[Expression, Expression | None]:
        """A value and its condition; the condition of `otherwise`, or none at all, is None."""
        value = self.expression(conditions=False)
        if ends and self.at(","):
            self.i += 1
        while self.at("&"):
            self.i += 1
        token = self.peek()
        condition: Expression | None = None
        if token.kind == "key" and token.text in ("otherwise", "else"):
            self.i += 1
        elif token.kind == "key" and token.text in CONDITION_WORDS:
            self.i += 1
            condition = self.conjunction(commas=bool(ends))
        elif ends and token.kind not in ends:
            condition = self.conjunction(commas=True)
        while ends and (self.at(",") or self.at(".") or self.at(";")):
            self.i += 1
        if ends and self.peek().kind not in ends:
            raise self.unexpected(self.peek(), "the end of the case")
        return value, condition


def without_brackets(expression: Expression) -> Expression:
    """Above and below a fraction no bracket is needed: the bar is one."""
    while isinstance(expression, Group):
        expression = expression.body
    return expression


def without_fraction_brackets(factor: Expression) -> Expression:
    if isinstance(factor, Negative):
        return replace(factor, body=without_fraction_brackets(factor.body))
    return (
        factor.body if isinstance(factor, Group) and isinstance(factor.body, Fraction) else factor
    )


def without_one_bracket(expression: Expression) -> Expression:
    return expression.body if isinstance(expression, Group) else expression


def bracket(
    opener: str, items: tuple[Expression, ...], parser: ExpressionParser, token: Token
) -> Expression:
    """What a bracket in the place of a factor is: a group, a tuple, a list or a set."""
    span = parser.since(token)
    several = len(items) > 1
    only = items[0]
    if opener == "⟨" or (opener == "(" and several):
        return TupleLiteral(items, span=span)
    if opener == "(":
        return Group(only, span=span)
    if opener == "[":
        number = only.body if isinstance(only, Negative) else only
        if several or isinstance(number, Number | ListLiteral):
            return ListLiteral(items, span=span)
        return Group(only, "[", span=span)
    if several or isinstance(only, Name | Number | Dots):
        return SetLiteral(items, span=span)
    return Group(only, "{", span=span)
