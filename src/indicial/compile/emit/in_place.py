"""The ReLU of a linear map is taken in the memory of the map.

F.relu(F.linear(M, W_1, b))     linear_relu(M, W_1, b)

Neither gradient reads what is overwritten. What a map of three axes returns is a view for autograd,
and changing a view is recorded as copies; so the helper multiplies rows and puts the axes back.
"""

from __future__ import annotations

from collections import Counter

from indicial.compile.emit.blocks import Block, live_uses
from indicial.compile.emit.graph import Node
from indicial.compile.emit.merge import LINEAR
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.rebuild import Rebuilder

IN_PLACE = "ReLU in place"


def in_place(block: Block, torch: Torch) -> Block:
    """The block with such calls where nobody else reads the map."""
    return _Rewriter(torch, live_uses(block)).block(block)


class _Rewriter(Rebuilder):
    def __init__(self, torch: Torch, uses: Counter[Node]) -> None:
        super().__init__(torch.graph)
        self.torch = torch
        self.uses = uses

    def made(self, node: Node) -> Node | None:
        if node.template != "F.relu({})":
            return None
        (linear,) = node.arguments
        if linear.template not in LINEAR or linear.rank < 2 or self.uses[linear] != 1:
            return None
        gaps = ", ".join("{}" for _ in linear.arguments)
        return self.torch.helper(
            "linear_relu", gaps, *self.all(linear.arguments), shape=node.shape, kind=node.kind,
            hint=node.hint,
        )  # fmt: skip
