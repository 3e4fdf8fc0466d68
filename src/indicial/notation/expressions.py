"""The grammar of expressions, by recursive descent; one method for each level of binding.

    join        a; b
    or  and     t = 0 or s < t    (this and the next two in brackets, scripts, conditions only)
    not         not t = 0
    comparison  a ≤ b < c
    interval    1..T
    sum         a + b - c
    hadamard    a ⊙ b, a ⊘ b
    product     a b/c · d         `/` divides the product so far by the next factor
    factor      W^Q[j,I]  f(x)  (a+b)^2  Σ_i …  ln x  ‖x‖

`Σ ∏ max min mean` take the product that follows, with its sign; `softmax argmax argmin` and
`E_{…~…}` take the whole sum. `softmax(x)` without a subscript is a function of its brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeGuard

from indicial.notation import syntax as s
from indicial.notation.conditions import ConditionGrammar
from indicial.notation.faults import Refusal
from indicial.notation.lookahead import (
    begins_guard,
    holds_condition,
    holds_value,
    nesting,
    next_is_equation,
    ranges,
    set_apart,
    speaks_of_outer,
)
from indicial.notation.names import spread
from indicial.notation.operators import EXPECTED, without_fraction_brackets
from indicial.notation.rows import CLOSERS
from indicial.notation.separators import MATRICES, calls_of_bold
from indicial.notation.tokens import Token, is_sign
from indicial.notation.vocabulary import FUNCTIONS

_FACTOR_KINDS = frozenset({"letter", "word", "sigma", "text", "number", "command", "begin"})
_FACTOR_SIGNS = frozenset({"(", "[", "{", "\\{", "⟨", "⌊", "⌈", "√", "…", "•", "|(", "‖("})
_PRODUCT_SIGNS = frozenset({"·", "*"})
FUNCTION_NAMES = frozenset(FUNCTIONS) - {"σ"}
"""Functions that take the next factor when no bracket follows; a bare σ is a letter."""
_BRACKETED_FUNCTIONS = frozenset({"tanh", "exp", "ln", "log", "cos", "sin", "sqrt"})
_INDICATOR = s.Name("I")
LENGTHS = frozenset("BDHKLMNTVbdhklmnpt")
"""What may stand below a 1 that is a vector: how many ones it has. A set would be another letter."""
_INDEXABLE = (s.Name, s.Call, s.Index, s.Transpose, s.Reduction)
_NO_INDICES = FUNCTION_NAMES - {"floor", "sqrt", "abs", "sign"}
"""Functions whose value is no index."""
_LISTING = frozenset({"concat", "Concat", "CONCAT", "concatenate", "cat"})
_TAKE_BRACKETS = FUNCTION_NAMES | frozenset("fgφψ")
"""Names of one letter among them are functions, also where they stand below a slash."""


def _goes_on(factor: s.Expression, token: Token) -> bool:
    """Whether an angle goes on: a Greek letter behind a Latin one or a number, a time behind a Greek one."""
    greek = token.kind in ("letter", "word") and "α" <= token.text[:1] <= "ω"
    if isinstance(factor, s.Number):
        return greek or token.text in ("π", "i", "j", "k", "m", "n", "t")
    if not isinstance(factor, s.Name) or len(factor.base) > 1:
        return False
    if "α" <= factor.base <= "ω":
        return greek or (token.kind == "letter" and token.text in ("t", "n", "k", "m"))
    return greek


class ExpressionParser(ConditionGrammar):
    """Reads expressions from a row whose brackets are known to match."""

    below: Token | None = None
    """Where the factor behind the last `/` begins."""

    # ---------------------------------------------------------------- levels of binding

    def expression(self, conditions: bool = True) -> s.Expression:
        """`a; b`, or what binds tighter. Without conditions it stops at a relation."""
        start = self.peek()
        self.enter(start)
        part = self.condition if conditions else self.interval
        parts = [part()]
        while self.at(";"):
            self.i += 1
            if self.done() or begins_guard(self.peek()):
                break
            if not conditions and self.goes_on_otherwise():
                self.i -= 1
                break
            parts.append(part())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else s.Join(tuple(parts), span=self.since(start))

    def goes_on_otherwise(self) -> bool:
        r"""Whether a condition or an equation stands behind a `;`: `q_i = x_i W^Q;\quad k_j = x_j W^K`."""
        rest = self.tokens[self.i :]
        between = rest[0].span.source.text[self.tokens[self.i - 1].span.end : rest[0].span.start]
        spaced = self.latex and self.depth == 1 and "\\" in between  # a join has no wide space
        return (spaced and next_is_equation(rest, 0)) or (self.latex and ranges(rest))

    def interval(self) -> s.Expression:
        start = self.peek()
        lower = self.sum()
        if not self.at(".."):
            return lower
        self.i += 1
        return s.Interval(lower, self.sum(), span=self.since(start))

    def sum(self) -> s.Expression:
        start = self.peek()
        terms = [self.term()]
        while self.at("+") or self.at("-"):
            if self.at("+"):
                self.i += 1
            terms.append(self.term())
        total = terms[0] if len(terms) == 1 else s.Add(tuple(terms), span=self.since(start))
        return self.remainder(total, start) if self.at("mod") else total

    def remainder(self, above: s.Expression, start: Token) -> s.Expression:
        """`a \\bmod b` is a - b ⌊a/b⌋; of what `a + b \\bmod c` is the remainder, nobody knows."""
        sign = self.peek()
        self.i += 1
        below = self.factor()
        plain = isinstance(above, s.Name | s.Group) and not above.every(s.Reduction)
        if self.script_depth or not plain or self.at("+") or self.at("-"):
            raise Refusal("syntax", "it uses mod", (sign.span,), skip=True)
        span = self.since(start)
        part = s.Fraction(s.inner(above), s.inner(below), span=span)
        whole = s.Call(s.Name("floor", span=sign.span), (part,), span=span)
        less = s.Negative(s.Product((below, whole), span=span), span=span)
        return s.Group(s.Add((above, less), span=span), span=span)

    def term(self) -> s.Expression:
        """`-a b`: the sign goes before the whole product."""
        start = self.peek()
        if self.at("+"):
            self.i += 1
            return self.term_after(start)
        if self.at("-"):
            self.i += 1
            return s.Negative(self.term_after(start), span=self.since(start))
        return self.hadamard()

    def term_after(self, start: Token) -> s.Expression:
        self.enter(start)
        body = self.term()
        self.depth -= 1
        return body

    def hadamard(self) -> s.Expression:
        start = self.peek()
        factors = [self.product()]
        while self.at("⊙") or self.at("⊘"):
            divides = self.at("⊘")
            self.i += 1
            factor = self.signed(self.product)
            one = s.Number("1", span=factor.span)
            factors.append(
                s.Fraction(one, s.inner(factor), span=factor.span) if divides else factor
            )
        if len(factors) == 1:
            return factors[0]
        return s.Hadamard(tuple(factors), span=self.since(start))

    def product(self) -> s.Expression:
        start = self.peek()
        factors = [self.factor()]
        while True:
            token = self.peek()
            if token.kind == "sign" and token.text in _PRODUCT_SIGNS:
                self.no_script(factors[-1], token)
                self.i += 1
                factors.append(self.signed(self.factor))
            elif token.kind == "sign" and token.text == "/":
                self.i += 1
                above = self.build(factors, start)
                self.below = self.peek()
                below = self.signed(self.factor)
                span = self.since(start)
                factors = [s.Fraction(s.inner(above), s.inner(below), span=span)]
            elif token.kind == "sign" and token.text == "⊗":
                self.i += 1
                factors.append(self.turned(factors[-1], self.factor(), token))
            elif self.starts_factor(token):
                factors.append(self.factor())
            elif self.dotted(token):
                self.i += 1
                factors.append(self.factor())
            else:
                return self.build(factors, start)

    def turned(self, one: s.Expression, other: s.Expression, sign: Token) -> s.Expression:
        r"""The v^⊤ of `k \otimes v`, which is k v^⊤ for a key and a value, or if the text says so of two columns."""
        columns = [f for f in (one, other) if isinstance(f, s.Name) and f.base.islower()]
        pair = sorted(f.base for f in columns) == ["k", "v"]
        outer = len(columns) == 2 and (pair or speaks_of_outer(sign.span.source.text))
        if not outer or self.at("⊗"):
            raise Refusal("syntax", "it uses ⊗", (sign.span,), skip=True)
        return s.Transpose(other, span=other.span)

    def dotted(self, token: Token) -> bool:
        r"""Whether a full stop multiplies, `\gamma_n.x_n`: right between two factors, with no blank."""
        behind = self.tokens[self.i + 1] if self.latex and self.at(".") else token
        return (
            behind is not token and not (token.space or behind.space) and self.starts_factor(behind)
        )

    def no_script(self, name: s.Expression, star: Token) -> None:
        r"""`\tilde h*t = h*{t-1}`: Markdown took two `_` for emphasis, and stars are left."""
        brace, letter = self.tokens[self.i + 1 : self.i + 3] if self.ahead("{", 1) else (star, star)
        tight = not star.space and not brace.space and star.text == "*"
        if tight and isinstance(name, s.Name) and letter.kind == "letter":
            told = "a `*` stands where a `_` is expected"
            hint = "Markdown takes a pair of `_` for emphasis: write `\\_`, or leave blanks around them"
            raise Refusal("star-script", told, (star.span,), hint)

    def signed(self, part: Callable[[], s.Expression]) -> s.Expression:
        """A factor behind an explicit sign may have a minus of its own: `2 · -3`."""
        start = self.peek()
        if not self.at("-"):
            return part()
        self.i += 1
        return s.Negative(part(), span=self.since(start))

    def build(self, factors: list[s.Expression], start: Token) -> s.Expression:
        if len(factors) == 1:
            return factors[0]
        # Brackets around a fraction say nothing in a product: `x (a/b)` is `x \frac{a}{b}`.
        plain = tuple(map(without_fraction_brackets, factors))
        return s.Product(plain, span=self.since(start))

    def starts_factor(self, token: Token) -> bool:
        if token.kind == "sign":
            if token.text == "|":
                return self.bars[-1] not in ("call", "|")
            if token.text == "‖":
                return self.bars[-1] != "‖"
            return token.text in _FACTOR_SIGNS
        return token.kind in _FACTOR_KINDS

    # ---------------------------------------------------------------- factors

    def factor(self) -> s.Expression:
        token = self.peek()
        self.enter(token)
        result = self.primary(token)
        self.depth -= 1
        return result

    def primary(self, token: Token) -> s.Expression:
        if token.kind == "number":
            self.i += 1
            return self.postfix(s.Number(token.text, span=token.span), token)
        if token.kind == "command":
            return self.structure(token)
        if token.kind == "begin":
            return self.postfix(self.environment(token), token)
        if token.kind == "sign":
            return self.bracketed(token)
        if self.is_name(token):
            return self.named(token)
        raise self.unexpected(token, "an expression")

    def named(self, token: Token) -> s.Expression:
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
        if token.text == "logsumexp" and (self.ahead("_", 1) or self.ahead("(", 1)):
            return self.log_sum_exp(token)
        name = self.base_name()
        return self.after_name(name, token)

    def indicator(
        self, one: s.Expression, below: tuple[s.Expression, ...], token: Token
    ) -> s.Expression:
        """`\\mathbf 1_{[i = j]}`, `\\mathbb I_{\\{i \\ne j\\}}`: 1 where the condition holds, else 0.

        `\\mathbf 1_n` is a vector of n ones.
        """
        condition = _condition(below[0]) if len(below) == 1 else None
        size = s.head(below[0]) if len(below) == 1 else None
        if isinstance(one, s.Number) and isinstance(size, s.Name) and size.base in LENGTHS:
            return one
        if condition is None:
            text = f"{self.since(token).text} may be an indicator, or a vector of ones"
            raise Refusal("syntax", text, (self.since(token),), skip=True)
        return s.Group(condition, "[", span=self.since(token))

    def log_sum_exp(self, token: Token) -> s.Expression:
        """`logsumexp_i (x_i)`: what it is short for."""
        self.i += 1
        under = self.script() if self.at("_") else ()
        body = self.factor()
        exponential = s.Call(s.Name("exp", span=token.span), (s.inner(body),), span=body.span)
        total = s.Reduction("sum", under, None, exponential, span=self.since(token))
        return self.postfix(
            s.Call(s.Name("log", span=token.span), (total,), span=self.since(token)), token
        )

    def after_name(self, name: s.Name, token: Token) -> s.Expression:
        if name in EXPECTED and self.at("_"):
            items = self.script()
            draws = self.draws(items)
            if draws:
                return s.Expectation(draws, self.sum(), span=self.since(token))
            name = replace(name, sub=items)
        name, transposed = self.decorate(name, token)
        if self.latex and name.base == "I" and len(name.sub) == 1 and _condition(name.sub[0]):
            return self.postfix(self.indicator(name, name.sub, token), token)
        if self.latex and name == _INDICATOR and holds_condition(self.tokens, self.i):
            return self.postfix(s.Group(s.inner(self.factor()), "[", span=self.since(token)), token)
        if self.latex and name.base in FUNCTION_NAMES and (name.sup or name.sub):
            name, meant = _plain_function(name)
            if meant is not None and self.starts_factor(self.peek()):
                return self.postfix(meant(self.after_name(name, token)), token)
        if transposed:
            return self.postfix(s.Transpose(name, span=self.since(token)), token)
        # `√I (a + b)` is the root of I, times a bracket; `√f(x)` is the root of a call. Likewise
        # `1/T (a + b)` is a fraction, times a bracket.
        letter = len(name.base) == 1 and name.base not in _TAKE_BRACKETS
        ends = (self.rooted or (letter and token is self.below)) and self.peek().space
        self.rooted = False
        if self.at("(") and not ends and not (name.sub and self.element_follows()):
            call = self.call(name, token)
            if self.latex and name.base in MATRICES and len(call.arguments) == 1:
                (joined,) = call.arguments
                if isinstance(joined, s.Join):  # `W(h; x)`
                    return s.Product((name, s.Group(joined, "[", span=joined.span)), span=call.span)
            return self.postfix(call, token)
        if name.base in FUNCTION_NAMES and not name.accents:
            following = self.peek()
            bracket = following.text == "[" and following.kind == "sign"
            if self.starts_factor(following) and (not bracket or name.base in _BRACKETED_FUNCTIONS):
                return s.Call(name, (self.angle(name),), span=self.since(token))
        return self.postfix(name, token)

    def element_follows(self) -> bool:
        """Whether the bracket here is an element, and no argument: the `(x^{(p)})_i` of `w_{ij} (x^{(p)})_i`."""
        if not self.latex or not self.is_name(self.tokens[self.i + 1]) or not self.ahead("^", 2):
            return False
        depth, end = 0, self.i + 3
        while end < len(self.tokens) - 2:
            depth += nesting(self.tokens[end])
            end += 1
            if depth == 0:
                break
        return is_sign(self.tokens[end], ")") and is_sign(self.tokens[end + 1], "_")

    def angle(self, function: s.Name) -> s.Expression:
        r"""What a function without brackets is of: the next factor; for `\cos m\theta`, `\sin\omega t` an angle."""
        start = self.peek()
        factors = [self.factor()]
        while self.latex and function.base in ("sin", "cos") and _goes_on(factors[-1], self.peek()):
            factors.append(self.factor())
        return self.build(factors, start)

    def call(self, function: s.Name, token: Token) -> s.Call:
        """`f(a, b)`, `P(a | b, …)`: the bracket stands here."""
        closer = CLOSERS[self.peek().text]
        self.i += 1
        # Nothing is given in `ln(1 + μ |x|)`.
        self.bars.append("(" if function.base in FUNCTIONS else "call")
        arguments = () if self.at(closer) else self.items((closer, "|", "mid"))
        letter = len(function.base) == 1 and function.base not in MATRICES
        if self.latex and (letter or function.base in _LISTING):
            arguments = tuple(
                one for a in arguments for one in (a.parts if isinstance(a, s.Join) else (a,))
            )  # `f(x; w)`
        given = None
        if self.at("|") or self.at("mid"):
            self.i += 1
            listed = () if self.at(closer) else self.items((closer,))
            given = tuple(one for item in listed for one in spread(item))
        self.bars.pop()
        self.expect(closer)
        return s.Call(function, arguments, given, span=self.since(token))

    def items(self, until: Sequence[str]) -> tuple[s.Expression, ...]:
        """Expressions with commas between them; stands before the closing sign afterwards."""
        items: list[s.Expression] = []
        while True:
            if self.latex and self.at(":") and (self.ahead(",", 1) or self.ahead("]", 1)):
                items.append(s.Name(":", span=self.peek().span))  # `U[c,:]`
                self.i += 1
            else:
                items.append(self.expression())
            if self.at(","):
                self.i += 1
                # Behind a comma a bar opens: `max(a, |g|)`.
                if any(self.at(sign) for sign in until if sign not in ("|", "mid")):
                    return tuple(items)
                continue
            if any(self.at(sign) for sign in until):
                return tuple(items)
            raise self.unexpected(self.peek(), " or ".join(f"`{sign}`" for sign in (",", until[0])))

    def postfix(self, base: s.Expression, token: Token) -> s.Expression:
        """Brackets and scripts behind a factor."""
        element = False
        while True:
            opens = self.at("[")
            if (
                opens
                and isinstance(base, s.Name)
                and self.latex
                and not (element or base.sup)
                and self.tokens[self.i + 1].font == "bold"
                and calls_of_bold(base.base, self.tokens, self.i)
                and not set_apart(self.tokens, self.i)
            ):
                base = self.call(base, token)
            elif (
                opens
                and isinstance(base, _INDEXABLE)
                and not element
                and not holds_condition(self.tokens, self.i)
                and not (self.latex and holds_value(self.tokens, self.i, _NO_INDICES))
                and not (self.latex and set_apart(self.tokens, self.i))
            ):
                self.i += 1
                self.bars.append("[")
                items = self.items(("]",))
                self.bars.pop()
                self.expect("]")
                base = s.Index(base, items, span=self.since(token))
            elif self.at("^"):
                base = self.raised(base, token)
            elif self.latex and self.at("'") and _of_capitals(base):
                self.i += 1  # `(W^{(l)})'`
                base = s.Transpose(base, span=self.since(token))
            elif self.at("_") and self.latex and base == s.Number("1"):
                base = self.indicator(base, self.script(), token)
            elif self.at("_") and not isinstance(base, s.Number):
                items = self.script()
                norm = base.base if isinstance(base, s.Power) else base  # `‖W‖^2_F`
                if isinstance(norm, s.Norm) and norm.order is None and len(items) == 1:
                    ordered = replace(norm, order=items[0], span=self.since(token))
                    base = replace(base, base=ordered) if isinstance(base, s.Power) else ordered
                elif isinstance(base, s.Group) and _whole(base.body, base.bracket):
                    # `[\\mathbf X]_{i,j}`, `(x^{(p)})_j` is an element of X, and a second one is a factor.
                    base = replace(base.body, sub=items, span=self.since(token))
                    element = True
                elif items:
                    base = s.Index(base, items, span=self.since(token))
            else:
                return base

    def raised(self, base: s.Expression, token: Token) -> s.Expression:
        items, primes, transposed = self.superscript()
        if primes:
            raise Refusal("prime", "a prime cannot follow a bracket", (self.since(token),),
                          "put it directly after the name")  # fmt: skip
        if len(items) == 1:
            if isinstance(base, s.Fraction | s.Transpose | s.Reduction):
                base = s.Group(base, span=base.span)
            base = s.Power(base, items[0], span=self.since(token))
        elif items:
            raise Refusal("exponent", "a power can have only one exponent", (self.since(token),))
        return s.Transpose(base, span=self.since(token)) if transposed else base


def _plain_function(name: s.Name) -> tuple[s.Name, Callable[[s.Expression], s.Expression] | None]:
    """`tanh^2` → tanh, and what is meant by it: the square of its value; `log_2` is a log, divided by that of 2."""
    plain = replace(name, sub=(), sup=())
    match name:
        case s.Name(sub=(), sup=(s.Number(text="2" | "3") as power,)):
            return plain, lambda call: s.Power(s.Group(call, span=call.span), power, span=call.span)
        case s.Name(base="log", sub=(s.Number() as base,), sup=()):
            below = s.Call(replace(plain, span=base.span), (base,), span=base.span)
            return plain, lambda call: s.Fraction(call, below, span=call.span)
    return name, None


def _condition(node: s.Expression) -> s.Expression | None:
    """The condition in brackets or braces, if it is one."""
    node = s.inner(node)
    if isinstance(node, s.SetLiteral) and len(node.items) == 1:
        node = s.inner(node.items[0])
    return node if s.is_condition(node) else None


def _of_capitals(node: s.Expression) -> bool:
    """`(W^{(l)})`, `(A B)`: what a prime behind it transposes, where that of `(f g)'` differentiates."""
    body = node.body if isinstance(node, s.Group) else None
    factors = body.factors if isinstance(body, s.Product) else (body,)
    return all(isinstance(f, s.Name) and len(f.base) == 1 and f.base.isupper() for f in factors)


def _whole(node: s.Expression, bracket: str) -> TypeGuard[s.Name]:
    """A name that has no place yet; in round brackets one with something above it."""
    if not isinstance(node, s.Name) or node.sub:
        return False
    return bool(node.sup) if bracket == "(" else not node.sup
