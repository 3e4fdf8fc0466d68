"""Linear maps: with a bias, scaled, several of one operand as one, with a ReLU in place.

Bias and scale are known by their indices while an expression is evaluated.

Σ_J W[i,J] x[t,J] + b[i]        F.linear(x, W, b)
a[t,i] + Σ_J W[i,J] x[t,J] - b[i]   a + F.linear(x, W, -b)
Σ_J W[k,i,J] x[t,J] + b[k,i]    F.linear(x, W.flatten(0, 1), b.flatten()).unflatten(2, (K, I))
Σ_J W[i,J] x[t,J] / √I          F.linear(x, W / math.sqrt(I)), which has fewer numbers than the map

What is shared is known once the text is complete: who else reads an operand, or a map. Linear maps
of one operand become one: query, key and value in one product.

    Query = F.linear(N, W_Q)                weights = torch.cat([W_Q, W_K, W_V])
    Key = F.linear(N, W_K)           →      products = linears(N, [I, I, J], weights)
    Value = F.linear(N, W_V)                Query = products[0], …

The gradient of the operand is one product as well, instead of a sum of three; where nobody asks for
it, the helper takes the products apart again, as their gradients would be copied side by side. Weights
are taken together only if they are there before the operand is: parameters, and views of them.

F.relu(F.linear(M, W_1, b))     linear_relu(M, W_1, b), in the memory of the map
F.linear(linear_relu(M, …), …)  relu_network(M, […], […]), and the gradient of the map in its memory

Neither gradient reads what is overwritten. What a map of three axes returns is a view for autograd,
and changing a view is recorded as copies; so the helper multiplies rows and puts the axes back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from indicial.compile.emit.calls import IN_PLACE, MERGED, Finding
from indicial.compile.emit.nodes import INDEXED, NUMBER, Listed, Node
from indicial.compile.emit.operations import LINEAR, Torch
from indicial.compile.emit.printing import (
    WIDTH,
    Assign,
    Block,
    all_roots,
    below,
    changed,
    every_item,
    live_uses,
    roots,
)
from indicial.compile.emit.values import Value, aligned
from indicial.program.sizes import Size

# ---- while an expression is evaluated ----


def with_offset(torch: Torch, product: Value, offset: Value, minus: bool) -> Value | None:
    """A linear map and what has its outputs' indices alone, as one call; None for anything else."""
    whole = product.node
    inner = whole.arguments[0] if whole.operation == ".unflatten" else whole
    if inner.operation != LINEAR or len(inner.operands) > 2:
        return None
    out = product.dims[inner.rank - 1 :]
    if set(offset.dims) != set(out):
        return None
    b = torch.flatten(aligned(torch, offset, out), 0, len(out) - 1)
    node = torch.linear(*inner.arguments, torch.graph.prefix("-", b) if minus else b)
    return Value(torch.unflatten(node, inner.rank - 1, whole.shape[inner.rank - 1 :]), product.dims)


def with_scale(torch: Torch, product: Value, sign: str, number: Node) -> Value | None:
    """A multiple of a map of all members and steps: of its weights, which are fewer numbers."""
    node = product.node
    if node.operation != LINEAR or node.rank < 3 or len(node.operands) > 2:
        return None
    x, w = node.arguments
    pair = (number, w) if sign == "*" else (w, number)
    return Value(torch.linear(x, torch.graph.binary(sign, *pair, w.shape)), product.dims)


# ---- once the text is complete ----


def with_shared(
    block: Block, torch: Torch, parameters: Collection[str], patterns: Collection[str]
) -> tuple[Block, list[Finding]]:
    """The block with maps of one operand as one, and others in place.

    `parameters` are the identifiers of weights.
    """
    groups = _groups(block, frozenset(parameters)) if MERGED in patterns else []
    by_node = {node: group for group in groups for node in group}
    tensors = dict(_nodes(block))
    findings = [Finding(MERGED, "linear", tensors[node]) for node in by_node]
    return _Sharing(torch, live_uses(block), by_node, IN_PLACE in patterns).block(block), findings


def _groups(block: Block, names: frozenset[str]) -> list[list[Node]]:
    """The maps of one operand each, if there are several."""
    groups: dict[tuple[object, ...], list[Node]] = {}
    for node, _ in _nodes(block):
        if node.operation == LINEAR and node.arguments[0].kind != NUMBER:
            x, *weights = node.arguments
            if all(_given(w, names) for w in weights):
                groups.setdefault((len(weights), x, node.scope), []).append(node)
    return [group for group in groups.values() if len(group) > 1 and _fits_a_line(group)]


