"""Views of a node: its axes permuted, made, removed, flattened, sliced.

permute(x, (1, 0))        x.mT
index(x, [ALL, at])       x[:, t - 1]
unsqueeze(mean, [2])      x.mean(-1, keepdim=True), if it was the mean over axis 2
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from indicial.compile.emit.graph import ATOM, CHOICE, NUMBER, Graph, Node
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
