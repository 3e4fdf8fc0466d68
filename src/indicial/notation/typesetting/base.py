"""What all parts of the typesetter share: a surface, and brackets where a node binds too little.

    show(a + b)                     a + b
    show(a + b, level=FACTOR)       (a + b)         as in x (a + b)

A node is printed as it is, and put into round brackets where it binds less than its place asks for.
"""

from __future__ import annotations

from collections.abc import Sequence

from indicial.notation import syntax as s
from indicial.notation.typesetting.letters import Surface

JOIN, OR, AND, NOT, INTERVAL, SUM, TERM, HADAMARD, PRODUCT, FACTOR = range(10)
_LEVELS: dict[type[s.Node], int] = {
    s.Join: JOIN, s.Disjunction: OR, s.Conjunction: AND, s.Negation: NOT, s.Comparison: NOT,
    s.Interval: INTERVAL, s.Add: SUM, s.Negative: TERM, s.Hadamard: HADAMARD, s.Product: PRODUCT,
}  # fmt: skip
_TALL = (s.Fraction, s.Reduction, s.Cases)


class BaseTypesetter:
    """Prints expressions on one surface; what each node looks like, its heirs know."""

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

    # ---- what the heirs know ----

    def bare(self, node: s.Expression) -> str:
        """The text of a node, without brackets around it."""
        raise NotImplementedError

    def call(self, node: s.Call, brackets: bool = False) -> str:
        raise NotImplementedError
