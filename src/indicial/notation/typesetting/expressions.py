"""Expressions → text, on any surface; the statements are added in `printers.py`.

Typesetter(UNICODE).show(tree)      Σ_t α[t] h[t,j]
Typesetter(LATEX).show(tree)        \\sum_t \\alpha[t] h[t,j]
"""

from __future__ import annotations

from indicial.notation import syntax as s
from indicial.notation.typesetting.arithmetic import ArithmeticTypesetter
from indicial.notation.typesetting.base import AND, HADAMARD, INTERVAL, NOT, PRODUCT, SUM, TERM
from indicial.notation.typesetting.operators import OperatorTypesetter
from indicial.notation.typesetting.reach import tail


class Typesetter(ArithmeticTypesetter, OperatorTypesetter):
    """Prints expressions on one surface: the rule of each node."""

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
