"""What a state is multiplied with, as tensors: a function of fewer indices is computed once.

    S[t,i,j] = σ(z[t,i]) S[t-1,i,j] + k[t,i] v[t,j]

    S^{(1)}[t,i] = σ(z[t,i])                            once, not for every j
    S[t,i,j]     = S^{(1)}[t,i] S[t-1,i,j] + k[t,i] v[t,j]

A function of all indices, `exp(-Δ[t,j] A[j,n])`, has a name then as well, by which its gradient knows it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from indicial.compile.passes.layout import laid_out, shifts
from indicial.compile.passes.names import Names
from indicial.compile.passes.scopes import indices_of
from indicial.program.ir import Apply, Code, Expression, Read, Select, Statement

ARITHMETIC = ("+", "*", "neg")


def with_factors(code: Code, states: Collection[str], inside: Collection[str]) -> Code:
    """The program with a tensor for each function in the states' equations that is ready before.

    `inside` are the tensors that are computed step by step, states and others.
    """
    names, tensors = Names(code.tensors), dict(code.tensors)
    statements: list[Statement] = []
    known: dict[object, Read] = {}

    def taken(node: Expression, statement: Statement) -> Expression:
        own = _with_children(node, tuple(taken(c, statement) for c in _children(node)))
        if not is_function(own) or any(
            isinstance(n, Read) and n.tensor in inside for n in own.walk()
        ):
            return own
        indices = indices_of(own, {i.name: i for i in statement.indices})
        key = own, indices
        if key not in known:
            name = names.part(statement.target)
            tensor, left = laid_out(name, indices, shifts(statement))
            tensors[name] = tensor
            statements.append(Statement(name, left, indices, own))
            known[key] = Read(name, left)
        return known[key]

    for statement in code.statements:
        if statement.target in states and statement.guard is None:
            statement = replace(statement, body=taken(statement.body, statement))
        statements.append(statement)
    return replace(code, tensors=tensors, statements=tuple(statements))


def is_function(node: Expression) -> bool:
    """Whether it costs more than a sum or a product, and is no number."""
    if not isinstance(node, Apply | Select) or not any(isinstance(n, Read) for n in node.walk()):
        return False
    return isinstance(node, Select) or node.function not in ARITHMETIC


def _children(node: Expression) -> tuple[Expression, ...]:
    return node.arguments if isinstance(node, Apply) else ()


def _with_children(node: Expression, children: tuple[Expression, ...]) -> Expression:
    return replace(node, arguments=children) if isinstance(node, Apply) else node
