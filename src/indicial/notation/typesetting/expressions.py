"""Expressions → text, on any surface; the statements are added in `printers.py`.

    Typesetter(UNICODE).show(tree)      Σ_t α[t] h[t,j]
    Typesetter(LATEX).show(tree)        \\sum_t \\alpha[t] h[t,j]

A node is printed as it is, and put into round brackets where it binds less than its place asks for:

    show(a + b)                         a + b
    show(a + b, level=FACTOR)           (a + b)         as in x (a + b)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.operators import TAKES_PRODUCT
from indicial.notation.signs import MARK_OF
from indicial.notation.typesetting.letters import Surface, spell
from indicial.notation.typesetting.reach import BODILESS, hugs, reads_bare, tail

JOIN, OR, AND, NOT, INTERVAL, SUM, TERM, HADAMARD, PRODUCT, FACTOR = range(10)
_LEVELS: dict[type[s.Node], int] = {
    s.Join: JOIN, s.Disjunction: OR, s.Conjunction: AND, s.Negation: NOT, s.Comparison: NOT,
    s.Interval: INTERVAL, s.Add: SUM, s.Negative: TERM, s.Hadamard: HADAMARD, s.Product: PRODUCT,
}  # fmt: skip
_TALL = (s.Fraction, s.Reduction, s.Cases)
_LETTERS, _GREEK = (s.Name("xi"),), (s.Name("ξ"),)


class Typesetter:
    """Prints expressions on one surface."""

    def __init__(self, surface: Surface) -> None:
        self.surface = surface
        self.latex = surface.latex
        self.compact = 0  # inside index brackets and scripts nothing is spaced out

    def show(self, node: s.Expression, level: int = JOIN) -> str:
        """The text of a node; in round brackets if it binds less than its place asks for."""
        text = self.bare(node)
        return text if self.level(node) >= level else self.round(text, node)

    def level(self, node: s.Expression) -> int:
        if isinstance(node, s.Fraction) and not self.latex:
            return PRODUCT
        return _LEVELS.get(type(node), FACTOR)

    def round(self, text: str, *inside: s.Expression) -> str:
        if self.is_tall(*inside):
            return f"\\left( {text} \\right)"
        return f"({text})"

    def is_tall(self, *nodes: s.Expression) -> bool:
        """Whether brackets around some nodes have to grow with them."""
        return self.latex and any(isinstance(p, _TALL) for node in nodes for p in node.walk())

    def items(self, items: Sequence[s.Expression]) -> str:
        comma = "," if self.compact else ", "
        return comma.join(self.show(item) for item in items)

    def packed(self, items: Sequence[s.Expression]) -> str:
        self.compact += 1
        text = ",".join(self.show(item) for item in items)
        self.compact -= 1
        return text

    def word(self, text: str) -> str:
        if not self.latex:
            return text
        lead = " " if text[0] == " " else ""
        return f"{lead}\\text{{{text.lstrip()}}} "

    def bare(self, node: s.Expression) -> str:
        match node:
            case s.Number(text):
                return self.surface.numbers.get(text, text)
            case s.Name():
                return self.name(node)
            case s.Index():
                return self.index(node)
            case s.Call():
                return self.call(node)
            case s.Group():
                return self.group(node)
            case s.Add():
                return self.add(node)
            case s.Negative(body):
                return "-" + self.show(body, TERM if tail(body) else HADAMARD)
            case s.Hadamard(factors):
                return f" {self.surface.hadamard} ".join(self.closed(factors, PRODUCT))
            case s.Product():
                return self.product(node)
            case s.Fraction():
                return self.fraction(node)
            case s.Power(base, exponent):
                return self.base(base) + self.script("^", (exponent,))
            case s.Transpose():
                return self.transpose(node)
            case s.Norm():
                return self.norm(node)
            case s.Reduction():
                return self.reduction(node)
            case s.Expectation():
                return self.expectation(node)
            case s.Cases():
                return self.cases(node)
            case s.Join(parts):
                return "; ".join(self.show(part, INTERVAL) for part in parts)
            case s.Comparison():
                return self.comparison(node)
            case s.Conjunction(parts):
                return self.between_words("and").join(self.show(part, NOT) for part in parts)
            case s.Disjunction(parts):
                return self.between_words("or").join(self.show(part, AND) for part in parts)
            case s.Negation(body):
                return self.word("not ") + self.show(body, NOT)
            case s.Interval(lower, upper):
                return f"{self.show(lower, SUM)}..{self.show(upper, SUM)}"
            case s.ListLiteral():
                return self.literal_list(node)
            case s.SetLiteral(items):
                opener, closer = ("\\{", "\\}") if self.latex else ("{", "}")
                return opener + self.items(items) + closer
            case s.TupleLiteral(items):
                if len(items) == 1:
                    left, right = ("\\langle ", " \\rangle") if not self.surface.pretty else "⟨⟩"
                    return left + self.items(items) + right
                return self.round(self.items(items), *items)
            case s.Dots():
                return self.surface.dots
            case s.Star():
                return "*"
            case s.Statistic() | s.Quantity() | s.Growth() | s.Derivative():
                return self.spoken(node)
        raise TypeError(f"nothing to print in {type(node).__name__}")

    def between_words(self, word: str) -> str:
        """`a and b`; TeX needs the blanks inside the braces."""
        return f" \\text{{ {word} }} " if self.latex else f" {word} "

    # ---- names, indices, powers ----

    def name(self, node: s.Name) -> str:
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

    def script(self, sign: str, items: Sequence[s.Expression], after: str = "") -> str:
        if not items and not after:
            return ""
        text = self.packed(items) + after
        if sign == "_" and not self.latex and items in (_LETTERS, _GREEK):
            # Below a name `{xi}` is the x and the i of a gate; the Greek letter is a command there.
            text = "xi" if items == _LETTERS else ("\\xi" if self.surface.ascii else "ξ")
        return sign + text if len(text) == 1 and text not in "+-" else f"{sign}{{{text}}}"

    def index(self, node: s.Index) -> str:
        base = node.base
        closed = isinstance(base, s.Reduction) and tail(base) == 0
        if closed or isinstance(base, s.Name | s.Call | s.Index):
            head = self.call(base, brackets=True) if isinstance(base, s.Call) else self.bare(base)
            return f"{head}[{self.packed(node.items)}]"
        if (
            isinstance(base, s.Group)
            and isinstance(base.body, s.Name)
            and s.Name(":") in node.items
        ):
            base = base.body  # a row of a matrix, `X_{i,:}`
        return self.base(base) + self.script("_", node.items)

    def base(self, node: s.Expression) -> str:
        """What a script stands behind: anything that ends in a bracket, or a number."""
        closed = (
            s.Name | s.Index | s.Group | s.Number | s.Norm | s.Cases | s.ListLiteral | s.SetLiteral
        )
        if isinstance(node, closed | s.TupleLiteral):
            return self.bare(node)
        if isinstance(node, s.Call):
            return self.call(node, brackets=True)
        if isinstance(node, s.Power):
            return f"{{{self.bare(node)}}}" if self.latex else self.bare(node)
        return self.round(self.bare(node), node)

    def transpose(self, node: s.Transpose) -> str:
        body, top = node.body, self.surface.top
        if isinstance(body, s.Name) and body.sup and self.latex:
            # TeX allows one superscript, so the ⊤ goes into it.
            bare = self.name(replace(body, sup=()))
            bare = f"{{{bare}}}" if body.primes else bare
            return bare + self.script("^", body.sup, top)
        if isinstance(body, s.Name) and body.primes and self.latex:
            return f"{{{self.name(body)}}}^{top}"
        if isinstance(body, s.Power) and self.latex:
            return f"{{{self.bare(body)}}}^{top}"
        return f"{self.base(body)}^{top}"

    # ---- sums, products, fractions ----

    def add(self, node: s.Add) -> str:
        blank = "" if self.compact else " "
        last = len(node.terms) - 1
        text = ""
        for i, term in enumerate(node.terms):
            minus = i > 0 and isinstance(term, s.Negative)
            body = term.body if minus and isinstance(term, s.Negative) else term
            grows = i < last and tail(body) > 1  # it would swallow the terms behind it
            piece = self.round(self.bare(body), body) if grows else self.show(body, TERM)
            text += (f"{blank}{'-' if minus else '+'}{blank}" if i else "") + piece
        return text

    def closed(self, factors: Sequence[s.Expression], level: int) -> list[str]:
        """Factors as texts; one that would swallow its successor gets brackets."""
        last = len(factors) - 1
        return [
            self.round(self.bare(f), f) if i < last and tail(f) else self.show(f, level)
            for i, f in enumerate(factors)
        ]

    def product(self, node: s.Product) -> str:
        text = ""
        last = len(node.factors) - 1
        before: s.Expression | None = None
        for i, factor in enumerate(node.factors):
            if isinstance(factor, s.Negative) and i > 0:
                # Behind an explicit sign a minus goes before one factor only.
                body = factor.body
                wrap = (i < last and tail(body)) or self.level(body) < FACTOR
                piece = "-" + (self.round(self.bare(body), body) if wrap else self.bare(body))
            elif (i < last and tail(factor)) or (i > 0 and self.level(factor) == PRODUCT):
                # `x (a/b)`: the brackets are dropped again when it is read.
                piece = self.round(self.bare(factor), factor)
            else:
                piece = self.show(factor, PRODUCT if isinstance(factor, s.Fraction) else FACTOR)
            text += self.between(before, factor, piece) + piece
            before = factor
        return text

    def between(self, before: s.Expression | None, factor: s.Expression, piece: str) -> str:
        """What separates two factors: a blank, nothing, or a dot where a blank would mislead."""
        if before is None:
            return ""
        dot = f" {self.surface.product} "
        if isinstance(factor, s.Negative) or piece[0].isdigit() or piece[0] == ".":
            return dot
        leaf = self.last_leaf(before)
        if isinstance(leaf, s.Name) and (leaf.base in BODILESS or (leaf.bare and leaf.base == "Δ")):
            return dot
        opener = piece.removeprefix("\\left")[0]
        if opener == "(" and isinstance(leaf, s.Name):
            return dot
        if opener == "[" and isinstance(
            leaf, s.Name | s.Call | s.Index | s.Transpose | s.Reduction
        ):
            return dot
        if not self.latex and opener in "|‖" and self.surface.norm[0] == opener:
            return " "
        if isinstance(before, s.Number) and isinstance(factor, s.Name) and hugs(before, factor):
            return ""
        if self.latex and isinstance(leaf, s.Index | s.Call | s.Power):
            return "\\, "  # W[j,I] h[I] would stand as close as the letters of a word
        return " "

    def last_leaf(self, node: s.Expression) -> s.Expression:
        """The node whose text stands last."""
        while True:
            if isinstance(node, s.Product | s.Hadamard):
                node = node.factors[-1]
            elif isinstance(node, s.Negative):
                node = node.body
            elif isinstance(node, s.Fraction) and not self.latex:
                if self.level(node.below) < FACTOR or tail(node.below):
                    return node
                node = node.below
            elif isinstance(node, s.Call) and reads_bare(node):
                node = node.arguments[0]
            else:
                return node

    def fraction(self, node: s.Fraction) -> str:
        if self.latex:
            return f"\\frac{{{self.show(node.above)}}}{{{self.show(node.below)}}}"
        above, below = node.above, node.below
        upper = self.show(above, PRODUCT)
        if tail(above) and self.level(above) >= PRODUCT:
            upper = self.round(upper, above)
        lower = self.show(below, FACTOR)
        if tail(below) and self.level(below) >= FACTOR:
            lower = self.round(lower, below)
        return f"{upper}/{lower}"

    # ---- what brings its brackets along, or begins with an operator or a word ----

    def call(self, node: s.Call, brackets: bool = False) -> str:
        function, arguments, given = node.function, node.arguments, node.given
        bare = function.bare and given is None
        if bare and len(arguments) == 1:
            if self.latex and function.base == "sqrt":
                return f"\\sqrt{{{self.show(arguments[0])}}}"
            if self.latex and function.base == "abs":
                return f"\\left| {self.show(arguments[0])} \\right|"
            if reads_bare(node) and not brackets:
                return f"{self.name(function)} {self.bare(arguments[0])}"
        inside = self.items(arguments)
        if given is not None:
            inside += f" {self.surface.mid} {self.items(given)}"
        text = self.round(inside, *arguments, *(given or ()))
        if bare and function == s.Name("σ") and self.surface.ascii:
            return "sigmoid" + text
        return self.name(function) + text

    def group(self, node: s.Group) -> str:
        text = self.show(node.body)
        if node.bracket == "(":
            return self.round(text, node.body)
        opener, closer = ("[", "]") if node.bracket == "[" else ("{", "}")
        if self.latex and opener == "{":
            opener, closer = "\\{", "\\}"
        if self.is_tall(node):
            return f"\\left{opener} {text} \\right{closer}"
        return opener + text + closer

    def norm(self, node: s.Norm) -> str:
        body = self.show(node.body)
        order = () if node.order is None else (node.order,)
        if self.latex:
            return f"\\left\\| {body} \\right\\|" + self.script("_", order)
        if node.body.every(s.Norm):
            return "norm" + self.script("_", order) + f"({body})"
        bars = self.surface.norm
        return bars + body + bars + self.script("_", order)

    def literal_list(self, node: s.ListLiteral) -> str:
        rows = [item.items for item in node.items if isinstance(item, s.ListLiteral)]
        width = len(rows[0]) if rows else 0
        square = len(rows) == len(node.items) and all(len(row) == width for row in rows)
        if self.latex and square and width > 1:
            lines = " \\\\ ".join(" & ".join(self.show(cell) for cell in row) for row in rows)
            return f"\\begin{{bmatrix}} {lines} \\end{{bmatrix}}"
        return f"[{self.items(node.items)}]"

    def reduction(self, node: s.Reduction) -> str:
        operator = self.surface.operators.get(node.operator, node.operator)
        upper = () if node.upper is None else (node.upper,)
        text = operator + self.script("_", node.under) + self.script("^", upper)
        if node.operator in TAKES_PRODUCT:
            return f"{text} {self.show(node.body, TERM)}"
        body = self.show(node.body, SUM)
        tight = not node.under and not upper and isinstance(node.body, s.Group | s.TupleLiteral)
        return f"{text}{body}" if tight and body[:1] in "(\\" else f"{text} {body}"

    def expectation(self, node: s.Expectation) -> str:
        draws = []
        self.compact += 1
        for draw in node.draws:
            if isinstance(draw, s.Comparison) and isinstance(draw.operands[0], s.TupleLiteral):
                left, *rest = draw.operands
                assert isinstance(left, s.TupleLiteral)
                first = ",".join(self.show(item) for item in left.items)
                text = self.comparison(s.Comparison((s.Name("x"), *rest), draw.operators))
                draws.append(first + text[1:])
            else:
                draws.append(self.show(draw))
        self.compact -= 1
        return f"E_{{{', '.join(draws)}}} {self.show(node.body, SUM)}"

    def comparison(self, node: s.Comparison) -> str:
        text = self.show(node.operands[0], INTERVAL)
        for sign, operand in zip(node.operators, node.operands[1:], strict=True):
            blank = "" if self.compact and sign in "=<>" else " "
            text += (
                f"{blank}{self.surface.signs.get(sign, sign)}{blank}{self.show(operand, INTERVAL)}"
            )
        return text

    def cases(self, node: s.Cases) -> str:
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

    def spoken(self, node: s.Statistic | s.Quantity | s.Growth | s.Derivative) -> str:
        """What only claims speak of."""
        match node:
            case s.Statistic("probability", body):
                return self.word("probability of ") + self.round(self.show(body), body)
            case s.Statistic(operator, body):
                return self.word(f"{operator} of ") + self.show(body, TERM)
            case s.Quantity(what, of):
                of_name = "" if of is None else self.name(of.name)
                return self.word(f"{what} of " if of_name else what) + of_name
            case s.Growth(body):
                return "O" + self.round(self.show(body, INTERVAL), body)
            case s.Derivative(above, below):
                above_text, below_text = self.show(above, FACTOR), self.show(below, FACTOR)
                if self.latex:
                    return f"\\frac{{\\partial {above_text}}}{{\\partial {below_text}}}"
                sign = "∂" if self.surface.pretty else "\\partial "
                return f"{sign}{above_text}/{sign}{below_text}"
