"""Torch expressions as a graph: the same operation on the same operands is one node.

    mean = make(".mean", x, -1, options={"keepdim": True})
    binary("-", x, mean), binary("-", x, mean)      →  one node, printed once and used twice

A node says what is done to what, and which shape and kind come out; it does not know index names. So
the two means of a layernorm, written over `j'` and over `j''`, are one. Text is made of nodes once, at
the end (`printing`).

Names of the notation → identifiers of Python, each its own.

>>> names = Names()
>>> names.new("W^{h,R}"), names.new("h̃_{in}"), names.new("CELL.W^h"), names.new("α"), names.new("F")
('W_hR', 'h_in_tilde', 'CELL_W_h', 'α', 'F_')

An identifier is built from letters, digits and a list of words: nothing else of a name gets into
the text, whatever the name is.
"""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Union

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
PREFIXES = {"-": (SIGN, SIGN), "~": (SIGN, SIGN), "not ": (CHOICE, COMPARE)}
"""The same of those that have one operand."""

TORCH_FUNCTIONS = {
    "tanh": "torch.tanh", "σ": "torch.sigmoid", "ReLU": "F.relu", "GELU": "F.gelu",
    "exp": "torch.exp", "ln": "torch.log", "sqrt": "torch.sqrt", "abs": ".abs",
    "sign": "torch.sign", "cos": "torch.cos", "sin": "torch.sin", "softplus": "F.softplus",
    "floor": "torch.floor", "erf": "torch.erf", "stop": ".detach",
}  # fmt: skip
"""The functions of the language, each of one number."""
POINTWISE = frozenset({"+", "-", "*", "/", "**", *TORCH_FUNCTIONS.values()})
"""Each element depends on those of the operands at the same place."""
REDUCTIONS = frozenset({".mean", ".sum", ".prod", ".amax", ".amin", ".any", ".argmax", ".argmin"})
"""Axes go, those that the second operand says."""
VIEWS = frozenset(
    {".mT", ".transpose", ".permute", ".expand", ".flatten", ".unflatten", ".squeeze"}
)
INDEXED, CHOSEN, EACH = "[]", "if", "for"
"""`x[:, t]`; `x if c else y`; `h[t] for t in range(T)`."""

FLOAT, INT, BOOL, NUMBER = "float", "int", "bool", "number"
"""What a node is: a tensor of numbers, of places, of truths, or a number of Python."""


@dataclass(frozen=True, eq=False)
class Scope:
    """A stretch of the text in which a variable lives: the function, or the body of a loop."""

    outer: Scope | None = None

    @property
    def depth(self) -> int:
        return 0 if self.outer is None else self.outer.depth + 1


@dataclass(frozen=True)
class Slice:
    """`start:stop` along an axis; None where it goes to the end."""

    start: Node | None = None
    stop: Node | None = None
    extent: Size | None = None


ALL = Slice()


class Listed(tuple[Any, ...]):
    """Operands in square brackets."""


class EinsumLetters(tuple[str, str, str]):
    """Of a product: one for each axis of its two operands, and of the result."""


Operand = Union["Node", Slice, str, int, float, None, tuple["Operand", ...]]
"""Numbers and words are what Python has; in `[]`, None is a new axis."""


@dataclass(frozen=True, eq=False)
class Node:
    """`operation` on `operands`; without operands it is the name of a variable, or a number.

    `scope` is the innermost one that it depends on. A node that is `plain` is repeated, not given a
    name.
    """

    operation: str
    operands: tuple[Operand, ...] = ()
    options: tuple[tuple[str, Operand], ...] = ()
    shape: tuple[Size, ...] = ()
    kind: str = FLOAT
    scope: Scope = field(default_factory=Scope)
    plain: bool = False
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

    @cached_property
    def arguments(self) -> tuple[Node, ...]:
        """The nodes among the operands."""
        return tuple(_nodes((self.operands, self.options)))

    @property
    def level(self) -> int:
        """How tightly its text binds."""
        if self.operation in PREFIXES and len(self.operands) == 1:
            return PREFIXES[self.operation][0]
        if self.operands:
            loose = CHOICE if self.operation in (CHOSEN, EACH) else ATOM
            return OPERATORS.get(self.operation, (loose,))[0]
        return SIGN if self.operation.startswith("-") else ATOM

    @property
    def light(self) -> bool:
        """A view of its argument, which costs nothing to make again."""
        if self.operation == INDEXED:
            return all(item.kind == NUMBER for item in self.arguments[1:])
        return self.operation in VIEWS or self.operation == ".get"


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _nodes(part)
    elif isinstance(value, Slice):
        yield from _nodes((value.start, value.stop))


def _mapped(value: Any, change: Callable[[Node], Node]) -> Any:
    """An operand with other nodes in it."""
    if isinstance(value, Node):
        return change(value)
    if isinstance(value, tuple):
        return value.__class__([_mapped(part, change) for part in value])
    if isinstance(value, Slice) and value is not ALL:
        return Slice(_mapped(value.start, change), _mapped(value.stop, change), value.extent)
    return value


