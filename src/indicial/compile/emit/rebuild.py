"""A block with some nodes replaced, and all that is made of them made again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from indicial.compile.emit.blocks import Assign, Block, Line, Return
from indicial.compile.emit.graph import Graph, Node


class Rebuilder(ABC):
    """Override `made` to say what a node becomes; None if it stays what it is."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.became: dict[Node, Node] = {}

    @abstractmethod
    def made(self, node: Node) -> Node | None:
        """What a node becomes."""

    def block(self, block: Block) -> Block:
        header = replace(block.header, arguments=self.all(block.header.arguments))
        result = Block(block.scope, header)
        for item in block.items:
            if isinstance(item, Block):
                result.items.append(self.block(item))
            elif isinstance(item, Assign):
                assigned = self.assign(item)
                result.items += [assigned] if assigned is not None else []
            elif isinstance(item, Line | Return):
                result.items.append(replace(item, arguments=self.all(item.arguments)))
            else:
                result.items.append(item)
        return result

    def assign(self, item: Assign) -> Assign | None:
        """An assignment; None if it goes."""
        key = self.node(item.key) if item.key is not None else None
        return replace(item, node=self.node(item.node), key=key)

    def all(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        return tuple(self.node(n) for n in nodes)

    def node(self, node: Node) -> Node:
        if node not in self.became:
            made = self.made(node)
            self.became[node] = made if made is not None else self.again(node)
        return self.became[node]

    def again(self, node: Node) -> Node:
        """The same node of what its arguments have become."""
        arguments = self.all(node.arguments)
        if all(a is b for a, b in zip(arguments, node.arguments, strict=True)):
            return node
        return self.graph.again(node, arguments, node.shape)
