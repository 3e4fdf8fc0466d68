"""A read that meets no definition, whatever the sizes are, is 0.

    s[j] = Σ_i W[i,j] c[-1,i] + b[j], where c begins at 0      →      s[j] = Σ_i W[i,j] * 0 + b[j]

So what reads nothing needs nothing first.
"""

from __future__ import annotations

from dataclasses import replace

from indicial.compile.schedule.graph import needs
from indicial.program.ir import Code, Constant, Expression, Read
from indicial.program.rewrite import rebuild


def without_nothing(code: Code) -> Code:
    """The program with 0 in the place of such reads."""
    met = {(id(need.reader), need.edge.read) for need in needs(code)}
    statements = []
    for statement in code.statements:

        def leaf(node: Expression, reader: int = id(statement)) -> Expression:
            if not isinstance(node, Read) or not code.of(node.tensor):
                return node
            token = code.tensors[node.tensor].values is not None
            return node if token or (reader, node) in met else Constant(0.0, span=node.span)

        nodes = list(statement.body.walk())
        if any(leaf(node) is not node for node in nodes):
            statement = replace(statement, body=rebuild(statement.body, leaf=leaf))
        statements.append(statement)
    return replace(code, statements=tuple(statements))
