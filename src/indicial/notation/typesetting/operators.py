"""Calls, groups, norms and lists; reductions, expectations, comparisons, cases, and what only claims speak of.

P(y | x)      softmax(x)      ‖x‖_2      [[1, 2], [3, 4]]      \\left( \\frac{a}{b} \\right)
Σ_t x[t]      E_{y ~ Pop} f(y)      t_2 ≤ t_1      cases { 1 if x > 0, 0 otherwise }      std of x
"""

from __future__ import annotations

from indicial.notation import syntax as s
from indicial.notation.operators import TAKES_PRODUCT
from indicial.notation.typesetting.base import FACTOR, INTERVAL, SUM, TERM
from indicial.notation.typesetting.names import NameTypesetter
from indicial.notation.typesetting.reach import reads_bare


class OperatorTypesetter(NameTypesetter):
    """Nodes that bring their brackets along, or begin with an operator or a word."""

    def call(self, node: s.Call, brackets: bool = False) -> str:
        function, arguments, given = node.function, node.arguments, node.given
        bare = isinstance(function, s.Name) and function.bare and given is None
        if bare and len(arguments) == 1 and isinstance(function, s.Name):
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
        if bare and function == s.Name("σ") and self.surface.ascii:
            return "sigmoid" + text
        return (self.bare(function) if isinstance(function, s.Name) else self.base(function)) + text

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
            text += f"{blank}{self.surface.signs[sign]}{blank}{self.show(operand, INTERVAL)}"
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
