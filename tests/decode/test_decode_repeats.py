"""Loops at the end of a text, against trying every start and every period."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from indicial.decode.settings import LEAST, ROUNDS, Lookout, Repeat, matches_backwards, repeats


def brute(tokens: list[int], rounds: int, least: int) -> Repeat | None:
    """The first start, and there the shortest period, of all that go round often enough."""
    for start in range(len(tokens)):
        tail = tokens[start:]
        for period in range(1, len(tail)):
            same = all(a == b for a, b in zip(tail, tail[period:], strict=False))
            if same and len(tail) >= rounds * period and len(tail) - period >= least:
                return Repeat(start, period)
    return None


few = st.lists(st.integers(0, 2), max_size=30)


@given(few, st.lists(st.integers(0, 2), min_size=1, max_size=6), st.integers(0, 8), few)
@example([], [1], 8, [])
@example([0], [2, 0, 1, 1, 1], 6, [])
def test_like_brute_force(before: list[int], loop: list[int], times: int, after: list[int]) -> None:
    for text in (before + loop * times, before + loop * times + after[:2], before + after):
        for rounds, least in ((2, 0), (2, 3), (3, 6), (ROUNDS, LEAST)):
            assert repeats(text, rounds, least) == brute(text, rounds, least)


@given(few)
def test_matches(tokens: list[int]) -> None:
    count = len(tokens)
    for distance, found in enumerate(matches_backwards(tokens)):
        same = 0
        while same + distance < count and tokens[-1 - same] == tokens[-1 - same - distance]:
            same += 1
        assert found == same


def test_the_round_is_the_whole_round() -> None:
    assert repeats([9, 9, *[7, 8, 1, 1, 1] * 8]) == Repeat(2, 5)
    assert repeats([5] * 30) == Repeat(0, 1)


def test_little_is_no_repeat() -> None:
    assert repeats([]) is None
    assert repeats([5] * LEAST) is None  # the first of them has none before it
    assert repeats([5] * (LEAST + 1)) == Repeat(0, 1)
    assert repeats([*range(20), *range(20)]) is None
    assert repeats([*range(20)] * 3) == Repeat(0, 20)
    assert repeats([*[1, 2] * 20, 3]) is None


def test_said() -> None:
    assert str(Repeat(92, 14)) == "repeats every 14 tokens from token 92"
    assert str(Repeat(3, 1)) == "repeats the same token from token 3"


def test_lookout_finds_it_soon() -> None:
    lookout = Lookout()
    tokens = [*range(1000), *[1, 2, 3] * 200]
    seen = next(n for n in range(len(tokens)) if lookout.look(tokens[:n]))
    assert 1000 + LEAST < seen <= 1000 + LEAST + 3 + 1020 // 16
