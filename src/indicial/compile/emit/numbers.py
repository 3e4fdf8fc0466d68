"""Arithmetic of numbers and sizes, done by Python: `1 / math.sqrt(I)`.

Python raises where IEEE has infinities: a division by 0, a logarithm of 0, a root of a negative
number. Where that could happen the number becomes a tensor, which knows what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from indicial.compile.emit.graph import (
    NUMBER,
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
        return graph.binary(SIGNS[function], arguments[0], arguments[1])
    if function in _SAFE:
        return _call(graph, _SAFE[function], arguments)
    return None


def _call(graph: Graph, name: str, arguments: Sequence[Node], positive: bool = False) -> Node:
    gaps = ", ".join("{}" for _ in arguments)
    return graph.make(f"{name}({gaps})", *arguments, kind=NUMBER, plain=True, positive=positive)


def _add(graph: Graph, arguments: Sequence[Node]) -> Node:
    total = arguments[0]
    for term in arguments[1:]:
        if term.template == "-{}":
            total = graph.binary("-", total, term.arguments[0])
        elif term.value is not None and term.value < 0:
            total = graph.binary("-", total, graph.literal(-term.value))
        else:
            total = graph.binary("+", total, term)
    return total


def _multiply(graph: Graph, arguments: Sequence[Node]) -> Node:
    total = arguments[0]
    for factor in arguments[1:]:
        if total.value == 1:
            total = factor
        elif factor.value != 1:
            total = graph.binary("*", total, factor)
    return total


def _divide(graph: Graph, arguments: Sequence[Node]) -> Node | None:
    a, b = arguments
    if not b.positive and not b.value:
        return None
    return a if b.value == 1 else graph.binary("/", a, b)


def _power(graph: Graph, arguments: Sequence[Node]) -> Node | None:
    a, b = arguments
    if not a.positive and not (b.value is not None and b.value == int(b.value) and b.value >= 0):
        return None
    return graph.binary("**", a, b, positive=a.positive)


def _root(graph: Graph, arguments: Sequence[Node]) -> Node | None:
    if not arguments[0].positive:
        return None
    return _call(graph, "math.sqrt", arguments, positive=True)


def _logarithm(graph: Graph, arguments: Sequence[Node]) -> Node | None:
    if not arguments[0].positive:
        return None
    return _call(graph, "math.log", arguments)


def _extreme(name: str) -> Callable[[Graph, Sequence[Node]], Node]:
    def rule(graph: Graph, arguments: Sequence[Node]) -> Node:
        if len(arguments) == 1:
            return arguments[0]
        return _call(graph, name, arguments, all(a.positive for a in arguments))

    return rule


def _all(graph: Graph, arguments: Sequence[Node]) -> Node:
    return reduce(partial(graph.binary, "and"), arguments)


_RULES: dict[str, Callable[[Graph, Sequence[Node]], Node | None]] = {
    "+": _add,
    "*": _multiply,
    "/": _divide,
    "^": _power,
    "neg": lambda graph, a: graph.prefix("-", a[0]),
    "sqrt": _root,
    "ln": _logarithm,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "abs": lambda graph, a: _call(graph, "abs", a, a[0].positive),
    "floor": lambda graph, a: _call(graph, "math.floor", a),
    "and": _all,
    "stop": lambda graph, a: a[0],
}
