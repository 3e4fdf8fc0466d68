"""Views of a node: its axes permuted, made, removed, flattened, sliced.

permute(x, (1, 0))        x.mT
index(x, [ALL, at])       x[:, t - 1]
unsqueeze(mean, [2])      x.mean(-1, keepdim=True), if it was the mean over axis 2

The operations of torch that texts are made of, each a method: nodes in, a node out.

torch.zeros((B, J))             torch.zeros(B, J, dtype=dtype, device=device)
torch.pad(x, 1, one, None)      F.pad(x, (0, 0, 1, 0))
torch.reduce("mean", x, [2])    x.mean(-1)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from indicial.compile.emit.graph import (
    ATOM,
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

ONE = Size.of(1)


@dataclass(frozen=True)
class Slice:
    """`start:stop` along an axis; None where it goes to the end."""

    start: Node | None = None
    stop: Node | None = None
    extent: Size | None = None


ALL = Slice()
NEW = None
Item = Slice | Node | None
"""One item of an index expression: a slice, a place, or a new axis."""


class Axes:
    """Makes nodes that are views of others."""

    def __init__(self, graph: Graph, sizes: SizeTexts) -> None:
        self.graph = graph
        self.sizes = sizes
        self.reductions: dict[Node, tuple[int, ...]] = {}
        self.indexed: dict[Node, tuple[Node, list[Item]]] = {}

    def permute(self, x: Node, order: Sequence[int]) -> Node:
        if list(order) == list(range(x.rank)):
            return x
        shape = [x.shape[n] for n in order]
        moved = [n for n, o in enumerate(order) if n != o]
        if len(moved) == 2:
            first, last = moved
            if last == x.rank - 1 and first == x.rank - 2:
                return self.graph.make("{}.mT", x, shape=shape, kind=x.kind, light=True)
            template = f"{{}}.transpose({first}, {last})"
        else:
            template = f"{{}}.permute({', '.join(map(str, order))})"
        return self.graph.make(template, x, shape=shape, kind=x.kind, light=True)

    def unsqueeze(self, x: Node, axes: Sequence[int]) -> Node:
        """New axes of extent 1, at these places of the result."""
        if not axes:
            return x
        kept = self._kept(x, sorted(axes))
        if kept is not None:
            return kept
        items: list[Item] = [ALL] * x.rank
        for axis in sorted(axes):
            items.insert(axis, NEW)
        return self.index(x, items)

    def _kept(self, x: Node, axes: Sequence[int]) -> Node | None:
        """A reduction that keeps the axes that it removed, or a function of one."""
        if x in self.reductions:
            if list(self.reductions[x]) != list(axes):
                return None
            template = f"{x.template[:-1]}, keepdim=True)"
            kept = [ONE if n in axes else s for n, s in enumerate(x.arguments[0].shape)]
            return self.graph.make(template, *x.arguments, shape=kept, kind=x.kind, hint=x.hint)
        if not x.pointwise:
            return None
        arguments = []
        for argument in x.arguments:
            inner: Node | None = argument
            if argument.kind != NUMBER:
                # One with fewer axes lines up from the right, where these axes are others.
                inner = self._kept(argument, axes) if argument.rank == x.rank else None
            if inner is None:
                return None
            arguments.append(inner)
        shape = next(a.shape for a in arguments if a.kind != NUMBER)
        return self.graph.again(x, arguments, shape)

    def index(self, x: Node, items: Sequence[Item]) -> Node:
        """`x[:, 0, None, 1:]`."""
        if all(item is ALL for item in items):
            return x
        items = [*items, *[ALL] * (x.rank - sum(item is not NEW for item in items))]
        if x in self.indexed:
            base, inner = self.indexed[x]
            both = _composed(inner, items)
            if both is not None:
                return self.index(base, both)
        shape: list[Size] = []
        texts: list[str] = []
        arguments: list[Node] = []
        axis = 0
        for item in items:
            if item is NEW:
                shape.append(ONE)
                texts.append("None")
                continue
            if isinstance(item, Slice):
                shape.append(item.extent if item.extent is not None else x.shape[axis])
                ends = [e for e in (item.start, item.stop) if e is not None]
                arguments += ends
                texts.append(
                    ("{}" if item.start is not None else "")
                    + ":"
                    + ("{}" if item.stop is not None else "")
                )
            else:
                arguments.append(item)
                texts.append("{}")
            axis += 1
        shape += x.shape[axis:]
        while texts and texts[-1] == ":":
            texts.pop()
        leading = next((n for n, t in enumerate(texts) if t != ":"), 0)
        if leading >= 2 and items[-1] is NEW and all(t == "None" for t in texts[leading:]):
            texts[:leading] = ["..."]
        result = self.graph.make(
            f"{{}}[{', '.join(texts)}]",
            x,
            *arguments,
            shape=shape,
            kind=x.kind,
            needs=(ATOM, *(CHOICE for _ in arguments)),
            light=True,
        )
        self.indexed[result] = (x, list(items))
        return result

    def expand(self, x: Node, shape: Sequence[Size]) -> Node:
        if list(x.shape) == list(shape):
            return x
        sizes = [
            self.sizes.node(s)
            if n - (len(shape) - x.rank) < 0 or x.shape[n - len(shape)] != s
            else self.graph.literal(-1)
            for n, s in enumerate(shape)
        ]
        template = f"{{}}.expand({', '.join('{}' for _ in sizes)})"
        return self.graph.make(template, x, *sizes, shape=shape, kind=x.kind, light=True)

    def reshape(self, x: Node, template: str, shape: Sequence[Size], *arguments: Node) -> Node:
        """`flatten` or `unflatten` by a template; the shape is what comes out."""
        return self.graph.make(template, x, *arguments, shape=shape, kind=x.kind, light=True)

    def flatten(self, x: Node, first: int, last: int) -> Node:
        """Axes `first` to `last` as one."""
        if first >= last:
            return x
        if x.template.startswith("{}.unflatten(") and x.arguments[0].rank == x.rank - (
            last - first
        ):
            inner = x.arguments[0]
            if x.template == self._unflatten_template(first, last - first + 1):
                return inner
        total = math.prod(x.shape[first : last + 1], start=ONE)
        shape = [*x.shape[:first], total, *x.shape[last + 1 :]]
        end = -1 if last == x.rank - 1 else last
        return self.reshape(
            x, f"{{}}.flatten({first}, {end})" if (first, end) != (0, -1) else "{}.flatten()", shape
        )

    def unflatten(self, x: Node, axis: int, extents: Sequence[Size]) -> Node:
        if len(extents) == 1:
            return x
        shape = [*x.shape[:axis], *extents, *x.shape[axis + 1 :]]
        if not extents:
            return self.reshape(x, f"{{}}.squeeze({axis})", shape)
        template = self._unflatten_template(axis, len(extents))
        return self.reshape(x, template, shape, *map(self.sizes.node, extents))

    def _unflatten_template(self, axis: int, count: int) -> str:
        return f"{{}}.unflatten({axis}, ({', '.join(['{}'] * count)}))"

    def flip(self, x: Node, axis: int) -> Node:
        return self.graph.make(f"{{}}.flip({axis})", x, shape=x.shape, kind=x.kind, hint="flipped")


def _composed(inner: Sequence[Item], outer: Sequence[Item]) -> list[Item] | None:
    """`x[:, 1:][:, :, None]` → `x[:, 1:, None]`; None if one index expression cannot say both."""
    result: list[Item] = []
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
