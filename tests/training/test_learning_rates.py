"""The learning rate: a rise, then the decay that was asked for."""

import math

import pytest

from indicial.program.messages import IndicialError
from indicial.training.schedule import SHAPES, Schedule


@pytest.mark.parametrize("shape", SHAPES)
def test_warm_up_is_a_straight_line_to_the_peak(shape: str) -> None:
    schedule = Schedule(0.4, steps=100, warmup=8, shape=shape)
    assert [schedule.at(step) for step in range(8)] == pytest.approx(
        [0.05 * n for n in range(1, 9)]
    )
    assert schedule.at(8) == pytest.approx(0.4)


def test_cosine() -> None:
    schedule = Schedule(2.0, steps=110, warmup=10, floor=0.1)
    for step in range(10, 110):
        share = (step - 10) / 100
        assert schedule.at(step) == pytest.approx(0.2 + 1.8 * (1 + math.cos(math.pi * share)) / 2)


def test_linear_falls_by_the_same_amount_at_each_step_and_never_to_zero() -> None:
    rates = [Schedule(1.0, steps=50, shape="linear").at(step) for step in range(50)]
    assert rates == pytest.approx([(50 - n) / 50 for n in range(50)])
    assert rates[-1] > 0


def test_wsd_is_stable_and_falls_at_the_end() -> None:
    rates = [Schedule(1.0, 100, 10, "wsd", decay=0.2).at(step) for step in range(100)]
    assert rates[10:80] == [1.0] * 70
    assert rates[80:] == pytest.approx([(100 - n) / 20 for n in range(80, 100)])


def test_constant_and_beyond_the_end() -> None:
    assert {Schedule(0.3, 10, shape="constant").at(step) for step in range(20)} == {0.3}
    assert Schedule(0.3, 10).at(500) == Schedule(0.3, 10).at(9) > 0


def test_warm_up_over_all_steps() -> None:
    assert [Schedule(1.0, 4, 4).at(step) for step in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"shape": "cosinus"}, "did you mean cosine"),
        ({"peak": 0.0}, "above 0"),
        ({"peak": math.nan}, "above 0"),
        ({"steps": 0}, "at least 1"),
        ({"warmup": 11}, "does not fit into 10 steps"),
        ({"floor": 2.0}, "between 0 and 1"),
        ({"decay": 0.0}, "above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(values: dict[str, float], says: str) -> None:
    with pytest.raises(IndicialError, match=says):
        Schedule(**{"peak": 1.0, "steps": 10, **values})  # type: ignore[arg-type]
