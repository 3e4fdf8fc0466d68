"""Where a tensor is not 0, and that sums need not go further.

    α[t_1,t_2] = softmax_{t_2 ≤ t_1} …
    h̃[t,i] = Σ_T α[t,T] Value[T,i]      →      h̃[t,i] = Σ_{T ≤ t} α[t,T] Value[T,i]

Without this the sum would seem to read values of steps that are still to come.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from indicial.compile.stepping.bounds import conjuncts, joined
from indicial.compile.stepping.walked import Walk
from indicial.program.cost.conditions import negation
from indicial.program.ir import (
    Affine,
    Apply,
    Code,
    Constant,
    Expression,
    Read,
    Reduce,
    Select,
    Softmax,
    Statement,
)
from indicial.program.moving import moved
from indicial.program.rewrite import free_indices, rebuild


def with_support(code: Code, walk: Walk) -> Code:
    """The program with its sums ended where one factor is 0, and those factors defined only there."""
    found = _Supports(code)

    def leaf(node: Expression) -> Expression:
        if not isinstance(node, Reduce) or node.operator != "sum":
            return node
        names = {i.name for i in node.indices if walk.size in i.extent.names}
        known = conjuncts(node.condition)
        new = [c for c in found.where(node.body) if free_indices(c) & names]
        return replace(node, condition=joined([*known, *new])) if new else node

    statements = []
    for statement in code.statements:
        guard = statement.guard
        if len(walk.axes(code.tensors[statement.target])) > 1:
            conditions = found.of(statement.target)
            if conditions and statement is not code.of(statement.target)[-1]:
                continue  # it says where the tensor is 0, as the end of the general one does now
            guard = guard or joined(conditions)
        body = rebuild(statement.body, leaf=leaf)
        statements.append(replace(statement, body=body, guard=guard))
    return replace(code, statements=tuple(statements))


class _Supports:
    """The conditions under which each tensor is not 0, in the indices of its left side."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.known: dict[str, list[Expression]] = {}

    def of(self, name: str) -> list[Expression]:
        if name not in self.known:
            self.known[name] = []  # a tensor that reads itself says nothing more
            self.known[name] = list(self.defined(self.code.of(name)))
        return self.known[name]

    def defined(self, statements: list[Statement]) -> Iterator[Expression]:
        """`0 for t_2 > t_1`, then one equation that is general."""
        if not statements or any(_names(s) is None for s in statements):
            return
        *special, general = statements
        if general.guard is not None:
            return
        for statement in special:
            opposite = negation(statement.guard) if statement.guard is not None else None
            if statement.body != Constant(0.0) or opposite is None:
                return
            if _names(statement) == _names(general):
                yield opposite
        yield from self.where(general.body)

    def where(self, expression: Expression) -> Iterator[Expression]:
        """Conditions without which the expression is 0."""
        match expression:
            case Softmax(_, condition, _):
                yield from conjuncts(condition)
            case Select(((condition, _),), Constant(0.0)):
                yield from conjuncts(condition)
            case Apply("*", arguments):
                for argument in arguments:
                    yield from self.where(argument)
            case Apply("neg", (inner,)) | Apply("/", (inner, _)):
                yield from self.where(inner)
            case Reduce("sum", indices, _, body):
                own = {i.name for i in indices}
                yield from (c for c in self.where(body) if not free_indices(c) & own)
            case Read(tensor, places):
                statements = self.code.of(tensor)
                if not statements or not all(isinstance(p, Affine) for p in places):
                    return
                names = _names(statements[-1])
                if names is not None:
                    at = {
                        name: Affine(place.terms, place.offset - shift)
                        for (name, shift), place in zip(names, places, strict=True)
                        if isinstance(place, Affine)
                    }
                    yield from (moved(c, at) for c in self.of(tensor))


def _names(statement: Statement) -> list[tuple[str, int]] | None:
    """The indices of a left side that has nothing else, with what is added to each."""
    shifts = [p.shift for p in statement.left if isinstance(p, Affine) and p.shift is not None]
    return shifts if len(shifts) == len(statement.left) else None
