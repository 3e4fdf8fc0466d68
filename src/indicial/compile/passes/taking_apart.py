"""How the normal form takes statements apart: products, joins, and what stands under a condition.

The factors of a summed product, and which of them belong together by the indices they have.

    Σ_I W[j,I] G[t,I] h[t-1,I]      {j,I} {t,I} {t,I}   G and h vary together: one operand
    Σ_{I,J} e[v,I] W[I,J] h[t,J]    {v,I} {I,J} {t,J}   first Σ_J W h, then Σ_I with e

A factor is fixed if it is a parameter: that is kept as it is, so that a product has one parameter
and one operand.

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
from functools import cached_property
from itertools import combinations

from indicial.compile.passes.algebra import ONE, both, numeral, otherwise_zero, quotient, times
from indicial.compile.schedule.plan import Loop
from indicial.compile.schedule.schedule import ScheduleError, schedule
from indicial.program import ir
from indicial.program.moving import moved, specialised
from indicial.program.rewrite import free_in_place, free_indices
from indicial.program.sizes import Size

Indices = frozenset[str]


def varying_together(factors: Sequence[Indices], fixed: Collection[int]) -> tuple[int, int] | None:
    """Two of three or more factors whose product has no more indices than one of them."""
    if len(factors) < 3:
        return None
    pairs = [
        (one, two)
        for one, two in combinations(range(len(factors)), 2)
        if one not in fixed and two not in fixed
        if factors[one] <= factors[two] or factors[two] <= factors[one]
    ]
    return min(pairs, key=lambda p: len(factors[p[0]] | factors[p[1]]), default=None)


def alone_in(
    factors: Sequence[Indices], summed: Sequence[ir.Index]
) -> list[tuple[int, tuple[ir.Index, ...]]]:
    """For factors beside others, the summed indices that none of the others has: {j,K} {x,K} → x."""
    found = []
    for number, one in enumerate(factors):
        others = frozenset[str]().union(*(f for n, f in enumerate(factors) if n != number))
        alone = tuple(i for i in summed if i.name in one and i.name not in others)
        if alone and len(factors) > 1:
            found.append((number, alone))
    return found


def first_contraction(
    factors: Sequence[Indices], summed: Collection[str], fixed: Collection[int]
) -> tuple[int, int, Indices] | None:
    """Two of three or more factors, and the indices to sum in their product before the others.

    The pair whose result has the fewest indices; of several the last, and rather one with a factor
    that is not fixed.
    """
    if len(factors) < 3:
        return None
    best: tuple[tuple[int, bool, int, int], tuple[int, int, Indices]] | None = None
    for one, two in combinations(range(len(factors)), 2):
        others = frozenset[str]().union(*(f for n, f in enumerate(factors) if n not in (one, two)))
        union = factors[one] | factors[two]
        inner = union & frozenset(summed) - others
        rank = (len(union - inner), one in fixed and two in fixed, -one, -two)
        if inner and (best is None or rank < best[0]):
            best = rank, (one, two, inner)
    return None if best is None else best[1]


def factors_of(expression: ir.Expression, names: set[str]) -> list[ir.Expression]:
    """The factors of a product, a minus as -1, a square of what depends on the names as two."""
    match expression:
        case ir.Apply("*", arguments):
            return [factor for a in arguments for factor in factors_of(a, names)]
        case ir.Apply("neg", (argument,)):
            return [times(ir.Apply("neg", (ONE,))), *factors_of(argument, names)]
        case ir.Apply("/", (above, below)) if numeral(above) != 1:
            return [*factors_of(above, names), quotient(ONE, below)]
        case ir.Apply("^", (base, exponent)) if (
            numeral(exponent) == 2 and free_indices(base) & names
        ):
            return [*factors_of(base, names), *factors_of(base, names)]
    return [] if expression == ONE else [expression]


def contracts(body: ir.Apply, indices: tuple[ir.Index, ...]) -> bool:
    """Whether a term is a product that has more indices than each of its factors."""
    names = {index.name for index in indices}
    for term in body.arguments:
        sets = [free_indices(factor) for factor in factors_of(term, names)]
        if len(sets) > 1 and all(set().union(*sets) - one for one in sets):
            return True
    return False


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
