"""The x_0 of `x_t = a_t x_0 + b_t ε`: what nothing steps from is no start of a recurrence.

x_t = a_t x_0 + b_t ε       x_0 is a name of its own
h_t = a h_{t-1} + x_t       h_0 is the start of h
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from indicial.notation.syntax import Add, Equation, Expression, Name, Number, Statement
from indicial.program.names.letters import index_name


def outset(statements: Sequence[Statement]) -> list[Statement]:
    """The statements of a text with such names set apart."""
    defined: dict[Name, set[str]] = defaultdict(set)
    stepped: set[Name] = set()
    for statement in statements:
        left = statement.sides[0] if isinstance(statement, Equation) else None
        if isinstance(left, Name) and len(left.sub) == 1:
            number = left.sub[0].text if isinstance(left.sub[0], Number) else ""
            if number or index_name(left.sub[0]) is not None:
                defined[_stem(left)].add(number)
        for node in statement.every(Name):
            if any(isinstance(item, Add) for item in node.sub):
                stepped.add(_stem(node))
    alone = {stem for stem, numbers in defined.items() if numbers == {""}} - stepped
    if not alone:
        return list(statements)

    def change(node: Expression) -> Expression:
        if isinstance(node, Name) and _stem(node) in alone and node.sub == (Number("0"),):
            return replace(node, sub=(Name("0", span=node.sub[0].span),))
        return node.rebuild(change)

    return [
        replace(st, sides=tuple(map(change, st.sides))) if isinstance(st, Equation) else st
        for st in statements
    ]


def _stem(name: Name) -> Name:
    return Name(name.base, name.accents, name.primes, sup=name.sup)
