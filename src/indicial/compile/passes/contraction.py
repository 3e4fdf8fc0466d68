"""The factors of a summed product, and which of them belong together by the indices they have.

    Σ_I W[j,I] G[t,I] h[t-1,I]      {j,I} {t,I} {t,I}   G and h vary together: one operand
    Σ_{I,J} e[v,I] W[I,J] h[t,J]    {v,I} {I,J} {t,J}   first Σ_J W h, then Σ_I with e

A factor is fixed if it is a parameter: that is kept as it is, so that a product has one parameter
and one operand.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

from indicial.compile.passes.algebra import ONE, numeral, quotient, times
from indicial.program.ir import Apply, Expression, Index
from indicial.program.rewrite import free_indices

Indices = frozenset[str]


def together(factors: Sequence[Indices], fixed: Collection[int]) -> tuple[int, int] | None:
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
    factors: Sequence[Indices], summed: Sequence[Index]
) -> list[tuple[int, tuple[Index, ...]]]:
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


def factors_of(expression: Expression, names: set[str]) -> list[Expression]:
    """The factors of a product, a minus as -1, a square of what depends on the names as two."""
    match expression:
        case Apply("*", arguments):
            return [factor for a in arguments for factor in factors_of(a, names)]
        case Apply("neg", (argument,)):
            return [times(Apply("neg", (ONE,))), *factors_of(argument, names)]
        case Apply("/", (above, below)) if numeral(above) != 1:
            return [*factors_of(above, names), quotient(ONE, below)]
        case Apply("^", (base, exponent)) if numeral(exponent) == 2 and free_indices(base) & names:
            return [*factors_of(base, names), *factors_of(base, names)]
    return [] if expression == ONE else [expression]


def contracts(body: Apply, indices: tuple[Index, ...]) -> bool:
    """Whether a term is a product that has more indices than each of its factors."""
    names = {index.name for index in indices}
    for term in body.arguments:
        sets = [free_indices(factor) for factor in factors_of(term, names)]
        if len(sets) > 1 and all(set().union(*sets) - one for one in sets):
            return True
    return False
