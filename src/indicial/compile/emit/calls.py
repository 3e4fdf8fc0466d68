"""What a pattern is: something that looks at a node of the text and may put a call in its place.

    α @ Value,  α = softmax(Query @ Key.mT / √I)      found: F.scaled_dot_product_attention(…)
                                                      missed: α is wanted, so it is computed

A pattern sees the text before any other has changed it, and says why where it almost fits.

Taking nodes apart: products and quotients, means, matrix products however they are written.

A softmax of products, multiplied by values, is `F.scaled_dot_product_attention`.

F.softmax((q @ k.mT / √I).masked_fill(t' > t, -∞), -1) @ v
    →  F.scaled_dot_product_attention(q, k, v, is_causal=True)

The logarithm of a softmax at the actual token is a cross entropy.

log_P = F.log_softmax(scores, -1)
torch.where(w >= 0, log_P.gather(-1, …).squeeze(-1), 0)     →  log_likelihood(scores, w)

Rows of a matrix at tokens are `F.embedding`.

e[w[t], j]      embedding(w, e)

The text has the call already: a read at a token is made as one. Here it is only told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from indicial.compile.emit.nodes import ALL, NUMBER, EinsumLetters, Node, Operand
from indicial.compile.emit.operations import NEW, Item, Torch


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


@dataclass(frozen=True)
class _Attention:
    """What goes in: matrices with the axes of batch and heads in front."""

    query: Node
    key: Node
    value: Node
    scale: Node | None
    mask: Node | None
    causal: bool
    kept: bool
    """Whether the mask says what is seen, not what is hidden."""


def match(node: Node, around: Surroundings) -> Found | Missed | None:
    product = matrix_product(around.torch, node)
    if product is None:
        return None
    weights = _weights(product.left)
    if weights is None:
        factors = quotient(product.left).above
        if len(factors) > 1 and any(_weights(f) is not None for f in factors):
            return Missed("the weights are multiplied by something before the values are")
        return None
    scores, mask, kept = weights
    scaled = _scores(scores, around)
    if isinstance(scaled, Missed):
        return scaled
    if not all(map(around.once, _between(product.left))):
        return Missed("the weights are wanted, so they are computed")
    if product.left.rank < 3:
        return Missed("there is no batch")
    inner, scale = scaled
    causal = mask is not None and _causal(mask, product.left, around)
    key = around.torch.turned(inner.right)
    attention = _Attention(inner.left, key, product.right, scale, mask, causal, kept)
    return Found(lambda become: _call(attention, product, around, become))


def _weights(node: Node) -> tuple[Node, Node | None, bool] | None:
    """The scores below a softmax, a mask, and whether that says what is seen, not what is hidden."""
    seen = sides("masked_softmax", node, -1)
    if seen is not None:
        return *seen, True
    scores = only("F.softmax", node, -1)
    if scores is None or scores.operation != ".masked_fill":
        return None if scores is None else (scores, None, False)
    return scores.arguments[0], scores.arguments[1], False


def _between(node: Node) -> list[Node]:
    """The softmax and the nodes below it that the call would do without."""
    result = [node, node.arguments[0]]
    if node.arguments[0].operation == ".masked_fill":
        result.append(node.arguments[0].arguments[0])
    return result


def _scores(node: Node, around: Surroundings) -> tuple[MatrixProduct, Node | None] | Missed:
    """Query and key, and the divisor of their product."""
    parts = quotient(node)
    tensors = [n for n in (*parts.above, *parts.below) if n.kind != NUMBER]
    if len(tensors) != 1 or tensors[0] not in parts.above:
        return Missed("the scores are not a product with a number")
    if tensors[0].operation in ("+", "-"):
        return Missed("something is added to the products of queries and keys")
    inner = matrix_product(around.torch, tensors[0])
    # `tanh(…) @ v` has a vector on the right: each key has a row of its own on the left.
    if inner is None or inner.right.rank < 2 or inner.left.rank != node.rank:
        return Missed("the scores are not products of queries and keys, head by head")
    if inner.turned != tuple(range(node.rank)):
        return Missed("queries and keys stand in another order than the weights")
    if not all(map(around.once, parts.inside)):
        return Missed("the scores are wanted, so they are computed")
    above = [n for n in parts.above if n.kind == NUMBER and n.value != 1]
    scale = above[0] if above else around.torch.graph.literal(1)
    for n in above[1:]:
        scale = around.torch.graph.binary("*", scale, n)
    for n in parts.below:
        scale = around.torch.graph.binary("/", scale, n)
    return inner, None if _usual(scale, inner.left, around) else scale


def _usual(scale: Node, query: Node, around: Surroundings) -> bool:
    """Whether a scale is 1/√I, which the call has by itself."""
    pair = sides("/", scale)
    if pair is None or pair[0].value != 1:
        return False
    root = only("math.sqrt", pair[1])
    return root is not None and root is around.torch.sizes.node(query.shape[-1])


def _causal(mask: Node, weights: Node, around: Surroundings) -> bool:
    """`t' > t` with both over all of one range."""
    pair = sides(">", mask)
    if pair is None or weights.shape[-1] != weights.shape[-2]:
        return False
    columns, rows = pair
    return (
        columns.operation == "torch.arange"
        and rows is around.torch.index(columns, [ALL, NEW])
        and columns.shape[0] == weights.shape[-1]
    )


def _call(
    found: _Attention, product: MatrixProduct, around: Surroundings, become: Callable[[Node], Node]
) -> Node:
    torch = around.torch
    options: dict[str, Operand] = {}
    if found.causal:
        options["is_causal"] = True
    elif found.mask is not None:
        mask = become(found.mask)
        options["attn_mask"] = mask if found.kept else torch.graph.prefix("~", mask, "mask")
    if found.scale is not None:
        options["scale"] = found.scale
    shape = [*found.query.shape[:-1], found.value.shape[-1]]
    node = torch.graph.make(
        "F.scaled_dot_product_attention", *map(become, (found.query, found.key, found.value)),
        options=options, shape=shape, hint="attended",
    )  # fmt: skip
    return torch.permute(node, product.turned)


ATTENTION = Pattern("attention", "scaled_dot_product_attention", match)


def likelihood(node: Node, around: Surroundings) -> Found | Missed | None:
    if node.operation != "torch.where" or node.arguments[2].value != 0:
        return None
    present, found, _ = node.arguments
    gathered = only(".squeeze", found, -1)
    there = sides(">=", present)
    if gathered is None or gathered.operation != ".gather" or there is None or there[1].value != 0:
        return None
    tokens, _ = there
    logs, places = gathered.arguments
    torch = around.torch
    whole, items = torch.unindexed(logs)
    scores = only("F.log_softmax", whole, -1)
    near = torch.unsqueeze(torch.at_least_0(tokens), [tokens.rank])
    if scores is None or places is not near:
        return None
    if len(items) == whole.rank and items[-1] is not ALL:
        return None
    if not around.once(whole) or not around.once(logs):
        return Missed("the other logarithms of the distribution are needed as well")

    def build(become: Callable[[Node], Node]) -> Node:
        arguments = _part(torch, scores, items, around, become), become(tokens)
        return torch.helper(
            "log_likelihood", *arguments, shape=node.shape, kind=node.kind,
            hint="likelihood",
        )  # fmt: skip

    return Found(build)


def _part(
    torch: Torch,
    scores: Node,
    items: Sequence[Item],
    around: Surroundings,
    become: Callable[[Node], Node],
) -> Node:
    """The scores of some steps only, computed for those only if they are a linear map."""
    linear = sides("F.linear", scores)
    if linear is None or not items or not around.once(scores):
        return torch.index(become(scores), items) if items else become(scores)
    x = torch.index(become(linear[0]), items)
    shape = [*x.shape[:-1], scores.shape[-1]]
    return torch.graph.make("F.linear", x, become(linear[1]), shape=shape, hint="scores")


CROSS_ENTROPY = Pattern("cross entropy", "cross_entropy", likelihood)


def embedded(node: Node, around: Surroundings) -> Found | None:
    if node.operation != "embedding":
        return None
    return Found(lambda become: around.torch.graph.again(node, become))


EMBEDDING = Pattern("embedding", "embedding", embedded)
