"""What all nodes of the syntax tree can do: be walked through, and be rebuilt with other parts.

    G[t,j] h[t-1,j]   →   walk(): the Product, the Index G[t,j], the Name G, t, j, the Index h[…], …

The kinds of nodes are in `syntax.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import Any, Self

from indicial.notation.kept import kept
from indicial.notation.source import NOWHERE, Span


@dataclass(frozen=True)
class Node:
    """Anything in the tree."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    @kept
    def children(self) -> tuple[Node, ...]:
        """The nodes directly below, in the order of writing."""
        found: list[Node] = []
        for name in self.__dataclass_fields__:
            if name != "span":
                _collect(self.__dict__[name], found)
        return tuple(found)

    @kept
    def descendants(self) -> tuple[Node, ...]:
        """All nodes below, in the order of writing; no recursion."""
        found: list[Node] = []
        stack = [*self.children()[::-1]]
        while stack:
            node = stack.pop()
            found.append(node)
            stack.extend(node.children()[::-1])
        return tuple(found)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in the order of writing."""
        return chain((self,), self.descendants())


def _collect(value: object, into: list[Node]) -> None:
    if isinstance(value, Node):
        into.append(value)
    elif isinstance(value, tuple):
        for item in value:
            _collect(item, into)


@dataclass(frozen=True)
class Expression(Node):
    """What can stand on a side of an equation."""

    def rebuild(
        self, change: Callable[[Expression], Expression], keep: Collection[str] = ()
    ) -> Self:
        """The same node with the expressions below it changed, except in the fields to keep."""

        def changed(value: Any) -> Any:
            if isinstance(value, Expression):
                return change(value)
            return tuple(changed(v) for v in value) if isinstance(value, tuple) else value

        names = [f.name for f in fields(self) if f.name != "span" and f.name not in keep]
        return replace(self, **{name: changed(getattr(self, name)) for name in names})
