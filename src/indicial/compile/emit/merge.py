"""Linear maps of one operand become one: query, key and value in one product.

    Query = F.linear(N, W_Q)                weights = torch.cat([W_Q, W_K, W_V])
    Key = F.linear(N, W_K)           →      products = F.linear(N, weights).split([…], -1)
    Value = F.linear(N, W_V)                Query = products[0], …

The gradient of the operand is one product as well, instead of a sum of three. Weights are taken
together only if they are there before the operand is: parameters, and views of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from indicial.compile.emit.blocks import Assign, Block, Line, Return
from indicial.compile.emit.graph import NUMBER, Node
from indicial.compile.emit.operations import Torch
from indicial.compile.emit.patterns.pattern import Finding
from indicial.compile.emit.printing import WIDTH
from indicial.compile.emit.rebuild import Rebuilder
from indicial.program.sizes import Size

MERGED = "one product for several"
LINEAR = {"F.linear({}, {})": 2, "F.linear({}, {}, {})": 3}


def merged(block: Block, torch: Torch, parameters: Collection[str]) -> tuple[Block, list[Finding]]:
    """The block with such products together; `parameters` are the identifiers of weights."""
    names = frozenset(parameters)
    groups: dict[tuple[object, ...], list[Node]] = {}
    tensors = dict(_nodes(block))
    for node, _ in _nodes(block):
        if node.template in LINEAR and node.arguments[0].kind != NUMBER:
            weights = node.arguments[1:]
            if all(_given(w, names) for w in weights):
                key = (node.template, node.arguments[0], node.scope)
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
        operand = self.node(group[0].arguments[0])
        gaps = ", ".join("{}" for _ in group)
        columns = [
            self.graph.make(f"torch.cat([{gaps}])", *(self.node(n.arguments[k]) for n in group),
                            shape=(_width(group), *group[0].arguments[k].shape[1:]), hint="weights")
            for k in range(1, len(group[0].arguments))
        ]  # fmt: skip
        shape = (*group[0].shape[:-1], _width(group))
        linear = f"F.linear({', '.join('{}' for _ in (operand, *columns))})"
        widths = [node.shape[-1] for node in group]
        if len(set(widths)) == 1:
            split, sizes = f".chunk({len(group)}, -1)", []
        else:
            split, sizes = f".split([{gaps}], -1)", [self.sizes.node(w) for w in widths]
        product = self.graph.make(linear, operand, *columns, shape=shape, hint="product")
        pieces = self.graph.make("{}" + split, product, *sizes, shape=shape, hint="products")
        return [
            self.graph.make(f"{{}}[{n}]", pieces, shape=node.shape, hint=node.hint, light=True)
            for n, node in enumerate(group)
        ]


def _width(group: Sequence[Node]) -> Size:
    return sum((node.shape[-1] for node in group), Size())


def _fits_a_line(group: Sequence[Node]) -> bool:
    """Whether the list of weights can be read: parameters, each with an index and a view."""
    names = [leaf for node in group for leaf in _leaves(node.arguments[1])]
    return sum(len(name) + len("[l - 1], ") for name in names) <= WIDTH - 32


def _leaves(node: Node) -> list[str]:
    if not node.arguments:
        return [] if node.kind == NUMBER else [node.template]
    return [name for argument in node.arguments for name in _leaves(argument)]


def _given(node: Node, names: frozenset[str]) -> bool:
    """Whether a node is a parameter, or a view of one."""
    waiting = [node]
    tensors = False
    while waiting:
        here = waiting.pop()
        if not here.arguments and here.kind != NUMBER:
            if here.template not in names:
                return False
            tensors = True
        waiting.extend(here.arguments)
    return tensors


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
            elif isinstance(item, Line | Return):
                for node in item.arguments:
                    visit(node, "")

    inside(block)
    return list(found.values())
