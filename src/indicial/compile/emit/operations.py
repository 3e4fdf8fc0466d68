"""The operations of torch that texts are made of, each a method: nodes in, a node out.

torch.zeros((B, J))             torch.zeros(B, J, dtype=dtype, device=device)
torch.pad(x, 1, one, None)      F.pad(x, (0, 0, 1, 0))
torch.reduce("mean", x, [2])    x.mean(-1)
"""

from __future__ import annotations

from collections.abc import Sequence

from indicial.compile.emit.axes import Axes
from indicial.compile.emit.graph import (
    BOOL,
    CHOICE,
    FLOAT,
    INT,
    NUMBER,
    Graph,
    Node,
)
from indicial.compile.emit.sizes import SizeTexts
from indicial.program.sizes import Size


class Torch(Axes):
    """Makes nodes of a graph."""

    def __init__(self, graph: Graph, sizes: SizeTexts) -> None:
        super().__init__(graph, sizes)
        self.helpers: dict[str, None] = {}
        self.products: dict[Node, tuple[str, str, str]] = {}
        self.padded: dict[Node, tuple[Node, dict[int, tuple[int, int]]]] = {}
        self.references = {"device": self._reference("device"), "dtype": self._reference("dtype")}

    def _reference(self, name: str) -> Node:
        return Node(name, kind=NUMBER, scope=self.graph.root, plain=True)

    def helper(
        self,
        name: str,
        template: str,
        *arguments: Node,
        shape: Sequence[Size],
        kind: str,
        hint: str,
    ) -> Node:
        """A call of a function that the text brings along."""
        self.helpers[name] = None
        return self.graph.make(f"{name}({template})", *arguments, shape=shape, kind=kind, hint=hint)

    # ---- making ----

    def spread(self, x: Node, shape: Sequence[Size]) -> Node:
        """`expand`, of a number too."""
        return self.full(x, shape) if x.kind == NUMBER and shape else self.expand(x, shape)

    def full(self, value: Node, shape: Sequence[Size], kind: str = FLOAT) -> Node:
        sizes = [self.sizes.node(s) for s in shape]
        gaps = ", ".join("{}" for _ in sizes)
        comma = "," if len(sizes) == 1 else ""
        if kind == FLOAT:
            return self.graph.make(
                f"torch.full(({gaps}{comma}), {{}}, dtype={{}}, device={{}})",
                *sizes,
                value,
                self.references["dtype"],
                self.references["device"],
                shape=shape,
                kind=kind,
                hint="constant",
            )
        name = {INT: "int64", BOOL: "bool"}[kind]
        return self.graph.make(
            f"torch.full(({gaps}{comma}), {{}}, dtype=torch.{name}, device={{}})",
            *sizes,
            value,
            self.references["device"],
            shape=shape,
            kind=kind,
            hint="constant",
        )

    def zeros(self, shape: Sequence[Size], kind: str = FLOAT) -> Node:
        """What stands outside: 0, or no token."""
        if kind == INT:
            return self.full(self.graph.literal(-1), shape, INT)
        sizes = [self.sizes.node(s) for s in shape]
        gaps = ", ".join("{}" for _ in sizes) or "()"
        kinds = "dtype={}" if kind == FLOAT else "dtype=torch.bool"
        dtype = [self.references["dtype"]] if kind == FLOAT else []
        return self.graph.make(
            f"torch.zeros({gaps}, {kinds}, device={{}})",
            *sizes,
            *dtype,
            self.references["device"],
            shape=shape,
            kind=kind,
            hint="zeros",
            shared=True,
        )

    def scalar(self, number: Node) -> Node:
        """A number of Python as a tensor, which knows infinities and never raises."""
        if number.kind != NUMBER:
            return number
        return self.graph.make(
            "torch.tensor({}, dtype={}, device={})",
            number,
            self.references["dtype"],
            self.references["device"],
            shape=(),
            hint="number",
        )

    def arange(self, lower: Size, extent: Size, kind: str, hint: str = "places") -> Node:
        """The values of an index."""
        ends = [extent] if lower.number == 0 else [lower, lower + extent]
        gaps = ", ".join("{}" for _ in ends)
        arguments = [self.sizes.node(end) for end in ends]
        if kind == FLOAT:
            template = f"torch.arange({gaps}, dtype={{}}, device={{}})"
            arguments += [self.references["dtype"], self.references["device"]]
        else:
            template = f"torch.arange({gaps}, device={{}})"
            arguments += [self.references["device"]]
        return self.graph.make(template, *arguments, shape=(extent,), kind=kind, hint=hint)

    def pad(self, x: Node, axis: int, before: Node | None, after: Node | None) -> Node:
        """More elements along an axis: 0, or no token."""
        zero = self.graph.literal(0)
        ends = (before or zero, after or zero)
        numbers = [int(end.value) for end in ends if end.value is not None]
        base, known = self.padded.get(x, (x, {}))
        if len(numbers) == 2 and axis not in known:
            return self._padded(base, {**known, axis: (numbers[0], numbers[1])})
        gaps = "0, 0, " * (x.rank - 1 - axis) + "{}, {}"
        shape = [*x.shape[:axis], x.shape[axis] + Size.of("…"), *x.shape[axis + 1 :]]
        value = ", value=-1" if x.kind == INT else ""
        return self.graph.make(
            f"F.pad({{}}, ({gaps}){value})", x, *ends, shape=shape, kind=x.kind, hint="padded"
        )

    def _padded(self, x: Node, ends: dict[int, tuple[int, int]]) -> Node:
        """Several axes at once, by numbers that are known."""
        shape = list(x.shape)
        texts = []
        for axis in range(x.rank - 1, min(ends) - 1, -1):
            before, after = ends.get(axis, (0, 0))
            shape[axis] = shape[axis] + before + after
            texts.append(f"{before}, {after}")
        value = ", value=-1" if x.kind == INT else ""
        node = self.graph.make(
            f"F.pad({{}}, ({', '.join(texts)}){value})", x, shape=shape, kind=x.kind, hint="padded"
        )
        self.padded[node] = (x, ends)
        return node

    def einsum(self, a: Node, b: Node, axes: tuple[str, str, str], shape: Sequence[Size]) -> Node:
        """A product of two tensors; `axes` has a letter for each axis of both, and of the result."""
        text = f"{axes[0]},{axes[1]}->{axes[2]}"
        node = self.graph.make(
            f'torch.einsum("{text}", {{}}, {{}})', a, b, shape=shape, hint="product"
        )
        self.products[node] = axes
        return node

    def cat(self, parts: Sequence[Node], axis: int) -> Node:
        extent = sum((p.shape[axis] for p in parts), Size())
        shape = [*parts[0].shape[:axis], extent, *parts[0].shape[axis + 1 :]]
        dim = -1 if axis == parts[0].rank - 1 else axis
        gaps = ", ".join("{}" for _ in parts)
        return self.graph.make(
            f"torch.cat([{gaps}], {dim})", *parts, shape=shape, kind=parts[0].kind, hint="joined"
        )

    # ---- reducing ----

    def reduce(self, function: str, x: Node, axes: Sequence[int], kind: str | None = None) -> Node:
        """`x.mean(-1)`, `x.sum((1, 2))`."""
        if not axes:
            return x
        named = [n - x.rank if n == x.rank - 1 else n for n in axes]
        dims = str(named[0]) if len(named) == 1 else f"({', '.join(map(str, named))})"
        shape = [s for n, s in enumerate(x.shape) if n not in axes]
        hint = {"mean": "mean", "sum": "total", "prod": "product", "amax": "largest"}
        result = self.graph.make(
            f"{{}}.{function}({dims})",
            x,
            shape=shape,
            kind=kind or x.kind,
            hint=hint.get(function, function),
            natural=x.natural and function in ("mean", "sum", "amax", "amin"),
        )
        self.reductions[result] = tuple(axes)
        return result

    # ---- choosing ----

    def where(self, mask: Node, x: Node, y: Node, shape: Sequence[Size]) -> Node:
        kind = x.kind if x.kind != NUMBER else y.kind
        if x.kind == NUMBER and y.kind == NUMBER:
            x, kind = self.scalar(x), FLOAT
        return self.graph.make(
            "torch.where({}, {}, {})", mask, x, y, shape=shape, kind=kind, hint="chosen"
        )

    def choose(self, condition: Node, x: Node, y: Node) -> Node:
        """By a condition that Python decides."""
        if condition.value is not None:
            return x if condition.value else y
        return self.graph.make(
            "{} if {} else {}",
            x,
            condition,
            y,
            shape=x.shape,
            kind=x.kind,
            level=CHOICE,
            needs=(CHOICE + 1, CHOICE + 1, CHOICE),
            plain=x.kind == NUMBER,
            hint="chosen",
        )

    def both(self, a: Node | None, b: Node | None, shape: Sequence[Size]) -> Node | None:
        """Where both hold."""
        if a is None or b is None:
            return b if a is None else a
        return self.graph.binary("&", a, b, shape, "mask")

    def floating(self, x: Node) -> Node:
        """A token or a truth as a number."""
        if x.kind in (FLOAT, NUMBER):
            return x
        return self.graph.make(
            "{}.to({})", x, self.references["dtype"], shape=x.shape, hint="number"
        )
