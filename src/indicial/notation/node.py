"""What all nodes of the syntax tree can do: be walked through, and be rebuilt with other parts.

    G[t,j] h[t-1,j]   →   walk(): the Product, the Index G[t,j], the Name G, t, j, the Index h[…], …

The kinds of nodes are in `syntax.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import is_not
from typing import Any, Self

from indicial.notation.kept import Kind, by_kind, kept
from indicial.notation.source import NOWHERE, Span

PLAIN = frozenset({str, int, float, bool, type(None)})
"""What stands in a node and is no node."""


@dataclass(frozen=True)
class Node:
    """Anything in the tree."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    @kept
    def children(self) -> tuple[Node, ...]:
        """The nodes directly below, in the order of writing."""
        found: list[Node] = []
        for name in self.__dataclass_fields__:
            value = self.__dict__[name]
            if name != "span" and value and value.__class__ not in PLAIN:
                _collect(value, found)
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

    def every(self, *kinds: type[Kind]) -> Sequence[Kind]:
        """Those of them that are of one kind or of some: what most questions are about."""
        found: Sequence[Any]
        if len(kinds) == 1:
            found = self._by_kind().get(kinds[0], ())
        else:
            found = [node for node in self.walk() if node.__class__ in kinds]
        return found

    @kept
    def _by_kind(self) -> dict[type, list[Any]]:
        return by_kind(self.walk())


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
        """The same node with the expressions below it changed, except in the fields to keep.

        Where nothing changes it is this node itself, with all that is known of it.
        """

        def changed(value: Any) -> Any:
            if isinstance(value, Expression):
                return change(value)
            if not isinstance(value, tuple):
                return value
            new = tuple([v if v.__class__ in PLAIN else changed(v) for v in value])
            return new if any(map(is_not, new, value)) else value

        values = {name: self.__dict__[name] for name in self.__dataclass_fields__}
        new = {
            name: changed(value)
            for name, value in values.items()
            if value and value.__class__ not in PLAIN and name != "span" and name not in keep
        }
        if any(new[name] is not values[name] for name in new):
            return self.__class__(**(values | new))
        return self
