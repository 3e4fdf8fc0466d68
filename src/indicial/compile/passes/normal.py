"""Normal form: every statement is one product, one reduction, one softmax, or pointwise.

R[t,j] = tanh(sum{I}(W[j,I] * G[t,I] * h[t-1,I]) + -B[j])

R^{(1)}[t,I] = G[t,I] * h[t-1,I]                    what varies together is one operand
R^{(2)}[t,j] = sum{I}(W[j,I] * R^{(1)}[t,I])
R[t,j]       = tanh(R^{(2)}[t,j] + -B[j])

The meaning is kept: `interpret` gives the same before and after, up to rounding. Parts that are
the same become one tensor. See `forms` for what a statement can be.

A statement with a join as one statement for each part.

z[t,C] = join{C}({I} a[t,I]; {J} b[t,J])   →   z[t,I] = a[t,I]
                                               z[t,J+I] = b[t,J]

Within a recurrence, conditions go along with what is taken out from under them.

A[t,r]       = softmax{r where r < t}(sum{J}(c[t-1,J] * c[r,J]))

A^{(1)}[t,r] = sum{J where r < t}(c[t-1,J] * c[r,J])      without it, c would be needed ahead of itself
A[t,r]       = softmax{r where r < t}(A^{(1)}[t,r])
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, reduce

from indicial.compile.passes.algebra import (
    ONE,
    alone_in,
    both,
    contracts,
    factors_of,
    first_contraction,
    is_total,
    otherwise_zero,
    plus,
    quotient,
    signed,
    times,
    varying_together,
)
from indicial.compile.passes.new_tensors import (
    Names,
    free_in,
    indices_of,
    laid_out,
    shifts,
    up_to_names,
    within,
)
from indicial.compile.schedule.schedule import Loop, ScheduleError, schedule
from indicial.program import ir
from indicial.program.moving import moved, moved_affine, specialised
from indicial.program.rewrite import (
    Scope,
    free_in_place,
    free_indices,
    is_constant,
    size_indices,
)
from indicial.program.sizes import Size


def normal(code: ir.Code, targets: Collection[str] | None = None) -> ir.Code:
    """The code with the statements of these tensors, or all statements, in normal form."""
    return _Normaliser(code).run(targets)


class _Normaliser:
    """One run: the tensors and statements so far, and which expressions are tensors already."""

    def __init__(self, code: ir.Code) -> None:
        self.code = code
        self.names = Names(code.tensors)
        self.tensors = dict(code.tensors)
        self.statements: list[ir.Statement] = []
        self.known: dict[object, tuple[str, tuple[ir.Affine, ...]]] = {}
        self.target = ""
        self.shifts: dict[str, int] = {}
        self.limits = Limits(code)

    def run(self, targets: Collection[str] | None) -> ir.Code:
        for statement in self.code.statements:
            if targets is None or statement.target in targets:
                self.target = statement.target
                for part in parts(statement):
                    self.shifts = shifts(part)
                    self.rewrite(part)
            else:
                self.statements.append(statement)
        return replace(self.code, tensors=self.tensors, statements=tuple(self.statements))

    def rewrite(self, statement: ir.Statement) -> None:
        scope = statement.scope
        body, guard = statement.body, statement.guard
        if guard is not None:
            guard = self.pointwise(guard, scope)
        cases = any(s.guard is not None for s in self.code.of(statement.target))
        with self.limits.under(guard, ()):
            if cases or (isinstance(body, ir.Softmax) and not self.whole(statement, body)):
                body = self.pointwise(body, scope)  # so that cases can be told element by element
            else:
                body = self.normalised(body, scope)
        self.statements.append(replace(statement, body=body, guard=guard))

    def whole(self, statement: ir.Statement, body: ir.Softmax) -> bool:
        """Whether the statement defines all elements of the distribution, and no other does."""
        alone = statement.guard is None and len(self.code.of(statement.target)) <= 1
        return alone and all(index in statement.indices for index in body.indices)

    # ---- an expression → a body in normal form, a pointwise expression, a read ----

    def normalised(self, expression: ir.Expression, scope: Scope) -> ir.Expression:
        """A body in normal form with the meaning of the expression."""
        if isinstance(expression, ir.Softmax):
            inner = within(scope, expression.indices)
            condition = expression.condition
            if condition is not None:
                condition = self.pointwise(condition, inner)
            with self.limits.under(condition, expression.indices):
                body = self.read(expression.body, inner)
            return replace(expression, condition=condition, body=body)
        spread = self.spread(expression, scope)
        return (
            spread
            if isinstance(spread, ir.Reduce)
            else _scaled(spread) or self.extracted(spread, scope)
        )

    def pointwise(self, expression: ir.Expression, scope: Scope) -> ir.Expression:
        """The expression with a read in the place of everything that is not pointwise."""
        return self.extracted(self.spread(expression, scope), scope)

    def read(self, expression: ir.Expression, scope: Scope) -> ir.Read:
        """A read of a tensor that holds the values of the expression."""
        body = self.normalised(expression, scope)
        return body if isinstance(body, ir.Read) else self.define(body, scope)

    def spread(self, expression: ir.Expression, scope: Scope) -> ir.Expression:
        """Each sum as sums of products of reads; a read in the place of softmaxes and joins."""
        match expression:
            case ir.Apply() | ir.Select():
                return expression.rebuild(lambda e: self.spread(e, scope))
            case ir.Reduce():
                return self.reduction(expression, scope)
            case ir.Softmax():
                return self.define(
                    self.normalised(expression, scope), within(scope, expression.indices)
                )
            case ir.Join():
                return self.joined(expression, scope)
        return expression

    def extracted(self, spread: ir.Expression, scope: Scope) -> ir.Expression:
        """A read in the place of every reduction that is left."""
        match spread:
            case ir.Reduce():
                return self.define(spread, scope)
            case ir.Apply("*", _) if (whole := _scaled(spread)) is not None:
                sign, core = signed(whole)
                return times(sign, self.define(core, scope))
            case ir.Apply():
                changed = spread.rebuild(lambda e: self.apart(self.extracted(e, scope), scope))
                indices = indices_of(changed, scope)
                known = self.known.get(up_to_names(changed, indices))
                return changed if known is None else _at(known, indices, changed)
            case ir.Select():
                return spread.rebuild(lambda e: self.extracted(e, scope))
        return spread

    def apart(self, part: ir.Expression, scope: Scope) -> ir.Expression:
        """A read in the place of a log-sum-exp, whose gradient needs its value."""
        if isinstance(part, ir.Apply) and part.function == "lse" and part.every(ir.Read):
            return self.define(part, scope)
        return part

    def joined(self, join: ir.Join, scope: Scope) -> ir.Read:
        """A read of a tensor that holds the parts of a join one after the other."""
        name = "c"
        while name in scope:
            name += "'"
        inner = within(scope, (ir.Index(name, Size(), length(join)),))
        read = self.define(replace(join, place=ir.Affine.of(name)), inner)
        at = {name: join.place}
        return replace(read, places=tuple(moved_affine(p, at) for p in read.places))

    # ---- reductions ----

    def reduction(self, node: ir.Reduce, scope: Scope) -> ir.Expression:
        """A reduction as reductions of reads, times what does not depend on their indices."""
        inner = within(scope, node.indices)
        condition = None if node.condition is None else self.pointwise(node.condition, inner)
        with self.limits.under(condition, node.indices):
            if node.operator not in ("sum", "mean"):
                return replace(node, condition=condition, body=self.read(node.body, inner))
            total = self.sum(node.indices, condition, node.body, inner)
        if node.operator == "sum":
            return total
        count: ir.Expression = ir.Reduce("sum", node.indices, condition, ONE)
        if condition is None:
            count = ir.SizeValue(reduce(lambda n, i: n * i.extent, node.indices, Size.of(1)))
        return times(quotient(ONE, count), total)

    def sum(
        self,
        indices: tuple[ir.Index, ...],
        condition: ir.Expression | None,
        body: ir.Expression,
        inner: Scope,
    ) -> ir.Expression:
        body = self.spread(body, inner)
        if isinstance(body, ir.Apply) and body.function == "+" and contracts(body, indices):
            return plus(*(self.sum(indices, condition, term, inner) for term in body.arguments))
        names = {index.name for index in indices}
        outside: list[ir.Expression] = []
        factors: list[ir.Expression] = []
        for factor in factors_of(body, names):
            free = not free_indices(factor) & names
            safe = condition is None or (is_constant(factor) and is_total(factor))
            (outside if free and safe else factors).append(factor)
        if condition is None:
            while len(factors) == 1 and _continues(factors[0], inner):
                (core,) = factors
                assert isinstance(core, ir.Reduce)
                indices, inner = (*indices, *core.indices), within(inner, core.indices)
                factors = factors_of(core.body, {index.name for index in indices})
            factors = self.looked_up(factors, inner)
            indices, factors = self.contracted(indices, factors, inner)
        else:
            factors = self.grouped(self.looked_up(factors, inner), inner)
        reads = times(*(self.read(factor, inner) for factor in factors))
        return times(*outside, ir.Reduce("sum", indices, condition, reads) if indices else reads)

    def looked_up(self, factors: list[ir.Expression], inner: Scope) -> list[ir.Expression]:
        """Word vectors beside other factors as tensors of their own: looked up once for all."""
        if len(factors) < 2:
            return factors
        return [
            self.define(f, inner) if isinstance(f, ir.Read) and f.looks_up else f for f in factors
        ]

    def grouped(self, factors: list[ir.Expression], inner: Scope) -> list[ir.Expression]:
        """The factors with those multiplied that vary together."""
        while pair := varying_together([free_in(f, inner) for f in factors], self.fixed(factors)):
            one, two = pair
            both = times(factors[one], factors[two])
            factors = [f for n, f in enumerate(factors) if n not in pair]
            factors.insert(one, both)
        return factors

    def contracted(
        self, indices: tuple[ir.Index, ...], factors: list[ir.Expression], inner: Scope
    ) -> tuple[tuple[ir.Index, ...], list[ir.Expression]]:
        """The factors with those multiplied, and summed, that can be before the others are."""
        factors = self.grouped(factors, inner)
        if any(size_indices(i.extent) or size_indices(i.lower) for i in indices):
            return indices, factors
        for number, alone in alone_in([free_in(f, inner) for f in factors], indices):
            core = ir.Reduce("sum", alone, None, self.read(factors[number], inner))
            factors[number] = self.define(core, inner)
            indices = tuple(index for index in indices if index not in alone)
        names = [index.name for index in indices]
        free = [free_in(f, inner) for f in factors]
        while found := first_contraction(free, names, self.fixed(factors)):
            one, two, first = found
            pair = times(self.read(factors[one], inner), self.read(factors[two], inner))
            before = tuple(index for index in indices if index.name in first)
            indices = tuple(index for index in indices if index.name not in first)
            factors = [f for n, f in enumerate(factors) if n not in (one, two)]
            factors.insert(one, self.define(ir.Reduce("sum", before, None, pair), inner))
            factors = self.grouped(factors, inner)
            free = [free_in(f, inner) for f in factors]
        return indices, factors

    def fixed(self, factors: list[ir.Expression]) -> set[int]:
        """Which factors are parameters, at places that no token decides."""
        return {
            number
            for number, factor in enumerate(factors)
            if isinstance(factor, ir.Read)
            and self.tensors[factor.tensor].role == "parameter"
            and not factor.looks_up
        }

    # ---- new tensors ----

    def define(self, body: ir.Expression, scope: Scope) -> ir.Read:
        """A read of the tensor with this body, a join or normal; new if there is none yet."""
        indices = indices_of(body, scope)
        body = self.limits.limited(body, self.target, indices)
        key = up_to_names(body, indices)
        if key not in self.known:
            name = self.names.part(self.target)
            tensor, left = laid_out(name, indices, self.shifts)
            self.tensors[name] = replace(tensor, span=body.span)
            self.known[key] = name, left
            statement = ir.Statement(name, left, indices, body, span=body.span)
            if isinstance(body, ir.Join):
                for part in parts(statement):
                    self.rewrite(part)
            else:
                self.statements.append(statement)
        return _at(self.known[key], indices, body)


def _continues(factor: ir.Expression, scope: Scope) -> bool:
    """Whether a factor is a sum without condition, over indices that are new."""
    if (
        not isinstance(factor, ir.Reduce)
        or factor.operator != "sum"
        or factor.condition is not None
    ):
        return False
    return not any(index.name in scope for index in factor.indices)


def _at(
    known: tuple[str, tuple[ir.Affine, ...]], indices: tuple[ir.Index, ...], body: ir.Expression
) -> ir.Read:
    """A known tensor at indices that stand in the order of its axes."""
    name, left = known
    by = [place.offset for place in left]
    pairs = zip(indices, by, strict=True)
    return ir.Read(
        name, tuple(ir.Affine(((i.name, 1),), shift) for i, shift in pairs), span=body.span
    )


def _scaled(spread: ir.Expression) -> ir.Expression | None:
    """The product of one sum with numbers and sizes, the sum last; None if it is not that."""
    factors = factors_of(spread, set())
    sums = [f for f in factors if isinstance(f, ir.Reduce) and f.operator == "sum"]
    scale = [f for f in factors if not isinstance(f, ir.Reduce)]
    if len(sums) != 1 or len(scale) + 1 < len(factors) or not all(map(is_constant, scale)):
        return None
    return times(*scale, *sums)


def length(join: ir.Join) -> Size:
    """How many elements all parts have together."""
    return sum((part.index.extent for part in join.parts), Size())


def parts(statement: ir.Statement) -> Iterator[ir.Statement]:
    """The statements for the parts; the statement itself if it is no join along its left side."""
    join = statement.body
    if not isinstance(join, ir.Join) or not _splits(statement, join):
        yield statement
        return
    ((name, _),) = join.place.terms
    others = {index.name for index in statement.indices} - {name}
    start = Size()
    for part in join.parts:
        index = part.index
        while index.name in others:
            index = replace(index, name=index.name + "'")
        body = moved(part.body, {part.index.name: ir.Affine.of(index)})
        places = {name: ir.Affine(((index.name, 1),), start - index.lower)}
        yield replace(
            specialised(replace(statement, body=body), places),
            indices=tuple(index if i.name == name else i for i in statement.indices),
        )
        start = start + index.extent


def _splits(statement: ir.Statement, join: ir.Join) -> bool:
    """Whether the join runs along an index on the left, over all of its parts."""
    shift = join.place.shift
    if shift is None or shift[1]:
        return False
    whole = ir.Index(shift[0], Size(), length(join))
    return whole in statement.indices and any(
        isinstance(p, ir.Affine) and p.terms == ((shift[0], 1),) for p in statement.left
    )


class Limits:
    """The conditions that hold at a point of an expression."""

    def __init__(self, code: ir.Code) -> None:
        self.code = code
        self.conditions: tuple[ir.Expression, ...] = ()

    @contextmanager
    def under(self, condition: ir.Expression | None, indices: Sequence[ir.Index]) -> Iterator[None]:
        """Inside a reduction over some indices, where a condition holds."""
        before = self.conditions
        bound = {index.name for index in indices}
        kept = [c for c in before if not free_indices(c) & bound]
        self.conditions = (*kept, condition) if condition is not None else tuple(kept)
        yield
        self.conditions = before

    def limited(
        self, body: ir.Expression, target: str, indices: Collection[ir.Index]
    ) -> ir.Expression:
        """A body that is taken out of a statement, with the conditions that say what it may read."""
        names = {index.name for index in indices}
        known = [c for c in self.conditions if free_indices(c) <= names]
        steps = self._steps_read(body, target) if known else set()
        return _where(both(*(c for c in known if free_indices(c) & steps)), body)

    def _steps_read(self, body: ir.Expression, target: str) -> set[str]:
        """The indices that say which steps of its own recurrence a body reads."""
        return {
            name
            for loop in self._loops
            if target in loop.axes
            for node in body.every(ir.Read)
            if node.tensor in loop.axes
            for name in free_in_place(node.places[loop.axes[node.tensor]])
        }

    @cached_property
    def _loops(self) -> list[Loop]:
        try:
            return list(schedule(self.code).loops())
        except ScheduleError:
            return []


def _where(condition: ir.Expression | None, body: ir.Expression) -> ir.Expression:
    if condition is None:
        return body
    match body:
        case ir.Reduce():
            return replace(body, condition=both(condition, body.condition))
        case ir.Apply("*" | "neg", (*others, ir.Reduce() as core)):
            return replace(body, arguments=(*others, _where(condition, core)))
        case ir.Softmax() | ir.Join():
            return body
        case _:
            return otherwise_zero(condition, body)
