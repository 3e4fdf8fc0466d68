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

Which tensors have an adjoint: those between the outputs and what gradients are wanted for.

loss = Σ_t -ln P[t,w[t]],  P = softmax of S,  S[t,v] = Σ_J e[v,J] h[t,J]

barred: loss, S, e, h; P only if something reads it other than through its logarithm.

Statements without those that nobody needs, and without second names for one thing.

x̄ = Σ a[t],  a[t] = δ[t],  b[t] = 2 δ[t],  δ[t] = …     wanted: x̄     →     x̄ = Σ δ[t],  δ[t] = …
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from indicial.compile.passes.algebra import (
    ONE,
    ZERO,
    both,
    compare,
    derivatives,
    flat,
    is_total,
    otherwise_zero,
    scaled,
    times,
)
from indicial.program import ir
from indicial.program.moving import moved
from indicial.program.rewrite import free_indices, is_constant, reached, with_reads


@dataclass(frozen=True)
class Product:
    """`scale * Σ_{indices where condition} factors`; the scale is made of numbers and sizes."""

    scale: ir.Expression
    indices: tuple[ir.Index, ...]
    condition: ir.Expression | None
    factors: tuple[ir.Read, ...]


@dataclass(frozen=True)
class Reduction:
    """`operator_{indices where condition} read`, for an operator other than the sum."""

    operator: str
    indices: tuple[ir.Index, ...]
    condition: ir.Expression | None
    read: ir.Read


@dataclass(frozen=True)
class Distribution:
    """`softmax_{indices where condition} read`; each of the indices is one of the statement."""

    indices: tuple[ir.Index, ...]
    condition: ir.Expression | None
    read: ir.Read


@dataclass(frozen=True)
class Pointwise:
    """An expression without reductions: each element on its own."""

    body: ir.Expression


Form = Product | Reduction | Distribution | Pointwise


def form(statement: ir.Statement) -> Form | None:
    """What the statement is; None if it is not in normal form."""
    if statement.guard is not None and not is_pointwise(statement.guard):
        return None
    return body_form(statement.body)


def body_form(body: ir.Expression) -> Form | None:
    match body:
        case ir.Reduce("mean"):
            return None
        case ir.Reduce("sum"):
            return _product(ONE, body)
        case ir.Apply("*", (*scale, ir.Reduce("sum") as core)):
            scaled = scale[0] if len(scale) == 1 else ir.Apply("*", tuple(scale))
            return _product(scaled, core)
        case ir.Apply("neg", (inner,)) if isinstance(product := body_form(inner), Product):
            return replace(product, scale=ir.Apply("neg", (product.scale,)))
        case ir.Reduce(operator, indices, condition, ir.Read() as read) if is_pointwise(condition):
            return Reduction(operator, indices, condition, read)
        case ir.Softmax(indices, condition, ir.Read() as read) if is_pointwise(condition):
            return Distribution(indices, condition, read)
    return Pointwise(body) if is_pointwise(body) else None


def _product(scale: ir.Expression, core: ir.Reduce) -> Product | None:
    if not is_constant(scale) or not is_pointwise(core.condition):
        return None
    factors: tuple[ir.Expression, ...] = (core.body,)
    if isinstance(core.body, ir.Apply) and core.body.function == "*":
        factors = core.body.arguments
    elif core.body == ONE:
        factors = ()
    reads = tuple(factor for factor in factors if isinstance(factor, ir.Read))
    if len(reads) < len(factors):
        return None
    return Product(scale, core.indices, core.condition, reads)


def is_pointwise(expression: ir.Expression | None) -> bool:
    """Whether nothing in it is a reduction, a softmax or a join; no condition counts as one."""
    if expression is None:
        return True
    return not any(isinstance(node, ir.Reduce | ir.Softmax | ir.Join) for node in expression.walk())


@dataclass(frozen=True)
class Flow:
    """What goes to the element that `read` finds, at all values of the indices in `condition`.

    The indices are those of the statement and those `bound` by its reduction. `logarithm` says that
    it goes to the logarithm of the element.
    """

    read: ir.Read
    free: tuple[ir.Index, ...]
    bound: tuple[ir.Index, ...]
    condition: ir.Expression | None
    value: ir.Expression
    logarithm: bool = False

    @property
    def indices(self) -> tuple[ir.Index, ...]:
        return (*self.free, *self.bound)


