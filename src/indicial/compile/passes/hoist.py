"""Work that does not read the state leaves the loop, to be done for all steps at once.

    R[t,j] = tanh(Σ_I W^h[j,I] h[t-1,I] + Σ_K W^x[j,K] x[t,K] - B[j])

    R^{in}[t,j] = Σ_K W^x[j,K] x[t,K] - B[j]
    R[t,j]      = tanh(Σ_I W^h[j,I] h[t-1,I] + R^{in}[t,j])

A sum, a softmax or a gather is worth a tensor of its own; what is merely elementwise stays.

Layers written out: with a known number of them, each is a tensor of its own.

L[ℓ+1,j] = L[ℓ,j] + F[ℓ+1,j],  y[j] = L[L,j]              L = 2

L@1[j] = L@0[j] + F@1[j],  L@2[j] = L@1[j] + F@2[j],  y[j] = L@2[j]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from indicial.compile.passes.new_tensors import derived_name, laid_out
from indicial.compile.schedule.fuse import is_foreign
from indicial.compile.schedule.schedule import Loop, Plan, Run, Step, schedule
from indicial.program import ir
from indicial.program.cost.conditions import add
from indicial.program.moving import specialised
from indicial.program.rewrite import Scope, free_indices, inside, size_indices, with_reads
from indicial.program.sizes import Size


def hoist(code: ir.Code, plan: Plan, whole: bool = False) -> ir.Code:
    """The program with the work of its scanned loops reduced to what the state takes part in.

    With `whole`, loops inside a loop go with it: what leaves them leaves it too.
    """
    nest_of: dict[int, Nest] = {}
    for nest in nests(plan):
        if whole and not any(loop.kind == "scanned" for loop in nest[:-1]):
            nest_of |= {s.number: nest for s in nest[-1].statements()}
        elif not whole:
            own = [step for step in nest[-1].steps if isinstance(step, Run)]
            nest_of |= {step.statement.number: nest for step in own}
    tensors = dict(code.tensors)
    statements: list[ir.Statement] = []
    for statement in code.statements:
        if statement.number not in nest_of:
            statements.append(statement)
            continue
        foreign = partial(is_foreign, code)
        hoisting = Hoisting(tensors, statement, nest_of[statement.number], foreign)
        outside = statement.rebuild(partial(hoisting.outside_of, scope=statement.scope))
        statements += [*hoisting.made, outside]
    return replace(code, tensors=tensors, statements=tuple(statements))


Nest = tuple[Loop, ...]
"""A loop with the loops around it, the outermost first."""


def nests(plan: Plan) -> Iterator[Nest]:
    """Every scanned loop of a plan."""
    for step, around in plan.walk():
        if isinstance(step, Loop) and step.kind == "scanned":
            yield (*around, step)


def same_round(nest: Nest, statement: ir.Statement, read: ir.Read) -> bool:
    """Whether a read may meet what the loops outside are computing now: `h[ℓ+1,t-1,i]`.

    `h[ℓ,t,i]` is of an earlier round of the loop over ℓ, and finished.
    """
    for loop in nest[:-1]:
        if read.tensor in loop.axes:
            left = statement.left[loop.axes[statement.target]]
            place = read.places[loop.axes[read.tensor]]
            if isinstance(left, ir.Affine) and isinstance(place, ir.Affine):
                apart = add(place, left, -1)
                shift = loop.offsets.get(read.tensor, 0) - loop.offsets.get(statement.target, 0)
                number = (apart.offset + shift).number
                if not apart.terms and number:
                    return False
    return True


@dataclass
class Hoisting:
    """What leaves one statement; `made` has the new statements."""

    tensors: dict[str, ir.Tensor]
    statement: ir.Statement
    nest: Nest
    foreign: Callable[[ir.Read], bool] = lambda read: False
    """Whether kernels do not read it."""

    def __post_init__(self) -> None:
        self.made: list[ir.Statement] = []
        own = self.statement
        loops = [s for loop in self.nest[-1:] for s in loop.steps if isinstance(s, Loop)]
        found = (loop.fixed(own) for loop in loops if own in loop.statements())
        self.inner = {index[0] for index in found if index is not None}
        """The index of the statement that a loop inside the last one walks."""
        around = (loop.fixed(own) for loop in self.nest)
        self.walked = {index[0] for index in around if index is not None}

    def outside_of(self, expression: ir.Expression, scope: Scope) -> ir.Expression:
        """The expression with every part that leaves the loop replaced by a read."""
        expression = self.factored(expression)
        if not self.reads_state(expression):
            if not self.worth(expression):
                return expression
            if self.spreads(expression):
                return inside(expression, scope, self.outside_of)
            return self.taken_out(expression, scope)
        match expression:
            case ir.Apply("+", arguments):
                return self.split(expression, arguments, scope)
            case ir.Reduce("sum", _, None, ir.Apply("*", _)):
                return self.contraction(expression, scope)
            case ir.Read():
                return expression
            case _:
                return inside(expression, scope, self.outside_of)

    def reads_state(self, expression: ir.Expression) -> bool:
        return any(
            read.tensor in self.nest[-1].axes and same_round(self.nest, self.statement, read)
            for read in expression.every(ir.Read)
        )

    def worth(self, expression: ir.Expression) -> bool:
        """Whether a part that does not read the state is to have a tensor of its own."""
        return _worth(expression) or any(map(self.foreign, expression.every(ir.Read)))

    def spreads(self, expression: ir.Expression) -> bool:
        """Whether it is many times what costs something in it: `[ℓ = 0] Σ_K W[j,K] x[t,K]`.

        So is a matrix of each step that vectors make, `(Σ_K W[i,K] x[t,K]) (Σ_K V[j,K] x[t,K])`.
        """
        free = free_indices(expression)
        costs = [node for node in expression.walk() if _worth(node)]
        least = min(costs, key=lambda node: sum(1 for _ in node.walk()), default=expression)
        if self.inner & free - free_indices(least):
            return True
        own = free & self.statement.scope.keys() - self.walked
        costly = [free_indices(node) for node in _outermost(expression)]
        return len(own) > 1 and bool(costly) and not any(own <= names for names in costly)

    def factored(self, node: ir.Expression) -> ir.Expression:
        """`Σ_K [ℓ = 0] W[j,K] x[t,K]` with the factor outside that alone differs from round to round."""
        match node:
            case ir.Reduce("sum", indices, _, ir.Apply("*", factors) as product):
                summed = {i.name for i in indices}
                free = [(f, free_indices(f)) for f in factors]
                loose = [f for f, names in free if names & self.inner and not names & summed]
                rest = tuple(f for f in factors if f not in loose)
                if loose and rest and not any(self.inner & free_indices(f) for f in rest):
                    body = rest[0] if len(rest) == 1 else replace(product, arguments=rest)
                    return replace(product, arguments=(*loose, replace(node, body=body)))
        return node

    def split(
        self, node: ir.Apply, arguments: Sequence[ir.Expression], scope: Scope
    ) -> ir.Expression:
        """A sum in two: what reads the state, and the rest, bias and all, in one tensor."""
        arguments = [self.factored(a) for a in arguments]
        loose = [a for a in arguments if not self.reads_state(a) and not self.spreads(a)]
        if not any(self.worth(a) for a in loose):
            return replace(node, arguments=tuple(self.outside_of(a, scope) for a in arguments))
        kept = [self.outside_of(a, scope) for a in arguments if a not in loose]
        whole = loose[0] if len(loose) == 1 else replace(node, arguments=tuple(loose))
        return replace(node, arguments=(*kept, self.taken_out(whole, scope)))

    def contraction(self, node: ir.Reduce, scope: Scope) -> ir.Expression:
        """`Σ_{J,K} h[t-1,J] W[J,K] M[x,K]`: the factors without the state are multiplied first.

        Only over what they do not share with the state, `K` here; without such an index nothing
        is gained.
        """
        assert isinstance(node.body, ir.Apply)
        inner = scope | {i.name: i for i in node.indices}
        tied = [f for f in node.body.arguments if self.reads_state(f)]
        loose = [f for f in node.body.arguments if not self.reads_state(f)]
        used = set().union(*(free_indices(f) for f in tied))
        own = tuple(i for i in node.indices if i.name not in used)
        rest = tuple(i for i in node.indices if i.name in used)
        if not own or not loose:
            factors = tuple(self.outside_of(f, inner) for f in node.body.arguments)
            return replace(node, body=replace(node.body, arguments=factors))
        product = loose[0] if len(loose) == 1 else replace(node.body, arguments=tuple(loose))
        taken = self.taken_out(ir.Reduce("sum", own, None, product, span=node.span), inner)
        kept = [self.outside_of(f, inner) for f in tied]
        body = replace(node.body, arguments=(*kept, taken))
        return ir.Reduce("sum", rest, None, body, span=node.span) if rest else body

    def taken_out(self, expression: ir.Expression, scope: Scope) -> ir.Expression:
        """A read of a new tensor that is the expression at all values of its indices."""
        free = free_indices(expression)
        indices = tuple(scope[name] for name in scope if name in free)
        if any(size_indices(i.extent) or size_indices(i.lower) for i in indices):
            return expression  # ranges that depend on a layer stay with it
        name = derived_name(self.tensors, self.statement.target, "in")
        tensor, places = laid_out(name, indices, {})
        self.tensors[name] = replace(tensor, span=expression.span)
        self.made.append(ir.Statement(name, places, indices, expression, span=expression.span))
        return ir.Read(name, places, span=expression.span)


def _worth(expression: ir.Expression) -> bool:
    """Whether a part costs more than reading it again would: sums, softmaxes, word vectors."""
    return any(map(_costs, expression.walk()))


def _costs(node: ir.Expression) -> bool:
    return isinstance(node, ir.Reduce | ir.Softmax) or (isinstance(node, ir.Read) and node.looks_up)


def _outermost(expression: ir.Expression) -> Iterator[ir.Expression]:
    """The parts that cost something by themselves, but for those inside others."""
    if _costs(expression):
        yield expression
    else:
        for part in expression.children():
            yield from _outermost(part)


class NotUnrolled(Exception):
    """Why the layers of a program cannot be written out."""


def unrolled(code: ir.Code, want: Sequence[str], sizes: Mapping[str, int]) -> ir.Code:
    """The statements in an order in which they run, without loops."""
    plan = schedule(code, want)
    return _Unrolling(code, list(plan.loops()), sizes).run(plan.steps)


class _Unrolling:
    def __init__(self, code: ir.Code, loops: Sequence[Loop], sizes: Mapping[str, int]) -> None:
        self.code = code
        self.sizes = sizes
        self.axes: dict[str, int] = {}
        for loop in loops:
            for name, axis in loop.axes.items():
                if name in self.axes:
                    raise NotUnrolled(f"{name} is walked along twice")
                if axis:
                    raise NotUnrolled(f"the layers of {name} are not its first index")
                self.axes[name] = axis
        self.tensors = {n: t for n, t in code.tensors.items() if n not in self.axes}
        self.made: list[ir.Statement] = []

    def run(self, steps: Sequence[Step]) -> ir.Code:
        for statement in self.statements(steps):
            self.made.append(self.flat(statement))
        return replace(self.code, tensors=self.tensors, statements=tuple(self.made))

    def statements(self, steps: Sequence[Step]) -> Iterator[ir.Statement]:
        """Every statement at every value of the loop around it."""
        for step in steps:
            if isinstance(step, Run):
                yield step.statement
            elif isinstance(step, Loop):
                first = step.lower.value(self.sizes)
                values = range(first, first + step.extent.value(self.sizes))
                for value in values[:: step.direction]:
                    for inner in step.steps:
                        if not isinstance(inner, Run):
                            raise NotUnrolled("there is a loop inside a loop")
                        found = self.at(step, inner.statement, value)
                        if found is not None:
                            yield found

    def at(self, loop: Loop, statement: ir.Statement, value: int) -> ir.Statement | None:
        """The statement at one value of the loop's variable; None where it sits out."""
        found = loop.fixed(statement)
        if found is None:
            at = loop.at(statement)
            assert at is not None
            return statement if at.value(self.sizes) == value else None
        name, place = found
        own = value + place.offset.value(self.sizes)
        index = statement.scope[name]
        first = index.lower.value(self.sizes)
        if not first <= own < first + index.extent.value(self.sizes):
            return None
        return specialised(statement, {name: ir.Affine((), Size.of(own))})

    def flat(self, statement: ir.Statement) -> ir.Statement:
        """The statement with each layer under its own name."""
        result = statement.rebuild(partial(with_reads, change=self.at_layer))
        if statement.target not in self.axes:
            return result
        axis = self.axes[statement.target]
        name = self.layer(statement.target, statement.left[axis])
        left = tuple(p for n, p in enumerate(statement.left) if n != axis)
        return replace(result, target=name, left=left)

    def at_layer(self, node: ir.Read) -> ir.Expression:
        if node.tensor not in self.axes:
            return ir.Constant(0.0, span=node.span) if self.outside(node) else node
        axis = self.axes[node.tensor]
        name = self.layer(node.tensor, node.places[axis])
        places = tuple(p for n, p in enumerate(node.places) if n != axis)
        return replace(node, tensor=name, places=places)

    def outside(self, read: ir.Read) -> bool:
        """Whether a layer is read that there is not: the `W[L]` of a W with L layers, which is 0."""
        tensor = self.code.tensors[read.tensor]
        if self.code.of(read.tensor) or tensor.values is not None:
            return False
        for place, axis in zip(read.places, tensor.axes, strict=True):
            if isinstance(place, ir.Affine) and not place.terms:
                ends = (place.offset, axis.lower, axis.lower + axis.extent)
                if all(end.names <= self.sizes.keys() for end in ends):
                    at, low, high = (end.value(self.sizes) for end in ends)
                    if not low <= at < high:
                        return True
        return False

    def layer(self, tensor: str, place: object) -> str:
        """The name of one layer of a tensor."""
        if not isinstance(place, ir.Affine) or place.terms:
            raise NotUnrolled(f"{tensor} is read at all its layers")
        number = place.offset.value(self.sizes)
        name = f"{tensor}@{number}"
        if name not in self.tensors:
            old = self.code.tensors[tensor]
            axes = tuple(a for n, a in enumerate(old.axes) if n != self.axes[tensor])
            if any(size_indices(a.extent) for a in axes):
                raise NotUnrolled(f"the layers of {tensor} have different sizes")
            self.tensors[name] = ir.Tensor(name, axes, old.role, old.values, old.probability)
        return name
