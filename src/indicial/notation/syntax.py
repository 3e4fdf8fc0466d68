"""The syntax tree: what was written, before anybody decides what it means.

One page for all three surfaces. `G_1[t,j]` is the name `G` with a subscript `1`, then two
indices; whether that `1` is an index or part of the name is decided in `program/`.

    G[t,j] h[t-1,j]   →   Product((Index(Name("G"), (t, j)), Index(Name("h"), (t-1, j))))

    expression =
        Number(text)
        Name(base, accents, primes, sub, sup)       \\tilde h'_{in}^{(2)}
        Index(base, items)                          base[i, j]
        Call(function, arguments, given)            f(x), e(w), P(w_t | w_0), M(a + b)
        Group(body, bracket)                        (…) […] {…}
        Add(terms)  Negative(body)                  a + b - c
        Product(factors)  Hadamard(factors)         a b,  a ⊙ b
        Fraction(above, below)  Power(base, exponent)
        Transpose(body)  Norm(body, order)
        Reduction(operator, under, upper, body)     Σ_{t=1}^T …, softmax_{t_2 ≤ t_1} …
        Expectation(draws, body)                    E_{y ~ Pop} …
        Cases(branches)                             value if condition, …
        Join(parts)                                 a; b; ⋯; c
        Comparison(operands, operators)             0 ≤ ℓ ≤ L-2
        Conjunction(parts)  Disjunction(parts)  Negation(body)      and, or, not
        Statistic(operator, body)                   std of α[0]         (in claims only, as the
        Quantity(what, of)  Growth(body)            work of α,  O(T)     three that follow)
        Derivative(above, below)                    ∂y/∂x[i]
        ListLiteral(items)  SetLiteral(items)  TupleLiteral(items)  Interval(lower, upper)
        Dots()  Star()
    statement =
        Equation(sides, relations, guard, label)
        Declaration(keyword, items, domain, value)
        Claim(comparison, tolerance, guard, false)      also `plot of α[a]`

Every node carries the span of the source that it came from; spans take no part in equality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from indicial.notation.node import Expression as Expression
from indicial.notation.node import Kind
from indicial.notation.node import Node as Node


@dataclass(frozen=True)
class Number(Expression):
    """A number as it was typed: `0.5`, `1e-5`, `∞`."""

    text: str


@dataclass(frozen=True)
class Name(Expression):
    """A letter or a word with its decorations; `base` is the Unicode spelling.

    `W^{h,R}` has `sup = (h, R)`; `h_{in}` has `sub = (in,)`; `\\tilde h` has
    `accents = ("tilde",)`;
    `\\mathcal L` has the base `ℒ`. The font (`bold`, `sans`, `roman`) tells what a letter is in vector
    style; it takes no part in equality, as in `\\mathbf h[t,j]` it says nothing that the letter does not.
    """

    base: str
    accents: tuple[str, ...] = ()
    primes: int = 0
    sub: tuple[Expression, ...] = ()
    sup: tuple[Expression, ...] = ()
    font: str = field(default="", compare=False, repr=False)
    ends: tuple[Name, ...] = field(default=(), compare=False, repr=False)
    """Of the name `∂h/∂W`: the h and the W, as they are written. They are no parts of the name."""

    @property
    def bare(self) -> bool:
        """No decoration at all."""
        return not (self.accents or self.primes or self.sub or self.sup)

    @property
    def stem(self) -> Name:
        """The `h̃'` of `h̃'_t^2`."""
        return Name(self.base, self.accents, self.primes)

    @property
    def scripts(self) -> tuple[Expression, ...]:
        """What stands below it, then what stands above."""
        return self.sub + self.sup


@dataclass(frozen=True)
class Index(Expression):
    """Square brackets after a name: `h[t-1, j]`."""

    base: Expression
    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Call(Expression):
    """Round brackets directly after a name: an argument, indices, or a factor.

    `given` holds what stands behind the bar of `P(w_t | w_0, …)`; it is None without a bar.
    """

    function: Name
    arguments: tuple[Expression, ...]
    given: tuple[Expression, ...] | None = None

    @property
    def word(self) -> str:
        """The letter or word before the brackets, without decorations."""
        return self.function.base


@dataclass(frozen=True)
class Group(Expression):
    """Brackets that only group: `(`, `[` or `{`."""

    body: Expression
    bracket: str = "("


@dataclass(frozen=True)
class Add(Expression):
    """`a + b - c` is `Add((a, b, Negative(c)))`."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True)
class Negative(Expression):
    body: Expression


