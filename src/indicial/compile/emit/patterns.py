"""Linear maps in the text: with a bias, several of one operand as one, with a ReLU in place.

F.linear(x, W) + b                                      F.linear(x, W, b)
F.linear(x, W) - b                                      F.linear(x, W, -b)
A + F.linear(x, W) - b                                  A + F.linear(x, W, -b)
F.linear(x, W.flatten(0, 1)).unflatten(2, (K, I)) + b   F.linear(x, …, b.flatten()).unflatten(…)
F.linear(x, W) / math.sqrt(K)                           F.linear(x, W / math.sqrt(K))

Linear maps of one operand become one: query, key and value in one product.

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

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from indicial.compile.emit.calls import BIAS, EMBEDDING, MERGED, Finding
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
from indicial.program.sizes import Size

LINEAR = "F.linear"


@dataclass
class Rebuilder(ABC):
    """Override `made` to say what a node becomes; None if it stays what it is."""

    torch: Torch
    uses: Counter[Node]
    """How many nodes and lines read each node."""
    became: dict[Node, Node] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        return self.torch.graph

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


@dataclass(frozen=True)
class _Sum:
    """`rest + product ± offset`; the product is `inner`, perhaps with its last axis taken apart."""

    product: Node
    inner: Node
    offset: Node
    minus: bool
    rest: Node | None = None


def biased(block: Block, torch: Torch, names: Collection[str]) -> tuple[Block, list[Finding]]:
    """The block with biases in their maps, and where word vectors are looked up, which is only told."""
    rewriter = _Biased(torch, live_uses(block), names=names)
    return rewriter.block(block), rewriter.findings


@dataclass
class _Biased(Rebuilder):
    names: Collection[str] = ()
    findings: list[Finding] = field(default_factory=list)
    tensor = ""

    def assign(self, item: Assign) -> Assign | None:
        self.tensor = item.tensor
        if item.key is None and self.uses[item.node] == 0:
            return None
        return super().assign(item)

    def made(self, node: Node) -> Node | None:
        found = self.sum(node) if BIAS in self.names else None
        if found is not None:
            self.findings.append(Finding(BIAS, "linear", self.tensor))
            return self.built(found)
        if node.operation == EMBEDDING and EMBEDDING in self.names:
            self.findings.append(Finding(EMBEDDING, EMBEDDING, self.tensor))
        return self.scaled(node)

    def scaled(self, node: Node) -> Node | None:
        """A multiple of a map of all members and steps: of its weights, which are fewer numbers."""
        if node.operation not in ("*", "/"):
            return None
        number = next((n for n in node.arguments if n.kind == NUMBER), None)
        linear = next((n for n in node.arguments if n.operation == LINEAR), None)
        if linear is None or number is None or linear.rank < 3 or len(linear.operands) > 2:
            return None
        if self.uses[linear] > 1 or (node.operation == "/" and node.arguments[0] is number):
            return None
        x, w = map(self.node, linear.arguments)
        weights = [w if n is linear else self.node(n) for n in node.arguments]
        scaled = self.graph.binary(node.operation, weights[0], weights[1], w.shape)
        return self.graph.make(LINEAR, x, scaled, shape=linear.shape, hint="product")

    def sum(self, node: Node) -> _Sum | None:
        minus = node.operation == "-"
        if node.operation not in ("+", "-") or len(node.operands) < 2:
            return None
        one, two = node.arguments
        for total, offset in ((one, two),) if minus else ((one, two), (two, one)):
            found = self.fits(total, offset, minus)
            if found is not None:
                return found
            if total.operation == "+" and self.uses[total] <= 1:
                a, b = total.arguments
                for rest, product in ((a, b), (b, a)):
                    found = self.fits(product, offset, minus)
                    if found is not None and rest.shape == total.shape:
                        return replace(found, rest=rest)
        return None

    def fits(self, product: Node, offset: Node, minus: bool) -> _Sum | None:
        inner = product.arguments[0] if product.operation == ".unflatten" else product
        if inner.operation != LINEAR or len(inner.operands) > 2:
            return None
        split = product.rank - inner.rank
        if self.uses[inner] > 1 or self.uses[product] > 1 or offset.rank != 1 + split:
            return None
        same = offset.shape == product.shape[-1 - split :]
        return _Sum(product, inner, offset, minus) if same else None

    def built(self, found: _Sum) -> Node:
        torch, inner, product = self.torch, found.inner, found.product
        flat = torch.flatten(self.node(found.offset), 0, found.offset.rank - 1)
        if found.minus:
            flat = torch.graph.prefix("-", flat)
        x, w = map(self.node, inner.arguments)
        linear = torch.graph.make(LINEAR, x, w, flat, shape=inner.shape, hint="product")
        if product is not inner:
            linear = torch.unflatten(linear, inner.rank - 1, product.shape[inner.rank - 1 :])
        if found.rest is None:
            return linear
        rest = self.node(found.rest)
        return torch.graph.binary("+", rest, linear, rest.shape)


def multiplied_together(
    block: Block, torch: Torch, parameters: Collection[str]
) -> tuple[Block, list[Finding]]:
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
    rebuilder = _Merger(torch, live_uses(block), groups={n: g for g in together for n in g})
    findings = [Finding(MERGED, "linear", tensors[n]) for group in together for n in group]
    return rebuilder.block(block), findings


@dataclass
class _Merger(Rebuilder):
    groups: Mapping[Node, Sequence[Node]] = field(default_factory=dict)

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
        widths = Listed(self.torch.sizes.node(node.shape[-1]) for node in group)
        pieces = self.torch.helper(
            "linears",
            operand[0],
            widths,
            *columns,
            shape=shape,
            kind=group[0].kind,
            hint="products",
        )
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


def in_place(block: Block, torch: Torch) -> Block:
    """The block with such calls where nobody else reads the map."""
    return _InPlace(torch, live_uses(block)).block(block)


class _InPlace(Rebuilder):
    def made(self, node: Node) -> Node | None:
        if node.operation == LINEAR and (inner := self.map_below(node.arguments[0])) is not None:
            if self.uses[node.arguments[0]] != 1:
                return None
            maps = [Listed(map(self.node, own.arguments[1:])) for own in (inner, node)]
            operands: list[Node | Listed] = [self.node(inner.arguments[0]), *maps]
            return self.called("relu_network", node, operands)
        linear = self.map_below(node)
        return linear and self.called("linear_relu", node, map(self.node, linear.arguments))

    def map_below(self, node: Node) -> Node | None:
        """The map of which a node is the ReLU, if nobody else reads it."""
        linear = node.arguments[0] if node.operation == "F.relu" else node
        if linear is node or linear.operation != LINEAR or self.uses[linear] != 1:
            return None
        return linear if linear.rank >= 2 else None

    def called(self, name: str, node: Node, operands: Iterable[Node | Listed]) -> Node:
        return self.torch.helper(name, *operands, shape=node.shape, kind=node.kind, hint=node.hint)
