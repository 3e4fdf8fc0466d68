"""Calls, groups, norms and lists: what stands in brackets of its own.

P(y | x)      softmax(x)      ‖x‖_2      [[1, 2], [3, 4]]      \\left( \\frac{a}{b} \\right)
"""

from __future__ import annotations

from indicial.notation.syntax import Call, Group, ListLiteral, Name, Norm
from indicial.notation.typesetting.names import NameTypesetter
from indicial.notation.typesetting.reach import reads_bare


class BracketTypesetter(NameTypesetter):
    """Nodes that bring their brackets along."""

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
        if self.is_tall(node):
            return f"\\left{opener} {text} \\right{closer}"
        return opener + text + closer

    def norm(self, node: Norm) -> str:
        body = self.show(node.body)
        order = () if node.order is None else (node.order,)
        if self.latex:
            return f"\\left\\| {body} \\right\\|" + self.script("_", order)
        if node.body.every(Norm):
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