@dataclass(frozen=True)
class Product(Expression):
    """Factors side by side, or with `·`, `×`, `*` between them: two or more."""

    factors: tuple[Expression, ...]


@dataclass(frozen=True)
class Hadamard(Expression):
    """`a ⊙ b`: binds less than a product and never sums."""

    factors: tuple[Expression, ...]


@dataclass(frozen=True)
class Fraction(Expression):
    """`\\frac{a}{b}` and `a/b`; neither part is a Group."""

    above: Expression
    below: Expression


@dataclass(frozen=True)
class Power(Expression):
    """A superscript after a bracket or a number: `(a+b)^2`, `x[i]^2`. On a name see `Name.sup`."""

    base: Expression
    exponent: Expression


@dataclass(frozen=True)
class Transpose(Expression):
    """`body^⊤`."""

    body: Expression


@dataclass(frozen=True)
class Norm(Expression):
    """`‖body‖`, or `‖body‖_p`."""

    body: Expression
    order: Expression | None = None


@dataclass(frozen=True)
class Reduction(Expression):
    """`Σ ∏ max min mean argmax argmin softmax`, with what stands below and above.

    `Σ_{t=1}^T x[t]` has `under = (t = 1,)` (a Comparison) and `upper = T`;
    `softmax_{t_2 ≤ t_1} a[t_1,t_2]` has `under = (t_2 ≤ t_1,)`; a bare `softmax x` has
    `under = ()`.
    """

    operator: str
    under: tuple[Expression, ...]
    upper: Expression | None
    body: Expression


@dataclass(frozen=True)
class Expectation(Expression):
    """`E_{y ~ Pop} body`; a draw is a Comparison with `~`."""

    draws: tuple[Expression, ...]
    body: Expression


@dataclass(frozen=True)
class Cases(Expression):
    """`cases`: pairs of a value and its condition; the condition of `otherwise` is None."""

    branches: tuple[tuple[Expression, Expression | None], ...]


@dataclass(frozen=True)
class Join(Expression):
    """`a; b`: concatenation. A part may be Dots."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Comparison(Expression):
    """`0 ≤ ℓ ≤ L-2`: one operator less than operands; `= ≠ < ≤ > ≥ ∈ ∉ ~`."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True)
class Conjunction(Expression):
    """Conditions that hold together: `a and b`."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Disjunction(Expression):
    """Conditions of which one is enough: `i = 0 or j = 0`. Binds less than `and`."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Negation(Expression):
    """`not t = 0`, `¬(i = 0 ∨ j = 0)`. Binds more than `and`."""

    body: Expression


def inner(node: Expression) -> Expression:
    """The expression without brackets around it."""
    while isinstance(node, Group):
        node = node.body
    return node


def unsigned(node: Expression) -> Expression:
    """The expression without brackets and minus signs before it."""
    while isinstance(node, Group | Negative):
        node = node.body
    return node


def head(node: Expression) -> Expression:
    """What all brackets stand behind: the h of `h(t-1)[j]`."""
    while isinstance(node, Index | Call):
        node = node.base if isinstance(node, Index) else node.function
    return node


def ids(parts: Iterable[Node]) -> set[int]:
    """The ids of all nodes in some parts, to know them again where they stand."""
    return {id(node) for part in parts for node in part.walk()}


def factors(node: Expression) -> tuple[Expression, ...]:
    """Those of a product; anything else is one."""
    return node.factors if isinstance(node, Product) else (node,)


def flat(product: Product) -> Product:
    """`a (b c)` as `a b c`."""
    parts = tuple(inner for factor in product.factors for inner in factors(factor))
    return product if len(parts) == len(product.factors) else replace(product, factors=parts)


def terms(node: Expression) -> tuple[Expression, ...]:
    """Those of a sum; anything else is one."""
    return node.terms if isinstance(node, Add) else (node,)


def values(node: Node, within: Callable[[Call], bool] = lambda call: True) -> Iterator[Node]:
    """What is computed with: nothing in indices, in scripts and below sums; all above Euler's number.

    `within` says of which calls the arguments count.
    """
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        match node:
            case Name():
                waiting.extend(node.sup if node.base == "e" else ())
            case Index(base=inside) | Reduction(body=inside):
                waiting.append(inside)
            case Call():
                waiting.extend(node.arguments if within(node) else ())
            case _:
                waiting.extend(node.children())


def is_condition(node: Expression) -> bool:
    """Whether it holds or does not hold: a comparison, or several, in brackets or not."""
    return isinstance(inner(node), Comparison | Conjunction | Disjunction | Negation)


