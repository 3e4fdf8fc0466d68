"""What a statement in normal form is: a product, a reduction, a softmax, or pointwise.

    S[t,j] = 1/√I * sum{i}(Q[t,i] * K[j,i])   →  Product(1/√I, (i,), None, (Q[t,i], K[j,i]))
    m[t]   = max{j}(x[t,j])                   →  Reduction("max", (j,), None, x[t,j])
    α[t,j] = softmax{j where j ≤ t}(S[t,j])   →  Distribution((j,), j ≤ t, S[t,j])
    h[t,j] = G[t,j] * h[t-1,j]                →  Pointwise(…)

A sum of a single read, or of 1 (a count), is a product as well, of one factor or of none.
"""

from __future__ import annotations

from dataclasses import dataclass

from indicial.compile.passes.algebra import ONE
from indicial.program.ir import (
    Apply,
    Code,
    Expression,
    Index,
    Join,
    Read,
    Reduce,
    Softmax,
    Statement,
)
from indicial.program.rewrite import is_constant


@dataclass(frozen=True)
class Product:
    """`scale * Σ_{indices where condition} factors`; the scale is made of numbers and sizes."""

    scale: Expression
    indices: tuple[Index, ...]
    condition: Expression | None
    factors: tuple[Read, ...]


@dataclass(frozen=True)
class Reduction:
    """`operator_{indices where condition} read`, for an operator other than the sum."""

    operator: str
    indices: tuple[Index, ...]
    condition: Expression | None
    read: Read


@dataclass(frozen=True)
class Distribution:
    """`softmax_{indices where condition} read`; each of the indices is one of the statement."""

    indices: tuple[Index, ...]
    condition: Expression | None
    read: Read


@dataclass(frozen=True)
class Pointwise:
    """An expression without reductions: each element on its own."""

    body: Expression


Form = Product | Reduction | Distribution | Pointwise


def form(statement: Statement) -> Form | None:
    """What the statement is; None if it is not in normal form."""
    if statement.guard is not None and not is_pointwise(statement.guard):
        return None
    return body_form(statement.body)


def body_form(body: Expression) -> Form | None:
    match body:
        case Reduce("mean"):
            return None
        case Reduce("sum"):
            return _product(ONE, body)
        case Apply("*", (*scale, Reduce("sum") as core)):
            scaled = scale[0] if len(scale) == 1 else Apply("*", tuple(scale))
            return _product(scaled, core)
        case Apply("neg", (inner,)) if isinstance(body_form(inner), Product):
            product = body_form(inner)
            assert isinstance(product, Product)
            return Product(
                Apply("neg", (product.scale,)), product.indices, product.condition, product.factors
            )
        case Reduce(operator, indices, condition, Read() as read) if is_pointwise(condition):
            return Reduction(operator, indices, condition, read)
        case Softmax(indices, condition, Read() as read) if is_pointwise(condition):
            return Distribution(indices, condition, read)
    return Pointwise(body) if is_pointwise(body) else None


def _product(scale: Expression, core: Reduce) -> Product | None:
    if not is_constant(scale) or not is_pointwise(core.condition):
        return None
    factors: tuple[Expression, ...] = (core.body,)
    if isinstance(core.body, Apply) and core.body.function == "*":
        factors = core.body.arguments
    elif core.body == ONE:
        factors = ()
    reads = tuple(factor for factor in factors if isinstance(factor, Read))
    if len(reads) < len(factors):
        return None
    return Product(scale, core.indices, core.condition, reads)


def is_pointwise(expression: Expression | None) -> bool:
    """Whether nothing in it is a reduction, a softmax or a join; no condition counts as one."""
    if expression is None:
        return True
    return not any(isinstance(node, Reduce | Softmax | Join) for node in expression.walk())


def is_normal(code: Code) -> bool:
    """Whether every statement is in normal form."""
    return all(form(statement) is not None for statement in code.statements)
