"""The work of one step in stages: products first, then all that is elementwise in one go.

    R^{(1)}[t,j] = Σ_i W^R[j,i] h[t-1,i]      ┐  Matmul: one product, both weights side by side
    G^{(1)}[t,j] = Σ_i W^G[j,i] h[t-1,i]      ┘
    R[t,j] = tanh(R^{(1)}[t,j] + R^{in}[t,j]) ┐
    G[t,j] = σ(G^{(1)}[t,j] + G^{in}[t,j])    │  Fused: one loop over j
    h[t,j] = …                                ┘

    … p[t,i] + q[t,i] …                       p and q products that nothing else reads: one
                                              product, their operands side by side

The second product is what the adjoint of the first looks like. The statements are in normal form
(`passes.normal`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from indicial.compile.native.reading.body import Body
from indicial.compile.passes.forms import Distribution, Form, Pointwise, Product, Reduction, form
from indicial.compile.passes.scan import Unsupported
from indicial.compile.schedule.schedule import Loop
from indicial.program.ir import Affine, Apply, Expression, Index, Read, Statement, index_at
from indicial.program.moving import canonical, moved_affine
from indicial.program.rewrite import tensors_read
from indicial.program.sizes import Size


@dataclass(frozen=True)
class Term:
    """`scale * Σ_{summed} weight * operand`: the operand differs between members, the weight not.

    Of the indices on the left those of the operand are `rows`: `Σ_i U[j,i] h[m-1,n,i]` has one for each n.
    """

    operand: Read
    weight: Read
    summed: tuple[Index, ...]
    rows: tuple[Index, ...]
    scale: Expression


@dataclass(frozen=True)
class Output:
    """A tensor that is a sum of products, one for each operand of its stage."""

    statement: Statement
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Matmul:
    """[operands, side by side] times [weights, side by side]."""

    operands: tuple[Read, ...]
    outputs: tuple[Output, ...]

    def made(self) -> Iterator[Statement]:
        return (output.statement for output in self.outputs)


ProductTerms = dict[str, tuple[Term, ...]]
"""The tensors that are sums of products with weights."""


def form_of(statement: Statement) -> Form:
    """What a statement is; `Unsupported` if it is not in normal form."""
    found = form(statement)
    if found is None:
        raise Unsupported(f"{statement.target} is not in normal form")
    return found


def products_of_step(body: Body) -> ProductTerms:
    """The tensors that are products of a weight and an operand."""
    result: ProductTerms = {}
    times = Counter(s.target for s in body.statements)
    for statement in body.statements:
        found = form_of(statement)
        if isinstance(found, Product) and times[statement.target] == 1:
            term = _term(body, statement, found)
            if term is not None:
                result[statement.target] = (term,)
    return result


def _term(body: Body, statement: Statement, product: Product) -> Term | None:
    if len(product.factors) != 2 or product.condition is not None or statement.guard is not None:
        return None
    weights = [f for f in product.factors if f.tensor in body.unbatched]
    operands = [f for f in product.factors if f.tensor not in body.unbatched]
    if len(weights) != 1 or len(operands) != 1:
        return None
    summed = {i.name: i for i in product.indices}
    outer = {i.name: i for i in body.inner_indices(statement)}
    in_weight = _plain(body, statement, weights[0], summed | outer)
    in_operand = _plain(body, statement, operands[0], summed | outer)
    if in_weight is None or in_operand is None:
        return None
    order = tuple(summed[name] for name in in_operand if name in summed)
    rows = tuple(outer[name] for name in in_operand if name in outer)
    columns = outer.keys() - in_operand
    if len(order) < len(summed) or set(in_weight) != set(summed) | columns:
        return None
    if rows and not (columns and _over_all(body, statement, rows)):
        return None
    return Term(operands[0], weights[0], order, rows, product.scale)


def _over_all(body: Body, statement: Statement, indices: Sequence[Index]) -> bool:
    """Whether some indices on the left go along the whole of their axes."""
    axes = body.code.tensors[statement.target].axes
    whole = {index_at(p): a.range for a, p in zip(axes, statement.left, strict=True)}
    return all(whole.get(index.name) == index.range for index in indices)


def _plain(
    body: Body, statement: Statement, read: Read, indices: dict[str, Index]
) -> list[str] | None:
    """The indices at a read's places, each once and over the whole axis; the step does not count."""
    names = []
    for place, axis in zip(read.places, body.code.tensors[read.tensor].axes, strict=True):
        if not isinstance(place, Affine):
            return None
        if body.variables.keys() & dict(place.terms):
            if read.tensor in body.unbatched and not _by_round(body, statement, place):
                return None  # a weight of its own at each step is no weight
            if len(place.terms) == 1 and place.terms[0][1] == 1:
                continue  # the step
        if not place.terms:
            continue  # a number
        index = indices.get(index_at(place) or "")
        if index is None or index.range != axis.range or index.name in names:
            return None
        names.append(index.name)
    return names


def _by_round(body: Body, statement: Statement, place: Affine) -> bool:
    """Whether a weight is one for each round of a loop inside the step: `R[ℓ-1,j,i]`."""
    inside = body.inside(statement)
    return inside is not None and place.terms == ((inside[1].name, 1),)


