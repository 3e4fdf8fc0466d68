"""Names with accents, primes and scripts; indices, powers and transposes behind anything.

Name("W", sup=(h, R))       W^{h,R}
Index(h, (t-1, j))          h[t-1,j]
Transpose(k_i)              k_i^⊤
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from indicial.notation import syntax as s
from indicial.notation.signs import MARK_OF
from indicial.notation.typesetting.base import BaseTypesetter
from indicial.notation.typesetting.letters import spell
from indicial.notation.typesetting.reach import tail

LETTERS, GREEK = (s.Name("xi"),), (s.Name("ξ"),)


class NameTypesetter(BaseTypesetter):
    """Names, and what stands above and below them."""

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
        if sign == "_" and not self.latex and items in (LETTERS, GREEK):
            # Below a name `{xi}` is the x and the i of a gate; the Greek letter is a command there.
            text = "xi" if items == LETTERS else ("\\xi" if self.surface.ascii else "ξ")
        return sign + text if len(text) == 1 and text not in "+-" else f"{sign}{{{text}}}"

    def index(self, node: s.Index) -> str:
        base = node.base
        closed = isinstance(base, s.Reduction) and tail(base) == 0
        if closed or isinstance(base, s.Name | s.Call | s.Index):
            head = self.call(base, brackets=True) if isinstance(base, s.Call) else self.bare(base)
            return f"{head}[{self.packed(node.items)}]"
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
