"""Answers are tried by values: equivalent forms, slips, and what only looks like an answer."""

from pathlib import Path

import pytest

from indicial.exercises.asking import Grade, ask
from indicial.exercises.grading import Grader

PROBLEMS = Path(__file__).resolve().parents[2] / "docs" / "problems"

SHEET = """\
# Heads

## Scores

```indicial
input x[t,j]
Query[t,i] = W^Q[i,J] x[t,J]
Key[t,i] = W^K[i,J] x[t,J]
s[t_1,t_2] = Query[t_1,I] Key[t_2,I]
α[t_1,t_2] = softmax_{t_2} s[t_1,t_2]
```

**(a)** Which matrix $M$ gives the same scores?

The product of the two.

```indicial
M[j_1,j_2] = W^Q[I,j_1] W^K[I,j_2]
claim x[t_1,J_1] M[J_1,J_2] x[t_2,J_2] = s[t_1,t_2]
claim Σ_{t_2} α[t_1,t_2] = 1
claim α[t_1,t_2] ≤ 1
claim false: α[t_1,t_2] = α[t_2,t_1]
claim parameters of α = 2 I J
```

## A mean

```indicial
input x[t]
m = 1/T Σ_t x[t]
```

**(b)** What is its slope?

```indicial
constant first[n] = [1, 4, 9]
claim ∂m/∂x[t] = 1/T
y[n] = (n+1)^2
claim y[n] = first[n] for n ≤ 2
```
"""


@pytest.fixture(scope="module")
def grader() -> Grader:
    return Grader(ask(SHEET, "heads.md"))


def shares(grader: Grader, label: str, answers: list[str]) -> list[float]:
    return [grader.grade(label, answer).share for answer in answers]


def test_what_is_asked(grader: Grader) -> None:
    kinds = {label: gap.kind for label, gap in grader.gaps.items()}
    assert kinds == {
        "a1": "definition",
        "a2": "value",
        "a3": "value",
        "a4": "bound",
        "a5": "verdict",
        "a6": "value",
        "b1": "constant",
        "b2": "value",
    }


def test_a_definition_in_another_form_is_right(grader: Grader) -> None:
    right = [
        "Σ_i W^K[i,j_2] W^Q[i,j_1]",
        r"\sum_i W^Q[i,j_1] W^K[i,j_2]",
        r"$\sum_i W^Q_{i,j_1} W^K_{i,j_2}$",
        "W^Q[I,j_1] W^K[I,j_2] + 0 x[0,0]",
    ]
    assert shares(grader, "a1", right) == [1, 1, 1, 1]


def test_a_wrong_definition_has_a_counterexample(grader: Grader) -> None:
    found = grader.grade("a1", "W^Q[I,j_2] W^K[I,j_1]")
    assert found.share == 0
    assert "it is" in found.told and "should be" in found.told and "with W^Q =" in found.told


@pytest.mark.parametrize(
    "label, answer, factor",
    [("a1", "-W^Q[I,j_1] W^K[I,j_2]", "-1"), ("a6", "I J", "2"), ("b2", "3/T", "1/3")],
)
def test_a_lost_factor_is_half_right(grader: Grader, label: str, answer: str, factor: str) -> None:
    found = grader.grade(label, answer)
    assert found.share == 0.5
    assert f"right but for a factor of {factor}:" in found.told


def test_bounds_are_sharp_or_half_or_of_no_use(grader: Grader) -> None:
    assert shares(grader, "a4", ["2/2", "1.5", "10^9", "0.9"]) == [1, 0.5, 0, 0]


def test_a_constant_that_is_a_factor_is_given() -> None:
    gaps = ask(PROBLEMS / "temperature.md").gaps
    assert [label for label, gap in gaps.items() if gap.kind == "constant"] == []
    assert gaps["e1"].key == "M (P[w] - [w = 0])"


