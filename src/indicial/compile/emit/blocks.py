"""Blocks of assignments and loops: what is printed, before it is text.

    Block(scope, Line("for t in range(T):"), [Comment("h[t,j] = …"), Assign("h[{}]", node, key)])

Which of the nodes are needed, and how often, is found by walking from the lines that run anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from indicial.compile.emit.graph import Node, Scope
from indicial.program.rewrite import reached


@dataclass(frozen=True)
class Assign:
    """`target = node`; a target may be an entry, `h[{}]` with its key."""

    target: str
    node: Node
    key: Node | None = None
    tensor: str = ""
    """The name in the program."""


@dataclass(frozen=True)
class Line:
    """A line as it is, with nodes in its gaps."""

    template: str
    arguments: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Return:
    """`return {"h": h}`."""

    names: tuple[str, ...]
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Comment:
    text: str


Item = Assign | Line | Return | Comment


@dataclass
class Block:
    """Items one after the other; `header` is the line that they are indented below."""

    scope: Scope
    header: Line = field(default_factory=lambda: Line(""))
    items: list[Item | Block] = field(default_factory=list)


def flat(block: Block) -> Iterator[Item]:
    """All items in the order in which they are printed, headers among them."""
    for item in block.items:
        if isinstance(item, Block):
            yield item.header
            yield from flat(item)
        else:
            yield item


def roots(item: Item) -> list[Node]:
    """The nodes that an item needs, whether or not anybody reads what it makes."""
    if isinstance(item, Comment):
        return []
    if isinstance(item, Assign):
        return [item.node, item.key] if item.key is not None else []
    return list(item.arguments)


def all_roots(block: Block) -> list[Node]:
    """Those of a whole block."""
    return [root for item in flat(block) for root in roots(item)]


def live_uses(block: Block) -> Counter[Node]:
    """How many nodes and lines read each node, of those that are needed at all."""
    first = all_roots(block)
    live = below(first)
    return Counter([*first, *(argument for node in live for argument in node.arguments)])


def below(nodes: Iterable[Node]) -> set[Node]:
    """Some nodes and all that they are made of."""
    return reached(nodes, lambda node: node.arguments)
