"""The likeliest tree, against all trees there are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indicial.data.treebanks import cycle, is_tree, likeliest_tree


def leads_to_one_root(heads: tuple[int, ...]) -> bool:
    """Followed step by step: after as many steps as there are words, all stand at the same root."""
    ends = set()
    for at in range(len(heads)):
        for _ in heads:
            at = heads[at]
        ends.add(at)
    return len(ends) == 1 and all(heads[at] == at for at in ends)


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(*[st.integers(0, n - 1)] * n)))
def test_trees_are_told_from_others(heads: tuple[int, ...]) -> None:
    assert is_tree(heads) == leads_to_one_root(heads)


@given(st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 3]))
def test_no_tree_is_better(count: int, seed: int, digits: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(count, count)).round(digits)
    words = range(count)
    trees = filter(leads_to_one_root, product(words, repeat=count))
    best = max(sum(scores[t, s] for t, s in enumerate(heads)) for heads in trees)
    found = likeliest_tree(scores)
    assert leads_to_one_root(tuple(found))
    assert sum(scores[t, s] for t, s in enumerate(found)) == pytest.approx(best)


def test_what_is_impossible_is_the_last_resort() -> None:
    # Each is sure of the other, and both are sure that they are no root.
    with np.errstate(divide="ignore"):
        scores = np.log(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert is_tree(likeliest_tree(scores))


def test_a_long_sentence() -> None:
    scores = np.random.default_rng(0).normal(size=(150, 150))
    assert is_tree(likeliest_tree(scores))


def test_a_circle_is_named() -> None:
    assert cycle([0, 2, 3, 1]) == [1, 2, 3]
    assert cycle([0, 0, 1]) is None
