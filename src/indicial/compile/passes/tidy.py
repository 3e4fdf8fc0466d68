"""Statements without those that nobody needs, and without second names for one thing.

x̄ = Σ a[t],  a[t] = δ[t],  b[t] = 2 δ[t],  δ[t] = …     wanted: x̄     →     x̄ = Σ δ[t],  δ[t] = …
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from indicial.program.ir import Expression, Read, Statement
from indicial.program.rewrite import rebuild


def renamed(statements: Iterable[Statement], names: Mapping[str, str]) -> list[Statement]:
    """The statements with other tensors read; a new name may itself have a new name."""

    def leaf(node: Expression) -> Expression:
        return replace(node, tensor=final(node.tensor, names)) if isinstance(node, Read) else node

    return [replace(s, body=rebuild(s.body, leaf=leaf)) for s in statements]


def final(name: str, names: Mapping[str, str]) -> str:
    """The name behind all renamings."""
    while name in names:
        name = names[name]
    return name


def needed(statements: Sequence[Statement], wanted: Iterable[str]) -> set[str]:
    """The tensors that the wanted ones are computed from, themselves included."""
    sources: dict[str, set[str]] = {}
    for statement in statements:
        sources.setdefault(statement.target, set()).update(reads(statement))
    waiting = list(wanted)
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += sources.get(name, ())
    return found


def reads(statement: Statement) -> set[str]:
    """The tensors that a statement reads."""
    parts = [statement.body] if statement.guard is None else [statement.body, statement.guard]
    return {node.tensor for part in parts for node in part.walk() if isinstance(node, Read)}
