"""How far the end of a printed expression reaches, and what may stand without brackets.

`Σ_i x` reaches to the next `+`, `softmax_i x` beyond it, so each stands last or in brackets.
"""

from __future__ import annotations

from indicial.notation import syntax as s
from indicial.notation.operators import TAKES_PRODUCT
from indicial.notation.vocabulary import FUNCTIONS, REDUCTIONS

BODILESS = frozenset(FUNCTIONS) - {"σ"} | frozenset(REDUCTIONS)
"""Names that take what follows them as their argument or body."""


def reads_bare(node: s.Call) -> bool:
    """`ln P(x)`: a logarithm of one factor stands without brackets."""
    name = node.function
    if name.base not in ("ln", "log") or name.accents:
        return False
    if node.given is not None or len(node.arguments) != 1:
        return False
    argument = node.arguments[0]
    while isinstance(argument, s.Index):
        argument = argument.base
    if isinstance(argument, s.Call):
        argument = argument.function
    return isinstance(argument, s.Name) and argument.base not in BODILESS


def hugs(number: s.Number, name: s.Name) -> bool:
    """`2t`; but `2 e` could be read as the number 2e…"""
    return number.text.isdigit() and not name.accents and name.base[0] not in "eE" and (
        len(name.base) == 1 or name.base.startswith("Δ")
    )  # fmt: skip


def tail(node: s.Expression) -> int:
    """How far the end of a node reaches: 0 not at all, 1 to the next `+`, 2 beyond it."""
    reach = 0
    while True:
        match node:
            case s.Reduction(operator, under, upper, body):
                closed = isinstance(body, s.Group | s.TupleLiteral) and not under and upper is None
                if operator == "softmax" and closed:
                    return reach
                reach = max(reach, 1 if operator in TAKES_PRODUCT else 2)
                node = body
            case s.Expectation(_, body):
                return 2
            case s.Statistic(operator, body) if operator != "probability":
                reach = max(reach, 1)
                node = body
            case s.Product(factors) | s.Hadamard(factors):
                node = factors[-1]
            case s.Negative(body):
                node = body
            case s.Add(terms):
                node = terms[-1]
            case _:
                return reach