CHAIN = """\
# C

## A

```indicial
input x[t]
α[t] = softmax_t x[t]
claim 0 ≤ α[t] ≤ 1
claim α[t] + α[t'] ≤ 1 for t ≠ t'
```
"""


def test_bounds_of_a_chain_and_with_a_condition() -> None:
    chain = Grader(ask(CHAIN, "c.md"))
    assert shares(chain, "2.1", ["0 + 0", "-1", "0.1"]) == [1, 0.5, 0]
    assert shares(chain, "2.2", ["0 + 1", "2", "α[t] + 0"]) == [1, 0.5, 0]
    assert shares(chain, "2.3", ["2/2", "1.5", "0.9"]) == [1, 0.5, 0]


def test_verdicts_are_told_with_the_values_that_show_them(grader: Grader) -> None:
    assert grader.grade("a5", "does not hold").share == 1
    wrong = grader.grade("a5", "true")
    assert wrong.share == 0 and "it is false:" in wrong.told and "with x =" in wrong.told
    assert grader.grade("a5", "perhaps").word == "unread"


def test_numbers_of_a_constant_count_one_by_one(grader: Grader) -> None:
    assert shares(grader, "b1", ["[1, 4, 9.0]", "[1, 5, 9]", "[1, 4]"]) == [1, 0.6667, 0]


def test_what_is_said_twice_says_nothing(grader: Grader) -> None:
    answers = [
        "x[t_1,J_1] M[J_1,J_2] x[t_2,J_2]",  # the left side again
        "(x[t_1,J_1] M[J_1,J_2] x[t_2,J_2]) + 0",
        "Σ_{j_1,j_2} x[t_1,j_1] M[j_1,j_2] x[t_2,j_2]",  # and in other words
    ]
    assert shares(grader, "a2", answers) == [0, 0, 0]
    assert grader.grade("b2", "∂m/∂x[t]").share == 0
    assert grader.grade("a6", "parameters of α").share == 0


def test_a_given_name_cannot_be_defined_again(grader: Grader) -> None:
    cheat = grader.grade("a3", "2", ["α[t_1,t_2] = 2 [t_2 = 0]"])
    assert cheat.share == 0
    assert "α is given by the sheet" in cheat.told


def test_names_of_ones_own_may_be_defined(grader: Grader) -> None:
    own = ["A[j,i] = W^Q[i,j]"]
    assert grader.grade("a1", "A[j_1,I] W^K[I,j_2]", own).share == 1


@pytest.mark.parametrize(
    "answer",
    [
        "1 for t_1 < 0",
        "1 within 100",
        "1, s[t_1,t_2] = 0",
        "1\nclaim 1 = 1",
        "1 ≤ 2",
        "O(T)",
        "ln(-1)",
        "1 + 0/[x[0,0] > 0]",
        "Q",
        "((((",
        "___1",
        "\x00\x1b[2J",
    ],
)
def test_what_is_no_answer_gets_nothing(grader: Grader, answer: str) -> None:
    found = grader.grade("a3", answer)
    assert found.share == 0
    assert found.told


def test_an_empty_gap_is_empty(grader: Grader) -> None:
    assert [grader.grade("a3", text).word for text in ("", "___", " \n")] == ["empty"] * 3


def test_a_growth_is_half_of_an_exact_cost() -> None:
    run_time = Grader(ask(PROBLEMS / "run_time.md"))
    assert run_time.grade("a1", "O(T)").share == 0.5
    assert run_time.grade("a1", "J T (2 J + 2 K + 3)").share == 1
    assert run_time.grade("a2", "O(T^2)") == Grade(
        0.0, "2 J² T + 2 J K T + 2 J T V + 3 J T + 3 T V + 2 T is O(T), not O(T²)"
    )


def test_an_answer_that_ties_two_sizes_is_told_so() -> None:
    bilinear = Grader(ask(PROBLEMS / "bilinear.md"))
    found = bilinear.grade("b1", "W^Q[k,j_1,j_2] W^K[k,j_1,j_2]")
    assert found.share == 0 and "would have to be" in found.told