@dataclass(frozen=True)
class Influence:
    """That the values of a statement depend on a tensor: through its logarithm, or directly."""

    tensor: str
    logarithm: bool


def element_of(statement: ir.Statement) -> ir.Read:
    """The element that a statement defines, as a read."""
    return ir.Read(statement.target, statement.left)


def influences(form: Form, softmaxes: frozenset[str]) -> Iterator[Influence]:
    """What the values of a statement change with; what they only jump with is left out.

    Where the logarithm of an element of one of the `softmaxes` is taken, the use is of that
    logarithm: what flows back to it stays finite where the element is 0.
    """
    match form:
        case Pointwise(body):
            for atom, _ in _slopes(body, None, softmaxes):
                read = _inside(atom)
                yield Influence(read.tensor, isinstance(atom, ir.Apply))
        case Product(factors=factors):
            for read in factors:
                yield Influence(read.tensor, False)
        case Reduction("max" | "min" | "prod" | "lse", read=read) | Distribution(read=read):
            yield Influence(read.tensor, False)


def pointwise_flows(
    statement: ir.Statement, body: ir.Expression, incoming: ir.Expression, softmaxes: frozenset[str]
) -> Iterator[Flow]:
    """`incoming` is the adjoint of the element that the statement defines, here and below."""
    for atom, slope in _slopes(body, element_of(statement), softmaxes):
        scale, rest = scaled(slope)
        tests = [f for f in flat("*", (rest,)) if _of_indices(f)]
        rest = times(*(f for f in flat("*", (rest,)) if f not in tests))
        value = times(rest, incoming)
        if not is_total(rest) and not is_constant(incoming):
            # An element that nobody asks for may have no slope: 0 times that is still 0.
            value = otherwise_zero(compare(incoming, "≠", ZERO), value)
        value = times(scale, value)
        where = both(*tests)
        yield Flow(_inside(atom), statement.indices, (), where, value, isinstance(atom, ir.Apply))


def _of_indices(factor: ir.Expression) -> bool:
    """Whether a factor is 1 or 0 by where one is: `[ℓ = 0]`."""
    compares = isinstance(factor, ir.Apply) and factor.function in ir.COMPARISONS
    return compares and not factor.every(ir.Read) and bool(free_indices(factor))


def product_flows(
    statement: ir.Statement, form: Product, incoming: ir.Expression
) -> Iterator[Flow]:
    for number, read in enumerate(form.factors):
        others = [f for n, f in enumerate(form.factors) if n != number]
        value = times(form.scale, *others, incoming)
        yield Flow(read, statement.indices, form.indices, form.condition, value)


def other_factors(form: Reduction) -> ir.Expression:
    """Of a product over indices, what stands beside each factor: the product of all others."""
    again = {index.name: ir.Affine.of(index.name + "'") for index in form.indices}
    primed = tuple(ir.Index(i.name + "'", i.lower, i.extent) for i in form.indices)
    differ = [
        compare(ir.IndexValue(again[i.name]), "≠", ir.IndexValue(ir.Affine.of(i)))
        for i in form.indices
    ]
    other = differ[0] if len(differ) == 1 else ir.Apply("max", tuple(differ))
    if form.condition is not None:
        other = ir.Apply("and", (moved(form.condition, again), other))
    return ir.Reduce("prod", primed, other, moved(form.read, again))


def _slopes(
    body: ir.Expression, value: ir.Expression | None, softmaxes: frozenset[str]
) -> Iterator[tuple[ir.Expression, ir.Expression]]:
    """Reads and logarithms of reads, with the derivative by each that is not 0."""
    logarithms = [
        node
        for node in dict.fromkeys(body.walk())
        if isinstance(node, ir.Apply)
        and node.function == "ln"
        and isinstance(node.arguments[0], ir.Read)
        and node.arguments[0].tensor in softmaxes
    ]
    atoms = dict.fromkeys([*_reads(body), *logarithms])
    found = derivatives(body, atoms.keys(), value)
    return ((atom, found[atom]) for atom in atoms if atom in found)


