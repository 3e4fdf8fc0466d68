"""Expressions → text, on any surface; the statements are added in `printers.py`.

A node is printed as it is, and put into round brackets where it binds less than its place asks for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from indicial.notation.letters import Surface, spell
from indicial.notation.operators import TAKES_PRODUCT
from indicial.notation.reach import BODILESS, hugs, reads_bare, tail
from indicial.notation.signs import MARK_OF
from indicial.notation.syntax import (
    Add,
    Call,
    Cases,
    Comparison,
    Conjunction,
    Derivative,
    Disjunction,
    Dots,
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
    Negation,
    Negative,
    Node,
    Norm,
    Number,
    Power,
    Product,
    Quantity,
    Reduction,
    SetLiteral,
    Star,
    Statistic,
    Transpose,
    TupleLiteral,
)

_JOIN, _OR, _AND, _NOT, _INTERVAL, _SUM, _TERM, _HADAMARD, _PRODUCT, _FACTOR = range(10)
_LEVELS: dict[type[Node], int] = {
    Join: _JOIN, Disjunction: _OR, Conjunction: _AND, Negation: _NOT, Comparison: _NOT,
    Interval: _INTERVAL, Add: _SUM, Negative: _TERM, Hadamard: _HADAMARD, Product: _PRODUCT,
}  # fmt: skip
_TALL = (Fraction, Reduction, Cases)


class Typesetter:
    """Prints expressions on one surface."""

    def __init__(self, surface: Surface) -> None:
        self.surface = surface
        self.latex = surface.latex
        self.compact = 0  # inside index brackets and scripts nothing is spaced out

    def show(self, node: Expression, level: int = _JOIN) -> str:
        """The text of a node; in round brackets if it binds less than its place asks for."""
        text = self.bare(node)
        return text if self.level(node) >= level else self.round(text, node)

    def level(self, node: Expression) -> int:
        if isinstance(node, Fraction) and not self.latex:
            return _PRODUCT
        return _LEVELS.get(type(node), _FACTOR)

    def round(self, text: str, *inside: Expression) -> str:
        if self.latex and any(isinstance(part, _TALL) for node in inside for part in node.walk()):
            return f"\\left( {text} \\right)"
        return f"({text})"

    def bare(self, node: Expression) -> str:
        match node:
            case Number(text):
                return self.surface.numbers.get(text, text)
            case Name():
                return self.name(node)
            case Index():
                return self.index(node)
            case Call():
                return self.call(node)
            case Group():
                return self.group(node)
            case Add():
                return self.add(node)
            case Negative(body):
                return "-" + self.show(body, _TERM if tail(body) else _HADAMARD)
            case Hadamard(factors):
                return f" {self.surface.hadamard} ".join(self.closed(factors, _PRODUCT))
            case Product():
                return self.product(node)
            case Fraction():
                return self.fraction(node)
            case Power(base, exponent):
                return self.base(base) + self.script("^", (exponent,))
            case Transpose():
                return self.transpose(node)
            case Norm():
                return self.norm(node)
            case Reduction():
                return self.reduction(node)
            case Expectation():
                return self.expectation(node)
            case Cases():
                return self.cases(node)
            case Join(parts):
                return "; ".join(self.show(part, _INTERVAL) for part in parts)
            case Comparison():
                return self.comparison(node)
            case Conjunction(parts):
                return self.between_words("and").join(self.show(part, _NOT) for part in parts)
            case Disjunction(parts):
                return self.between_words("or").join(self.show(part, _AND) for part in parts)
            case Negation(body):
                return self.word("not ") + self.show(body, _NOT)
            case Interval(lower, upper):
                return f"{self.show(lower, _SUM)}..{self.show(upper, _SUM)}"
            case ListLiteral():
                return self.literal_list(node)
            case SetLiteral(items):
                opener, closer = ("\\{", "\\}") if self.latex else ("{", "}")
                return opener + self.items(items) + closer
            case TupleLiteral(items):
                if len(items) == 1:
                    left, right = ("\\langle ", " \\rangle") if not self.surface.pretty else "⟨⟩"
                    return left + self.items(items) + right
                return self.round(self.items(items), *items)
            case Dots():
                return self.surface.dots
            case Star():
                return "*"
            case Statistic() | Quantity() | Growth() | Derivative():
                return self.spoken(node)
        raise TypeError(f"nothing to print in {type(node).__name__}")

    def items(self, items: Sequence[Expression]) -> str:
        comma = "," if self.compact else ", "
        return comma.join(self.show(item) for item in items)

    def packed(self, items: Sequence[Expression]) -> str:
        self.compact += 1
        text = ",".join(self.show(item) for item in items)
        self.compact -= 1
        return text

    def spoken(self, node: Statistic | Quantity | Growth | Derivative) -> str:
        """What only claims speak of."""
        match node:
            case Statistic("probability", body):
                return self.word("probability of ") + self.round(self.show(body), body)
            case Statistic(operator, body):
                return self.word(f"{operator} of ") + self.show(body, _TERM)
            case Quantity(what, of):
                of_name = "" if of is None else self.name(of.name)
                return self.word(f"{what} of " if of_name else what) + of_name
            case Growth(body):
                return "O" + self.round(self.show(body, _INTERVAL), body)
            case Derivative(above, below):
                above_text, below_text = self.show(above, _FACTOR), self.show(below, _FACTOR)
                if self.latex:
                    return f"\\frac{{\\partial {above_text}}}{{\\partial {below_text}}}"
                sign = "∂" if self.surface.pretty else "\\partial "
                return f"{sign}{above_text}/{sign}{below_text}"

    # ---------------------------------------------------------------- names and scripts

    def name(self, node: Name) -> str:
        text = spell(node.base, self.surface)
        for accent in node.accents:
            if self.surface.pretty and len(node.base) == 1:
                text += MARK_OF[accent]
            elif self.latex or node.base == "Δ" or not re.fullmatch(r"\w+", text):
                text = f"\\{accent}{{{text}}}"
            else:
                text = f"\\{accent} {text}"
        text += "'" * node.primes
        sup = self.script("^", node.sup)
        if self.latex and node.primes and sup:
            text = f"{{{text}}}"  # TeX counts a prime as a superscript
        return text + self.script("_", node.sub) + sup

    def script(self, sign: str, items: Sequence[Expression], after: str = "") -> str:
        if not items and not after:
            return ""
        text = self.packed(items) + after
        return sign + text if len(text) == 1 else f"{sign}{{{text}}}"

    def index(self, node: Index) -> str:
        base = node.base
        closed = isinstance(base, Reduction) and tail(base) == 0
        if closed or isinstance(base, Name | Call | Index):
            head = self.call(base, brackets=True) if isinstance(base, Call) else self.bare(base)
            return f"{head}[{self.packed(node.items)}]"
        return self.base(base) + self.script("_", node.items)

    def base(self, node: Expression) -> str:
        """What a script stands behind: anything that ends in a bracket, or a number."""
        if isinstance(
            node, Name | Index | Group | Number | Norm | Cases | ListLiteral | SetLiteral
        ):
            return self.bare(node)
        if isinstance(node, TupleLiteral):
            return self.bare(node)
        if isinstance(node, Call):
            return self.call(node, brackets=True)
        if isinstance(node, Power):
            return f"{{{self.bare(node)}}}" if self.latex else self.bare(node)
        return self.round(self.bare(node), node)

    def transpose(self, node: Transpose) -> str:
        body, top = node.body, self.surface.top
        if isinstance(body, Name) and body.sup and self.latex:
            # TeX allows one superscript, so the ⊤ goes into it.
            bare = self.name(replace(body, sup=()))
            bare = f"{{{bare}}}" if body.primes else bare
            return bare + self.script("^", body.sup, top)
        if isinstance(body, Name) and body.primes and self.latex:
            return f"{{{self.name(body)}}}^{top}"
        if isinstance(body, Power) and self.latex:
            return f"{{{self.bare(body)}}}^{top}"
        return f"{self.base(body)}^{top}"

    # ---------------------------------------------------------------- calls and brackets

    def call(self, node: Call, brackets: bool = False) -> str:
        function, arguments, given = node.function, node.arguments, node.given
        bare = isinstance(function, Name) and function.bare and given is None
        if bare and len(arguments) == 1 and isinstance(function, Name):
            if self.latex and function.base == "sqrt":
                return f"\\sqrt{{{self.show(arguments[0])}}}"
            if self.latex and function.base == "abs":
                return f"\\left| {self.show(arguments[0])} \\right|"
            if reads_bare(node) and not brackets:
                return f"{self.bare(function)} {self.bare(arguments[0])}"
        inside = self.items(arguments)
        if given is not None:
            inside += f" {self.surface.mid} {self.items(given)}"
        text = self.round(inside, *arguments, *(given or ()))
        if bare and function == Name("σ") and self.surface.ascii:
            return "sigmoid" + text
        return (self.bare(function) if isinstance(function, Name) else self.base(function)) + text

    def group(self, node: Group) -> str:
        text = self.show(node.body)
        if node.bracket == "(":
            return self.round(text, node.body)
        opener, closer = ("[", "]") if node.bracket == "[" else ("{", "}")
        if self.latex and opener == "{":
            opener, closer = "\\{", "\\}"
        if self.latex and any(isinstance(part, _TALL) for part in node.walk()):
            return f"\\left{opener} {text} \\right{closer}"
        return opener + text + closer

    def norm(self, node: Norm) -> str:
        body = self.show(node.body)
        order = () if node.order is None else (node.order,)
        if self.latex:
            return f"\\left\\| {body} \\right\\|" + self.script("_", order)
        if any(isinstance(part, Norm) for part in node.body.walk()):
            return "norm" + self.script("_", order) + f"({body})"
        bars = self.surface.norm
        return bars + body + bars + self.script("_", order)

    def literal_list(self, node: ListLiteral) -> str:
        rows = [item.items for item in node.items if isinstance(item, ListLiteral)]
        width = len(rows[0]) if rows else 0
        square = len(rows) == len(node.items) and all(len(row) == width for row in rows)
        if self.latex and square and width > 1:
            lines = " \\\\ ".join(" & ".join(self.show(cell) for cell in row) for row in rows)
            return f"\\begin{{bmatrix}} {lines} \\end{{bmatrix}}"
        return f"[{self.items(node.items)}]"

    # ---------------------------------------------------------------- sums and products

    def add(self, node: Add) -> str:
        blank = "" if self.compact else " "
        last = len(node.terms) - 1
        text = ""
        for i, term in enumerate(node.terms):
            minus = i > 0 and isinstance(term, Negative)
            body = term.body if minus and isinstance(term, Negative) else term
            grows = i < last and tail(body) > 1  # it would swallow the terms behind it
            piece = self.round(self.bare(body), body) if grows else self.show(body, _TERM)
            text += (f"{blank}{'-' if minus else '+'}{blank}" if i else "") + piece
        return text

    def closed(self, factors: Sequence[Expression], level: int) -> list[str]:
        """Factors as texts; one that would swallow its successor gets brackets."""
        last = len(factors) - 1
        return [
            self.round(self.bare(f), f) if i < last and tail(f) else self.show(f, level)
            for i, f in enumerate(factors)
        ]

    def product(self, node: Product) -> str:
        text = ""
        last = len(node.factors) - 1
        before: Expression | None = None
        for i, factor in enumerate(node.factors):
            if isinstance(factor, Negative) and i > 0:
                # Behind an explicit sign a minus goes before one factor only.
                body = factor.body
                wrap = (i < last and tail(body)) or self.level(body) < _FACTOR
                piece = "-" + (self.round(self.bare(body), body) if wrap else self.bare(body))
            elif (i < last and tail(factor)) or (i > 0 and self.level(factor) == _PRODUCT):
                # `x (a/b)`: the brackets are dropped again when it is read.
                piece = self.round(self.bare(factor), factor)
            else:
                piece = self.show(factor, _PRODUCT if isinstance(factor, Fraction) else _FACTOR)
            text += self.between(before, factor, piece) + piece
            before = factor
        return text

    def between(self, before: Expression | None, factor: Expression, piece: str) -> str:
        """What separates two factors: a blank, nothing, or a dot where a blank would mislead."""
        if before is None:
            return ""
        dot = f" {self.surface.product} "
        if isinstance(factor, Negative) or piece[0].isdigit() or piece[0] == ".":
            return dot
        leaf = self.last_leaf(before)
        if isinstance(leaf, Name) and (leaf.base in BODILESS or (leaf.bare and leaf.base == "Δ")):
            return dot
        opener = piece.removeprefix("\\left")[0]
        if opener == "(" and isinstance(leaf, Name):
            return dot
        if opener == "[" and isinstance(leaf, Name | Call | Index | Transpose | Reduction):
            return dot
        if not self.latex and opener in "|‖" and self.surface.norm[0] == opener:
            return " "
        if isinstance(before, Number) and isinstance(factor, Name) and hugs(before, factor):
            return ""
        return " "

    def last_leaf(self, node: Expression) -> Expression:
        """The node whose text stands last."""
        while True:
            if isinstance(node, Product | Hadamard):
                node = node.factors[-1]
            elif isinstance(node, Negative):
                node = node.body
            elif isinstance(node, Fraction) and not self.latex:
                if self.level(node.below) < _FACTOR or tail(node.below):
                    return node
                node = node.below
            elif isinstance(node, Call) and reads_bare(node):
                node = node.arguments[0]
            else:
                return node

    def fraction(self, node: Fraction) -> str:
        if self.latex:
            return f"\\frac{{{self.show(node.above)}}}{{{self.show(node.below)}}}"
        above, below = node.above, node.below
        upper = self.show(above, _PRODUCT)
        if tail(above) and self.level(above) >= _PRODUCT:
            upper = self.round(upper, above)
        lower = self.show(below, _FACTOR)
        if tail(below) and self.level(below) >= _FACTOR:
            lower = self.round(lower, below)
        return f"{upper}/{lower}"

    # ---------------------------------------------------------------- operators

    def reduction(self, node: Reduction) -> str:
        operator = self.surface.operators.get(node.operator, node.operator)
        upper = () if node.upper is None else (node.upper,)
        text = operator + self.script("_", node.under) + self.script("^", upper)
        if node.operator in TAKES_PRODUCT:
            return f"{text} {self.show(node.body, _TERM)}"
        body = self.show(node.body, _SUM)
        tight = not node.under and not upper and isinstance(node.body, Group | TupleLiteral)
        return f"{text}{body}" if tight and body[:1] in "(\\" else f"{text} {body}"

    def expectation(self, node: Expectation) -> str:
        draws = []
        self.compact += 1
        for draw in node.draws:
            if isinstance(draw, Comparison) and isinstance(draw.operands[0], TupleLiteral):
                left, *rest = draw.operands
                assert isinstance(left, TupleLiteral)
                first = ",".join(self.show(item) for item in left.items)
                text = self.comparison(Comparison((Name("x"), *rest), draw.operators))
                draws.append(first + text[1:])
            else:
                draws.append(self.show(draw))
        self.compact -= 1
        return f"E_{{{', '.join(draws)}}} {self.show(node.body, _SUM)}"

    def comparison(self, node: Comparison) -> str:
        text = self.show(node.operands[0], _INTERVAL)
        for sign, operand in zip(node.operators, node.operands[1:], strict=True):
            blank = "" if self.compact and sign in "=<>" else " "
            text += f"{blank}{self.surface.signs[sign]}{blank}{self.show(operand, _INTERVAL)}"
        return text

    def cases(self, node: Cases) -> str:
        compact, self.compact = self.compact, 0
        rows = []
        for value, condition in node.branches:
            rows.append(self.show(value))
            rows[-1] += " & " if self.latex else " "
            if condition is None:
                rows[-1] += self.word("otherwise").strip()
            else:
                rows[-1] += self.word("if ") + self.show(condition)
        self.compact = compact
        if self.latex:
            return "\\begin{cases} " + " \\\\ ".join(rows) + " \\end{cases}"
        return "cases { " + ", ".join(rows) + " }"

    def word(self, text: str) -> str:
        if not self.latex:
            return text
        lead = " " if text[0] == " " else ""
        return f"{lead}\\text{{{text.lstrip()}}} "

    def between_words(self, word: str) -> str:
        """`a and b`; TeX needs the blanks inside the braces."""
        return f" \\text{{ {word} }} " if self.latex else f" {word} "
