"""Loops in the texts of a trigram: found anywhere, and where they must begin."""

from __future__ import annotations

import random
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from indicial.decode.settings import repeats
from indicial.lab.studies.repetition import (
    Returned,
    contains_loop,
    keeps_going_round,
    returned,
    ring,
)


@given(
    st.lists(st.integers(0, 2), max_size=12),
    st.lists(st.integers(0, 2), min_size=1, max_size=6),
    st.integers(1, 30),
    st.lists(st.integers(0, 2), max_size=12),
)
def test_a_text_contains_a_loop_if_some_beginning_of_it_ends_in_one(
    before: list[int], inside: list[int], times: int, after: list[int]
) -> None:
    text = before + inside * times + after
    ends = any(repeats(text[:end]) is not None for end in range(1, len(text) + 1))
    assert contains_loop(text) == ends


def test_loops_in_the_middle() -> None:
    assert contains_loop([7, 3, *[1, 2] * 10, 5, 6])
    assert not contains_loop(list(range(100)))
    assert not contains_loop([])


def test_greedy_texts_of_every_small_trigram_go_round_where_a_pair_comes_back() -> None:
    pairs = list(product(range(2), repeat=2))
    for words in product(range(2), repeat=4):
        follows = dict(zip(pairs, words, strict=True))
        for pair in pairs:
            text = [*pair]
            while len(text) < 30:
                text.append(follows[text[-2], text[-1]])
            back = returned(text)
            assert back is not None and back.again <= 4
            assert keeps_going_round(text) and contains_loop(text)


def test_a_text_that_leaves_its_loop() -> None:
    text = [4, 1, 2, 3, 1, 2, 3, 1, 2, 9]
    assert returned(text) == Returned(1, 4)
    assert not keeps_going_round(text)
    assert keeps_going_round(text[:-1])
    assert returned([1, 2, 3]) is None and ring([1, 2, 3]) == ()


def test_the_same_loop_entered_anywhere() -> None:
    inside = [5, 8, 6, 7]
    draw = random.Random(0)
    found = set()
    for _ in range(8):
        at = draw.randrange(4)
        found.add(ring([1, 2, *(inside[at:] + inside[:at]) * 6]))
    assert found == {(5, 8, 6, 7)}
