"""Blocks of a text with some nodes replaced, and all that is made of them made again.

Linear maps of one operand become one: query, key and value in one product.

    Query = F.linear(N, W_Q)                weights = torch.cat([W_Q, W_K, W_V])
    Key = F.linear(N, W_K)           →      products = F.linear(N, weights).split([…], -1)
    Value = F.linear(N, W_V)                Query = products[0], …

The gradient of the operand is one product as well, instead of a sum of three. Weights are taken
together only if they are there before the operand is: parameters, and views of them.

The ReLU of a linear map is taken in the memory of the map.

F.relu(F.linear(M, W_1, b))     linear_relu(M, W_1, b)

Neither gradient reads what is overwritten. What a map of three axes returns is a view for autograd,
and changing a view is recorded as copies; so the helper multiplies rows and puts the axes back.

Blocks of a text → the same with library calls where patterns find them, and what they found.

    α = F.softmax(Query @ Key.mT / math.sqrt(I), -1)
    h = α @ Value                                        →  h = F.scaled_dot_product_attention(…)

A name whose value nobody reads any more is not printed, so α goes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from indicial.compile.emit.calls import (
    ATTENTION,
    CROSS_ENTROPY,
    EMBEDDING,
    Finding,
    Found,
    Pattern,
    Surroundings,
    only,
)
from indicial.compile.emit.convolution import CONVOLUTION
from indicial.compile.emit.nodes import INDEXED, NUMBER, Graph, Listed, Node
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.printing import (
    WIDTH,
    Assign,
    Block,
    Line,
    Return,
    below,
    live_uses,
    roots,
)
from indicial.compile.emit.units import BIAS, GELU, LAYER_NORM
from indicial.program.sizes import Size


class Rebuilder(ABC):
    """Override `made` to say what a node becomes; None if it stays what it is."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.became: dict[Node, Node] = {}

    @abstractmethod
    def made(self, node: Node) -> Node | None:
        """What a node becomes."""

    def block(self, block: Block) -> Block:
        result = Block(block.scope, self.line(block.header))
        for item in block.items:
            if isinstance(item, Block):
                result.items.append(self.block(item))
            elif isinstance(item, Assign):
                assigned = self.assign(item)
                result.items += [assigned] if assigned is not None else []
            elif isinstance(item, Line):
                result.items.append(self.line(item))
            elif isinstance(item, Return):
                result.items.append(replace(item, arguments=tuple(map(self.node, item.arguments))))
            else:
                result.items.append(item)
        return result

    def line(self, line: Line) -> Line:
        return line if line.node is None else replace(line, node=self.node(line.node))

    def assign(self, item: Assign) -> Assign | None:
        """An assignment; None if it goes."""
        key = self.node(item.key) if item.key is not None else None
        return replace(item, node=self.node(item.node), key=key)

    def node(self, node: Node) -> Node:
        if node not in self.became:
            made = self.made(node)
            self.became[node] = made if made is not None else self.graph.again(node, self.node)
        return self.became[node]


MERGED = "one product for several"
LINEAR = "F.linear"


def merged(block: Block, torch: Torch, parameters: Collection[str]) -> tuple[Block, list[Finding]]:
    """The block with such products together; `parameters` are the identifiers of weights."""
    names = frozenset(parameters)
    groups: dict[tuple[object, ...], list[Node]] = {}
    tensors = dict(_nodes(block))
    for node, _ in _nodes(block):
        if node.operation == LINEAR and node.arguments[0].kind != NUMBER:
            weights = node.arguments[1:]
            if all(_given(w, names) for w in weights):
                key = (len(weights), node.arguments[0], node.scope)
                groups.setdefault(key, []).append(node)
    together = [g for g in groups.values() if len(g) > 1 and _fits_a_line(g)]
    if not together:
        return block, []
    rebuilder = _Merger(torch, together)
    findings = [Finding(MERGED, "linear", tensors[n]) for group in together for n in group]
    return rebuilder.block(block), findings


class _Merger(Rebuilder):
    def __init__(self, torch: Torch, groups: Sequence[Sequence[Node]]) -> None:
        super().__init__(torch.graph)
        self.sizes = torch.sizes
        self.groups = {node: group for group in groups for node in group}

    def made(self, node: Node) -> Node | None:
        group = self.groups.get(node)
        if group is None:
            return None
        for member, piece in zip(group, self.pieces(group), strict=True):
            self.became[member] = piece
        return self.became[node]

    def pieces(self, group: Sequence[Node]) -> list[Node]:
        make, shape = self.graph.make, (*group[0].shape[:-1], _width(group))
        operand, *weights = (
            [self.node(n.arguments[k]) for n in group] for k in range(len(group[0].arguments))
        )
        columns = [
            make("torch.cat", Listed(w), shape=(_width(group), *w[0].shape[1:]), hint="weights")
            for w in weights
        ]
        product = make(LINEAR, operand[0], *columns, shape=shape, hint="product")
        widths = [node.shape[-1] for node in group]
        if len(set(widths)) == 1:
            pieces = make(".chunk", product, len(group), -1, shape=shape, hint="products")
        else:
            sizes = Listed(map(self.sizes.node, widths))
            pieces = make(".split", product, sizes, -1, shape=shape, hint="products")
        return [
            make(INDEXED, pieces, n, shape=node.shape, hint=node.hint)
            for n, node in enumerate(group)
        ]


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
    """All nodes that a block prints, as they are first met, and the tensor they are met for."""
    found: dict[Node, tuple[Node, str]] = {}

    def visit(node: Node, tensor: str) -> None:
        if node not in found:
            for argument in node.arguments:
                visit(argument, tensor)
            found[node] = node, tensor

    def inside(part: Block) -> None:
        for item in part.items:
            if isinstance(item, Block):
                inside(item)
            elif isinstance(item, Assign):
                visit(item.node, item.tensor)
            else:
                for node in roots(item):
                    visit(node, "")

    inside(block)
    return list(found.values())


IN_PLACE = "ReLU in place"


def in_place(block: Block, torch: Torch) -> Block:
    """The block with such calls where nobody else reads the map."""
    return _InPlace(torch, live_uses(block)).block(block)


class _InPlace(Rebuilder):
    def __init__(self, torch: Torch, uses: Counter[Node]) -> None:
        super().__init__(torch.graph)
        self.torch = torch
        self.uses = uses

    def made(self, node: Node) -> Node | None:
        linear = only("F.relu", node)
        if linear is None or linear.operation != LINEAR:
            return None
        if linear.rank < 2 or self.uses[linear] != 1:
            return None
        operands = map(self.node, linear.arguments)
        return self.torch.helper(
            "linear_relu", *operands, shape=node.shape, kind=node.kind, hint=node.hint
        )


PATTERNS = (ATTENTION, LAYER_NORM, CROSS_ENTROPY, GELU, BIAS, EMBEDDING)
NAMES = frozenset({CONVOLUTION, IN_PLACE, MERGED, *(pattern.name for pattern in PATTERNS)})
"""All patterns; a convolution is found while the text is made, by its indices."""


def recognise(
    block: Block, torch: Torch, names: Collection[str] = NAMES
) -> tuple[Block, list[Finding]]:
    """The block with calls, and the findings in the order of the text."""
    patterns = [pattern for pattern in PATTERNS if pattern.name in names]
    rewriter = _Recogniser(torch, live_uses(block), patterns)
    return rewriter.block(block), rewriter.findings


class _Recogniser(Rebuilder):
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
