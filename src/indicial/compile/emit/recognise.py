"""Blocks of a text → the same with library calls where patterns find them, and what they found.

    α = (Query @ Key.mT / math.sqrt(I)).softmax(-1)
    h = α @ Value                                        →  h = F.scaled_dot_product_attention(…)

A name whose value nobody reads any more is not printed, so α goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from indicial.compile.emit.blocks import Assign, Block, live_uses
from indicial.compile.emit.graph import Node
from indicial.compile.emit.in_place import IN_PLACE
from indicial.compile.emit.merge import MERGED
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.patterns.attention import ATTENTION
from indicial.compile.emit.patterns.bias import BIAS
from indicial.compile.emit.patterns.convolution import CONVOLUTION
from indicial.compile.emit.patterns.cross_entropy import CROSS_ENTROPY
from indicial.compile.emit.patterns.embedding import EMBEDDING
from indicial.compile.emit.patterns.gelu import GELU
from indicial.compile.emit.patterns.layer_norm import LAYER_NORM
from indicial.compile.emit.patterns.pattern import Finding, Found, Pattern, Surroundings
from indicial.compile.emit.rebuild import Rebuilder

PATTERNS = (ATTENTION, LAYER_NORM, CROSS_ENTROPY, GELU, BIAS, EMBEDDING)
NAMES = frozenset({CONVOLUTION, IN_PLACE, MERGED, *(pattern.name for pattern in PATTERNS)})
"""All patterns; a convolution is found while the text is made, by its indices."""


def recognise(
    block: Block, torch: Torch, names: Collection[str] = NAMES
) -> tuple[Block, list[Finding]]:
    """The block with calls, and the findings in the order of the text."""
    patterns = [pattern for pattern in PATTERNS if pattern.name in names]
    rewriter = _Rewriter(torch, live_uses(block), patterns)
    return rewriter.block(block), rewriter.findings


class _Rewriter(Rebuilder):
    def __init__(self, torch: Torch, uses: Counter[Node], patterns: Sequence[Pattern]) -> None:
        super().__init__(torch.graph)
        self.around = Surroundings(torch, uses)
        self.patterns = patterns
        self.findings: list[Finding] = []
        self.tensor = ""

    def assign(self, item: Assign) -> Assign | None:
        self.tensor = item.tensor
        if item.key is None and self.around.uses[item.node] == 0:
            return None
        return super().assign(item)

    def made(self, node: Node) -> Node | None:
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
        return None
