"""What a pattern is: something that looks at a node of the text and may put a call in its place.

    α @ Value,  α = softmax(Query @ Key.mT / √I)      found: F.scaled_dot_product_attention(…)
                                                      missed: α is wanted, so it is computed

A pattern sees the text before any other has changed it, and says why where it almost fits.

Taking nodes apart: products and quotients, means, matrix products however they are written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from indicial.compile.emit.nodes import NUMBER, EinsumLetters, Node, Operand
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


def sides(operation: str, node: Node, *rest: Operand) -> tuple[Node, Node] | None:
    """The two operands of an operation, if it is this one, and what else it is given is this."""
    if node.operation != operation or node.options or node.operands[2:] != rest:
        return None
    if len(node.operands) < 2:
        return None
    one, two = node.arguments
    return one, two


def only(operation: str, node: Node, *rest: Operand) -> Node | None:
    """The one operand of an operation, likewise."""
    alike = node.operation == operation and not node.options and node.operands[1:] == rest
    return node.arguments[0] if alike else None


@dataclass
class Quotient:
    """Factors above and below, and what was multiplied on the way (for asking who uses it)."""

    above: list[Node]
    below: list[Node]
    inside: list[Node]


def quotient(node: Node) -> Quotient:
    """`g * x / s` → g, x above and s below."""
    result = Quotient([], [], [])
    _collect(node, result, divides=False, top=True)
    return result


def _collect(node: Node, into: Quotient, divides: bool, top: bool = False) -> None:
    if not top:
        into.inside.append(node)
    if node.operation in ("*", "/") and node.kind != NUMBER:
        one, two = node.arguments
        _collect(one, into, divides)
        _collect(two, into, divides != (node.operation == "/"))
        return
    if not top:
        into.inside.pop()
    (into.below if divides else into.above).append(node)


def mean_of(torch: Torch, node: Node) -> Node | None:
    """What a node is the mean of, over its last axis, which it keeps; `Σ_j x[j] / J` is one too."""
    if over_last_axis(".mean", node):
        return node.arguments[0]
    parts = quotient(node)
    tensors = [n for n in parts.above if n.value != 1]
    if len(tensors) != 1 or not over_last_axis(".sum", tensors[0]):
        return None
    (x,) = tensors[0].arguments
    return x if parts.below == [torch.sizes.node(x.shape[-1])] else None


def over_last_axis(operation: str, node: Node) -> bool:
    """Whether it is this reduction, of the last axis, which stays as one element."""
    return node.operation == operation and node.operands[1:] == (-1,) and bool(node.options)


@dataclass(frozen=True)
class MatrixProduct:
    """`left @ right` with the axes that both keep in front; `order` puts the result as it was."""

    left: Node
    right: Node
    turned: tuple[int, ...]
    """The axes of the result, as axes of the matrix product."""


def matrix_product(torch: Torch, node: Node) -> MatrixProduct | None:
    """A product of two tensors over one axis, as a product of matrices."""
    if node.operation == "@":
        one, two = node.arguments
        return MatrixProduct(one, two, tuple(range(node.rank)))
    if node.operation != "torch.einsum":
        return None
    letters = node.operands[0]
    assert isinstance(letters, EinsumLetters)
    left, right, result = letters
    both = [c for c in result if c in left and c in right]
    summed = [c for c in left if c in right and c not in result]
    rows = [c for c in left if c not in right]
    columns = [c for c in right if c not in left]
    if len(summed) != 1 or len(rows) != 1 or len(columns) != 1:
        return None
    a = torch.permute(node.arguments[0], [left.index(c) for c in (*both, *rows, *summed)])
    b = torch.permute(node.arguments[1], [right.index(c) for c in (*both, *summed, *columns)])
    order = [*both, *rows, *columns]
    return MatrixProduct(a, b, tuple(order.index(c) for c in result))
