"""What a statement in normal form is: a product, a reduction, a softmax, or pointwise.

    S[t,j] = 1/√I * sum{i}(Q[t,i] * K[j,i])   →  Product(1/√I, (i,), None, (Q[t,i], K[j,i]))
    m[t]   = max{j}(x[t,j])                   →  Reduction("max", (j,), None, x[t,j])
    α[t,j] = softmax{j where j ≤ t}(S[t,j])   →  Distribution((j,), j ≤ t, S[t,j])
    h[t,j] = G[t,j] * h[t-1,j]                →  Pointwise(…)

A sum of a single read, or of 1 (a count), is a product as well, of one factor or of none.

What a statement in normal form passes back to each of its reads.

h[t,j] = G[t,j] * h[t-1,j]       →  Flow(G[t,j], value = h̄[t,j] * h[t-1,j])
                                    Flow(h[t-1,j], value = h̄[t,j] * G[t,j])
S[t,j] = sum{i}(W[j,i] * x[t,i]) →  Flow(W[j,i], (t, j, i), value = S̄[t,j] * x[t,i])
                                    Flow(x[t,i], (t, j, i), value = S̄[t,j] * W[j,i])

A flow is in the reader's own indices; `adjoint` turns it round, to the indices of what is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from indicial.compile.passes.algebra import (
    ONE,
    ZERO,
    both,
    compare,
    derivative,
    flat,
    is_total,
    otherwise_zero,
    scaled,
    times,
    weight,
)
from indicial.program.ir import (
    COMPARISONS,
    Affine,
    Apply,
    Code,
    Expression,
    Index,
    IndexValue,
    Join,
    Read,
    Reduce,
    Select,
    Softmax,
    Statement,
)
from indicial.program.moving import moved
from indicial.program.rewrite import free_indices, is_constant


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


@dataclass(frozen=True)
class Flow:
    """What goes to the element that `read` finds, at all values of the indices in `condition`.

    The indices are those of the statement and those `bound` by its reduction. `logarithm` says that
    it goes to the logarithm of the element.
    """

    read: Read
    free: tuple[Index, ...]
    bound: tuple[Index, ...]
    condition: Expression | None
    value: Expression
    logarithm: bool = False

    @property
    def indices(self) -> tuple[Index, ...]:
        return (*self.free, *self.bound)


@dataclass(frozen=True)
class Use:
    """That the values of a statement depend on a tensor: through its logarithm, or directly."""

    tensor: str
    logarithm: bool


def own(statement: Statement) -> Read:
    """The element that a statement defines, as a read."""
    return Read(statement.target, statement.left)


def uses(form: Form, softmaxes: frozenset[str]) -> Iterator[Use]:
    """What the values of a statement change with; what they only jump with is left out.

    Where the logarithm of an element of one of the `softmaxes` is taken, the use is of that
    logarithm: what flows back to it stays finite where the element is 0.
    """
    match form:
        case Pointwise(body):
            for atom, _ in _slopes(body, None, softmaxes):
                read = _inside(atom)
                yield Use(read.tensor, isinstance(atom, Apply))
        case Product(factors=factors):
            for read in factors:
                yield Use(read.tensor, False)
        case Reduction("max" | "min" | "prod" | "lse", read=read) | Distribution(read=read):
            yield Use(read.tensor, False)


def pointwise_flows(
    statement: Statement, body: Expression, incoming: Expression, softmaxes: frozenset[str]
) -> Iterator[Flow]:
    """`incoming` is the adjoint of the element that the statement defines, here and below."""
    for atom, slope in _slopes(body, own(statement), softmaxes):
        scale, rest = scaled(slope)
        tests = [f for f in flat("*", (rest,)) if _of_indices(f)]
        rest = times(*(f for f in flat("*", (rest,)) if f not in tests))
        value = times(rest, incoming)
        if not is_total(rest) and not is_constant(incoming):
            # An element that nobody asks for may have no slope: 0 times that is still 0.
            value = otherwise_zero(compare(incoming, "≠", ZERO), value)
        value = times(scale, value)
        where = both(*tests)
        yield Flow(_inside(atom), statement.indices, (), where, value, isinstance(atom, Apply))


def _of_indices(factor: Expression) -> bool:
    """Whether a factor is 1 or 0 by where one is: `[ℓ = 0]`."""
    compares = isinstance(factor, Apply) and factor.function in COMPARISONS
    return compares and not factor.every(Read) and bool(free_indices(factor))


def product_flows(statement: Statement, form: Product, incoming: Expression) -> Iterator[Flow]:
    for number, read in enumerate(form.factors):
        others = [f for n, f in enumerate(form.factors) if n != number]
        value = times(form.scale, *others, incoming)
        yield Flow(read, statement.indices, form.indices, form.condition, value)


def extreme_flow(statement: Statement, form: Reduction, incoming: Expression, count: Read) -> Flow:
    """To all elements that are the largest, or the smallest, in equal shares: `count` of them."""
    share = Apply("/", (is_extreme(statement, form), count))
    value = times(share, incoming)
    return Flow(form.read, statement.indices, form.indices, form.condition, value)


def is_extreme(statement: Statement, form: Reduction) -> Expression:
    """Whether an element is the largest, or the smallest: 1 or 0."""
    return compare(form.read, "=", own(statement))


def log_sum_flow(statement: Statement, form: Reduction, incoming: Expression, total: Read) -> Flow:
    """To each exponent its share of the sum."""
    value = times(weight(form.read, own(statement), total), incoming)
    return Flow(form.read, statement.indices, form.indices, form.condition, value)


def all_factors_flow(statement: Statement, form: Reduction, incoming: Expression) -> Flow:
    """To each factor of a product over indices: the product of all others."""
    again = {index.name: Affine.of(index.name + "'") for index in form.indices}
    primed = tuple(Index(i.name + "'", i.lower, i.extent) for i in form.indices)
    differ = [
        compare(IndexValue(again[i.name]), "≠", IndexValue(Affine.of(i))) for i in form.indices
    ]
    other = differ[0] if len(differ) == 1 else Apply("max", tuple(differ))
    if form.condition is not None:
        other = Apply("and", (moved(form.condition, again), other))
    product = Reduce("prod", primed, other, moved(form.read, again))
    value = times(product, incoming)
    return Flow(form.read, statement.indices, form.indices, form.condition, value)


def _slopes(
    body: Expression, value: Expression | None, softmaxes: frozenset[str]
) -> Iterator[tuple[Expression, Expression]]:
    """Reads and logarithms of reads, with the derivative by each that is not 0."""
    logarithms = [
        node
        for node in dict.fromkeys(body.walk())
        if isinstance(node, Apply)
        and node.function == "ln"
        and isinstance(node.arguments[0], Read)
        and node.arguments[0].tensor in softmaxes
    ]
    for atom in [*dict.fromkeys(_reads(body)), *logarithms]:
        slope = derivative(body, atom, value, logarithms)
        if slope != ZERO:
            yield atom, slope


def _inside(atom: Expression) -> Read:
    read = atom.arguments[0] if isinstance(atom, Apply) else atom
    assert isinstance(read, Read)
    return read


def _reads(expression: Expression) -> Iterator[Read]:
    """The reads whose values enter; not those in conditions and in the places of other reads."""
    match expression:
        case Read():
            yield expression
        case Apply(_, arguments):
            for argument in arguments:
                yield from _reads(argument)
        case Select(branches, otherwise):
            for _, value in branches:
                yield from _reads(value)
            yield from _reads(otherwise)