def _inside(atom: ir.Expression) -> ir.Read:
    read = atom.arguments[0] if isinstance(atom, ir.Apply) else atom
    assert isinstance(read, ir.Read)
    return read


def _reads(expression: ir.Expression) -> Iterator[ir.Read]:
    """The reads whose values enter; not those in conditions and in the places of other reads."""
    match expression:
        case ir.Read():
            yield expression
        case ir.Apply(_, arguments):
            for argument in arguments:
                yield from _reads(argument)
        case ir.Select(branches, otherwise):
            for _, value in branches:
                yield from _reads(value)
            yield from _reads(otherwise)


class Reach:
    """The uses between the tensors of a code in normal form."""

    def __init__(
        self, code: ir.Code, outputs: Collection[str], wanted: Collection[str] | None
    ) -> None:
        self.code = code
        self.outputs = outputs
        self.forms: dict[int, Form] = {}
        for statement in code.statements:
            found = form(statement)
            if found is None:
                raise ValueError(f"{statement.target} is not in normal form")
            self.forms[statement.number] = found
        self.softmaxes = frozenset(
            s.target for s in code.statements if isinstance(self.form(s), Distribution)
        )
        leaves = [
            name
            for name, tensor in code.tensors.items()
            if tensor.role in ("parameter", "input") and tensor.values is None
        ]
        self.wanted = leaves if wanted is None else list(wanted)
        # For the adjoint of a defined tensor, what it is computed from does not matter.
        self.sources = {name for name in self.wanted if code.tensors[name].values is None}

    def form(self, statement: ir.Statement) -> Form:
        return self.forms[statement.number]

    @cached_property
    def uses(self) -> dict[str, list[Influence]]:
        """What each defined tensor uses of tensors that depend on a source."""
        found: dict[str, list[Influence]] = {}
        for statement in self.code.statements:
            here = found.setdefault(statement.target, [])
            here += influences(self.form(statement), self.softmaxes)
        users: dict[str, list[str]] = {}
        for name, of in found.items():
            for use in of:
                users.setdefault(use.tensor, []).append(name)
        moving = reached(self.sources, lambda name: users.get(name, ()))
        for name in found:
            if self.code.tensors[name].values is not None:
                found[name] = []
        return {
            name: list(dict.fromkeys(u for u in of if u.tensor in moving))
            for name, of in found.items()
        }

    @cached_property
    def order(self) -> list[str]:
        """The tensors that outputs depend on, circles apart each before those that it uses."""
        finished: list[str] = []
        seen: set[str] = set()
        for output in self.outputs:
            stack = [(output, False)]
            while stack:
                name, left = stack.pop()
                if left:
                    finished.append(name)
                elif name not in seen:
                    seen.add(name)
                    stack.append((name, True))
                    stack += [(use.tensor, False) for use in self.uses.get(name, ())]
        return finished[::-1]

    @cached_property
    def readers(self) -> dict[str, list[str]]:
        """For each tensor, those on the way to an output that use it."""
        found: dict[str, list[str]] = {}
        for reader in self.order:
            for name in dict.fromkeys(use.tensor for use in self.uses.get(reader, ())):
                found.setdefault(name, []).append(reader)
        return found

    def barred(self) -> list[str]:
        """The tensors with an adjoint: outputs, and what is used other than by its logarithm."""
        direct = {
            use.tensor for y in self.order for use in self.uses.get(y, ()) if not use.logarithm
        }
        moving = self.sources | {name for name, of in self.uses.items() if of}
        return [n for n in self.order if n in moving and (n in direct or n in self.outputs)]


def renamed(statements: Iterable[ir.Statement], names: Mapping[str, str]) -> list[ir.Statement]:
    """The statements with other tensors read; a new name may itself have a new name."""

    def change(read: ir.Read) -> ir.Read:
        return replace(read, tensor=final(read.tensor, names))

    return [s.rebuild(partial(with_reads, change=change)) for s in statements]


def final(name: str, names: Mapping[str, str]) -> str:
    """The name behind all renamings."""
    while name in names:
        name = names[name]
    return name
