"""Numbers that stand in the tree → nested tuples.

>>> numbers(parse_text("constant q[i] = [1, -2, 1/2]").statements[0].value)
(1.0, -2.0, 0.5)
"""

from __future__ import annotations

import math

from indicial.notation.node import Expression
from indicial.notation.syntax import Fraction, ListLiteral, Negative, Number, Product


def numbers(node: Expression | None) -> object:
    """A number, or nested tuples of numbers; `TypeError` for anything else."""
    match node:
        case ListLiteral(items=items):
            return tuple(numbers(item) for item in items)
        case Negative(body=body):
            return -_number(body)
        case Fraction(above=above, below=below) if _number(below):
            return _number(above) / _number(below)
        case Product(factors=factors):
            return math.prod(map(_number, factors))
        case Number(text=text):
            return math.inf if text == "∞" else float(text)
    raise TypeError("not a number")


def _number(node: Expression) -> float:
    found = numbers(node)
    if not isinstance(found, float):
        raise TypeError("not a number")
    return found