class Graph:
    """All nodes of one text."""

    def __init__(self) -> None:
        self.root = Scope()
        self.known: dict[tuple[object, ...], Node] = {}

    def make(
        self,
        operation: str,
        *operands: Operand,
        shape: Sequence[Size] = (),
        kind: str = FLOAT,
        options: Mapping[str, Operand] | None = None,
        hint: str = "",
        plain: bool = False,
        shared: bool = False,
        positive: bool = False,
        natural: bool = False,
        value: float | None = None,
    ) -> Node:
        """A node, the one that there is already if there is one."""
        named = tuple((options or {}).items())
        key = (operation, operands, named)
        if key not in self.known:
            inside = (node.scope for node in _nodes((operands, named)))
            self.known[key] = Node(
                operation, operands, named, tuple(shape), kind,
                max(inside, key=lambda scope: scope.depth, default=self.root),
                plain, shared, hint, positive, natural or positive, value,
            )  # fmt: skip
        return self.known[key]

    def again(
        self, node: Node, change: Callable[[Node], Node], shape: Sequence[Size] | None = None
    ) -> Node:
        """The operation of a node with other nodes in the place of its arguments."""
        if not node.operands:
            return node
        return self.make(
            node.operation, *_mapped(node.operands, change), options=dict(_mapped(node.options, change)),
            shape=node.shape if shape is None else shape, kind=node.kind, hint=node.hint,
            plain=node.plain, shared=node.shared, positive=node.positive, natural=node.natural,
            value=node.value,
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
        kinds = [node.kind for node in (a, b) if node.kind != NUMBER]
        kind = kinds[0] if kinds else NUMBER
        if kinds and OPERATORS[sign][0] in (COMPARE, AND, OR):
            kind = BOOL
        if sign in "+*/":
            natural = natural or (a.natural and b.natural)
            some = (a.positive or b.positive) if sign == "+" else (a.positive and b.positive)
            positive = natural and some if positive is None else positive
        return self.make(
            sign, a, b, shape=shape, kind=kind, hint=hint, plain=kind == NUMBER,
            positive=bool(positive), natural=natural,
        )  # fmt: skip

    def prefix(self, sign: str, x: Node, hint: str = "", positive: bool = False) -> Node:
        """`-x`, `~x`, `not x`."""
        plain = x.kind == NUMBER
        return self.make(
            sign, x, shape=x.shape, kind=x.kind, hint=hint, plain=plain, positive=positive
        )

    def number(self, operation: str, *operands: Operand, positive: bool = False) -> Node:
        """A number that Python computes."""
        return self.make(operation, *operands, kind=NUMBER, plain=True, positive=positive)

    def name(self, text: str, shape: Sequence[Size], kind: str, scope: Scope | None = None) -> Node:
        """A variable; each call makes a new one."""
        return Node(text, shape=tuple(shape), kind=kind, scope=scope or self.root, plain=True)

    def literal(self, value: float) -> Node:
        """A number that is written out: `2`, `1e-05`."""
        if value != value or value in (float("inf"), float("-inf")):
            text = {"nan": "math.nan", "inf": "math.inf", "-inf": "-math.inf"}[str(value)]
        else:
            text = str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
        return self.make(text, kind=NUMBER, plain=True, positive=value > 0, value=float(value))


def as_int(value: int | Fraction) -> int:
    """A coefficient of a size, which is whole wherever a size is counted with."""
    if value != int(value):
        raise ValueError(f"{value} is not a whole number of elements")
    return int(value)


RESERVED = {
    "torch", "math", "F", "p", "x", "n", "lengths", "draws", "run", "device", "dtype", "_",
}  # fmt: skip

MARKS = {
    "\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0305": "bar", "\u0307": "dot",
    "\u0308": "ddot", "\u030c": "check", "\u0301": "acute", "\u0300": "grave", "\u0306": "breve",
    "\u20d7": "forward", "\u20d6": "backward", "'": "prime", "′": "prime", "*": "star",
    "∗": "star", "†": "dagger", "+": "plus", "-": "minus",
}  # fmt: skip
GREEK = re.compile("[α-ωΑ-Ω]")


class Identifiers:
    """The identifiers that are taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = {*RESERVED, *keyword.kwlist, *keyword.softkwlist, *dir(builtins), *taken}

    def new(self, name: str, free: str = "") -> str:
        """An identifier that nothing else has; `free` is one that may be taken all the same."""
        base = identifier(name)
        if base not in self.taken or base == free:
            self.taken.add(base)
            return base
        if f"{base}_" not in self.taken:
            self.taken.add(f"{base}_")
            return f"{base}_"
        number = 2
        while f"{base}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{base}_{number}")
        return f"{base}_{number}"


def identifier(name: str) -> str:
    """`h̃_{in}` → `h_in_tilde`: letters and digits as they are, marks as words at the end."""
    words: list[str] = []
    letters = ""
    for character in unicodedata.normalize("NFD", name):
        plain = unicodedata.normalize("NFKC", character)
        if character in MARKS:
            words.append(MARKS[character])
        elif (plain.isascii() and plain.isalnum()) or GREEK.fullmatch(plain):
            letters += plain
        elif character in "^_." and letters and not letters.endswith("_"):
            letters += "_"
    text = "_".join([letters.rstrip("_") or "v", *words])
    return text if text.isidentifier() else f"v{text}"


def letter(index: str) -> str:
    """What the values of an index are called: `t` for `t_2`."""
    return identifier(index.partition("_")[0].rstrip("'0123456789"))
