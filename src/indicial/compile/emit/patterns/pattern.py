"""What a pattern is: something that looks at a node of the text and may put a call in its place.

    α @ Value,  α = softmax(Query @ Key.mT / √I)      found: F.scaled_dot_product_attention(…)
                                                      missed: α is wanted, so it is computed

A pattern sees the text before any other has changed it, and says why where it almost fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from indicial.compile.emit.graph import Node
from indicial.compile.emit.operations import Torch


@dataclass(frozen=True)
class Found:
    """A match: how to make the call, from what the operands have become."""

    build: Callable[[Callable[[Node], Node]], Node]


@dataclass(frozen=True)
class Missed:
    """Almost a match, and what is in its way."""

    reason: str


@dataclass(frozen=True)
class Finding:
    """What to tell: which call was recognised in the equation of a tensor, or why it was not."""

    pattern: str
    call: str
    tensor: str
    reason: str = ""

    @property
    def recognised(self) -> bool:
        return not self.reason

    def __str__(self) -> str:
        if self.recognised:
            return f"recognised: {self.pattern} ({self.call})"
        return f"near miss: {self.pattern}, because {self.reason}"


@dataclass(frozen=True)
class Surroundings:
    """What a pattern may ask: how often a node is used, and what makes new ones."""

    torch: Torch
    uses: dict[Node, int]

    def once(self, node: Node) -> bool:
        """Whether nobody else reads a node, so that it need not be there."""
        return self.uses.get(node, 0) <= 1


Match = Callable[[Node, Surroundings], Found | Missed | None]


@dataclass(frozen=True)
class Pattern:
    """A name, the call, and the rule."""

    name: str
    call: str
    match: Match
