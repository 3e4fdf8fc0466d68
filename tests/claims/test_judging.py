"""Where a claim begins to break: at the last number that is allowed, and at the next."""

from __future__ import annotations

import numpy as np
import pytest

from indicial import load
from indicial.claims.experiment import Sides, part
from indicial.claims.statistics import PLAIN, SURE, Estimate
from indicial.claims.values import ROUNDING, Judged, _Tally, judge

LAST = ROUNDING
"""What rounding may do to numbers around 1 or below."""
NEXT = float(np.nextafter(LAST, 1))


def judged(relation: str, gap: float, tolerance: float | None = None) -> Judged:
    sides = Sides(
        np.array([[gap]]),
        np.array([[0.0]]),
        np.array([[True]]),
        None if tolerance is None else np.array([[tolerance]]),
    )
    return judge(relation, sides)


@pytest.mark.parametrize(
    ("relation", "holds", "broken"),
    [
        ("=", [0.0, LAST, -LAST], [NEXT, -NEXT]),
        ("≈", [0.0, LAST, -LAST], [NEXT, -NEXT]),
        ("≠", [NEXT, -NEXT], [0.0, LAST, -LAST]),
        ("≤", [-1.0, 0.0, LAST], [NEXT, 1.0]),
        ("≥", [1.0, 0.0, -LAST], [-NEXT, -1.0]),
        ("<", [-1.0, -5e-324], [0.0, 5e-324, 1.0]),
        (">", [1.0, 5e-324], [0.0, -5e-324, -1.0]),
    ],
)
def test_the_last_that_is_allowed(relation: str, holds: list[float], broken: list[float]) -> None:
    for gap in holds:
        assert not judged(relation, gap).broken.any(), gap
    for gap in broken:
        assert judged(relation, gap).broken.all(), gap


@pytest.mark.parametrize("tolerance", [0.25, 3.0])
def test_the_last_within_a_tolerance(tolerance: float) -> None:
    """The tolerance is taken up by a thousandth of the rounding, at the size of the numbers."""
    last = float(judged("≈", tolerance, tolerance).allowed[0, 0])
    assert tolerance < last <= tolerance + 1e-3 * ROUNDING * max(1.0, tolerance) * (1 + 1e-6)
    after = float(np.nextafter(last, 10)) + 1e-15
    for relation, sign in (("=", 1), ("=", -1), ("≤", 1), ("≥", -1)):
        assert not judged(relation, sign * tolerance, tolerance).broken.any()
        assert not judged(relation, sign * last, tolerance).broken.any()
        assert judged(relation, sign * (after + 1e-9), tolerance).broken.all()
    assert judged("<", last, tolerance).broken.all()
    assert not judged("<", tolerance, tolerance).broken.any()


def test_rounding_grows_with_the_numbers() -> None:
    sides = Sides(np.array([[1e6]]), np.array([[1e6 + 9e-4]]), np.array([[True]]), None)
    assert not judge("=", sides).broken.any()
    far = Sides(np.array([[1e6 + 2e-3]]), np.array([[1e6]]), np.array([[True]]), None)
    assert judge("=", far).broken.all()


def test_what_is_not_tried_is_not_broken() -> None:
    left = np.array([[np.inf, 1.0, np.nan, 5.0]])
    guard = np.array([[True, False, True, True]])
    found = judge("=", Sides(left, np.zeros((1, 4)), guard, None))
    assert found.tried.tolist() == [[False, False, False, True]]
    assert found.broken.tolist() == [[False, False, False, True]]
    assert found.undefined.tolist() == [[True, False, True, False]]
    assert found.missed.tolist() == [[0.0, 0.0, 0.0, 5.0]]


def estimate(missed: float, error: float = 1.0, tried: bool = True) -> Estimate:
    one = np.ones(1)
    return Estimate({}, 10, one, one, error * one, missed * one, 0 * one, np.array([tried]))


@pytest.mark.parametrize(
    ("missed", "undecided", "broken", "plainly"),
    [
        (SURE, False, True, False),
        (np.nextafter(SURE, 0), True, False, False),
        (-SURE, False, False, False),
        (-np.nextafter(SURE, 0), True, False, False),
        (0.0, True, False, False),
        (PLAIN, False, True, False),
        (np.nextafter(PLAIN, 99), False, True, True),
    ],
)
def test_errors_from_which_a_verdict_is_sure(
    missed: float, undecided: bool, broken: bool, plainly: bool
) -> None:
    found = estimate(missed)
    assert bool(found.undecided()[0]) is undecided
    assert bool(found.broken()[0]) is broken
    assert found.plainly_broken() is plainly
    unseen = estimate(missed, tried=False)
    assert not unseen.undecided()[0]
    assert not unseen.broken()[0]
    assert not unseen.plainly_broken()


def test_without_an_error_nothing_is_broken_that_is_not_missed() -> None:
    assert not estimate(0.0, error=0.0).broken()[0]
    assert estimate(1e-300, error=0.0).broken()[0]


@pytest.mark.parametrize("relation", ["=", "≤", "≥"])
def test_what_is_rounding_is_told_as_nothing(relation: str) -> None:
    """Up to the last number that may be rounding, and from the next on as it is."""
    sign = -1 if relation == "≥" else 1
    for gap, told in ((LAST, 0.0), (NEXT, NEXT), (0.0, 0.0)):
        tally = _Tally()
        tally.add(judged(relation, sign * gap), relation)
        assert tally.tried
        assert tally.missed == told
    tally = _Tally()
    tally.add(judged(relation, sign * 2.0, 5.0), relation)
    tally.add(judged(relation, sign * 1.0, 5.0), relation)
    assert tally.missed == 2.0


def test_nothing_tried_is_nothing_told() -> None:
    tally = _Tally()
    nowhere = Sides(
        np.array([[np.nan], [1.0]]), np.zeros((2, 1)), np.array([[True], [False]]), None
    )
    tally.add(judge("=", nowhere), "=")
    assert not tally.tried
    assert tally.undefined == 1
    assert tally.missed == -np.inf


def test_what_a_claim_needs_is_what_its_own_draws_are_of() -> None:
    code = load("input x[n]\nm[k] = k\nz[k] ~ N(m[k], 1)\ny[n] = 2 x[n]\nw[k] = z[k] + 1").code
    assert part(code, ["y"]).tensors.keys() == {"x", "y"}
    assert part(code, ["w"]).tensors.keys() == {"m", "w", "z"}