@dataclass
class _Sharing:
    torch: Torch
    uses: Counter[Node]
    """How many nodes and lines read each node."""
    groups: Mapping[Node, Sequence[Node]]
    in_place: bool
    became: dict[Node, Node] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        items = [
            self.block(item) if isinstance(item, Block) else changed(item, self.node)
            for item in block.items
        ]
        return Block(block.scope, changed(block.header, self.node), items)

    def node(self, node: Node) -> Node:
        """What a node becomes."""
        if node not in self.became:
            if node in self.groups:
                group = self.groups[node]
                self.became.update(zip(group, self.pieces(group), strict=True))
            else:
                made = self.overwriting(node) if self.in_place else None
                self.became[node] = made or self.torch.graph.again(node, self.node)
        return self.became[node]

    def pieces(self, group: Sequence[Node]) -> list[Node]:
        """The map of all weights at once, and of its results that of each map."""
        torch, make, width = self.torch, self.torch.graph.make, _width(group)
        operand, *weights = (
            [self.node(n.arguments[k]) for n in group] for k in range(len(group[0].arguments))
        )
        columns = [
            make("torch.cat", Listed(w), shape=(width, *w[0].shape[1:]), hint="weights")
            for w in weights
        ]
        widths = Listed(torch.sizes.node(node.shape[-1]) for node in group)
        shape = (*group[0].shape[:-1], width)
        kind = group[0].kind
        pieces = torch.helper(
            "linears", operand[0], widths, *columns, shape=shape, kind=kind, hint="products"
        )
        return [
            make(INDEXED, pieces, n, shape=node.shape, hint=node.hint)
            for n, node in enumerate(group)
        ]

    def overwriting(self, node: Node) -> Node | None:
        """A ReLU in the memory of a map, alone or below another map; None where there is none."""
        if node.operation == LINEAR and (inner := self.map_below(node.arguments[0])) is not None:
            if self.uses[node.arguments[0]] != 1:
                return None
            maps = [Listed(map(self.node, own.arguments[1:])) for own in (inner, node)]
            return self.called("relu_network", node, self.node(inner.arguments[0]), *maps)
        linear = self.map_below(node)
        return linear and self.called("linear_relu", node, *map(self.node, linear.arguments))

    def map_below(self, node: Node) -> Node | None:
        """The map of which a node is the ReLU, if nobody else reads it."""
        linear = node.arguments[0] if node.operation == "F.relu" else node
        alone = linear is not node and self.uses[linear] == 1 and linear not in self.groups
        return linear if alone and linear.operation == LINEAR and linear.rank >= 2 else None

    def called(self, name: str, node: Node, *operands: Node | Listed) -> Node:
        return self.torch.helper(name, *operands, shape=node.shape, kind=node.kind, hint=node.hint)


def _width(group: Sequence[Node]) -> Size:
    return sum((node.shape[-1] for node in group), Size())


def _fits_a_line(group: Sequence[Node]) -> bool:
    """Whether the list of weights can be read: parameters, each with an index and a view."""
    names = [leaf.operation for node in group for leaf in _leaves(node.arguments[1])]
    return sum(len(name) + len("[l - 1], ") for name in names) <= WIDTH - 32


def _leaves(node: Node) -> list[Node]:
    """The tensors that a node is made of."""
    return [leaf for leaf in below([node]) if not leaf.arguments and leaf.kind != NUMBER]


def _given(node: Node, names: frozenset[str]) -> bool:
    """Whether a node is a parameter, or a view of one."""
    leaves = _leaves(node)
    return bool(leaves) and all(leaf.operation in names for leaf in leaves)


def _nodes(block: Block) -> list[tuple[Node, str]]:
    """All nodes that a block needs, as they are first met, and the tensor they are met for."""
    found: dict[Node, tuple[Node, str]] = {}
    live = below(all_roots(block))

    def visit(node: Node, tensor: str) -> None:
        if node not in found:
            for argument in node.arguments:
                visit(argument, tensor)
            found[node] = node, tensor

    for item in every_item(block):
        if isinstance(item, Assign):
            if item.node in live:
                visit(item.node, item.tensor)
        else:
            for node in roots(item):
                visit(node, "")
    return list(found.values())
