"""The learning rate: a rise, then the fall of a cosine."""

import math

import pytest

from indicial.program.messages import IndicialError
from indicial.training.optimizers import Schedule


def test_warm_up_is_a_straight_line_to_the_peak() -> None:
    schedule = Schedule(0.4, steps=100, warmup=8)
    assert [schedule.at(step) for step in range(8)] == pytest.approx(
        [0.05 * n for n in range(1, 9)]
    )
    assert schedule.at(8) == pytest.approx(0.4)


def test_cosine() -> None:
    schedule = Schedule(2.0, steps=110, warmup=10)
    for step in range(10, 110):
        share = (step - 10) / 100
        assert schedule.at(step) == pytest.approx(1 + math.cos(math.pi * share))


def test_beyond_the_end() -> None:
    assert Schedule(0.3, 10).at(500) == Schedule(0.3, 10).at(9) > 0


def test_warm_up_over_all_steps() -> None:
    assert [Schedule(1.0, 4, 4).at(step) for step in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"peak": 0.0}, "above 0"),
        ({"peak": math.nan}, "above 0"),
        ({"steps": 0}, "at least 1"),
        ({"warmup": 11}, "does not fit into 10 steps"),
    ],
)
def test_what_makes_no_sense_is_refused(values: dict[str, float], says: str) -> None:
    with pytest.raises(IndicialError, match=says):
        Schedule(**{"peak": 1.0, "steps": 10, **values})  # type: ignore[arg-type]
