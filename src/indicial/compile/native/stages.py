"""The work of one step in stages: products first, then all that is elementwise in one go.

    R^{(1)}[t,j] = Σ_i W^R[j,i] h[t-1,i]      ┐  Matmul: one product, both weights side by side
    G^{(1)}[t,j] = Σ_i W^G[j,i] h[t-1,i]      ┘
    R[t,j] = tanh(R^{(1)}[t,j] + R^{in}[t,j]) ┐
    G[t,j] = σ(G^{(1)}[t,j] + G^{in}[t,j])    │  Fused: one loop over j
    h[t,j] = …                                ┘

The statements are in normal form (`passes.normal`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from indicial.compile.native.body import Body
from indicial.compile.native.linear_maps import (
    Matmul,
    Products,
    find_products,
    form_of,
    side_by_side,
    summed,
)
from indicial.compile.passes.forms import Distribution, Pointwise, Product, Reduction
from indicial.compile.passes.scan import Unsupported
from indicial.program.ir import Affine, Read, Statement
from indicial.program.rewrite import tensors_read


@dataclass(frozen=True)
class Fused:
    """Pointwise statements over one space, in one loop."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Single:
    """A reduction, a softmax, or a product that is no product of matrices, in loops of its own."""

    statement: Statement
    form: Product | Reduction | Distribution


Stage = Matmul | Fused | Single


def stages(body: Body, kept: Collection[str]) -> list[Stage]:
    """The statements in stages; those whose values somebody needs (`kept`) stay themselves."""
    statements, products = summed(body, find_products(body), kept)
    return list(_in_order(body, statements, products))


def _in_order(body: Body, statements: Sequence[Statement], products: Products) -> Iterator[Stage]:
    """Products as soon as their operands are there, and as much as possible in each loop."""
    waiting = list(statements)
    done: set[str] = set()
    times = Counter(s.target for s in statements)

    def finish(group: Sequence[Statement]) -> None:
        for statement in group:
            waiting.remove(statement)
            times[statement.target] -= 1
            if not times[statement.target]:
                done.add(statement.target)

    def ready(statement: Statement) -> bool:
        return _needs_now(body, statement, products) <= done

    while waiting:
        multiply = [s for s in waiting if s.target in products and ready(s)]
        if multiply:
            yield from side_by_side(multiply, products)
            finish(multiply)
            continue
        for statement in waiting:
            found = form_of(statement)
            if ready(statement) and not isinstance(found, Pointwise):
                yield Single(statement, found)
                finish([statement])
                break
        else:
            group = _fusible(body, waiting, done, products)
            if not group:
                names = ", ".join(s.target for s in waiting)
                raise Unsupported(f"no order within a step for {names}")
            yield Fused(tuple(group))
            finish(group)


def _needs_now(body: Body, statement: Statement, products: Products) -> set[str]:
    """The tensors that must be there at this very step."""
    if statement.target in products:
        operands = [term.operand for term in products[statement.target]]
        return {o.tensor for o in operands if o.tensor in body.axes and not body.is_earlier(o)}
    return {name for name in tensors_read([statement]) if (statement.target, name) in body.now}


def _space(body: Body, statement: Statement) -> tuple[object, ...]:
    """What two statements must have in common to share a loop: the ranges, the step's too."""
    step = next(i for i in statement.indices if i.name == body.variable)
    inner = tuple((i.lower, i.extent) for i in body.inner_indices(statement))
    return (step.lower, step.extent, inner, statement.left[body.axes[statement.target]])


def _fusible(
    body: Body, waiting: Sequence[Statement], done: set[str], products: Products
) -> list[Statement]:
    """Pointwise statements that can run in one loop, from the first one that can run."""
    group: list[Statement] = []
    grows = True
    while grows:
        grows = False
        for statement in waiting:
            if statement in group or statement.target in products:
                continue
            if not isinstance(form_of(statement), Pointwise):
                continue
            if group and _space(body, statement) != _space(body, group[0]):
                continue
            inside = {s.target for s in group}
            needed = _needs_now(body, statement, products)
            if needed <= done | inside and _aligned(body, statement, group):
                group.append(statement)
                grows = True
    return group


def _aligned(body: Body, statement: Statement, group: Sequence[Statement]) -> bool:
    """Whether what it reads of the group is at its own place, so that it can stay in a register."""
    own = [i.name for i in body.inner_indices(statement)]
    for node in statement.body.walk():
        if isinstance(node, Read):
            for other in group:
                if node.tensor != other.target or body.is_earlier(node):
                    continue
                if node.places != _renamed_left(body, other, own):
                    return False
    return True


def _renamed_left(body: Body, statement: Statement, own: Sequence[str]) -> tuple[Affine, ...]:
    """The left side of a statement with other names for its indices."""
    names = dict(zip((i.name for i in body.inner_indices(statement)), own, strict=True))
    return tuple(
        Affine(tuple((names.get(n, n), f) for n, f in p.terms), p.offset)
        for p in statement.left
        if isinstance(p, Affine)
    )