@dataclass(frozen=True)
class Statistic(Expression):
    """`std of α[0]`: over the draws. The body of `probability` is a condition."""

    operator: str
    body: Expression


@dataclass(frozen=True)
class Named:
    """A name that is spoken of and not read: no node, so that nothing finds it on a walk."""

    name: Name


@dataclass(frozen=True)
class Quantity(Expression):
    """`parameters`, `work of α`: what the program costs, or what one name in it does."""

    what: str
    of: Named | None = None


@dataclass(frozen=True)
class Growth(Expression):
    """`O(T)`."""

    body: Expression


@dataclass(frozen=True)
class Derivative(Expression):
    """`∂y/∂x[i]`."""

    above: Expression
    below: Expression


@dataclass(frozen=True)
class ListLiteral(Expression):
    """`[[1, 2], [3, 4]]`, or a `bmatrix` row by row; a column vector is a list of numbers."""

    items: tuple[Expression, ...]


@dataclass(frozen=True)
class SetLiteral(Expression):
    """`{a, b}`."""

    items: tuple[Expression, ...]

    @property
    def ends(self) -> tuple[Expression, Expression] | None:
        """The first and the last of `{1, …, n}`, `{1, 2, …, n}`; None if it is no such run."""
        match self.items:
            case (first, Dots(), last):
                return first, last
            case (Number(one), Number(two), Dots(), last) if float(two) == float(one) + 1:
                return self.items[0], last
        return None


@dataclass(frozen=True)
class TupleLiteral(Expression):
    """`(k, i)` as an index, the list in `Φ = (W, B)`, or `⟨a, b⟩`."""

    items: tuple[Expression, ...]

    @property
    def inner(self) -> bool:
        """`⟨a, b⟩`, an inner product."""
        written = self.span.text.removeprefix("\\left").lstrip()
        return len(self.items) == 2 and written.startswith(("⟨", "\\langle"))


@dataclass(frozen=True)
class Interval(Expression):
    """`-1..1`, both ends included."""

    lower: Expression
    upper: Expression


@dataclass(frozen=True)
class Dots(Expression):
    """`…`"""


@dataclass(frozen=True)
class Star(Expression):
    """The `*` of `Φ^*`."""


@dataclass(frozen=True)
class Statement(Node):
    """What can stand on a line."""

    @property
    def left(self) -> Expression | None:
        """The left side of an equation."""
        return None


@dataclass(frozen=True)
class Equation(Statement):
    """`a = b = c for …`: sides with a relation (`=`, `≈`, `~`) between each two.

    `label` is a text before the left side (`Attention:`); `guard` the condition behind `for`.
    """

    sides: tuple[Expression, ...]
    relations: tuple[str, ...]
    guard: Expression | None = None
    label: str = field(default="", compare=False)

    @property
    def left(self) -> Expression:
        return self.sides[0]

    @property
    def draws(self) -> bool:
        """`k ~ N(0, 1)`."""
        return self.relations == ("~",)

    def only(self, kept: Sequence[int]) -> Equation:
        """The same with some of its sides, each with the relation that stands before it."""
        if len(kept) == len(self.sides):
            return self
        sides = tuple(self.sides[n] for n in kept)
        return replace(self, sides=sides, relations=tuple(self.relations[n - 1] for n in kept[1:]))


def every(statements: Iterable[Node], *kinds: type[Kind]) -> list[Kind]:
    """All nodes of some kinds that stand in several statements, in the order of writing."""
    return [node for statement in statements for node in statement.every(*kinds)]


def with_sides(
    statements: Iterable[Statement], change: Callable[[Expression], Expression]
) -> list[Statement]:
    """The statements with every side of an equation changed."""
    return [
        replace(st, sides=tuple(map(change, st.sides))) if isinstance(st, Equation) else st
        for st in statements
    ]


@dataclass(frozen=True)
class Declaration(Statement):
    """`input w[t] in V`, `constant λ = 0.01`, `range Δt = -1..1`, `label a, b in A`, …"""

    keyword: str
    items: tuple[Expression, ...]
    domain: Expression | None = None
    value: Expression | None = None


@dataclass(frozen=True)
class Claim(Statement):
    """`claim a ≈ b within 0.01 for t > 0`; the claim itself is a Comparison.

    `false` says that it does not hold: `claim false: a = b`. `plot of α[a]` states nothing: it asks for a
    picture of its one operand, over the draws, and has no operator.
    """

    comparison: Comparison
    tolerance: Expression | None = None
    guard: Expression | None = None
    false: bool = False

    @property
    def plot(self) -> bool:
        return not self.comparison.operators
