"""Rows of like length together: which rows make which batch.

    buckets = Buckets({"S": lengths of x, "T": lengths of w}, rows=29000, batch_size=64, seed=0)
    buckets.batch(7)       →  64 row numbers, the same on every machine
    buckets.padding        →  0.034        of the places of a batch, about, so many are padding

All rows are shuffled in each epoch, one epoch behind the other, so that no row is left over. So many of
them as make some batches are sorted by length and cut into those, which are then shuffled. A batch is a
function of seed and step and of nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from indicial.data.shuffle import key, shuffled
from indicial.data.tokenizers import Ints

POOLS = (32, 128, 512)
"""Batches that are sorted together: the first of these that pads little."""
LITTLE = 0.08
LOOKED_AT = 512
"""Batches that padding is measured on, about."""


class Buckets:
    """How rows become batches."""

    def __init__(
        self, lengths: Mapping[str, Ints], rows: int, batch_size: int, seed: int = 0
    ) -> None:
        self.lengths = list(lengths.values())
        self.rows, self.batch_size, self.seed = rows, batch_size, seed
        self._known: tuple[int, list[Ints]] | None = None
        for self.pool in POOLS:
            self._known = None
            self.padding = self._padding()
            if self.padding < LITTLE or self.pool * batch_size >= rows:
                break

    def batch(self, step: int, rank: int = 0, of: int = 1) -> Ints:
        """The rows of a step; with several processes, the share of one."""
        number = step // self.pool
        if self._known is None or self._known[0] != number:
            self._known = number, self._batches(number)
        rows = self._known[1][step % self.pool]
        return rows[rank::of]

    def _batches(self, pool: int) -> list[Ints]:
        each = self.pool * self.batch_size
        numbers: Ints = np.arange(pool * each, (pool + 1) * each)
        rows = np.empty(each, np.int64)
        for epoch in range(int(numbers[0]) // self.rows, int(numbers[-1]) // self.rows + 1):
            here = numbers // self.rows == epoch
            of_epoch = key(self.seed, epoch, "rows")
            rows[here] = shuffled(numbers[here] % self.rows, self.rows, of_epoch)
        if self.lengths:
            rows = rows[alike([lengths[rows] for lengths in self.lengths])]
        order = shuffled(np.arange(self.pool), self.pool, key(self.seed, pool, "batches"))
        return [rows[n * self.batch_size : (n + 1) * self.batch_size] for n in order.tolist()]

    def _padding(self) -> float:
        """Of the places in the batches of the first epoch, or of some of them."""
        if not self.lengths:
            return 0.0
        pools = max(1, min(self.rows // self.batch_size, LOOKED_AT) // self.pool)
        batches = [rows for pool in range(pools) for rows in self._batches(pool)]
        return padding([[lengths[rows] for lengths in self.lengths] for rows in batches])


def padding(batches: list[list[Ints]]) -> float:
    """The share of places beyond the end of a row, given the lengths of the rows of each batch."""
    used = sum(int(lengths.sum()) for batch in batches for lengths in batch)
    there = sum(int(lengths.max()) * len(lengths) for batch in batches for lengths in batch)
    return 1 - used / max(1, there)


def alike(lengths: list[Ints]) -> Ints:
    """An order in which neighbours are of like length: by the last of the lengths, then by the one
    before, up and down in turns."""
    *others, last = lengths
    if not others:
        return np.argsort(last, kind="stable")
    turned = [np.where(last % 2 == 0, other, -other) for other in others]
    return np.lexsort((*turned, last))


def in_order(lengths: Mapping[str, Ints], rows: Ints, batch_size: int) -> list[Ints]:
    """Some rows, each in one batch, with those that are of like length."""
    if lengths:
        rows = rows[alike([one[rows] for one in lengths.values()])]
    return [rows[n : n + batch_size] for n in range(0, len(rows), batch_size)]
