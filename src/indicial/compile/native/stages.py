"""The work of one step in stages: products first, then all that is elementwise in one go.

    R^{(1)}[t,j] = Σ_i W^R[j,i] h[t-1,i]      ┐  Matmul: one product, both weights side by side
    G^{(1)}[t,j] = Σ_i W^G[j,i] h[t-1,i]      ┘
    R[t,j] = tanh(R^{(1)}[t,j] + R^{in}[t,j]) ┐
    G[t,j] = σ(G^{(1)}[t,j] + G^{in}[t,j])    │  Fused: one loop over j
    h[t,j] = …                                ┘

Products that only meet in a sum are one product too, their operands side by side: that is what the
adjoint of the above looks like. The statements are in normal form (`passes.normal`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from indicial.compile.native.scan import Unsupported
from indicial.compile.passes.forms import (
    Distribution,
    Form,
    Pointwise,
    Product,
    Reduction,
    form,
    is_pointwise,
)
from indicial.compile.schedule.graph import needs
from indicial.compile.schedule.plan import Loop
from indicial.program.ir import (
    Affine,
    Apply,
    Code,
    Constant,
    Expression,
    Flat,
    Index,
    Read,
    Select,
    Statement,
)
from indicial.program.rewrite import substitute
from indicial.program.sizes import Size


@dataclass(frozen=True)
class Term:
    """`scale * Σ_{summed} weight * operand`: the operand differs between members, the weight not."""

    operand: Read
    weight: Read
    summed: tuple[Index, ...]
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


@dataclass(frozen=True)
class Body:
    """A loop's statements, each walked by the loop's variable, and which tensors have members."""

    code: Code
    variable: str
    statements: tuple[Statement, ...]
    axes: dict[str, int]
    """For each tensor that the loop computes, the axis that it walks."""
    unbatched: frozenset[str]
    now: frozenset[tuple[str, str]]
    """Who reads what within a step: `("h", "G")`."""

    def inner_indices(self, statement: Statement) -> list[Index]:
        """The indices of the left side, in its order, without the one that the loop walks."""
        known = {i.name: i for i in statement.indices}
        result: list[Index] = []
        for axis, place in enumerate(statement.left):
            if axis == self.axes[statement.target]:
                continue
            if isinstance(place, Flat):
                result += place.indices
            elif place.terms:
                result.append(known[place.terms[0][0]])
        return result


def body(code: Code, loop: Loop, unbatched: frozenset[str]) -> Body:
    """The loop with its variable in the place of each statement's own index.

    A tensor's statements that need no loop (a part of a join) run in it all the same.
    """
    inside = list(loop.statements())
    others = [
        s
        for name in loop.axes
        for s in code.of(name)
        if not any(s is i for i in inside) and not _is_start(s, loop)
    ]
    both = {id(s) for s in (*others, *inside)}
    statements = _merged([_walked(s, loop) for s in code.statements if id(s) in both])
    now = frozenset(_within_a_step(code, loop))
    return Body(code, loop.variable, tuple(statements), dict(loop.axes), unbatched, now)


def _within_a_step(code: Code, loop: Loop) -> Iterator[tuple[str, str]]:
    for need in needs(code):
        here, there = need.edge.ends
        if here in loop.axes and there in loop.axes:
            low, high = need.edge.distance(loop.axes[here], loop.axes[there])
            shift = loop.offsets.get(there, 0) - loop.offsets.get(here, 0)
            lag = high + shift if loop.direction > 0 else -(low + shift)
            if lag >= 0:
                yield here, there


def _merged(statements: Sequence[Statement]) -> list[Statement]:
    """Statements with guards for one tensor as one with cases; the first that holds wins."""
    result: list[Statement] = []
    for statement in statements:
        same = [s for s in statements if s.target == statement.target]
        if len(same) == 1 or all(s.guard is None for s in same):
            result.append(statement)
            continue
        if statement is not same[0]:
            continue
        branches: list[tuple[Expression, Expression]] = []
        otherwise: Expression = Constant(0.0)
        for other in same:
            if other.left != statement.left or other.indices != statement.indices:
                raise Unsupported(f"{statement.target} has cases over different ranges")
            if not is_pointwise(other.body):
                raise Unsupported(f"{statement.target} has a sum in one of its cases")
            if other.guard is None:
                otherwise = other.body
                break
            branches.append((other.guard, other.body))
        result.append(replace(statement, body=Select(tuple(branches), otherwise), guard=None))
    return result


def _is_start(statement: Statement, loop: Loop) -> bool:
    place = statement.left[loop.axes[statement.target]]
    return isinstance(place, Affine) and not place.terms


def _walked(statement: Statement, loop: Loop) -> Statement:
    found = loop.fixed(statement)
    if found is None:
        raise Unsupported(f"{statement.target} is defined at one step only")
    name, place = found
    index = next(i for i in statement.indices if i.name == name)
    moved = Index(loop.variable, index.lower - place.offset, index.extent)
    left = tuple(_moved(p, name, place) for p in statement.left)
    for part in left:
        if isinstance(part, Affine) and (len(part.terms) > 1 or any(f != 1 for _, f in part.terms)):
            raise Unsupported(f"{statement.target} has a sum of indices on its left side")
    guard = statement.guard
    return replace(
        statement,
        left=left,
        indices=tuple(moved if i is index else i for i in statement.indices),
        body=substitute(statement.body, {name: place}),
        guard=substitute(guard, {name: place}) if guard is not None else None,
    )


def starts(code: Code, loop: Loop) -> dict[str, list[tuple[Size, str]]]:
    """Where each tensor begins outside its range, and the argument that holds its values there.

    `h[-1,j] = h^{start}[j]`  →  `{"h": [(-1, "h^{start}")]}`
    """
    result: dict[str, list[tuple[Size, str]]] = {}
    inside = list(loop.statements())
    for name, axis in loop.axes.items():
        for statement in code.of(name):
            if any(statement is i for i in inside) or not _is_start(statement, loop):
                continue
            source = statement.body
            others = tuple(p for n, p in enumerate(statement.left) if n != axis)
            if not isinstance(source, Read) or source.places != others:
                if _read_inside(loop, code, name, statement):
                    raise Unsupported(f"{name} begins with more than a value")
                continue
            place = statement.left[axis]
            assert isinstance(place, Affine)
            result.setdefault(name, []).append((place.offset, source.tensor))
    return result


def _read_inside(loop: Loop, code: Code, name: str, start: Statement) -> bool:
    """Whether the loop may read what a statement outside it defines."""
    inside = {id(s) for s in loop.statements()}
    return any(n.definer is start and id(n.reader) in inside for n in needs(code))


def _moved(place: Affine | Flat, name: str, by: Affine) -> Affine | Flat:
    if isinstance(place, Flat) or all(n != name for n, _ in place.terms):
        return place
    return Affine(by.terms, place.offset + by.offset)


def stages(body: Body, kept: Collection[str]) -> list[Stage]:
    """The statements in stages; those whose values somebody needs (`kept`) stay themselves."""
    forms = {id(s): _form(s) for s in body.statements}
    products = _products(body, forms)
    statements, products = _summed(body, products, kept)
    return list(_in_order(body, statements, products))


def _form(statement: Statement) -> Form:
    found = form(statement)
    if found is None:
        raise Unsupported(f"{statement.target} is not in normal form")
    return found


Products = dict[str, tuple[Term, ...]]


def _products(body: Body, forms: dict[int, Form]) -> Products:
    """The tensors that are products of a weight and an operand."""
    result: Products = {}
    times = Counter(s.target for s in body.statements)
    for statement in body.statements:
        found = forms[id(statement)]
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
    in_weight = _plain(body, weights[0], summed | outer)
    in_operand = _plain(body, operands[0], summed)
    if in_weight is None or in_operand is None:
        return None
    if set(in_operand) != set(summed) or set(in_weight) != set(summed) | set(outer):
        return None
    order = tuple(summed[name] for name in in_operand)
    return Term(operands[0], weights[0], order, product.scale)


def _plain(body: Body, read: Read, indices: dict[str, Index]) -> list[str] | None:
    """The indices at a read's places, each once and over the whole axis; the step does not count."""
    names = []
    for place, axis in zip(read.places, body.code.tensors[read.tensor].axes, strict=True):
        if not isinstance(place, Affine):
            return None
        if not place.terms or place.terms == ((body.variable, 1),):
            continue  # a number, or the step
        if place.shift is None or place.shift[1] != 0 or place.shift[0] not in indices:
            return None
        index = indices[place.shift[0]]
        if (index.lower, index.extent) != (axis.lower, axis.extent) or index.name in names:
            return None
        names.append(index.name)
    if read.tensor in body.unbatched and body.variable in {
        n for p in read.places if isinstance(p, Affine) for n, _ in p.terms
    }:
        return None  # a weight of its own at each step is no weight
    return names


