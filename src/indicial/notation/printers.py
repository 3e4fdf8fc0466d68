"""The three printers: plain (ASCII), Unicode and LaTeX. Each is the inverse of its parser.

>>> equation = Equation((Name("x", sub=(Name("t"),)), Fraction(Number("1"), Name("τ"))), ("=",))
>>> plain(equation), unicode(equation), latex(equation)
('x_t = 1/tau', 'x_t = 1/τ', 'x_t = \\\\frac{1}{\\\\tau}')

What is printed is what a lecturer would write: brackets stand only where the tree has them, or
where a tree that no parser made (a sum as a factor) would read differently without.
"""

from __future__ import annotations

from collections.abc import Sequence

from indicial.notation.node import kept
from indicial.notation.syntax import Claim, Declaration, Dots, Equation, Expression, Name, Node
from indicial.notation.typesetting.expressions import Typesetter
from indicial.notation.typesetting.letters import ASCII, KEY, LATEX, UNICODE, Surface
from indicial.notation.vocabulary import SPACE

Printable = Node | Sequence[Node]

WIDE = 70
"""In a list, a chain `a = b = c` that is longer has a line for each of its sides."""


def plain(node: Printable) -> str:
    """ASCII only: `h[t,j] = tanh(W^{h,R}[j,I] h[t-1,I])`."""
    return _print(node, ASCII)


def unicode(node: Printable) -> str:
    """With the signs of the blackboard: `α[t] = softmax_t x[t]`."""
    return _print(node, UNICODE)


def latex(node: Printable) -> str:
    """LaTeX for a display; a list of statements becomes an `aligned`, a long chain several rows."""
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
    lines = [printer.node(part, listed=True) for part in node]
    if not surface.latex:
        return "\n".join(lines)
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


class _Printer(Typesetter):
    """Statements as well."""

    def node(self, node: Node, listed: bool = False) -> str:
        if isinstance(node, Equation):
            return self.equation(node, listed)
        if isinstance(node, Declaration):
            return self.declaration(node)
        if isinstance(node, Claim):
            return self.claim(node, listed)
        if isinstance(node, Expression):
            return self.show(node)
        raise TypeError(f"nothing to print in {type(node).__name__}")

    def equation(self, node: Equation, listed: bool) -> str:
        sides = [self.show(side) for side in node.sides]
        sides[0] = "" if isinstance(node.sides[0], Dots) else sides[0]
        rows = listed and len(sides) > 2 and sum(map(len, sides)) > WIDE
        text = sides[0]
        for number, (relation, side) in enumerate(zip(node.relations, sides[1:], strict=True)):
            sign = self.surface.signs.get(relation, relation)
            if self.latex and listed and (rows or not number):
                sign = f"&{sign}"
            joint = " " if text else ""
            if number and rows:
                joint = " \\\\\n" if self.latex else "\n  "
            text += f"{joint}{sign} {side}"
        if node.guard is not None:
            text += " \\quad" if self.latex else ""
            text += self.word(" for ") + self.show(node.guard)
        if node.label:
            text = (f"\\text{{{node.label}: }} " if self.latex else f"{node.label}: ") + text
        return text

    def claim(self, node: Claim, listed: bool = False) -> str:
        if node.plot:
            return self.word("plot of ") + self.show(node.comparison.operands[0])
        said = self.show(node.comparison)
        if self.latex and listed and len(node.comparison.operands) > 1:
            left = self.show(node.comparison.operands[0])
            if said.startswith(f"{left} "):
                said = f"{left} &{said[len(left) + 1 :]}"
        text = self.word("claim false: " if node.false else "claim ") + said
        if node.tolerance is not None:
            text += self.word(" within ") + self.show(node.tolerance)
        if node.guard is not None:
            text += self.word(" for ") + self.show(node.guard)
        return text

    def declaration(self, node: Declaration) -> str:
        keyword = "" if node.keyword == SPACE else self.word(node.keyword + " ")
        text = keyword + ", ".join(self.show(item) for item in node.items)
        if node.domain is not None:
            text += f" {self.surface.signs.get('∈', '∈')} {self.show(node.domain)}"
        if node.value is not None:
            text += f" = {self.show(node.value)}"
        return text
