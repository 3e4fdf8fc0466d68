"""Matrices in the page are judged as `design.check` does, learned as `design.train`, compared as `compare`."""

import json
from typing import Any

import numpy as np
import pytest

from indicial.designs.hand import hand
from indicial.page.protocol import QUESTIONS
from indicial.page.wire import answer, checked


def asked(name: str, **question: object) -> Any:
    told = answer(name, question)
    assert "answer" in told, told
    json.dumps(told, allow_nan=False)
    checked(QUESTIONS[name][1], told["answer"], "the answer")
    return told["answer"]


def values(matrices: list[dict[str, Any]]) -> dict[str, list[float]]:
    return {matrix["name"]: matrix["values"] for matrix in matrices}


@pytest.mark.parametrize("task", ["content", "position", "unique"])
def test_the_design_by_hand_is_right(task: str) -> None:
    found = asked("design", task=task)
    for matrix in found["matrices"]:
        assert len(matrix["values"]) == len(matrix["rows"]) * len(matrix["columns"])
    judged = asked("judge", task=task, matrices=values(found["matrices"]))
    same = hand(task).check(task)
    assert (judged["wrong"], judged["cases"]) == (0, len(same.answered))
    assert judged["margin"] == pytest.approx(same.margin, abs=1e-4)


def test_what_is_wrong_is_listed() -> None:
    matrices = values(asked("design", task="position")["matrices"])
    judged = asked("judge", task="position", matrices={**matrices, "W^K": [0.0] * 7})
    assert judged["wrong"] > 0
    assert judged["margin"] <= 0
    assert any("should be" in line for line in judged["told"])
    # Without a key every place is looked at alike.
    weights = np.array(judged["weights"]["values"]).reshape(len(judged["weights"]["rows"]), -1)
    assert np.allclose(weights, 1 / len(weights), atol=1e-5)


@pytest.mark.parametrize(
    "change",
    [{"W^Q": [1.0]}, {"W^Q": [1e9] * 7}, {"W^Q": None}],
)
def test_numbers_that_do_not_fit_are_told(change: dict[str, Any]) -> None:
    matrices = values(asked("design", task="position")["matrices"]) | change
    matrices = {name: numbers for name, numbers in matrices.items() if numbers is not None}
    assert "W^Q" in answer("judge", {"task": "position", "matrices": matrices})["error"]


def test_no_other_task_is_known() -> None:
    for task in ("nothing", "../x.json", ""):
        assert "there is no design" in answer("design", {"task": task})["error"]


def test_learned_and_by_hand_side_by_side() -> None:
    learned = asked("learn", task="position", steps=40, rate=0.2, seed=1)
    same = hand("position").train("position", steps=40, rate=0.2, seed=1)
    for matrix in learned["matrices"]:
        assert np.allclose(matrix["values"], same.arrays[matrix["name"]].ravel(), rtol=1e-4)
    own = values(asked("design", task="position")["matrices"])
    both = asked("beside", task="position", matrices=own, other=values(learned["matrices"]))
    assert len(both["sentences"]) > 3
    assert [m["name"] for m in both["products"]] == [
        "scores, yours", "values, yours", "scores, learned", "values, learned",
    ]  # fmt: skip
