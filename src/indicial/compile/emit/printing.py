"""Blocks of assignments and loops: what is printed, before it is text.

    Block(scope, Line("for t in ", every, ":"), [Comment("h[t,j] = …"), Assign("h", node, key)])

Which of the nodes are needed, and how often, is found by walking from the lines that run anyway.

Blocks of assignments and loops → the lines of a function.

    assign("N", div(c, sqrt(…)))     centred = L - L.mean(-1, keepdim=True)  # (B, T, J)
                                     N = centred / torch.sqrt(…)             # (B, T, J)

What is used twice gets a name of its own, and so does what is too long for a line. What does not
change in a loop is computed before it.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from indicial.compile.emit.nodes import (
    ALL,
    ATOM,
    CHOICE,
    CHOSEN,
    EACH,
    INDEXED,
    NUMBER,
    OPERATORS,
    PREFIXES,
    EinsumLetters,
    Identifiers,
    Listed,
    Node,
    Operand,
    Scope,
    Slice,
)
from indicial.compile.emit.numbers import loose_names, replaced
from indicial.program.rewrite import reached
from indicial.program.sizes import Size


@dataclass(frozen=True)
class Assign:
    """`target = node`; with a key, an entry of the target: `h[t] = node`."""

    target: str
    node: Node
    key: Node | None = None
    tensor: str = ""
    """The name in the program."""


@dataclass(frozen=True)
class Line:
    """A line as it is, with a node before its end: `for t in `, range(T), `:`."""

    start: str = ""
    node: Node | None = None
    end: str = ""


@dataclass(frozen=True)
class Return:
    """`return {"h": h}`."""

    names: tuple[str, ...]
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Comment:
    text: str


TextItem = Assign | Line | Return | Comment
T = TypeVar("T", bound=TextItem)


@dataclass
class Block:
    """Items one after the other; `header` is the line that they are indented below."""

    scope: Scope
    header: Line = Line()
    items: list[TextItem | Block] = field(default_factory=list)


def every_item(block: Block) -> Iterator[TextItem]:
    """All items in the order in which they are printed, headers among them."""
    for item in block.items:
        if isinstance(item, Block):
            yield item.header
            yield from every_item(item)
        else:
            yield item


def roots(item: TextItem) -> list[Node]:
    """The nodes that an item needs, whether or not anybody reads what it makes."""
    if isinstance(item, Comment):
        return []
    if isinstance(item, Assign):
        return [item.node, item.key] if item.key is not None else []
    if isinstance(item, Line):
        return [item.node] if item.node is not None else []
    return list(item.arguments)


def all_roots(block: Block) -> list[Node]:
    """Those of a whole block."""
    return [root for item in every_item(block) for root in roots(item)]


def changed(item: T, change: Callable[[Node], Node]) -> T:
    """An item of other nodes."""
    match item:
        case Assign(_, node, key):
            return replace(item, node=change(node), key=key and change(key))
        case Line(_, Node() as node):
            return replace(item, node=change(node))
        case Return(_, arguments):
            return replace(item, arguments=tuple(map(change, arguments)))
    return item


def live_uses(block: Block) -> Counter[Node]:
    """How many nodes and lines read each node, of those that are needed at all."""
    first = all_roots(block)
    live = below(first)
    return Counter([*first, *(argument for node in live for argument in node.arguments)])


def below(nodes: Iterable[Node]) -> set[Node]:
    """Some nodes and all that they are made of."""
    return reached(nodes, lambda node: node.arguments)


WIDTH = 100
LONG_TEXT = 20 * WIDTH
"""A text of so many characters is divided in many places at once: one after the other takes long."""
SHORT_VIEW = 24
"""A view that takes no more than this is written again where it is used again."""


@dataclass
class _Open:
    """A block that is being printed."""

    scope: Scope
    lines: list[str]
    bound: dict[Node, str] = field(default_factory=dict)


def _outermost(nodes: Sequence[Node]) -> set[Node]:
    """Those of some short nodes that stand in no other of them."""
    return set(nodes) - below(argument for node in nodes for argument in node.arguments)


class Printer:
    """One text. `letters` names the sizes in the remarks on shapes."""

    def __init__(self, names: Identifiers, letters: dict[str, str]) -> None:
        self.names = names
        self.letters = letters
        self.uses: Counter[Node] = Counter()
        self.live: set[Node] = set()
        self.last: dict[Node, int] = {}
        self.number = -1
        self.temporary: dict[str, tuple[Node, float, _Open]] = {}
        self.stack: list[_Open] = []
        self.forced: set[Node] = set()
        self.inlined: list[tuple[Node, str]] = []

    def print(self, block: Block, indent: int = 4) -> list[str]:
        self.live = below(all_roots(block))
        self._count(block)
        self.number = -1
        return self._block(block, indent)

    def inline(self, node: Node) -> str:
        """The text of a node that needs no names."""
        self.stack = [_Open(node.scope, [])]
        self.forced = set()
        return self._inline(node)

    def _count(self, block: Block) -> None:
        """How often each node is used, and by which item for the last time."""
        assigned: set[Node] = set()
        counted: set[Node] = set()
        for number, item in enumerate(every_item(block)):
            nodes = roots(item)
            if isinstance(item, Assign) and item.node in self.live:
                nodes = [*nodes, item.node]
            self.uses.update(nodes)
            waiting, seen = list(nodes), set()
            while waiting:
                node = waiting.pop()
                if node in seen or node in assigned:
                    continue
                seen.add(node)
                self.last[node] = number
                waiting.extend(node.arguments)
                if node not in counted:
                    counted.add(node)
                    self.uses.update(node.arguments)
            if isinstance(item, Assign):
                assigned.add(item.node)

    def _block(self, block: Block, indent: int) -> list[str]:
        here = _Open(block.scope, [])
        self.stack.append(here)
        for item in block.items:
            self.number += not isinstance(item, Block)
            if isinstance(item, Block):
                self.number += 1
                header = self._line(item.header)
                inside = self._block(item, indent + 4)
                if any(line.strip() and not line.strip().startswith("#") for line in inside):
                    here.lines += [" " * indent + header, *inside]
            elif isinstance(item, Comment):
                here.lines += self._comment(item.text, indent)
            elif isinstance(item, Line):
                line = self._line(item)
                here.lines.append(" " * indent + line if line else "")
            elif isinstance(item, Return):
                here.lines += self._return(item, indent)
            else:
                self._assign(item, indent)
        self.stack.pop()
        return here.lines

    def _return(self, item: Return, indent: int) -> list[str]:
        pairs = zip(item.names, item.arguments, strict=True)
        items = [f"{quoted(name)}: {self._text(node)}" for name, node in pairs]
        return braced(" " * indent + "return {", items, "}")

    def _comment(self, text: str, indent: int) -> list[str]:
        lines = []
        for line in text.splitlines():
            line = "".join(c if c.isprintable() else " " for c in line)
            lines += textwrap.wrap(line.strip(), WIDTH - indent - 2) or [""]
        # Equations that one line computes together stand together above it.
        above = self.stack[-1].lines
        together = bool(above) and above[-1].lstrip().startswith("# ")
        return [*([] if together else [""]), *(" " * indent + f"# {line}" for line in lines)]

    def _assign(self, item: Assign, indent: int) -> None:
        here = self.stack[-1]
        if item.key is None and item.node not in self.live:
            return
        target = item.target
        if item.key is not None:
            target += f"[{self._text(item.key)}]"
        bound = self._bound(item.node)
        if bound == target:
            return
        if bound is None and item.node.shared and self.uses[item.node] > 1:
            bound = self._bind(item.node)
        text = bound or self._fitting(item.node, target, indent)
        here.lines.append(self._full(target, text, item.node, indent))
        if not item.node.shared or bound is None:
            here.bound[item.node] = target

    def _full(self, target: str, text: str, node: Node, indent: int) -> str:
        line = " " * indent + f"{target} = {text}"
        remark = f"  # {self.shape(node.shape)}" if node.kind != NUMBER else ""
        return line + remark if len(line + remark) <= WIDTH else line

    def shape(self, shape: tuple[Size, ...]) -> str:
        texts = [self._size(size) for size in shape]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"

    def _size(self, size: Size) -> str:
        for name in loose_names(size) & self.letters.keys():
            size = replaced(size, name, Size.of(self.letters[name]))
        return str(size)

    def _fitting(self, node: Node, target: str, indent: int) -> str:
        """The text, after as much of it has got a name as is too long for one line."""
        while True:
            self.inlined = []
            text = self._inline(node)
            remark = len(self.shape(node.shape)) + 4
            if indent + len(target) + 3 + len(text) + remark <= WIDTH:
                return text
            parts = [
                (inner, part)
                for inner, part in self.inlined
                if inner is not node and not inner.plain and inner.kind != NUMBER and len(part) > 8
            ]
            fits = [pair for pair in parts if len(pair[1]) <= WIDTH - indent - 30]
            fits = fits or [pair for pair in parts if len(pair[1]) <= WIDTH - indent - 12]
            if not fits:
                return text
            if len(text) > LONG_TEXT:
                self.forced |= _outermost([inner for inner, _ in fits])
            else:
                self.forced.add(max(fits, key=lambda pair: len(pair[1]))[0])

    def _line(self, line: Line) -> str:
        return line.start + (self._text(line.node) if line.node is not None else "") + line.end

    def _bound(self, node: Node) -> str | None:
        for level in reversed(self.stack):
            if node in level.bound:
                return level.bound[node]
        return None

    def _text(self, node: Node, need: int = CHOICE) -> str:
        bound = self._bound(node)
        if bound is not None:
            return bound
        if not node.plain and self._worth(node):
            return self._bind(node)
        text = self._inline(node)
        self.inlined.append((node, text))
        return text if node.level >= need else f"({text})"

    def _inline(self, node: Node) -> str:
        """An operation, with names or texts of its operands."""
        name, operands = node.operation, node.operands
        if not operands:
            return name
        if name in OPERATORS and len(operands) == 2:
            _, left, right = OPERATORS[name]
            one, two = operands
            return f"{self._operand(one, left)} {name} {self._operand(two, right)}"
        if name in PREFIXES:
            return name + self._operand(operands[0], PREFIXES[name][1])
        if name == CHOSEN:
            needs = (CHOICE + 1, CHOICE + 1, CHOICE)
            x, test, y = (self._operand(o, n) for o, n in zip(operands, needs, strict=True))
            return f"{x} if {test} else {y}"
        if name == EACH:
            one, variable, every = map(self._operand, operands)
            return f"{one} for {variable} in {every}"
        called, rest = name, operands
        if name.startswith((".", INDEXED)):
            called, rest = self._operand(operands[0], ATOM), operands[1:]
            if name == INDEXED:
                return f"{called}[{self._items(rest)}]"
            called += name
        if name == ".mT":
            return called
        texts = [*map(self._operand, rest), *(f"{n}={self._operand(v)}" for n, v in node.options)]
        return f"{called}({', '.join(texts)})"

    def _operand(self, value: Operand, need: int = CHOICE) -> str:
        if isinstance(value, Node):
            return self._text(value, need)
        if isinstance(value, Slice):
            return ":".join("" if e is None else self._text(e) for e in (value.start, value.stop))
        if isinstance(value, EinsumLetters):
            return '"{},{}->{}"'.format(*value)
        if isinstance(value, tuple):
            inside = ", ".join(map(self._operand, value))
            if isinstance(value, Listed):
                return f"[{inside}]"
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        return f'"{value}"' if isinstance(value, str) else str(value)

    def _items(self, items: Sequence[Operand]) -> str:
        """`:, t`: without what all the rest is anyway; `..., None` for two axes or more before it."""
        last = max(n for n, item in enumerate(items, 1) if item is not ALL)
        front = next(n for n, item in enumerate(items) if item is not ALL)
        texts = [*map(self._operand, items[:last])]
        if front >= 2 and all(item is None for item in items[front:]):
            texts[:front] = ["..."]
        return ", ".join(texts)

    def _worth(self, node: Node) -> bool:
        if node in self.forced:
            return True
        outside = node.scope.depth < self.stack[-1].scope.depth
        if node.light:
            return self.uses[node] > 1 and len(self._inline(node)) > SHORT_VIEW
        return self.uses[node] > 1 or outside

    def _name(self, node: Node, depth: int) -> str:
        """A name by what it is; one that is no longer needed may be taken again."""
        base, inner = node.hint, node
        while not base and inner.arguments:
            inner = inner.arguments[0]
            base = inner.hint
        base = base or "part"
        lasting = depth < len(self.stack) - 1
        # What stands before a loop is needed in all its rounds, so it shares no name with what
        # is made in them.
        free = () if lasting else self.temporary.items()
        name = next(
            (
                name
                for name, (_, last, block) in free
                if last < self.number
                and block is self.stack[depth]
                and name.rstrip("_0123456789") == base
            ),
            None,
        )
        if name is None:
            name = self.names.new(base)
        else:
            for level in self.stack:
                level.bound.pop(self.temporary[name][0], None)
        until = math.inf if lasting else self.last[node]
        self.temporary[name] = (node, until, self.stack[depth])
        return name

    def _bind(self, node: Node) -> str:
        """Give a node a name, in the outermost block that has all that it needs."""
        depth = next(n for n, level in enumerate(self.stack) if level.scope is node.scope)
        name = self._name(node, depth)
        inner, self.stack = self.stack[depth + 1 :], self.stack[: depth + 1]
        inlined, self.inlined = self.inlined, []
        text = self._fitting(node, name, 4 * depth + 4)
        self.inlined = inlined
        here = self.stack[-1]
        here.lines.append(self._full(name, text, node, 4 * depth + 4))
        here.bound[node] = name
        self.stack = [*self.stack, *inner]
        return name


def quoted(name: str) -> str:
    """A name as a string of Python."""
    return json.dumps(name, ensure_ascii=not name.isprintable())


def braced(start: str, items: Sequence[str], end: str) -> list[str]:
    """Items between brackets, on one line or one line each."""
    line = f"{start}{', '.join(items)}{end}"
    if len(line) <= WIDTH:
        return [line]
    margin = " " * (len(start) - len(start.lstrip()))
    return [start, *(f"{margin}    {item}," for item in items), margin + end]
