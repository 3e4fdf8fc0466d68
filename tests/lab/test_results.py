"""Means and intervals, tables, and what is kept on disk."""

from __future__ import annotations

import math
import random
from pathlib import Path
from statistics import fmean, variance

import pytest

from indicial.lab.trials import (
    Result,
    groups,
    markdown,
    notes,
    plain,
    pooled_deviation,
    rows,
    spread,
)


def result(model: str, asked: int, seed: int, loss: float, **more: object) -> Result:
    made = {
        "model": model, "asked": asked, "parameters": asked - 7, "seed": seed, "sizes": {"J": 8},
        "learning_rate": 0.01, "step": 10, "of": 10, "tokens": 1000, "seconds": 2.0,
        "tokens_per_second": 500.0, "loss": loss, **more,
    }  # fmt: skip
    return Result(**made)  # type: ignore[arg-type]


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    one = result("gru", 1000, 1, 1.5, above_entropy=0.25)
    assert Result.read(tmp_path) is None
    one.write(tmp_path)
    assert Result.read(tmp_path) == one
    (tmp_path / "result.json").write_text('{"model": "gr')
    assert Result.read(tmp_path) is None


@pytest.mark.parametrize(
    ("larger", "said"), [(1.5, "falls by 0.100 to 0.500"), (2.5, "changes by -0.100 to +0.500")]
)
def test_what_more_parameters_do(larger: float, said: str) -> None:
    losses = {("rnn", 1000): 2.0, ("rnn", 2000): larger, ("gru", 1000): 1.0, ("gru", 2000): 0.9}
    made = [result(model, asked, 0, loss) for (model, asked), loss in losses.items()]
    (line,) = spread(groups(made))
    assert f"From 1k to 2k parameters the loss {said}, depending" in line


def test_the_pooled_deviation_of_two_samples() -> None:
    one, two = [1.0, 2.0, 4.0], [10.0, 11.0]
    deviation, freedom = pooled_deviation([one, two, [5.0]])
    assert freedom == 3
    assert math.isclose(deviation, math.sqrt((2 * variance(one) + variance(two)) / 3))


def test_an_interval_holds_the_truth_in_95_of_100() -> None:
    drawn = random.Random(0)
    held = total = 0
    for _ in range(300):
        results = [
            result(model, 1000, seed, drawn.gauss(truth, 0.1))
            for model, truth in (("a", 1.0), ("b", 2.0), ("c", 3.0))
            for seed in range(2)
        ]
        for group, truth in zip(groups(results), (1.0, 2.0, 3.0), strict=True):
            assert group.half is not None
            held += abs(group.mean - truth) < group.half
            total += 1
    assert 0.92 < held / total < 0.98


def test_one_seed_has_no_interval() -> None:
    (group,) = groups([result("a", 1000, 0, 1.25)])
    assert group.half is None and group.mean == 1.25
    assert rows([group])[0]["nats/token"] == "1.250"


def test_a_table_for_a_terminal_and_in_markdown() -> None:
    losses = {("rnn", 1000): (2.0, 2.2), ("rnn", 9000): (1.0, 1.2), ("gru", 1000): (1.9, 2.1),
              ("gru", 9000): (0.9, 1.1)}  # fmt: skip
    found = groups([
        result(model, asked, seed, loss, above_entropy=loss / 2, finished=loss != 1.1)
        for (model, asked), both in losses.items()
        for seed, loss in enumerate(both)
    ])  # fmt: skip
    table = rows(found)
    lines = plain(table).splitlines()
    assert lines[0].split() == ["model", "parameters", "tokens/s", "nats/token", "above", "entropy"]
    assert lines[1].split()[:4] == ["rnn", "993", "500", "2.100"]
    assert max(map(len, lines)) < 80
    assert markdown(table).splitlines()[1] == "| --- | ---: | ---: | ---: | ---: |"
    text = " ".join(notes(found))
    assert "falls by 1.000 to 1.000" in text and "of one size are 0.100 to 0.100 apart" in text
    assert "*: stopped" in text and lines[4].split()[5].endswith("*")
    assert fmean(losses["gru", 9000]) == pytest.approx(1.0)
