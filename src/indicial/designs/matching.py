"""Pairing things so that the pairs together cost least: heads of one design with those of another.

>>> assign(np.array([[4.0, 1.0], [2.0, 9.0]]))
[1, 0]
"""

from __future__ import annotations

import math

from indicial.designs.arrays import Array


def assign(costs: Array) -> list[int]:
    """For each row its column, each column once, with the least sum: the Hungarian method.

    Rows come one by one. Each looks for the cheapest way to a free column along which earlier rows
    move over; `u` and `v` are prices that keep every reduced cost at 0 or above.
    """
    n = len(costs)
    u, v = [0.0] * (n + 1), [0.0] * (n + 1)
    row_of = [0] * (n + 1)  # of each column; rows and columns are counted from 1, 0 is none
    for row in range(1, n + 1):
        row_of[0], column = row, 0
        least, before = [math.inf] * (n + 1), [0] * (n + 1)
        used = [False] * (n + 1)
        while row_of[column] != 0:
            used[column] = True
            here, step, nearest = row_of[column], math.inf, 0
            for j in range(1, n + 1):
                if used[j]:
                    continue
                reduced = float(costs[here - 1, j - 1]) - u[here] - v[j]
                if reduced < least[j]:
                    least[j], before[j] = reduced, column
                if least[j] < step:
                    step, nearest = least[j], j
            for j in range(n + 1):
                if used[j]:
                    u[row_of[j]] += step
                    v[j] -= step
                else:
                    least[j] -= step
            column = nearest
        while column:
            row_of[column] = row_of[before[column]]
            column = before[column]
    found = [0] * n
    for column in range(1, n + 1):
        found[row_of[column] - 1] = column - 1
    return found