def summed(
    body: Body, own: Sequence[Statement], products: ProductTerms, kept: Collection[str]
) -> tuple[list[Statement], ProductTerms]:
    """`p[t,i] + q[t,i]`, both products that nothing else reads, become one of two operands."""
    products = dict(products)
    uses = Counter(n.tensor for s in body.statements for n in s.body.every(Read))
    left = {s.target: [index_at(place) for place in s.left] for s in own}
    steps = {
        s.target: (_steps(body, s), [left[s.target].index(i.name) for t in terms for i in t.rows])
        for s in own
        if (terms := products.get(s.target)) is not None
    }
    loose = {n for n in products if uses[n] == 1 and n not in kept and n in steps}
    gone: set[str] = set()

    def merged(node: Expression, statement: Statement) -> Expression:
        if not isinstance(node, Apply):
            return node
        arguments = tuple(merged(a, statement) for a in node.arguments)
        if node.function == "+":
            here = [
                a
                for a in arguments
                if isinstance(a, Read) and a.tensor in loose and a.places == statement.left
            ]
            here = [a for a in here if steps[a.tensor] == steps[here[0].tensor]]
            for other in here[1:]:
                products[here[0].tensor] += products.pop(other.tensor)
                gone.add(other.tensor)
            arguments = tuple(a for a in arguments if a not in here[1:])
            if len(arguments) == 1 and len(here) > 1:
                return arguments[0]
        return replace(node, arguments=arguments)

    statements = [replace(s, body=merged(s.body, s)) for s in own]
    return [s for s in statements if s.target not in gone], products


def one_product_each(
    body: Body, ready: Sequence[Statement], products: ProductTerms
) -> Iterator[Matmul]:
    """One product for all that have the same operands."""
    groups: dict[tuple[object, ...], list[Output]] = {}
    for statement in ready:
        terms = products[statement.target]
        key = (*(_key(term) for term in terms), _steps(body, statement))
        groups.setdefault(key, []).append(Output(statement, terms))
    for outputs in groups.values():
        yield Matmul(tuple(t.operand for t in outputs[0].terms), tuple(outputs))


def _key(term: Term) -> object:
    """An operand without the names of its indices."""
    order = [index.name for index in (*term.rows, *term.summed)]
    return canonical(term.operand, order), len(term.rows)


@dataclass(frozen=True)
class Fused:
    """Pointwise statements over one space, in one loop."""

    statements: tuple[Statement, ...]

    def made(self) -> Iterator[Statement]:
        return iter(self.statements)


@dataclass(frozen=True)
class Single:
    """A reduction, a softmax, or a product that is no product of matrices, in loops of its own."""

    statement: Statement
    form: Product | Reduction | Distribution

    def made(self) -> Iterator[Statement]:
        return iter((self.statement,))


@dataclass(frozen=True)
class Nested:
    """A loop inside the step."""

    loop: Loop
    stages: tuple[Stage, ...]


Stage = Matmul | Fused | Single | Nested


def stages(body: Body, kept: Collection[str]) -> list[Stage]:
    """The statements in stages; those whose values somebody needs (`kept`) stay themselves."""
    products = products_of_step(body)
    result: list[Stage] = []
    for loop, own in body.parts:
        statements, products = summed(body, own, products, kept)
        found = _in_order(body, statements, products)
        result += found if loop is None else [Nested(loop, tuple(found))]
    return result


def every_stage(found: Iterable[Stage]) -> Iterator[Matmul | Fused | Single]:
    """All stages, those of loops inside the step too."""
    for stage in found:
        if isinstance(stage, Nested):
            yield from every_stage(stage.stages)
        else:
            yield stage


def _in_order(
    body: Body, statements: Sequence[Statement], products: ProductTerms
) -> Iterator[Stage]:
    """Products as soon as their operands are there, and as much as possible in each loop."""
    waiting = list(statements)
    done: set[str] = set()
    times = Counter(s.target for s in statements)
    own = set(times)

    def finish(group: Sequence[Statement]) -> None:
        for statement in group:
            waiting.remove(statement)
            times[statement.target] -= 1
            if not times[statement.target]:
                done.add(statement.target)

    def ready(statement: Statement) -> bool:
        return _needs_now(body, statement, products) & own <= done

    while waiting:
        multiply = [s for s in waiting if s.target in products and ready(s)]
        if multiply:
            yield from one_product_each(body, multiply, products)
            finish(multiply)
            continue
        for statement in waiting:
            found = form_of(statement)
            if ready(statement) and not isinstance(found, Pointwise):
                yield Single(statement, found)
                finish([statement])
                break
        else:
            others = {s.target for s in body.statements} - own
            group = _fusible(body, waiting, done | others, products)
            if not group:
                names = ", ".join(s.target for s in waiting)
                raise Unsupported(f"no order within a step for {names}")
            yield Fused(tuple(group))
            finish(group)


def _needs_now(body: Body, statement: Statement, products: ProductTerms) -> set[str]:
    """The tensors that must be there at this very step."""
    if statement.target in products:
        operands = [term.operand for term in products[statement.target]]
        return {o.tensor for o in operands if o.tensor in body.axes and not body.is_earlier(o)}
    inside = body.inside(statement)
    level = inside[1].name if inside else ""
    read = tensors_read([statement])
    return {name for name in read if (level, statement.target, name) in body.now}


def _space(body: Body, statement: Statement) -> tuple[object, ...]:
    """What two statements must have in common to share a loop: the ranges, the step's too."""
    step = statement.scope[body.variable]
    inner = tuple(i.range for i in body.inner_indices(statement))
    places = [statement.left[axis] for axis in body.walked(statement.target)]
    return (step.lower, step.extent, inner, _steps(body, statement), *places)


def _steps(body: Body, statement: Statement) -> tuple[Size, Size] | None:
    """The rounds of a loop inside the step in which a statement runs."""
    inside = body.inside(statement)
    return inside[1].range if inside else None


def _fusible(
    body: Body, waiting: Sequence[Statement], done: set[str], products: ProductTerms
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
    pairs = zip((i.name for i in body.inner_indices(statement)), own, strict=True)
    names = {name: Affine.of(other) for name, other in pairs}
    return tuple(moved_affine(p, names) for p in statement.left if isinstance(p, Affine))
