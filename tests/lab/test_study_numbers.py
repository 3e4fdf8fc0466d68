"""Means with intervals, shares, exponents: against closed forms and against what they promise."""

from __future__ import annotations

import math
import random

import pytest

from indicial.lab.studies.study import Mean, exponent, share_interval


def test_students_interval() -> None:
    # With two numbers there is one degree of freedom: 12.71 · |a - b| / √2 / √2.
    found = Mean.of([1.0, 1.2])
    assert found.mean == pytest.approx(1.1)
    assert found.half == pytest.approx(12.71 * 0.2 / 2, rel=1e-3)
    assert (found.sign, Mean.of([1.0, 1.01]).sign, Mean.of([-1.0, -1.01]).sign) == (0, 1, -1)
    alone = Mean.of([2.0])
    assert (alone.half, alone.sign, str(alone)) == (None, 0, "2.000")
    assert Mean.of([1.0, 1.2]).written(1, signed=True) == "+1.1 ± 1.3"


def test_the_interval_of_a_mean_holds_it_as_often_as_it_says() -> None:
    draw = random.Random(0)
    held = 0
    for _ in range(2000):
        found = Mean.of([draw.gauss(3, 2) for _ in range(3)])
        assert found.half is not None
        held += abs(found.mean - 3) <= found.half
    assert 0.935 < held / 2000 < 0.965


@pytest.mark.parametrize(("hits", "of"), [(0, 200), (200, 200), (7, 10), (50, 100)])
def test_wilsons_bounds_solve_his_equation(hits: int, of: int) -> None:
    """At either bound p the share is 1.96 deviations of p away: that is how they are defined."""
    for bound in share_interval(hits, of):
        if 0 < bound < 1:
            away = 1.959964 * math.sqrt(bound * (1 - bound) / of)
            assert abs(hits / of - bound) == pytest.approx(away, rel=1e-6, abs=1e-8)
    low, high = share_interval(hits, of)
    assert 0 <= low <= hits / of <= high <= 1


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0, 1.37])
def test_exponents(power: float) -> None:
    sizes = [3, 10, 50, 200]
    assert exponent(sizes, [5 * size**power for size in sizes]) == pytest.approx(power)
