"""The three printers: plain (ASCII), Unicode and LaTeX. Each is the inverse of its parser.

>>> equation = Equation((Name("x", sub=(Name("t"),)), Fraction(Number("1"), Name("τ"))), ("=",))
>>> plain(equation), unicode(equation), latex(equation)
('x_t = 1/tau', 'x_t = 1/τ', 'x_t = \\\\frac{1}{\\\\tau}')

What is printed is what a lecturer would write: brackets stand only where the tree has them, or
where a tree that no parser made (a sum as a factor) would read differently without.
"""

from __future__ import annotations

from collections.abc import Sequence

from indicial.notation.kept import kept
from indicial.notation.syntax import Claim, Declaration, Dots, Equation, Expression, Name, Node
from indicial.notation.typesetting.expressions import Typesetter
from indicial.notation.typesetting.letters import ASCII, KEY, LATEX, UNICODE, Surface

Printable = Node | Sequence[Node]


def plain(node: Printable) -> str:
    """ASCII only: `h[t,j] = tanh(W^{h,R}[j,I] h[t-1,I])`."""
    return _print(node, ASCII)


def unicode(node: Printable) -> str:
    """With the signs of the blackboard: `α[t] = softmax_t x[t]`."""
    return _print(node, UNICODE)


def latex(node: Printable) -> str:
    """LaTeX for a display; a list of statements becomes an `aligned`."""
    return _print(node, LATEX)


@kept
def name_key(name: Name) -> str:
    """The one spelling under which a name is known: `W^{h,R}`, `h_{in}`, `h̃`, `h'`, `ℒ_{focus}`.

    >>> name_key(Name("W", sup=(Name("h"), Name("R"))))
    'W^{h,R}'
    """
    return name.base if name.bare else _Printer(KEY).name(name)


def _print(node: Printable, surface: Surface) -> str:
    printer = _Printer(surface)
    if isinstance(node, Node):
        return printer.node(node)
    lines = [printer.node(part, aligned=surface.latex) for part in node]
    if not surface.latex:
        return "\n".join(lines)
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


class _Printer(Typesetter):
    """Statements as well."""

    def node(self, node: Node, aligned: bool = False) -> str:
        if isinstance(node, Equation):
            return self.equation(node, aligned)
        if isinstance(node, Declaration):
            return self.declaration(node)
        if isinstance(node, Claim):
            return self.claim(node)
        if isinstance(node, Expression):
            return self.show(node)
        raise TypeError(f"nothing to print in {type(node).__name__}")

    def equation(self, node: Equation, aligned: bool) -> str:
        text = "" if isinstance(node.sides[0], Dots) else self.show(node.sides[0])
        for relation, side in zip(node.relations, node.sides[1:], strict=True):
            sign = ("&" if aligned else "") + self.surface.signs[relation]
            text += f" {sign} {self.show(side)}" if text else f"{sign} {self.show(side)}"
            aligned = False
        if node.guard is not None:
            text += " \\quad" if self.latex else ""
            text += self.word(" for ") + self.show(node.guard)
        if node.label:
            text = (f"\\text{{{node.label}: }} " if self.latex else f"{node.label}: ") + text
        return text

    def claim(self, node: Claim) -> str:
        text = self.word("claim false: " if node.false else "claim ") + self.show(node.comparison)
        if node.tolerance is not None:
            text += self.word(" within ") + self.show(node.tolerance)
        if node.guard is not None:
            text += self.word(" for ") + self.show(node.guard)
        return text

    def declaration(self, node: Declaration) -> str:
        text = self.word(node.keyword + " ") + ", ".join(self.show(item) for item in node.items)
        if node.domain is not None:
            text += f" {self.surface.signs['∈']} {self.show(node.domain)}"
        if node.value is not None:
            text += f" = {self.show(node.value)}"
        return text
