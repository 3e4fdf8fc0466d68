"""Trees that a parser can make, grown level by level after the grammar.

A tree that no text means (a sum as a factor without its brackets) is not canonical and does not
come out of here. Every decision is one small number, so that hypothesis shrinks well:
`Trees(choose).statement()`, where `choose(n)` gives 0 … n-1 and 0 is the simplest.
"""

from collections.abc import Callable

from hypothesis import strategies as st

from indicial.notation.syntax import (
    Add,
    Call,
    Cases,
    Claim,
    Comparison,
    Conjunction,
    Declaration,
    Derivative,
    Disjunction,
    Dots,
    Equation,
    Expectation,
    Expression,
    Fraction,
    Group,
    Growth,
    Hadamard,
    Index,
    Interval,
    Join,
    ListLiteral,
    Name,
    Named,
    Negation,
    Negative,
    Norm,
    Number,
    Power,
    Product,
    Quantity,
    Reduction,
    SetLiteral,
    Star,
    Statement,
    Statistic,
    Transpose,
    TupleLiteral,
)
from indicial.notation.vocabulary import ACCENTS, QUANTITIES, STATISTICS

LETTERS = list("ahteEWTασλℓΦΣΔℒ𝒩ℝ∇")
WORDS = ["Key", "FF1", "CELL", "Δt", "Δpos", "W.grad", "dt", "alpha", "self-attn", "ReLU"]
# Words that mean more than a name when something follows them.
TRICKY = ["ln", "tanh", "max", "softmax", "norm", "cases"]
SCRIPT_WORDS = ["in", "for", "max", "tanh", "QK", "self attn"]
NUMBERS = ["1", "0", "21", "0.5", "1e-5", "∞"]
SIGNS = list("=≠<≤>≥∈∉~≈")


