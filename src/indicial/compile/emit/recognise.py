"""Blocks of a text → the same with library calls where patterns find them, and what they found.

    α = (Query @ Key.mT / math.sqrt(I)).softmax(-1)
    h = α @ Value                                        →  h = F.scaled_dot_product_attention(…)

A name whose value nobody reads any more is not printed, so α goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from indicial.compile.emit.graph import Node
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.patterns.attention import ATTENTION
from indicial.compile.emit.patterns.bias import BIAS
from indicial.compile.emit.patterns.convolution import CONVOLUTION
from indicial.compile.emit.patterns.cross_entropy import CROSS_ENTROPY
from indicial.compile.emit.patterns.embedding import EMBEDDING
from indicial.compile.emit.patterns.gelu import GELU
from indicial.compile.emit.patterns.in_place import IN_PLACE
from indicial.compile.emit.patterns.layer_norm import LAYER_NORM
from indicial.compile.emit.patterns.pattern import Finding, Found, Pattern, Surroundings
from indicial.compile.emit.printing import Assign, Block, Line, Return, live_uses

PATTERNS = (ATTENTION, LAYER_NORM, CROSS_ENTROPY, GELU, BIAS, IN_PLACE, EMBEDDING)
NAMES = frozenset({CONVOLUTION, *(pattern.name for pattern in PATTERNS)})
"""All patterns; a convolution is found while the text is made, by its indices."""


def recognise(
    block: Block, torch: Torch, names: Collection[str] = NAMES
) -> tuple[Block, list[Finding]]:
    """The block with calls, and the findings in the order of the text."""
    patterns = [pattern for pattern in PATTERNS if pattern.name in names]
    rewriter = _Rewriter(torch, live_uses(block), patterns)
    return rewriter.block(block), rewriter.findings


class _Rewriter:
    def __init__(self, torch: Torch, uses: Counter[int], patterns: Sequence[Pattern]) -> None:
        self.torch = torch
        self.around = Surroundings(torch, uses)
        self.patterns = patterns
        self.became: dict[int, Node] = {}
        self.findings: list[Finding] = []
        self.tensor = ""

    def block(self, block: Block) -> Block:
        header = replace(block.header, arguments=self.all(block.header.arguments))
        result = Block(block.scope, header)
        for item in block.items:
            if isinstance(item, Block):
                result.items.append(self.block(item))
            elif isinstance(item, Assign):
                self.tensor = item.tensor
                if item.key is None and self.around.uses[id(item.node)] == 0:
                    continue
                key = self.node(item.key) if item.key is not None else None
                result.items.append(replace(item, node=self.node(item.node), key=key))
            elif isinstance(item, Line | Return):
                result.items.append(replace(item, arguments=self.all(item.arguments)))
            else:
                result.items.append(item)
        return result

    def all(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        return tuple(self.node(n) for n in nodes)

    def node(self, node: Node) -> Node:
        if id(node) not in self.became:
            self.became[id(node)] = self.rebuilt(node)
        return self.became[id(node)]

    def rebuilt(self, node: Node) -> Node:
        if not node.arguments:
            return node
        for pattern in self.patterns:
            found = pattern.match(node, self.around)
            if found is None:
                continue
            reason = "" if isinstance(found, Found) else found.reason
            self.findings.append(Finding(pattern.name, pattern.call, self.tensor, reason))
            if isinstance(found, Found):
                return found.build(self.node)
        arguments = self.all(node.arguments)
        if all(a is b for a, b in zip(arguments, node.arguments, strict=True)):
            return node
        return self.torch.graph.make(
            node.template, *arguments, shape=node.shape, kind=node.kind, level=node.level,
            needs=node.needs, hint=node.hint, plain=node.plain, light=node.light,
            pointwise=node.pointwise, shared=node.shared, positive=node.positive, natural=node.natural,
            value=node.value,
        )  # fmt: skip
