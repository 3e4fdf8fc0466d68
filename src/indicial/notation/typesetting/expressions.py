"""Expressions → text, on any surface; the statements are added in `printers.py`.

Typesetter(UNICODE).show(tree)      Σ_t α[t] h[t,j]
Typesetter(LATEX).show(tree)        \\sum_t \\alpha[t] h[t,j]
"""

from __future__ import annotations

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
from indicial.notation.typesetting.arithmetic import ArithmeticTypesetter
from indicial.notation.typesetting.base import AND, HADAMARD, INTERVAL, NOT, PRODUCT, SUM, TERM
from indicial.notation.typesetting.brackets import BracketTypesetter
from indicial.notation.typesetting.operators import OperatorTypesetter
from indicial.notation.typesetting.reach import tail


class Typesetter(BracketTypesetter, ArithmeticTypesetter, OperatorTypesetter):
    """Prints expressions on one surface: the rule of each node."""

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
                return "-" + self.show(body, TERM if tail(body) else HADAMARD)
            case Hadamard(factors):
                return f" {self.surface.hadamard} ".join(self.closed(factors, PRODUCT))
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
                return "; ".join(self.show(part, INTERVAL) for part in parts)
            case Comparison():
                return self.comparison(node)
            case Conjunction(parts):
                return self.between_words("and").join(self.show(part, NOT) for part in parts)
            case Disjunction(parts):
                return self.between_words("or").join(self.show(part, AND) for part in parts)
            case Negation(body):
                return self.word("not ") + self.show(body, NOT)
            case Interval(lower, upper):
                return f"{self.show(lower, SUM)}..{self.show(upper, SUM)}"
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

    def between_words(self, word: str) -> str:
        """`a and b`; TeX needs the blanks inside the braces."""
        return f" \\text{{ {word} }} " if self.latex else f" {word} "
