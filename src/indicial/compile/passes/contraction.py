"""Which factors of a summed product belong together, seen by the indices that each has.

    Σ_I W[j,I] G[t,I] h[t-1,I]      {j,I} {t,I} {t,I}   G and h vary together: one operand
    Σ_{I,J} e[v,I] W[I,J] h[t,J]    {v,I} {I,J} {t,J}   first Σ_J W h, then Σ_I with e

A factor is fixed if it is a parameter: that is kept as it is, so that a product has one parameter
and one operand.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

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
