r"""A row that reasons → its clauses, for whoever tries them; it is no equation of a program.

    c = Σ_i v_i α_i ⇒ c = α_a v_a + α_b v_b        two clauses
    q = M k_a \xrightarrow{k_a ≈ μ_a} q = M μ_a    two, with a premise before the second
    \lim_{ε → 0} c = v_b                           one, with a limit on its left
    x_1^⊤ q ≫ x_3^⊤ q, i ∉ {a, b}                  one; what follows the comma restricts it

Clauses are equations whose relations may also be `≫ ⋙ ≪ ⋘ < > ≤ ≥`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from indicial.notation.expressions import ExpressionParser
from indicial.notation.faults import Refusal
from indicial.notation.lookahead import is_relation, with_depths
from indicial.notation.source import cover
from indicial.notation.syntax import Equation, Expression, Name
from indicial.notation.tokens import Token, is_sign

ARROWS = ("⇒", "⇔", "→")
MAGNITUDES = ("≫", "⋙", "≪", "⋘")


@dataclass(frozen=True)
class Limit(Expression):
    r"""`\lim_{ε → 0} body`."""

    letter: Name
    target: Expression
    body: Expression


@dataclass(frozen=True)
class Clause:
    """One statement of a row that reasons."""

    equation: Equation
    arrow: str = ""
    """What stands before it; empty at the beginning of a row."""
    premises: tuple[Equation, ...] = ()
    """What stands above the arrow."""
    remark: str = ""
    """The same, where it is no equation: `× M`."""


def clauses(tokens: Sequence[Token], latex: bool) -> tuple[Clause, ...]:
    """The clauses of a row, as far as they read."""
    found: list[Clause] = []
    arrow, remark = "", ""
    premises: tuple[Equation, ...] = ()
    part: list[Token] = []
    tokens = list(tokens)
    i = depth = 0
    while i <= len(tokens):
        token = tokens[i] if i < len(tokens) else None
        drawn = token is not None and token.kind == "command" and token.text == "\\xrightarrow"
        plain = token is not None and depth == 0 and is_sign(token, ARROWS)
        if token is None or drawn or plain:
            for equation in _equations(part, latex):
                found.append(Clause(equation, arrow, premises, remark))
            part = []
            if token is None:
                break
            arrow, premises, remark = token.text if plain else "→", (), ""
            if drawn:
                above, i = _argument(tokens, i + 1)
                premises = tuple(_equations(above, latex))
                remark = cover(t.span for t in above).text if above and not premises else ""
            else:
                i += 1
            continue
        depth += is_sign(token, ("{", "(", "[", "\\{")) - is_sign(token, ("}", ")", "]", "\\}"))
        part.append(token)
        i += 1
    return tuple(found)


def _argument(tokens: list[Token], start: int) -> tuple[list[Token], int]:
    """What stands in the braces at a place, and the place behind them."""
    if start >= len(tokens) or not is_sign(tokens[start], "{"):
        return [], start
    depth = 0
    for i in range(start, len(tokens)):
        depth += is_sign(tokens[i], "{") - is_sign(tokens[i], "}")
        if depth == 0:
            return tokens[start + 1 : i], i + 1
    return tokens[start + 1 :], len(tokens)


def _equations(tokens: list[Token], latex: bool) -> list[Equation]:
    """The equations and comparisons between commas; what restricts an index is left out."""
    parts: list[list[Token]] = [[]]
    for token, depth in with_depths([t for t in tokens if not is_sign(t, "✓")]):
        if depth == 0 and (is_sign(token, ",;:") or token.kind == "quad"):
            parts.append([])
        else:
            parts[-1].append(token)
    found = []
    for part in parts:
        try:
            equation = _equation(part, latex)
        except Refusal:
            continue
        if equation is not None:
            found.append(equation)
    return found


def _equation(tokens: list[Token], latex: bool) -> Equation | None:
    sides: list[list[Token]] = [[]]
    relations: list[str] = []
    for token, depth in with_depths(tokens):
        if depth == 0 and (is_sign(token, MAGNITUDES) or is_relation(token)):
            relations.append(token.text)
            sides.append([])
        else:
            sides[-1].append(token)
    if not relations or set(relations) & {"∈", "∉", "~", "in", "notin", "≠"}:
        return None
    made = [_side(side, latex) for side in sides]
    if any(side is None for side in made):
        return None
    kept = tuple(side for side in made if side is not None)
    return Equation(kept, tuple(relations), span=cover(t.span for t in tokens))


def _side(tokens: list[Token], latex: bool) -> Expression | None:
    if len(tokens) > 3 and _is_number(tokens[-3:]):
        tokens = tokens[:-3]  # `a ≫ b (1)`
    if not tokens:
        return None
    if is_sign(tokens[0], "lim") and len(tokens) > 2 and is_sign(tokens[1], "_"):
        below, behind = _argument(tokens, 2)
        arrow = next((n for n, t in enumerate(below) if t.text == "→"), None)
        body = _side(tokens[behind:], latex)
        if arrow is None or body is None:
            return None
        letter, target = _side(below[:arrow], latex), _side(below[arrow + 1 :], latex)
        if not isinstance(letter, Name) or target is None:
            return None
        return Limit(letter, target, body, span=cover(t.span for t in tokens))
    parser = ExpressionParser(tokens, latex)
    side = parser.expression(conditions=False)
    return side if parser.done() else None


def _is_number(tokens: list[Token]) -> bool:
    """`(1)` behind a formula."""
    return is_sign(tokens[0], "(") and tokens[1].kind == "number" and is_sign(tokens[2], ")")
