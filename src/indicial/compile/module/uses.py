"""How the parameters of a program are used: what each is multiplied and summed with, read by read.

    y[t,j] = e[j,I] W[I,K] x[t,K] + B[j]

    W    Σ_{I,K}, beside x              from the data on: first W meets x,
    e    Σ_{I,K}, beside x and W        then e meets both
    B    stands alone

Where a parameter starts (`starts.py`) and whether it is a matrix (`training/matrices.py`) are told by this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from indicial.program import ir
from indicial.program.rewrite import free_indices

Indices = tuple[ir.Index, ...]
Terms = tuple[ir.Expression, ...]


@dataclass(frozen=True)
class Use:
    """One place where a parameter is read."""

    read: ir.Read
    statement: ir.Statement
    summed: Indices = ()
    """What is summed directly around the product that it is a factor of."""
    beside: Terms | None = None
    """The factors that it meets: data, and parameters nearer to the data; None where it is no factor."""
    terms: Terms = ()
    """The terms of the sums in which it stands, its own among them."""


def uses(code: ir.Code, operators: Collection[str] = ("sum",)) -> Iterator[Use]:
    """All uses, in the order of the text; `operators` are the reductions that count as sums."""
    for statement in code.statements:
        yield from _Walk(code, statement, operators).visit(statement.body, (), ())


@dataclass(frozen=True)
class _Walk:
    code: ir.Code
    statement: ir.Statement
    operators: Collection[str]

    def is_parameter(self, node: ir.Expression) -> bool:
        return isinstance(node, ir.Read) and self.code.tensors[node.tensor].role == "parameter"

    def visit(self, node: ir.Expression, summed: Indices, terms: Terms) -> Iterator[Use]:
        """All uses in an expression that stands directly in a sum over some indices."""
        match node:
            case ir.Read():
                if self.is_parameter(node):
                    yield Use(node, self.statement, summed, None, terms)
            case ir.Apply("*" | "/"):
                yield from self.product(node, summed, terms)
            case ir.Apply("neg" | "+", arguments):
                inner = (*terms, *arguments) if node.function == "+" else terms
                for term in arguments:
                    yield from self.visit(term, summed, inner)
            case ir.Reduce(operator, indices, _, body):
                inside = (*summed, *indices) if operator in self.operators else ()
                yield from self.visit(body, inside, terms)
            case ir.Select():
                for value in (*(v for _, v in node.branches), node.otherwise):
                    yield from self.visit(value, summed, terms)
            case ir.Softmax():
                yield from self.visit(node.body, (), terms)
            case ir.Apply() | ir.Join():
                for child in node.children():
                    yield from self.visit(child, (), terms)

    def product(self, node: ir.Apply, summed: Indices, terms: Terms) -> Iterator[Use]:
        """Factors side by side: from the data on, each parameter with what it meets."""
        factors = list(_factors(node))
        weights = [f for f in factors if isinstance(f, ir.Read) and self.is_parameter(f)]
        weights = [weight for weight in weights if not weight.looks_up]
        data = [factor for factor in factors if factor not in weights]
        names = {index.name for index in summed}
        met, waiting = list(data), list(weights)
        while waiting:
            reached = names & set().union(*map(free_indices, met))
            weight = next((w for w in waiting if free_indices(w) & reached), waiting[0])
            waiting.remove(weight)
            yield Use(weight, self.statement, summed, tuple(met), terms)
            met.append(weight)
        # A sum on the way to a running value is told once, not again by what is inside it.
        inner = () if any(free_indices(weight) & names for weight in weights) else terms
        for factor in data:
            yield from self.visit(factor, (), inner)


def _factors(node: ir.Expression) -> Iterator[ir.Expression]:
    if isinstance(node, ir.Apply) and node.function in ("*", "/", "neg"):
        for argument in node.arguments:
            yield from _factors(argument)
    else:
        yield node
