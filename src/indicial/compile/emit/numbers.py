"""Sizes in the text, and what is certain about them.

>>> certain(Size.of("L") - 1)               # every size is 1 or more
True
>>> text(2 * Size.of("J") - 1, {"J": "J"})
'2 * J - 1'

Loop variables count as sizes too: at `ℓ`, layer `ℓ-1` is a place like any other.

Arithmetic of numbers and sizes, done by Python: `1 / math.sqrt(I)`.

Python raises where IEEE has infinities: a division by 0, a logarithm of 0, a root of a negative
number. Where that could happen the number becomes a tensor, which knows what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

from indicial.compile.emit.nodes import Graph, Node, as_int
from indicial.program.meaning.functions import FUNCTIONS
from indicial.program.messages import IndicialError
from indicial.program.sizes import Atom, Size, Strided, nonnegative


@dataclass(frozen=True)
class Variable:
    """A loop's variable as a size, with the values that it can have."""

    name: str
    lower: Size
    extent: Size
    node: Node

    @property
    def upper(self) -> Size:
        return self.lower + self.extent - 1


class SizeTexts:
    """Sizes → nodes; remembers which sizes the text uses."""

    def __init__(
        self, graph: Graph, identifiers: Mapping[str, str], empty: Collection[str] = ()
    ) -> None:
        self.graph = graph
        self.identifiers = identifiers
        self.empty = frozenset(empty)
        """Sizes that may be 0; all others are 1 or more."""
        self.used: dict[str, None] = {}
        self.variables: dict[str, Variable] = {}
        self.largest: dict[str, tuple[Size, Size]] = {}
        """Sizes that stand for the larger of two, where only the run can tell."""

    def atom(self, name: str) -> Node:
        if name in self.variables:
            return self.variables[name].node
        if name in self.largest:
            ends = [self.node(size) for size in self.largest[name]]
            return self.graph.number("max", *ends)
        self.used[name] = None
        return self.graph.number(self.identifiers[name], positive=name not in self.empty)

    def node(self, size: Size) -> Node:
        """The size as a number of Python: `T - 1`."""
        if size.number is not None:
            return self.graph.literal(as_int(size.number))
        positive = self.certain(size - 1)
        total: Node | None = None
        # A leading minus would need brackets, so a term that is added goes first.
        for monomial, coefficient in sorted(size.terms, key=lambda term: term[1] < 0):
            factor = abs(as_int(coefficient))
            product = self.graph.literal(factor) if factor != 1 or not monomial else None
            for atom, power in monomial:
                for _ in range(power):
                    piece = self.power(atom)
                    product = piece if product is None else self.graph.binary("*", product, piece)
            assert product is not None
            total = self._plus(total, product, coefficient < 0, positive)
        assert total is not None
        return total

    def power(self, atom: Atom) -> Node:
        if isinstance(atom, str):
            return self.atom(atom)
        base = self.atom(atom.base)
        depth = self.graph.literal(atom.offset)
        if atom.index:
            depth = self.node(Size.of(atom.index) + atom.offset)
        if atom.index and not self.certain(Size.of(atom.index) + atom.offset):
            depth = self.graph.number("max", 0, depth)
        return strided(self.graph, base, atom.stride, depth)

    def range(self, first: Size, end: Size) -> Node:
        """`range(T)`, without the first number where it is 0."""
        ends = [end] if first.number == 0 else [first, end]
        return self.graph.number("range", *map(self.node, ends))

    def _plus(self, total: Node | None, term: Node, minus: bool, positive: bool) -> Node:
        if total is None and not minus:
            return term
        if total is None:
            return self.graph.prefix("-", term, positive=positive)
        return self.graph.binary("-" if minus else "+", total, term, positive=positive)

    def larger(self, a: Size, b: Size) -> Size:
        """The larger of two sizes."""
        if self.certain(a - b):
            return a
        if self.certain(b - a):
            return b
        name = f"max({a}, {b})"
        self.largest[name] = (a, b)
        return Size.of(name)

    # ---- what is certain ----

    def certain(self, size: Size) -> bool:
        """Whether a size is 0 or more, whatever the sizes are and wherever the loops stand."""
        for large in size.names & self.largest.keys():
            # It is no less than either; how much more it is nobody knows.
            return _linear(size, large) is True and any(
                self.certain(size.substitute({large: end})) for end in self.largest[large]
            )
        while True:
            name = next((v for v in self.variables if v in loose_names(size)), None)
            if name is None:
                return nonnegative(size, self.empty)
            variable, rising = self.variables[name], _linear(size, name)
            if rising is None:
                return False
            size = replaced(size, name, variable.lower if rising else variable.upper)


