"""The operations of torch that texts are made of, each a method: nodes in, a node out.

permute(x, (1, 0))        x.mT
index(x, [ALL, at])       x[:, t - 1]
unsqueeze(mean, [2])      x.mean(-1, keepdim=True), if it was the mean over axis 2
zeros((B, J))             torch.zeros(B, J, dtype=dtype, device=device)
reduce("mean", x, [2])    x.mean(-1)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from indicial.compile.emit.nodes import (
    ALL,
    BOOL,
    CHOSEN,
    FLOAT,
    INDEXED,
    INT,
    NUMBER,
    POINTWISE,
    REDUCTIONS,
    EinsumLetters,
    Graph,
    Listed,
    Node,
    Operand,
    Slice,
)
from indicial.compile.emit.numbers import SizeTexts
from indicial.program.sizes import Size

ONE_ELEMENT = Size.of(1)
NEW = None
IndexItem = Slice | Node | None
"""One item of an index expression: a slice, a place, or a new axis."""

LINEAR = "F.linear"
HINTS = {"mean": "mean", "sum": "total", "prod": "product", "amax": "largest"}


class Torch:
    """Makes nodes of a graph."""

    def __init__(self, graph: Graph, sizes: SizeTexts) -> None:
        self.graph = graph
        self.sizes = sizes
        self.dtype, self.device = graph.number("dtype"), graph.number("device")
        self.helpers: dict[str, None] = {}

    def helper(
        self, name: str, *operands: Operand, shape: Sequence[Size], kind: str, hint: str
    ) -> Node:
        """A call of a function that the text brings along."""
        self.helpers[name] = None
        return self.graph.make(name, *operands, shape=shape, kind=kind, hint=hint)

    # ---- views ----

    def view(self, operation: str, x: Node, shape: Sequence[Size], *operands: Operand) -> Node:
        return self.graph.make(operation, x, *operands, shape=shape, kind=x.kind)

    def permute(self, x: Node, order: Sequence[int]) -> Node:
        shape = [x.shape[n] for n in order]
        moved = [n for n, o in enumerate(order) if n != o]
        if not moved:
            return x
        if moved == [x.rank - 2, x.rank - 1]:
            return self.view(".mT", x, shape)
        if len(moved) == 2:
            return self.view(".transpose", x, shape, *moved)
        return self.view(".permute", x, shape, *order)

    def turned(self, x: Node) -> Node:
        """Matrices with rows and columns exchanged."""
        if x.operation == ".mT":
            return x.arguments[0]
        return self.permute(x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])

    def unsqueeze(self, x: Node, axes: Sequence[int]) -> Node:
        """New axes of extent 1, at these places of the result."""
        if not axes:
            return x
        kept = self._kept(x, sorted(axes))
        if kept is not None:
            return kept
        items: list[IndexItem] = [ALL] * x.rank
        for axis in sorted(axes):
            items.insert(axis, NEW)
        return self.index(x, items)

    def _kept(self, x: Node, axes: Sequence[int]) -> Node | None:
        """A reduction that keeps the axes that it removed, or a function of one."""
        if x.operation in REDUCTIONS:
            (inner,), (_, dims) = x.arguments, x.operands
            if x.options or [n % inner.rank for n in _numbers(dims)] != list(axes):
                return None
            shape = [ONE_ELEMENT if n in axes else s for n, s in enumerate(inner.shape)]
            return self.graph.make(
                x.operation, inner, dims, options={"keepdim": True}, shape=shape, kind=x.kind,
                hint=x.hint,
            )  # fmt: skip
        if x.operation not in POINTWISE:
            return None
        kept: dict[Node, Node] = {}
        for argument in x.arguments:
            inside: Node | None = argument
            if argument.kind != NUMBER:
                # One with fewer axes lines up from the right, where these axes are others.
                inside = self._kept(argument, axes) if argument.rank == x.rank else None
            if inside is None:
                return None
            kept[argument] = inside
        shape = next(list(a.shape) for a in kept.values() if a.kind != NUMBER)
        return self.graph.again(x, kept.__getitem__, shape)

    def index(self, x: Node, items: Sequence[IndexItem]) -> Node:
        """`x[:, 0, None, 1:]`."""
        if all(item is ALL for item in items):
            return x
        items = [*items, *[ALL] * (x.rank - sum(item is not NEW for item in items))]
        base, inner = self.unindexed(x)
        both = _composed(inner, items) if inner else None
        if both is not None:
            return self.index(base, both)
        extents = iter(x.shape)
        shape: list[Size] = []
        for item in items:
            own = ONE_ELEMENT if item is NEW else next(extents)
            if isinstance(item, Slice):
                shape.append(own if item.extent is None else item.extent)
            elif item is NEW:
                shape.append(own)
        return self.view(INDEXED, x, shape, *items)

    def unindexed(self, x: Node) -> tuple[Node, list[IndexItem]]:
        """What a slice is taken of, and all items of the index expression; none of another node."""
        if x.operation != INDEXED or not x.light:
            return x, []
        base, items = x.arguments[0], [i for i in x.operands[1:] if not isinstance(i, int)]
        whole = sum(item is not NEW for item in items) == base.rank
        return (base, items) if whole else (x, [])  # type: ignore[return-value]

    def expand(self, x: Node, shape: Sequence[Size]) -> Node:
        if list(x.shape) == list(shape):
            return x
        new = len(shape) - x.rank
        sizes = [
            self.sizes.node(s) if n < new or x.shape[n - new] != s else -1
            for n, s in enumerate(shape)
        ]
        return self.view(".expand", x, shape, *sizes)

    def flatten(self, x: Node, first: int, last: int) -> Node:
        """Axes `first` to `last` as one."""
        if first >= last:
            return x
        if x.operation == ".unflatten":
            _, axis, parts = x.operands
            if axis == first and isinstance(parts, tuple) and len(parts) == last - first + 1:
                return x.arguments[0]
        total = math.prod(x.shape[first : last + 1], start=ONE_ELEMENT)
        shape = [*x.shape[:first], total, *x.shape[last + 1 :]]
        end = -1 if last == x.rank - 1 else last
        return self.view(".flatten", x, shape, *(() if (first, end) == (0, -1) else (first, end)))

    def unflatten(self, x: Node, axis: int, extents: Sequence[Size]) -> Node:
        if len(extents) == 1:
            return x
        shape = [*x.shape[:axis], *extents, *x.shape[axis + 1 :]]
        if not extents:
            return self.view(".squeeze", x, shape, axis)
        return self.view(".unflatten", x, shape, axis, tuple(map(self.sizes.node, extents)))

    def flip(self, x: Node, axis: int) -> Node:
        return self.graph.make(".flip", x, axis, shape=x.shape, kind=x.kind, hint="flipped")

    # ---- making ----

    def spread(self, x: Node, shape: Sequence[Size]) -> Node:
        """`expand`, of a number too."""
        return self.full(x, shape) if x.kind == NUMBER and shape else self.expand(x, shape)

    def like(self, kind: str) -> dict[str, Operand]:
        """The options that say what a new tensor is, and where."""
        named = {INT: "torch.int64", BOOL: "torch.bool"}
        dtype = self.dtype if kind == FLOAT else self.graph.number(named[kind])
        return {"dtype": dtype, "device": self.device}

    def full(self, value: Node, shape: Sequence[Size], kind: str = FLOAT) -> Node:
        return self.graph.make(
            "torch.full", tuple(map(self.sizes.node, shape)), value, options=self.like(kind),
            shape=shape, kind=kind, hint="constant",
        )  # fmt: skip

    def zeros(self, shape: Sequence[Size], kind: str = FLOAT) -> Node:
        """What stands outside: 0, or no token."""
        if kind == INT:
            return self.full(self.graph.literal(-1), shape, INT)
        sizes: list[Operand] = [*map(self.sizes.node, shape)]
        return self.graph.make(
            "torch.zeros", *(sizes or [()]), options=self.like(kind), shape=shape, kind=kind,
            hint="zeros", shared=True,
        )  # fmt: skip

    def scalar(self, number: Node, kind: str = FLOAT, hint: str = "number") -> Node:
        """A number of Python as a tensor, which knows infinities and never raises."""
        if number.kind != NUMBER:
            return number
        options = self.like(kind)
        return self.graph.make("torch.tensor", number, options=options, kind=kind, hint=hint)

    def arange(self, lower: Size, extent: Size, kind: str, hint: str = "places") -> Node:
        """The values of an index."""
        ends = [extent] if lower.number == 0 else [lower, lower + extent]
        options = self.like(kind) if kind == FLOAT else {"device": self.device}
        return self.graph.make(
            "torch.arange", *map(self.sizes.node, ends), options=options, shape=(extent,),
            kind=kind, hint=hint,
        )  # fmt: skip

    def pad(self, x: Node, axis: int, before: Size, after: Size) -> Node:
        """More elements along an axis: 0, or no token; several axes at once, by known numbers."""
        base, ends = x, {axis: (before, after)}
        known = self.unpadded(x)
        if known is not None and axis not in known[1] and None not in (before.number, after.number):
            base, ends = known[0], known[1] | ends
        widths: list[Operand] = []
        shape = list(base.shape)
        for n in range(base.rank - 1, min(ends) - 1, -1):
            pair = ends.get(n, (Size(), Size()))
            shape[n] = sum(pair, shape[n])
            widths += [self._width(size) for size in pair]
        return self.graph.make(
            "F.pad", base, tuple(widths), options={"value": -1} if x.kind == INT else None,
            shape=shape, kind=x.kind, hint="padded",
        )  # fmt: skip

    def _width(self, size: Size) -> Operand:
        return self.sizes.node(size) if size.number is None else int(size.number)

    def unpadded(self, x: Node) -> tuple[Node, dict[int, tuple[Size, Size]]] | None:
        """What a node pads, and by how much along each axis; None unless all those are numbers."""
        if x.operation != "F.pad" or len(x.arguments) > 1:
            return None
        widths = [Size.of(n) for n in _numbers(x.operands[1])]
        pairs = enumerate(zip(widths[::2], widths[1::2], strict=True), 1)
        return x.arguments[0], {x.rank - n: pair for n, pair in pairs if any(p.terms for p in pair)}

    def einsum(self, a: Node, b: Node, axes: tuple[str, str, str], shape: Sequence[Size]) -> Node:
        """A product of two tensors; `axes` has a letter for each axis of both, and of the result."""
        return self.graph.make(
            "torch.einsum", EinsumLetters(axes), a, b, shape=shape, hint="product"
        )

    def linear(self, x: Node, w: Node, *b: Node) -> Node:
        """Rows times the rows of a matrix, perhaps plus a vector."""
        return self.graph.make(LINEAR, x, w, *b, shape=(*x.shape[:-1], w.shape[0]), hint="product")

    def cat(self, parts: Sequence[Node], axis: int) -> Node:
        extent = sum((p.shape[axis] for p in parts), Size())
        shape = [*parts[0].shape[:axis], extent, *parts[0].shape[axis + 1 :]]
        dim = -1 if axis == parts[0].rank - 1 else axis
        kind = parts[0].kind
        return self.graph.make(
            "torch.cat", Listed(parts), dim, shape=shape, kind=kind, hint="joined"
        )

    def stack(self, parts: Sequence[Node], hint: str = "") -> Node:
        """Parts of one shape side by side, along a new axis in front."""
        shape = (Size.of(len(parts)), *parts[0].shape)
        return self.graph.make("torch.stack", Listed(parts), shape=shape, hint=hint)

    # ---- reducing ----

    def reduce(self, function: str, x: Node, axes: Sequence[int], kind: str | None = None) -> Node:
        """`x.mean(-1)`, `x.sum((1, 2))`."""
        if not axes:
            return x
        named = tuple(-1 if n == x.rank - 1 else n for n in axes)
        return self.graph.make(
            f".{function}", x, named[0] if len(named) == 1 else named,
            shape=[s for n, s in enumerate(x.shape) if n not in axes], kind=kind or x.kind,
            hint=HINTS.get(function, function),
            natural=x.natural and function in ("mean", "sum", "amax", "amin"),
        )  # fmt: skip

    # ---- choosing ----

    def where(self, mask: Node, x: Node, y: Node, shape: Sequence[Size]) -> Node:
        kind = x.kind if x.kind != NUMBER else y.kind
        if x.kind == NUMBER and y.kind == NUMBER:
            x, kind = self.scalar(x), FLOAT
        return self.graph.make("torch.where", mask, x, y, shape=shape, kind=kind, hint="chosen")

    def choose(self, condition: Node, x: Node, y: Node) -> Node:
        """By a condition that Python decides."""
        if condition.value is not None:
            return x if condition.value else y
        plain = x.kind == NUMBER
        return self.graph.make(
            CHOSEN, x, condition, y, shape=x.shape, kind=x.kind, plain=plain, hint="chosen"
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
        return self.graph.make(".to", x, self.dtype, shape=x.shape, hint="number")

    def whole(self, x: Node, hint: str) -> Node:
        """A number as a place or a token."""
        return self.graph.make(".long", x, shape=x.shape, kind=INT, hint=hint)

    def at_least_0(self, x: Node, hint: str = "") -> Node:
        return self.graph.make(".clamp", x, options={"min": 0}, shape=x.shape, kind=INT, hint=hint)


def _numbers(value: Operand) -> tuple[int, ...]:
    """The numbers of an operand that is one, or some."""
    return tuple(n for n in (value if isinstance(value, tuple) else (value,)) if isinstance(n, int))


def _composed(inner: Sequence[IndexItem], outer: Sequence[IndexItem]) -> list[IndexItem] | None:
    """`x[:, 1:][:, :, None]` → `x[:, 1:, None]`; None if one index expression cannot say both."""
    result: list[IndexItem] = []
    rest = list(outer)
    for item in inner:
        while rest and rest[0] is NEW:
            result.append(rest.pop(0))
        if isinstance(item, Node):
            result.append(item)
            continue
        again = rest.pop(0)
        if again is ALL:
            result.append(item)
        elif item is ALL:
            result.append(again)
        elif item is NEW and isinstance(again, Node):
            continue  # an axis made and unmade
        else:
            return None
    return [*result, *rest]
