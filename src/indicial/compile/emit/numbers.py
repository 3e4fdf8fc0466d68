"""Arithmetic of numbers and sizes, done by Python: `1 / math.sqrt(I)`.

Python raises where IEEE has infinities: a division by 0, a logarithm of 0, a root of a negative
number. Where that could happen the number becomes a tensor, which knows what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from indicial.compile.emit.graph import (
    ATOM,
    CHOICE,
    COMPARE,
    NOT,
    NUMBER,
    POWER,
    PRODUCT,
    SIGN,
    SUM,
    Graph,
    Node,
)
from indicial.program.meaning.functions import FUNCTIONS

SIGNS = {"=": "==", "≠": "!=", "<": "<", "≤": "<=", ">": ">", "≥": ">="}
_SAFE = {"tanh": "math.tanh", "cos": "math.cos", "sin": "math.sin", "erf": "math.erf"}


def number(graph: Graph, function: str, arguments: Sequence[Node]) -> Node | None:
    """A function of numbers of Python; None if only a tensor can be asked."""
    values = [a.value for a in arguments]
    if all(v is not None for v in values):
        return graph.literal(FUNCTIONS[function](*values))
    rule = _RULES.get(function)
    if rule is not None:
        return rule(graph, arguments)
    if function in SIGNS:
        return _make(graph, f"{{}} {SIGNS[function]} {{}}", arguments, COMPARE, COMPARE + 1)
    if function in _SAFE:
        return _make(graph, f"{_SAFE[function]}({{}})", arguments, ATOM, CHOICE)
    return None


def _make(
    graph: Graph, template: str, arguments: Sequence[Node], level: int, *needs: int,
    positive: bool = False,
) -> Node:  # fmt: skip
    every = tuple(needs) if len(needs) == len(arguments) else needs * len(arguments)
    return graph.make(
        template, *arguments, kind=NUMBER, level=level, needs=every, plain=True, positive=positive
    )


def _add(graph: Graph, arguments: Sequence[Node]) -> Node:
    total = arguments[0]
    for term in arguments[1:]:
        positive = total.positive and term.positive
        if term.template == "-{}":
            total = _make(graph, "{} - {}", (total, term.arguments[0]), SUM, SUM, PRODUCT)
        elif term.value is not None and term.value < 0:
            total = _make(graph, "{} - {}", (total, graph.literal(-term.value)), SUM, SUM, PRODUCT)
        else:
            total = _make(graph, "{} + {}", (total, term), SUM, SUM, PRODUCT, positive=positive)
    return total


def _multiply(graph: Graph, arguments: Sequence[Node]) -> Node:
    total = arguments[0]
    for factor in arguments[1:]:
        positive = total.positive and factor.positive
        if total.value == 1:
            total = factor
        elif factor.value != 1:
            total = _make(
                graph, "{} * {}", (total, factor), PRODUCT, PRODUCT, SIGN, positive=positive
            )
    return total


def _divide(graph: Graph, arguments: Sequence[Node]) -> Node | None:
    a, b = arguments
    if not b.positive and not b.value:
        return None
    if b.value == 1:
        return a
    positive = a.positive and b.positive
    return _make(graph, "{} / {}", (a, b), PRODUCT, PRODUCT, SIGN, positive=positive)


def _power(graph: Graph, arguments: Sequence[Node]) -> Node | None:
    a, b = arguments
    if not a.positive and not (b.value is not None and b.value == int(b.value) and b.value >= 0):
        return None
    return _make(graph, "{} ** {}", (a, b), POWER, ATOM, SIGN, positive=a.positive)


def _negate(graph: Graph, arguments: Sequence[Node]) -> Node:
    return _make(graph, "-{}", arguments, SIGN, SIGN)


def _root(graph: Graph, arguments: Sequence[Node]) -> Node | None:
    if not arguments[0].positive:
        return None
    return _make(graph, "math.sqrt({})", arguments, ATOM, CHOICE, positive=True)


def _logarithm(graph: Graph, arguments: Sequence[Node]) -> Node | None:
    if not arguments[0].positive:
        return None
    return _make(graph, "math.log({})", arguments, ATOM, CHOICE)


def _extreme(name: str) -> Callable[[Graph, Sequence[Node]], Node]:
    def rule(graph: Graph, arguments: Sequence[Node]) -> Node:
        if len(arguments) == 1:
            return arguments[0]
        positive = all(a.positive for a in arguments)
        gaps = ", ".join("{}" for _ in arguments)
        return _make(graph, f"{name}({gaps})", arguments, ATOM, CHOICE, positive=positive)

    return rule


def _all(graph: Graph, arguments: Sequence[Node]) -> Node:
    total = arguments[0]
    for other in arguments[1:]:
        total = _make(graph, "{} and {}", (total, other), NOT, NOT, NOT + 1)
    return total


_RULES: dict[str, Callable[[Graph, Sequence[Node]], Node | None]] = {
    "+": _add,
    "*": _multiply,
    "/": _divide,
    "^": _power,
    "neg": _negate,
    "sqrt": _root,
    "ln": _logarithm,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "abs": lambda graph, a: _make(graph, "abs({})", a, ATOM, CHOICE, positive=a[0].positive),
    "floor": lambda graph, a: _make(graph, "math.floor({})", a, ATOM, CHOICE),
    "and": _all,
    "stop": lambda graph, a: a[0],
}
