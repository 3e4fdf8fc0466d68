"""Torch expressions as a graph: the same operation on the same operands is one node.

    mean = call("{}.mean(-1, keepdim=True)", x)
    sub(x, mean), sub(x, mean)      →  one node, printed once and used twice

A node knows its shape as sizes, its kind, and how tightly its text binds; it does not know index
names. So the two means of a layernorm, written over `j'` and over `j''`, are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from indicial.program.sizes import Size

# How tightly Python's operators bind, from the loosest.
CHOICE, NOT, COMPARE, OR, AND, SUM, PRODUCT, SIGN, POWER, ATOM = range(10)

OPERATORS = {
    **dict.fromkeys(("+", "-"), (SUM, SUM, PRODUCT)),
    **dict.fromkeys(("*", "/", "//", "%", "@"), (PRODUCT, PRODUCT, SIGN)),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), (COMPARE, COMPARE + 1, COMPARE + 1)),
    "**": (POWER, ATOM, SIGN),
    "&": (AND, AND, AND + 1),
    "|": (OR, OR, OR + 1),
    "and": (NOT, NOT, NOT + 1),
}
"""How tightly an operation binds, and how tightly its operands have to."""

FLOAT, INT, BOOL, NUMBER = "float", "int", "bool", "number"
"""What a node is: a tensor of numbers, of places, of truths, or a number of Python."""


@dataclass(frozen=True, eq=False)
class Scope:
    """A stretch of the text in which a variable lives: the function, or the body of a loop."""

    outer: Scope | None = None

    @property
    def depth(self) -> int:
        return 0 if self.outer is None else self.outer.depth + 1


@dataclass(frozen=True, eq=False)
class Node:
    """`template` with the texts of `arguments` in its gaps.

    `level` says how tightly the text binds, `needs` how tightly each argument has to. `scope` is the
    innermost one that it depends on. A node that is `plain` is repeated, not given a name.
    """

    template: str
    arguments: tuple[Node, ...] = ()
    shape: tuple[Size, ...] = ()
    kind: str = FLOAT
    level: int = ATOM
    needs: tuple[int, ...] = ()
    scope: Scope = field(default_factory=Scope)
    plain: bool = False
    light: bool = False
    """A view of its argument, which costs nothing to make again."""
    pointwise: bool = False
    """Each element depends on those of the arguments at the same place."""
    shared: bool = False
    """A name of its own, not that of the tensor which is it first: zeros that several begin with."""
    hint: str = ""
    positive: bool = False
    """That it is above 0, and by more than rounding can take away."""
    natural: bool = False
    """That it is 0 or more."""
    value: float | None = None
    """Of a number: what it is, if that is known when the text is made."""

    @property
    def rank(self) -> int:
        return len(self.shape)


class Graph:
    """All nodes of one text."""

    def __init__(self) -> None:
        self.root = Scope()
        self.known: dict[tuple[object, ...], Node] = {}

    def make(
        self,
        template: str,
        *arguments: Node,
        shape: Sequence[Size] = (),
        kind: str = FLOAT,
        level: int = ATOM,
        needs: Sequence[int] | None = None,
        hint: str = "",
        plain: bool = False,
        light: bool = False,
        pointwise: bool = False,
        shared: bool = False,
        positive: bool = False,
        natural: bool = False,
        value: float | None = None,
    ) -> Node:
        """A node, the one that there is already if there is one."""
        key = (template, *map(id, arguments))
        if key not in self.known:
            scope = max((a.scope for a in arguments), key=lambda s: s.depth, default=self.root)
            self.known[key] = Node(
                template,
                arguments,
                tuple(shape),
                kind,
                level,
                tuple(needs) if needs is not None else _needs(template, len(arguments)),
                scope,
                plain,
                light,
                pointwise,
                shared,
                hint,
                positive,
                natural or positive,
                value,
            )
        return self.known[key]

    def again(self, node: Node, arguments: Sequence[Node], shape: Sequence[Size]) -> Node:
        """The operation of a node with other operands."""
        return self.make(
            node.template, *arguments, shape=shape, kind=node.kind, level=node.level,
            needs=node.needs, hint=node.hint, plain=node.plain, light=node.light,
            pointwise=node.pointwise, shared=node.shared, positive=node.positive,
            natural=node.natural, value=node.value,
        )  # fmt: skip

    def binary(
        self,
        sign: str,
        a: Node,
        b: Node,
        shape: Sequence[Size] = (),
        hint: str = "",
        positive: bool | None = None,
        natural: bool = False,
    ) -> Node:
        """`a + b`: what kind it is and whether it is 0 or more follows from a and b, or is told."""
        level, left, right = OPERATORS[sign]
        kinds = [node.kind for node in (a, b) if node.kind != NUMBER]
        kind = kinds[0] if kinds else NUMBER
        if kinds and level in (COMPARE, AND, OR):
            kind = BOOL
        if sign in "+*/":
            natural = natural or (a.natural and b.natural)
            some = (a.positive or b.positive) if sign == "+" else (a.positive and b.positive)
            positive = natural and some if positive is None else positive
        return self.make(
            f"{{}} {sign} {{}}", a, b, shape=shape, kind=kind, level=level, needs=(left, right),
            hint=hint, plain=kind == NUMBER, pointwise=sign in "+-*/**", positive=bool(positive),
            natural=natural,
        )  # fmt: skip

    def prefix(self, sign: str, x: Node, hint: str = "", positive: bool = False) -> Node:
        """`-x`, `~x`."""
        return self.make(
            f"{sign}{{}}", x, shape=x.shape, kind=x.kind, level=SIGN, needs=(SIGN,), hint=hint,
            plain=x.kind == NUMBER, positive=positive,
        )  # fmt: skip

    def name(self, text: str, shape: Sequence[Size], kind: str, scope: Scope | None = None) -> Node:
        """A variable; each call makes a new one."""
        return Node(text, (), tuple(shape), kind, scope=scope or self.root, plain=True)

    def literal(self, value: float) -> Node:
        """A number that is written out: `2`, `1e-05`."""
        if value != value or value in (float("inf"), float("-inf")):
            text = {"nan": "math.nan", "inf": "math.inf", "-inf": "-math.inf"}[str(value)]
        else:
            text = str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
        level = SIGN if text.startswith("-") else ATOM
        return self.make(
            text, kind=NUMBER, level=level, plain=True, positive=value > 0, value=float(value)
        )


def _needs(template: str, count: int) -> tuple[int, ...]:
    """A gap before a dot or bracket holds an operand; one between brackets or commas anything."""
    parts = template.split("{}")
    return tuple(
        ATOM if parts[n + 1].startswith((".", "[")) and parts[n] == "" else CHOICE
        for n in range(count)
    )


def as_int(value: int | Fraction) -> int:
    """A coefficient of a size, which is whole wherever a size is counted with."""
    if value != int(value):
        raise ValueError(f"{value} is not a whole number of elements")
    return int(value)
