"""The indices that are bound at a point of a statement, and which of them an expression needs.

>>> scope = {"t": t, "j": j}
>>> indices_of(Read("h", (Affine.of("t", -1),)), scope)
(t,)
"""

from __future__ import annotations

from indicial.program.ir import Affine, Expression, Index
from indicial.program.moving import canonical, moved_size
from indicial.program.rewrite import free_indices, size_indices

Scope = dict[str, Index]
"""Indices by name, each after those that its range needs."""


def within(scope: Scope, indices: tuple[Index, ...]) -> Scope:
    return {**scope, **{index.name: index for index in indices}}


def free_in(expression: Expression, scope: Scope) -> frozenset[str]:
    return frozenset(free_indices(expression) & scope.keys())


def indices_of(expression: Expression, scope: Scope) -> tuple[Index, ...]:
    """The indices that the expression needs, those included that their ranges need."""
    names: set[str] = set()
    waiting = list(free_in(expression, scope))
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            index = scope[name]
            waiting += (size_indices(index.lower) | size_indices(index.extent)) & scope.keys()
    return tuple(index for name, index in scope.items() if name in names)


def key_of(body: Expression, indices: tuple[Index, ...]) -> object:
    """The same for two expressions that differ in the names of their indices only."""
    order = [index.name for index in indices]
    places = {name: Affine.of(f"${number}") for number, name in enumerate(order)}
    ranges = tuple((moved_size(i.lower, places), moved_size(i.extent, places)) for i in indices)
    return canonical(body, order), ranges
