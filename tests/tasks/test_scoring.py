"""Scores by their definitions, element by element; sums of parts are the sum of all."""

from __future__ import annotations

import numpy as np
import pytest

from indicial.tasks.task import MOST, Classes, Nothing, Right, Squares

RANDOM = np.random.default_rng(5)


def macro_f1(true: np.ndarray, found: np.ndarray, count: int) -> float:
    each = []
    for c in range(count):
        both = int(((true == c) & (found == c)).sum())
        if not ((true == c) | (found == c)).any():
            continue
        precision = both / max(1, int((found == c).sum()))
        recall = both / max(1, int((true == c).sum()))
        each.append(2 * precision * recall / (precision + recall) if both else 0.0)
    return float(np.mean(each))


@pytest.mark.parametrize("count", [2, 7, MOST + 1])
def test_accuracy_and_f1(count: int) -> None:
    true = RANDOM.integers(0, count, 500)
    found = np.where(RANDOM.random(500) < 0.6, true, RANDOM.integers(0, count, 500))
    scoring = Classes([str(n) for n in range(count)])
    tally = scoring.begin()
    scoring.add(tally, true[:200], found[:200])
    other = scoring.begin()
    scoring.add(other, true[200:], found[200:])
    figures = scoring.figures(tally + other)
    assert figures["accuracy"] == pytest.approx((true == found).mean())
    assert figures["macro F1"] == pytest.approx(macro_f1(true, found, count))
    table = scoring.confusion(tally + other)
    assert (table is None) == (count > MOST)
    if table is not None:
        assert table[1, 0] == ((true == 1) & (found == 0)).sum()


def test_right_and_squares() -> None:
    right = Right()
    tally = right.begin()
    right.add(tally, np.array([1, 2, 3]), np.array([1, 0, 3]))
    assert right.figures(tally) == {"accuracy": pytest.approx(2 / 3)}
    y = RANDOM.normal(3, 2, 100)
    close = y + RANDOM.normal(0, 0.5, 100)
    squares = Squares()
    tally = squares.begin()
    squares.add(tally, y, close)
    expected = 1 - ((y - close) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert squares.figures(tally)["R²"] == pytest.approx(expected)
    assert Nothing().figures(Nothing().begin()) == {}