def _summed(
    body: Body, products: Products, kept: Collection[str]
) -> tuple[list[Statement], Products]:
    """`p[t,i] + q[t,i]`, both products that nothing else reads, become one of two operands."""
    products = dict(products)
    uses = Counter(n.tensor for s in body.statements for n in s.body.walk() if isinstance(n, Read))
    loose = {n for n in products if uses[n] == 1 and n not in kept}
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
            if len(here) > 1:
                first, *others = here
                for other in others:
                    products[first.tensor] += products.pop(other.tensor)
                    gone.add(other.tensor)
                kept_arguments = tuple(a for a in arguments if a not in others)
                if len(kept_arguments) == 1:
                    return kept_arguments[0]
                return replace(node, arguments=kept_arguments)
        return replace(node, arguments=arguments)

    statements = [replace(s, body=merged(s.body, s)) for s in body.statements]
    return [s for s in statements if s.target not in gone], products


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
            yield from _side_by_side(body, multiply, products)
            finish(multiply)
            continue
        for statement in waiting:
            found = _form(statement)
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
        return {o.tensor for o in operands if o.tensor in body.axes and not _earlier(body, o)}
    nodes = list(statement.body.walk())
    if statement.guard is not None:
        nodes += statement.guard.walk()
    reads = {n.tensor for n in nodes if isinstance(n, Read)}
    return {name for name in reads if (statement.target, name) in body.now}


