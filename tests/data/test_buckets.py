"""Which rows make which batch: all of them equally often, those of like length together."""

from __future__ import annotations

import numpy as np
import pytest

from indicial.data.column_rows import Buckets, in_order, padding


def lengths(rows: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    one = np.clip(random.normal(14, 4, rows), 2, 40).astype(int)
    other = np.clip(one * random.normal(1, 0.15, rows), 2, 45).astype(int)
    return {"S": other, "T": one}


@pytest.mark.parametrize("rows", [50, 997])
def test_every_row_comes_once_in_an_epoch(rows: int) -> None:
    batches = Buckets(lengths(rows), rows, batch_size=10, seed=1)
    # Pools go over the ends of epochs: in so many of them each row comes equally often.
    count = np.zeros(rows, int)
    steps = rows * batches.pool
    for step in range(0, steps, max(1, steps // 4000)):
        assert len(batches.batch(step)) == 10
    whole = np.concatenate([batches.batch(step) for step in range(batches.pool * 2)])
    count = np.bincount(whole, minlength=rows)
    assert count.max() - count.min() <= 2 and count.sum() == batches.pool * 20


def test_a_batch_depends_on_its_number_alone() -> None:
    one, other = (Buckets(lengths(500), 500, 16, seed=7) for _ in range(2))
    late = one.batch(300).tolist()
    assert other.batch(3).tolist() == one.batch(3).tolist()
    assert other.batch(300).tolist() == late
    assert Buckets(lengths(500), 500, 16, seed=8).batch(3).tolist() != one.batch(3).tolist()


def test_processes_share_a_batch() -> None:
    batches = Buckets(lengths(500), 500, 16)
    parts = np.concatenate([batches.batch(5, rank, 3) for rank in range(3)])
    assert sorted(parts.tolist()) == sorted(batches.batch(5).tolist())


def test_little_padding() -> None:
    long = lengths(20_000)
    batches = Buckets(long, 20_000, 64)
    assert batches.padding < 0.1
    rows = [batches.batch(step) for step in range(300)]
    assert padding([[one[r] for one in long.values()] for r in rows]) < 0.1
    # Without sorting it is a third.
    assert padding([[one[n : n + 64] for one in long.values()] for n in range(0, 19_000, 64)]) > 0.3


def test_in_order_has_each_row_once() -> None:
    long = lengths(100)
    rows = in_order(long, np.arange(100), 16)
    assert sorted(np.concatenate(rows).tolist()) == list(range(100))
