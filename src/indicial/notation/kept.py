"""Questions about a node that are answered once: the answer is kept with the node.

>>> @kept
... def letters(name: Name) -> set[str]:
...     return set(name.base)

Nodes never change, and every pass of the analysis asks the same of them. The answer is no field of
the node, so neither equality nor `replace` sees it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

Node = TypeVar("Node")
Answer = TypeVar("Answer")
Kind = TypeVar("Kind")


def kept(question: Callable[[Node], Answer]) -> Callable[[Node], Answer]:
    """The same question, asked of each node only once; a frozen dataclass without slots."""
    name = f"kept {question.__module__}.{question.__qualname__}"

    @wraps(question)
    def asked(node: Node) -> Answer:
        known: dict[str, Any] = node.__dict__
        if name not in known:
            known[name] = question(node)
        answer: Answer = known[name]
        return answer

    return asked


def by_kind(nodes: Iterable[object]) -> dict[type, list[Any]]:
    """Nodes sorted by their class, in their order."""
    found: dict[type, list[Any]] = defaultdict(list)
    for node in nodes:
        found[node.__class__].append(node)
    return found