def _earlier(body: Body, read: Read) -> bool:
    """Whether a read is of one other step, which is finished."""
    there = read.places[body.axes[read.tensor]]
    if not isinstance(there, Affine):
        return False
    return there.terms == ((body.variable, 1),) and there.offset != _offset(body, read.tensor)


def _offset(body: Body, tensor: str) -> object:
    """Where a tensor stands on the left at this step."""
    for statement in body.statements:
        if statement.target == tensor:
            place = statement.left[body.axes[tensor]]
            assert isinstance(place, Affine)
            return place.offset
    raise KeyError(tensor)


def _side_by_side(body: Body, ready: Sequence[Statement], products: Products) -> Iterator[Matmul]:
    """One product for all that have the same operands."""
    groups: dict[tuple[object, ...], list[Output]] = {}
    for statement in ready:
        terms = products[statement.target]
        key = tuple(_key(body, term) for term in terms)
        groups.setdefault(key, []).append(Output(statement, terms))
    for outputs in groups.values():
        yield Matmul(tuple(t.operand for t in outputs[0].terms), tuple(outputs))


def _key(body: Body, term: Term) -> object:
    """An operand without the names of its indices."""
    names = {index.name: f"k{number}" for number, index in enumerate(term.summed)}
    places = tuple(
        (tuple((names.get(n, n), f) for n, f in p.terms), p.offset)
        for p in term.operand.places
        if isinstance(p, Affine)
    )
    return term.operand.tensor, places


def space(body: Body, statement: Statement) -> tuple[object, ...]:
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
            if not isinstance(_form(statement), Pointwise):
                continue
            if group and space(body, statement) != space(body, group[0]):
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
                if node.tensor == other.target and not _earlier(body, node):
                    theirs = [i.name for i in body.inner_indices(other)]
                    names = dict(zip(theirs, own, strict=True))
                    expected = tuple(
                        Affine(tuple((names.get(n, n), f) for n, f in p.terms), p.offset)
                        for p in other.left
                        if isinstance(p, Affine)
                    )
                    if node.places != expected:
                        return False
    return True


def needs_history(body: Body) -> set[str]:
    """The tensors of the loop that are read at more than a fixed distance: all steps are kept."""
    found = set()
    for statement in body.statements:
        for part in (statement.body, statement.guard):
            for node in part.walk() if part is not None else ():
                if isinstance(node, Read) and node.tensor in body.axes:
                    place = node.places[body.axes[node.tensor]]
                    if not isinstance(place, Affine) or place.terms != ((body.variable, 1),):
                        found.add(node.tensor)
    return found
