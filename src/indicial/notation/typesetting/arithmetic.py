"""Sums, products and fractions; what stands between two factors.

a - b + c      2t x      x (a/b)      W · (a + b)       a dot where a blank would be a call
"""

from __future__ import annotations

from collections.abc import Sequence

from indicial.notation import syntax as s
from indicial.notation.typesetting.base import FACTOR, PRODUCT, TERM, BaseTypesetter
from indicial.notation.typesetting.reach import BODILESS, hugs, reads_bare, tail


class ArithmeticTypesetter(BaseTypesetter):
    """What is added, multiplied and divided."""

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