class Trees:
    """One tree after another; `depth` bounds how far each may still grow."""

    def __init__(self, choose: Callable[[int], int]) -> None:
        self.choose = choose

    def pick(self, options: list) -> object:
        return options[self.choose(len(options))]

    def one(self, *options: Callable[[], Expression]) -> Expression:
        return options[self.choose(len(options))]()

    def few(self, part: Callable[[], Expression], least: int = 1, most: int = 3) -> tuple:
        return tuple(part() for _ in range(least + self.choose(most - least + 1)))

    # ---------------------------------------------------------------- names

    def number(self) -> Number:
        return Number(self.pick(NUMBERS))

    def name(self, depth: int = 1) -> Name:
        base = self.pick(LETTERS + WORDS)
        if depth <= 0 or self.choose(2) == 0:
            return Name(base)
        accents = tuple(self.pick(list(ACCENTS)) for _ in range(self.choose(3)))
        sub = self.scripts(depth) if self.choose(2) else ()
        sup = self.scripts(depth) if self.choose(2) else ()
        if self.choose(6) == 5:
            sup = (Star(),)
        if base == "E" and any(isinstance(i, Comparison) and "~" in i.operators for i in sub):
            sub = ()  # that would be an expectation
        return Name(base, accents, self.choose(3), sub, sup)

    def scripts(self, depth: int) -> tuple:
        return self.few(lambda: self.script(depth - 1), 1, 2)

    def script(self, depth: int) -> Expression:
        return self.one(
            lambda: self.name(depth),
            self.number,
            lambda: Name(self.pick(SCRIPT_WORDS)),
            lambda: self.sum(depth),
            lambda: self.condition(depth),
            lambda: Group(self.item(depth)),
        )

    # ---------------------------------------------------------------- factors

    def leaf(self, depth: int) -> Expression:
        return self.one(lambda: self.name(depth), self.number)

    def item(self, depth: int) -> Expression:
        """What stands between commas in brackets."""
        return self.one(
            lambda: self.sum(depth),
            lambda: self.sum(depth),
            lambda: self.interval(depth),
            lambda: self.condition(depth),
            lambda: self.join(depth),
        )

    def item_or_dots(self, depth: int) -> Expression:
        return Dots() if self.choose(5) == 4 else self.item(depth)

    def call(self, depth: int) -> Call:
        def argument() -> Expression:
            return self.item_or_dots(depth)

        kind = self.choose(4)
        if kind == 0:
            return Call(self.name(depth), self.few(argument))
        if kind == 1:
            return Call(self.name(depth), self.few(argument), self.few(argument))
        if kind == 2:
            function = Name(self.pick(["tanh", "ln", "sqrt", "abs", "max"]))
            return Call(function, (argument(),))
        return Call(Name(self.pick(["max", "min", "argmax"])), (argument(), argument()))

    def index(self, depth: int) -> Index:
        base = self.call(depth - 1) if self.choose(3) == 2 else self.name(depth)
        return Index(base, self.few(lambda: self.one(lambda: self.place(depth - 1),
                                                     lambda: self.tuple(depth - 1))))  # fmt: skip

    def place(self, depth: int) -> Expression:
        """What stands between commas behind a name: no condition."""
        return self.one(
            lambda: self.sum(depth), lambda: self.interval(depth), lambda: self.join(depth)
        )

    def tuple(self, depth: int) -> TupleLiteral:
        return TupleLiteral(self.few(lambda: self.item_or_dots(depth), 2))

    def square(self, depth: int) -> Expression:
        body = self.item(depth)
        inner = body.body if isinstance(body, Negative) else body
        listed = isinstance(inner, Number | ListLiteral)
        return ListLiteral((body,)) if listed else Group(body, "[")

    def curly(self, depth: int) -> Expression:
        body = self.item_or_dots(depth)
        return SetLiteral((body,)) if isinstance(body, Name | Number | Dots) else Group(body, "{")

    def group(self, depth: int) -> Expression:
        return Group(self.item(depth))

    def cases(self, depth: int) -> Cases:
        def value() -> Expression:
            return self.one(lambda: self.sum(depth), lambda: self.join(depth))

        branches = self.few(lambda: (value(), self.condition(depth)), 1, 2)
        return Cases((*branches, (value(), None)))

    def norm(self, depth: int) -> Norm:
        return Norm(self.item(depth), None if self.choose(2) == 0 else self.script(0))

    def power(self, depth: int) -> Power:
        base = self.one(self.number, lambda: self.index(depth), lambda: self.call(depth),
                        lambda: self.group(depth), lambda: self.norm(depth))  # fmt: skip
        return Power(base, self.script(depth))

    def transpose(self, depth: int) -> Transpose:
        return Transpose(self.one(lambda: self.name(depth), lambda: self.index(depth),
                                  lambda: self.group(depth), lambda: self.call(depth)))  # fmt: skip

    def matrix(self) -> ListLiteral:
        return ListLiteral(self.few(lambda: ListLiteral(self.few(self.number, 1, 2))))

    def factor(self, depth: int) -> Expression:
        d = depth - 1
        if depth <= 0:
            return self.leaf(0)
        return self.one(
            lambda: self.leaf(depth),
            lambda: self.index(d),
            lambda: self.call(d),
            lambda: self.group(d),
            lambda: self.square(d),
            lambda: self.curly(d),
            lambda: self.power(d),
            lambda: self.transpose(d),
            lambda: self.norm(d),
            lambda: ListLiteral(self.few(lambda: self.item(d), 2)),
            self.matrix,
            lambda: SetLiteral(self.few(lambda: self.item_or_dots(d), 2)),
            lambda: self.tuple(d),
            lambda: self.cases(d),
            lambda: Reduction("softmax", (), None, self.group(d)),
            lambda: Name(self.pick(TRICKY)),
            Dots,
        )

    # ---------------------------------------------------------------- levels of binding

    def fraction(self, depth: int) -> Fraction:
        parts = [self.sum(depth), self.sum(depth)]
        for i, part in enumerate(parts):
            while isinstance(part, Group):
                part = part.body
            parts[i] = part
        return Fraction(*parts)

    def product(self, depth: int, closed: bool = False) -> Expression:
        """`closed`: nothing at its end takes what follows."""
        parts = list(self.few(lambda: self.factor(depth)))
        if depth > 0 and self.choose(3) == 2:
            parts.insert(self.choose(len(parts) + 1), self.fraction(depth - 1))
        if depth > 0 and not closed and self.choose(4) == 3:
            parts.append(self.reduction(depth - 1))
        if len(parts) == 1:
            return parts[0]
        # Brackets around a fraction are dropped in a product.
        parts = [p.body if isinstance(p, Group) and isinstance(p.body, Fraction) else p
                 for p in parts]  # fmt: skip
        if self.choose(5) == 4 and not isinstance(parts[1], Reduction):
            parts[1] = Negative(parts[1])
        return Product(tuple(parts))

    def term(self, depth: int) -> Expression:
        """Something that a `+` ends."""
        kind = self.choose(5)
        if kind < 3:
            return self.product(depth)
        if kind == 3:
            return Negative(self.product(depth))
        return Hadamard(self.few(lambda: self.product(depth, closed=True), 2))

    def sum(self, depth: int) -> Expression:
        if depth <= 0:
            return self.leaf(0)
        kind = self.choose(5)
        if kind < 2:
            return self.term(depth - 1)
        if kind == 2:
            return Add(self.few(lambda: self.term(depth - 1), 2))
        last = self.wide(depth - 1)
        if kind == 3:
            return last
        return Add((*self.few(lambda: self.term(depth - 1), 1, 2),
                    last if self.choose(2) == 0 else Negative(last)))  # fmt: skip

    def reduction(self, depth: int) -> Reduction:
        operator = self.pick(["sum", "prod", "max", "min", "mean"])
        upper = self.leaf(depth) if self.choose(2) else None
        return Reduction(operator, self.scripts(depth), upper, self.term(depth))

    def wide(self, depth: int) -> Expression:
        """What takes a whole sum."""
        body = self.sum(depth)
        if self.choose(3) == 2:
            return Expectation(self.few(self.draw, 1, 2), body)
        return Reduction(
            self.pick(["softmax", "argmax", "argmin"]), self.scripts(depth), None, body
        )

    def draw(self) -> Comparison:
        left = self.one(
            lambda: self.name(0), lambda: TupleLiteral((self.name(0), Dots(), self.name(0)))
        )
        return Comparison((left, self.name(0)), ("~",))

    def join(self, depth: int) -> Join:
        return Join(self.few(lambda: Dots() if self.choose(5) == 4 else self.sum(depth), 2))

    def interval(self, depth: int) -> Expression:
        if depth <= 0:
            return self.leaf(0)
        return Interval(self.sum(depth - 1), self.sum(depth - 1))

    def comparison(self, depth: int) -> Comparison:
        signs = tuple(self.pick(SIGNS) for _ in range(1 + self.choose(2)))
        return Comparison(tuple(self.sum(depth) for _ in range(len(signs) + 1)), signs)

    def condition(self, depth: int) -> Expression:
        parts = self.few(lambda: self.conjunction(depth), 1, 2)
        return parts[0] if len(parts) == 1 else Disjunction(parts)

    def conjunction(self, depth: int) -> Expression:
        parts = self.few(lambda: self.negation(depth), 1, 2)
        return parts[0] if len(parts) == 1 else Conjunction(parts)

    def negation(self, depth: int) -> Expression:
        comparison = self.comparison(depth)
        return Negation(comparison) if self.choose(4) == 3 else comparison

    # ---------------------------------------------------------------- statements

    def statement(self, depth: int = 3) -> Statement:
        kind = self.choose(5)
        if kind < 3:
            return self.equation(depth)
        if kind == 3:
            return self.claim(depth - 1)
        return self.declaration()

    def claim(self, depth: int) -> Claim:
        false = self.choose(4) == 3
        comparison = self.comparison(depth) if self.choose(2) else self.spoken(depth)
        if false and len(comparison.operators) > 1:
            comparison = Comparison(comparison.operands[:2], comparison.operators[:1])
        tolerance = self.number() if self.choose(2) else None
        guard = self.condition(1) if self.choose(3) == 2 else None
        return Claim(comparison, tolerance, guard, false)

    def spoken(self, depth: int) -> Comparison:
        """Sides that only claims have."""
        kind = self.choose(4)
        if kind == 0:
            what, of = self.pick(list(QUANTITIES)), Named(self.name(1))
            left = Quantity(what, of if what == "elements" or self.choose(2) else None)
            right = Growth(self.sum(depth - 1)) if self.choose(2) else self.sum(depth)
        elif kind == 1:
            left, right = Statistic("probability", self.condition(depth - 1)), self.sum(depth)
        elif kind == 2:
            operator = self.pick([s for s in STATISTICS if s != "probability"])
            left, right = Statistic(operator, self.term(depth)), self.sum(depth)
        else:
            above, below = self.name(0), Index(self.name(0), (self.name(0),))
            left, right = self.sum(depth), Derivative(above, below)
        return Comparison((left, right), (self.pick(SIGNS),))

    def equation(self, depth: int) -> Equation:
        relations = tuple(self.pick(list("=≈~")) for _ in range(1 + self.choose(2)))
        left = self.one(lambda: self.index(1), lambda: self.name(1), lambda: self.call(1))
        sides = [self.one(lambda: self.sum(depth), lambda: self.join(depth - 1),
                          lambda: self.tuple(depth - 1)) for _ in relations]  # fmt: skip
        guard = self.condition(1) if self.choose(3) == 2 else None
        return Equation((left, *sides), relations, guard)

    def declaration(self) -> Declaration:
        def tensor() -> Expression:
            return self.one(lambda: self.name(0), lambda: Index(self.name(0), (self.name(0),)))

        if self.choose(2) == 0:
            domain = self.name(0) if self.choose(2) else None
            return Declaration(self.pick(["input", "vector", "label"]), self.few(tensor), domain)
        value = self.interval(1) if self.choose(2) else self.sum(1)
        return Declaration(self.pick(["constant", "size", "range"]), (tensor(),), None, value)


@st.composite
def statements(draw: st.DrawFn) -> Statement:
    """Canonical statements."""
    return Trees(lambda n: draw(st.integers(0, n - 1))).statement()
