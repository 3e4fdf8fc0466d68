"""How far the end of a printed expression reaches, and what may stand without brackets.

`Σ_i x` reaches to the next `+`, `softmax_i x` beyond it, so each stands last or in brackets.
"""

from __future__ import annotations

from indicial.notation.operators import TAKES_PRODUCT
from indicial.notation.syntax import (
    Add,
    Call,
    Expectation,
    Expression,
    Group,
    Hadamard,
    Index,
    Name,
    Negative,
    Number,
    Product,
    Reduction,
    Statistic,
    TupleLiteral,
)
from indicial.notation.vocabulary import FUNCTIONS, REDUCTIONS

BODILESS = frozenset(FUNCTIONS) - {"σ"} | frozenset(REDUCTIONS)
"""Names that take what follows them as their argument or body."""


def reads_bare(node: Call) -> bool:
    """`ln P(x)`: a logarithm of one factor stands without brackets."""
    name = node.function
    if not (isinstance(name, Name) and name.base in ("ln", "log") and not name.accents):
        return False
    if node.given is not None or len(node.arguments) != 1:
        return False
    argument = node.arguments[0]
    while isinstance(argument, Index):
        argument = argument.base
    if isinstance(argument, Call):
        argument = argument.function
    return isinstance(argument, Name) and argument.base not in BODILESS


def hugs(number: Number, name: Name) -> bool:
    """`2t`; but `2 e` could be read as the number 2e…"""
    return number.text.isdigit() and not name.accents and name.base[0] not in "eE" and (
        len(name.base) == 1 or name.base.startswith("Δ")
    )  # fmt: skip


def tail(node: Expression) -> int:
    """How far the end of a node reaches: 0 not at all, 1 to the next `+`, 2 beyond it."""
    reach = 0
    while True:
        match node:
            case Reduction(operator, under, upper, body):
                closed = isinstance(body, Group | TupleLiteral) and not under and upper is None
                if operator == "softmax" and closed:
                    return reach
                reach = max(reach, 1 if operator in TAKES_PRODUCT else 2)
                node = body
            case Expectation(_, body):
                return 2
            case Statistic(operator, body) if operator != "probability":
                reach = max(reach, 1)
                node = body
            case Product(factors) | Hadamard(factors):
                node = factors[-1]
            case Negative(body):
                node = body
            case Add(terms):
                node = terms[-1]
            case _:
                return reach