def strided(graph: Graph, base: Node, stride: int, depth: Node, shape: Sequence[Size] = ()) -> Node:
    """`-(-T // 2 ** depth)`: what is left of a size, rounded up."""
    power = graph.binary("**", graph.literal(stride), depth, depth.shape)
    below = graph.binary("//", graph.prefix("-", base, "length"), power, shape)
    return graph.prefix("-", below, "length", base.positive)


def loose_names(size: Size) -> set[str]:
    """The names in a size, those of the depths of strides included."""
    return size.names | {a.index for a in size.atoms if isinstance(a, Strided) and a.index}


def _linear(size: Size, name: str) -> bool | None:
    """Whether the size grows with the name; None if it is not linear in it."""
    factors = []
    for monomial, coefficient in size.terms:
        for atom, power in monomial:
            if isinstance(atom, Strided) and atom.index == name:
                return None
            if atom == name:
                if power != 1 or len(monomial) > 1:
                    return None
                factors.append(coefficient)
    return sum(factors) >= 0


class NotEmitted(IndicialError):
    """`NotEmitted("the extent T - t")`: the oracle runs such a program, a module does not yet."""

    def __init__(self, what: str) -> None:
        super().__init__(f"no PyTorch is known for {what}; `interpret` evaluates it, slowly")


def replaced(size: Size, name: str, by: Size) -> Size:
    """The size with a name replaced, in the depths of strides too; `NotEmitted` if it cannot stand there."""

    def change(atom: Atom) -> Size:
        if atom == name:
            return by
        if isinstance(atom, Strided) and atom.index == name:
            return _at_depth(atom, by)
        return Size.of(atom)

    return size.mapped(change)


def _at_depth(atom: Strided, depth: Size) -> Size:
    total = depth + atom.offset
    if total.number is not None:
        number = max(0, as_int(total.number))
        return Size.of(replace(atom, index="", offset=number) if number else atom.base)
    constant = sum(as_int(c) for monomial, c in total.terms if not monomial)
    name = (total - constant).name
    if name is None:
        raise NotEmitted(f"{atom} at {atom.index} = {depth}")
    return Size.of(replace(atom, index=name, offset=constant))


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
        return graph.number(_SAFE[function], *arguments)
    return None


def _add(graph: Graph, arguments: Sequence[Node]) -> Node:
    total = arguments[0]
    for term in arguments[1:]:
        if term.operation == "-" and len(term.operands) == 1:
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


def _of_positive(name: str, positive: bool) -> Callable[[Graph, Sequence[Node]], Node | None]:
    def rule(graph: Graph, arguments: Sequence[Node]) -> Node | None:
        asked = arguments[0].positive
        return graph.number(name, *arguments, positive=positive) if asked else None

    return rule


def _extreme(name: str) -> Callable[[Graph, Sequence[Node]], Node]:
    def rule(graph: Graph, arguments: Sequence[Node]) -> Node:
        if len(arguments) == 1:
            return arguments[0]
        return graph.number(name, *arguments, positive=all(a.positive for a in arguments))

    return rule


_RULES: dict[str, Callable[[Graph, Sequence[Node]], Node | None]] = {
    "+": _add,
    "*": _multiply,
    "/": _divide,
    "^": _power,
    "neg": lambda graph, a: graph.prefix("-", a[0]),
    "sqrt": _of_positive("math.sqrt", True),
    "ln": _of_positive("math.log", False),
    "min": _extreme("min"),
    "max": _extreme("max"),
    "abs": lambda graph, a: graph.number("abs", *a, positive=a[0].positive),
    "floor": lambda graph, a: graph.number("math.floor", *a),
    "and": lambda graph, a: reduce(partial(graph.binary, "and"), a),
    "stop": lambda graph, a: a[0],
}
