"""What an equation computes about other steps, or about no step, is computed once and kept.

    α[k,t,t'] = softmax_{t' ≤ t} (W^Q[k,I,J] Z[t,J]) (W^K[k,I,J] Z[t',J])

    α^{in}[k,I,t'] = W^K[k,I,J] Z[t',J]                                     one key for each step
    α[k,t,t']      = softmax_{t' ≤ t} (W^Q[k,I,J] Z[t,J]) α^{in}[k,I,t']

Keys of an encoder, which no step changes, leave the steps in the same way.
"""

from __future__ import annotations

from dataclasses import replace

from indicial.compile.passes.hoist import Hoisting, Scope
from indicial.compile.stepping.causal import Causal
from indicial.program.ir import Affine, Apply, Code, Expression, Read, Reduce, Statement, Tensor
from indicial.program.meaning.differing import dependent
from indicial.program.rewrite import free_indices


def with_keys(causal: Causal) -> Code:
    """The program with a tensor for each part of a step that does not depend on the step."""
    code = causal.code
    inputs = frozenset(n for n, t in code.tensors.items() if t.role == "input")
    data = dependent(code, inputs)
    tensors = dict(code.tensors)
    statements: list[Statement] = []
    for statement in code.statements:
        axis = causal.axes.get(statement.target)
        place = statement.left[axis] if axis is not None else None
        if not isinstance(place, Affine) or not place.terms:
            statements.append(statement)
            continue
        keys = _Keys(tensors, statement, causal, place.terms[0][0], data)
        body = keys.outside_of(statement.body, {i.name: i for i in statement.indices})
        statements += [*keys.made, replace(statement, body=body)]
    return replace(code, tensors=tensors, statements=tuple(statements))


class _Keys(Hoisting):
    """What leaves one statement; its step is the state here."""

    def __init__(
        self,
        tensors: dict[str, Tensor],
        statement: Statement,
        causal: Causal,
        step: str,
        data: set[str],
    ) -> None:
        super().__init__(tensors, statement, ())
        self.step = step
        self.data = data
        self.walked = causal.axes.keys()
        size = causal.walk.size
        self.long = {
            index.name
            for node in statement.body.walk()
            for index in (*statement.indices, *getattr(node, "indices", ()))
            if size in index.extent.names
        }

    def reads_state(self, expression: Expression) -> bool:
        free = free_indices(expression)
        return self.step in free or len(free & self.long) > 1

    def worth(self, expression: Expression) -> bool:
        reads = {node.tensor for node in expression.walk() if isinstance(node, Read)}
        if reads & self.walked and not free_indices(expression) & self.long:
            return False  # `f[w[0],j]`: it has a step, but no index for it
        return super().worth(expression) and bool(reads & self.data)

    def contraction(self, node: Reduce, scope: Scope) -> Expression:
        """Factors are not multiplied first: `W^O[j,K,I] (W^V[K,I,J] E[s,J])` would be kept for all j."""
        inner = scope | {i.name: i for i in node.indices}
        assert isinstance(node.body, Apply)
        factors = tuple(self.outside_of(f, inner) for f in node.body.arguments)
        return replace(node, body=replace(node.body, arguments=factors))
