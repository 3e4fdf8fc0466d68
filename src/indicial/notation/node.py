"""What all nodes of a tree can do: be walked through, and be rebuilt with other parts.

    G[t,j] h[t-1,j]   →   walk(): the Product, the Index G[t,j], the Name G, t, j, the Index h[…], …

The kinds of nodes of the syntax are in `syntax.py`, those of the checked program in `program/ir.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import chain
from operator import is_, is_not
from typing import Any, Generic, Self, TypeVar, overload

from indicial.notation.source import NOWHERE, Span

N = TypeVar("N", bound="Tree[Any]")
Other = TypeVar("Other")
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Kind = TypeVar("Kind")

PLAIN = frozenset({str, int, float, bool, type(None)})
"""What stands in a node and is no node."""
ASIDE = frozenset({"span", "ends"})
"""The fields of a node whose nodes are no parts of it."""


def kept(question: Callable[[Asked], Answer]) -> Callable[[Asked], Answer]:
    """The same question, asked of each node only once: the answer is kept with the node.

    Nodes never change, and every pass of the analysis asks the same of them. The answer is no field of
    the node, so neither equality nor `replace` sees it.
    """
    name = f"kept {question.__module__}.{question.__qualname__}"

    @wraps(question)
    def asked(node: Asked) -> Answer:
        known: dict[str, Any] = node.__dict__
        if name not in known:
            known[name] = question(node)
        answer: Answer = known[name]
        return answer

    return asked


class Holder:
    """What is no node, but has nodes in its fields: the `w[t]` of the place in `e[w[t],i]`."""


@dataclass(frozen=True)
class Tree(Generic[N]):
    """A node, below which there are nodes of the same tree."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    @kept
    def children(self) -> tuple[N, ...]:
        """The nodes directly below, in the order of writing."""
        found: list[Any] = []
        for name in self.__dataclass_fields__:
            value = self.__dict__[name]
            if name not in ASIDE and value and value.__class__ not in PLAIN:
                _collect(value, found)
        return tuple(found)

    @kept
    def descendants(self) -> tuple[N, ...]:
        """All nodes below, in the order of writing; no recursion."""
        found: list[Any] = []
        stack = [*self.children()[::-1]]
        while stack:
            node = stack.pop()
            found.append(node)
            stack.extend(node.children()[::-1])
        return tuple(found)

    def walk(self) -> Iterator[N]:
        """This node and all below it, in the order of writing."""
        own: Any = self
        return chain((own,), self.descendants())

    @overload
    def every(self, one: type[Kind], other: type[Other], /) -> Sequence[Kind | Other]: ...
    @overload
    def every(self, *kinds: type[Kind]) -> Sequence[Kind]: ...
    def every(self, *kinds: type[Any]) -> Sequence[Any]:
        """Those of them that are of one kind or of some: what most questions are about."""
        found: Sequence[Any]
        if len(kinds) == 1:
            found = self._by_kind().get(kinds[0], ())
        else:
            found = [node for node in self.walk() if node.__class__ in kinds]
        return found

    @kept
    def _by_kind(self) -> dict[type, list[Any]]:
        found: dict[type, list[Any]] = defaultdict(list)
        for node in self.walk():
            found[node.__class__].append(node)
        return found

    def rebuild(self, change: Callable[[Any], Any], keep: Collection[str] = ()) -> Self:
        """The same node with those directly below it changed, except in the fields to keep.

        Where nothing changes it is this node itself, with all that is known of it.
        """
        values = {name: self.__dict__[name] for name in self.__dataclass_fields__}
        new = {
            name: _changed(value, change)
            for name, value in values.items()
            if value and value.__class__ not in PLAIN and name not in ASIDE and name not in keep
        }
        if any(new[name] is not values[name] for name in new):
            return self.__class__(**(values | new))
        return self


def _collect(value: object, into: list[Any]) -> None:
    if isinstance(value, Tree):
        into.append(value)
    elif isinstance(value, tuple):
        for item in value:
            _collect(item, into)
    elif isinstance(value, Holder):
        for item in value.__dict__.values():
            _collect(item, into)


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, Tree):
        return change(value)
    if isinstance(value, tuple):
        new = tuple([v if v.__class__ in PLAIN else _changed(v, change) for v in value])
        return new if any(map(is_not, new, value)) else value
    if isinstance(value, Holder):
        fields = {name: _changed(part, change) for name, part in value.__dict__.items()}
        same = all(map(is_, fields.values(), value.__dict__.values()))
        return value if same else value.__class__(**fields)
    return value


@dataclass(frozen=True)
class Node(Tree["Node"]):
    """Anything in the tree of the syntax."""


@dataclass(frozen=True)
class Expression(Node):
    """What can stand on a side of an equation."""
