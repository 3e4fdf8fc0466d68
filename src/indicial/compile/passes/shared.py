"""Equations that say the same are computed once.

Ḡ^{(1)}[t,j] = Ḡ[t,j] * G[t,j] * (1 + -G[t,j])
Ḡ^{in}[t,j]  = Ḡ[t,j] * G[t,j] * (1 + -G[t,j])      →      Ḡ^{in}[t,j] = Ḡ^{(1)}[t,j]
"""

from __future__ import annotations

from dataclasses import replace

from indicial.program.ir import Affine, Code, Read, Statement


def shared(code: Code) -> Code:
    """The program with the later one of two equal statements reading the earlier one."""
    first: dict[object, Statement] = {}
    result = []
    for statement in code.statements:
        alone = len(code.of(statement.target)) == 1
        plain = all(isinstance(p, Affine) and len(p.terms) == 1 for p in statement.left)
        if alone and plain and statement.guard is None and not isinstance(statement.body, Read):
            key = (statement.left, statement.indices, statement.body, _axes(code, statement.target))
            if key in first:
                places = tuple(p for p in statement.left if isinstance(p, Affine))
                statement = replace(statement, body=Read(first[key].target, places))
            else:
                first[key] = statement
        result.append(statement)
    return replace(code, statements=tuple(result))


def _axes(code: Code, name: str) -> tuple[object, ...]:
    return tuple((axis.lower, axis.extent) for axis in code.tensors[name].axes)
