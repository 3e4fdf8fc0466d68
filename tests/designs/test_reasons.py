"""Why two designs differ: what a part does is what the cases do without it."""

from dataclasses import replace

import numpy as np
import pytest

from indicial.designs.checking import TASKS, run_cases
from indicial.designs.circuits import circuits
from indicial.designs.design import Design
from indicial.designs.hand import HAND, hand
from indicial.designs.reasons import products_outputs, reasons, run_products
from indicial.program.messages import IndicialError


def changed(name: str, **arrays: np.ndarray) -> Design:
    design = hand(name)
    return replace(design, arrays={**design.arrays, **arrays}, name="other")


@pytest.mark.parametrize("name", sorted(HAND))
def test_products_give_the_outputs_of_the_module(name: str) -> None:
    design, task = hand(name), TASKS[name]
    random = np.random.default_rng(0)
    for made in (design, _noisy(design, random)):
        found = run_products(circuits(made), task)
        longest = [n for n, case in enumerate(task.cases) if len(case.tokens) == task.places]
        expected = run_cases(made.module, made.token_input, [task.cases[n] for n in longest])
        np.testing.assert_allclose([found.arrays[n] for n in longest], expected, atol=1e-9)
        assert len(found.wrong) == len(made.check(task).failures)


def _noisy(design: Design, random: np.random.Generator) -> Design:
    arrays = {n: a + random.normal(0, 0.5, a.shape) for n, a in design.arrays.items()}
    return replace(design, arrays=arrays)


def test_the_same_design_has_no_differences() -> None:
    design = hand("position")
    assert reasons(design.compare(changed("position")), "position") == []


def test_what_no_case_decides_is_free() -> None:
    """Places that get e^-10 of the weight are told apart by no output."""
    key = hand("position").arrays["W^K"].copy()
    key[0, 5] = -6  # the third place is looked at even less
    (found,) = reasons(hand("position").compare(changed("position", **{"W^K": key})), "position")
    assert found.part.what == "Scores of tokens for positions" and found.kind == "free"
    assert "none of the 120 cases decides it" in str(found)


def test_less_of_the_same_is_a_matter_of_degree() -> None:
    other = changed("position", **{"W^K": hand("position").arrays["W^K"] / 3})
    (found,) = reasons(hand("position").compare(other), "position")
    assert found.kind == "degree" and found.margins[1] > found.margins[0]
    # By hand: the first place has e^{10/3} of the weight of each of the others.
    share = np.exp(10 / 3) / (np.exp(10 / 3) + 3)
    assert len(found.case.tokens) == 4
    assert found.before == pytest.approx(share) or found.before == pytest.approx(1 - share)
    assert "“other” is less certain for it" in str(found)


def test_two_differences_that_make_up_for_each_other_are_told_together() -> None:
    """Looking at the wrong token of two, with values exchanged: each alone is wrong, both are right."""
    name, swap = "content", [1, 0, 2]
    design = hand(name)
    query, value = design.arrays["W^Q"].copy(), design.arrays["W^V"].copy()
    query[:, [0, 1]] = query[:, [1, 0]]
    value[swap] = value[[0, 1, 2]]
    other = changed(name, **{"W^Q": query, "W^V": value})
    texts = np.array([[0, 1, 2]])
    np.testing.assert_allclose(
        products_outputs(circuits(other), texts),
        products_outputs(circuits(design), texts),
        atol=1e-3,
    )
    found = {reason.part.what: reason for reason in reasons(design.compare(other), name)}
    scores = found["Scores of tokens for tokens"]
    assert scores.turned and scores.kind in ("together", "needed")
    assert len(scores.turned) > 1
    assert "turn wrong" in str(scores)


def test_the_report_has_the_reasons() -> None:
    other = changed("position", **{"W^K": hand("position").arrays["W^K"] / 3})
    comparison = hand("position").compare(other)
    assert "Why they differ" in comparison.told("position")
    assert comparison.reasons("position")[0].to_json()["kind"] == "degree"


def test_a_task_that_does_not_fit_is_refused() -> None:
    comparison = hand("position").compare(changed("position"))
    with pytest.raises(IndicialError, match="tokens"):
        comparison.reasons("unique")
