"""Designs: what they are made of, every case of a task, files, learning."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import indicial
from indicial import IndicialError
from indicial.designs.checking import TASKS, Task, named_task
from indicial.designs.design import Design
from indicial.designs.hand import HAND, hand


def selects(design: Design, tokens: tuple[int, ...]) -> np.ndarray:
    """The same head in numpy."""
    a = design.arrays
    x = np.hstack([np.eye(len(design.tokens))[list(tokens)], a["pos"][: len(tokens)]])
    q, k, v = (x @ a[f"W^{n}"].T for n in "QKV")
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


# ---------------------------------------------------------------------- tasks


@pytest.mark.parametrize(("name", "count"), [("content", 1092), ("position", 120), ("unique", 120)])
def test_a_task_has_every_sequence(name: str, count: int) -> None:
    cases = named_task(name).cases
    assert len(cases) == len({case.tokens for case in cases}) == count


def test_answers() -> None:
    found = {
        name: {TASKS[name].text(c.tokens): c.answers for c in named_task(name).cases}
        for name in TASKS
    }
    assert found["content"]["CAB"] == (2, 0, 1)
    assert found["position"]["CAB"] == (2, 2, 2)
    assert found["unique"]["*ABA"] == (None, 1, 0, 1)
    with pytest.raises(IndicialError, match="did you mean position"):
        named_task("postion")


# ---------------------------------------------------------------------- made by hand


@pytest.mark.parametrize("name", HAND)
def test_every_case_is_right(name: str) -> None:
    design = hand(name)
    found = design.check(name)
    assert found.passed and found.margin > (0.8 if name == "unique" else 0.99)
    margins, errors = [], []
    for case in named_task(name).cases:
        y = selects(design, case.tokens)
        for place, answer in enumerate(case.answers):
            if answer is not None:
                margins.append(y[place, answer] - np.delete(y[place], answer).max())
                errors.append((y[place] - np.eye(y.shape[1])[answer]) ** 2)
    assert found.margin == pytest.approx(min(margins))
    assert found.squared_error == pytest.approx(np.mean(errors), abs=1e-12)


def test_a_wrong_design_is_found_out() -> None:
    right = hand("position")
    swapped = right.arrays["pos"][[1, 0, 2, 3]]
    arrays = {"Q": right.arrays["W^Q"], "K": right.arrays["W^K"], "V": right.arrays["W^V"]}
    found = indicial.design("selects", **arrays, positions=swapped).check("position")
    # It copies the second token: wrong wherever that is another than the first.
    wrong = [
        c.tokens
        for c in named_task("position").cases
        if len(c.tokens) > 1 and c.tokens[0] != c.tokens[1]
    ]
    assert [one.case.tokens for one in found.failures] == wrong
    assert not found.passed and found.margin < -0.9
    assert f"{len(wrong)} of 120 sequences are wrong" in str(found)


def test_a_tie_is_wrong() -> None:
    zero = np.zeros((3, 7))
    found = indicial.design("selects", Q=zero, K=zero, V=zero, positions=np.eye(4)).check(
        "position"
    )
    assert len(found.failures) == 120 and found.margin == 0


def test_cls_alone_cannot_tell() -> None:
    """A place that no token stands at: AA + BB = AB + BA, so no head tells them apart there."""
    design = hand("unique")
    rows = {text: design.run(f"*{text}")["y"][0] for text in ("AA", "BB", "AB", "BA")}
    margin = {text: y[0] - y[1] for text, y in rows.items()}
    assert not (max(margin["AA"], margin["BB"]) < 0 < min(margin["AB"], margin["BA"]))


@pytest.mark.parametrize("factor", [1.0, 1e3, 1e6, -1e6])
def test_softmax_does_not_overflow(factor: float) -> None:
    made = hand("content")
    q, k = factor * made.arrays["W^Q"], 1e6 * made.arrays["W^K"]
    design = indicial.design(
        "selects", Q=q, K=k, V=made.arrays["W^V"], positions=made.arrays["pos"]
    )
    weights = design.run("ABCCBA", ["α"])["α"]
    assert np.isfinite(weights).all()
    np.testing.assert_allclose(weights.sum(-1), 1)
    assert design.check("content").passed == (factor > 0)
    assert indicial.compare(made, design).parts[0].cosine == pytest.approx(np.sign(factor))


# ---------------------------------------------------------------------- what is written down


def test_equations_in_place_of_arrays() -> None:
    made = indicial.design(
        "selects",
        "W^Q[i,c] = 4 [i = c]\nW^K[i,c] = 4 [i = c]\nW^V[o,c] = [o = c]",
        sizes={"I": 3, "V": 3, "O": 3},
        positions=np.zeros((6, 1)),
    )
    assert made.arrays["W^Q"].tolist() == (4 * np.eye(3, 4)).tolist()
    assert made.check("content").passed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K": None}, "nothing is given for W\\^K"),
        ({"Qu": np.zeros((3, 4))}, "no parameter Qu"),
        ({"W^Q": np.zeros((3, 4))}, "given twice"),
        ({"Q": np.zeros(3)}, "2 indices, and the array given for it has 1"),
        ({"Q": np.full((3, 4), np.nan)}, "not finite"),
        ({"Q": [[1, 2], [3]]}, "not an array of numbers"),
        ({"Q": np.zeros((3, 5))}, "W\\^"),
        ({"tokens": "AB"}, "3 tokens and 2 names"),
    ],
)
def test_what_does_not_fit(change: dict[str, object], message: str) -> None:
    given = {
        "Q": np.zeros((3, 4)),
        "K": np.zeros((3, 4)),
        "V": np.zeros((3, 4)),
        "positions": np.zeros((6, 1)),
    } | change
    with pytest.raises(IndicialError, match=message):
        indicial.design("selects", **{n: v for n, v in given.items() if v is not None})


def test_a_task_that_does_not_fit() -> None:
    with pytest.raises(IndicialError, match="4 tokens"):
        hand("content").check("unique")
    with pytest.raises(IndicialError, match="sequences of 6 tokens, and position by hand has"):
        hand("position").check("content")
    several = Task("two", ("A", "B", "C"), ("yes", "no"), 2, lambda tokens: [0] * len(tokens))
    with pytest.raises(IndicialError, match="2 outputs"):
        hand("content").check(several)


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize("name", HAND)
def test_a_file_gives_the_same_design(name: str, tmp_path: Path) -> None:
    design = hand(name)
    again = Design.load(design.save(tmp_path / "design.json"))
    assert again.tokens == design.tokens and again.name == design.name
    assert {n: a.tolist() for n, a in again.arrays.items()} == {
        n: a.tolist() for n, a in design.arrays.items()
    }
    assert again.check(name).margin == design.check(name).margin


def test_files_that_are_no_designs(tmp_path: Path) -> None:
    path = hand("content").save(tmp_path / "design.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    for text, message in [
        ("[1, 2", "damaged"),
        ("{}", "not a design"),
        (json.dumps(content | {"format": 99}), "format 99"),
        (json.dumps({k: v for k, v in content.items() if k != "arrays"}), "damaged"),
        (json.dumps(content | {"arrays": {}}), "nothing is given for"),
    ]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(IndicialError, match=message):
            Design.load(path)
    with pytest.raises(IndicialError, match="cannot read"):
        Design.load(tmp_path / "none.json")


# ---------------------------------------------------------------------- learning


def test_learning_by_position() -> None:
    learned = hand("position").train("position", steps=1500, rate=0.2)
    found = learned.check("position")
    assert found.passed and found.squared_error < 0.001
    # It found what was designed: tokens of the query look for position 0.
    first = indicial.compare(hand("position"), learned).parts[1]
    assert first.what == "Scores of tokens for positions"
    assert first.cosine is not None and first.cosine > 0.95


def test_learning_is_the_same_again_and_uses_no_matrix_of_the_design() -> None:
    one = hand("content").train("content", steps=5, seed=3)
    zero = Design(
        one.program, one.sizes, {n: 0 * a for n, a in one.arrays.items()}, one.tokens
    ).train("content", steps=5, seed=3)
    assert {n: a.tolist() for n, a in one.arrays.items()} == {
        n: a.tolist() for n, a in zero.arrays.items()
    }
    other = hand("content").train("content", steps=5, seed=4)
    assert one.arrays["W^Q"].tolist() != other.arrays["W^Q"].tolist()
    with pytest.raises(IndicialError, match="smaller rate"):
        hand("content").train("content", steps=200, rate=1e6)


def own(answer: object, **change: object) -> Task:
    """A task of one's own: what a function answers for a sequence."""
    given = {"tokens": tuple("ABC"), "outputs": tuple("ABC"), "longest": 2, **change}
    return Task("mine", answer=lambda tokens: answer, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (own([None]), "gives 1 answers for the 2 tokens of AA"),
        (own(3), "gives 3 for the 1 tokens of A"),
        (own([5]), "answers 5 for A; an answer is the number of an output, 0 to 2"),
        (own([-1]), "answers -1 for A"),
        (own([0.5]), "answers 0.5 for A"),
        (own([None], longest=1), "asks nothing"),
        (own([0], longest=0), "needs a length of at least 1"),
        (own([0], outputs=("A",)), "two outputs to choose from"),
        (own([0], front=(9,)), "has token 9 in front, and its tokens are 0 to 2"),
        (own([0], longest=40), "1,000,000 is the limit"),
    ],
)
def test_a_task_of_ones_own_that_is_none(made: Task, message: str) -> None:
    with pytest.raises(IndicialError, match=message):
        _ = made.cases


def test_sequences_of_which_nothing_is_asked_are_left_out() -> None:
    def last_of_two(tokens: tuple[int, ...]) -> list[int | None]:
        return [None] if len(tokens) == 1 else [tokens[-1], tokens[-1]]

    made = Task("last", tuple("ABC"), tuple("ABC"), 2, last_of_two)
    assert len(made.cases) == 9
    found = hand("position").check(made)
    assert [f.case.tokens for f in found.failures] == [
        (a, b) for a, b in np.ndindex(3, 3) if a != b
    ]


@pytest.mark.parametrize("what", [3, None, ["position"]])
def test_what_is_no_task(what: object) -> None:
    with pytest.raises(IndicialError, match="is not a task"):
        hand("position").check(what)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K": np.zeros((1, 7)) + 1j}, "complex"),
        ({"K": np.zeros((0, 7)), "Q": np.zeros((0, 7))}, "no elements"),
        ({"tokens": ["A", "A", "B"]}, "a name of its own, and they are 'A', 'A', 'B'"),
        ({"tokens": ["A", "", "B"]}, "a name of its own"),
    ],
)
def test_more_that_does_not_fit(change: dict[str, object], message: str) -> None:
    given = {"Q": np.ones((1, 7)), "K": np.ones((1, 7)), "V": np.eye(3, 7), "positions": np.eye(4)}
    with pytest.raises(IndicialError, match=message):
        indicial.design("selects", **{**given, **change})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "settings", [{"steps": 1.5}, {"seed": -1}, {"deviation": -1.0}, {"deviation": float("nan")}]
)
def test_settings_of_training_that_are_none(settings: dict[str, float]) -> None:
    with pytest.raises(IndicialError, match="whole numbers"):
        hand("position").train("position", **settings)


def test_scores_too_large_to_be_computed_are_said_to_be() -> None:
    """Each factor is a number, and their product is not."""
    design = hand("position")
    large = {name: array * 1e300 for name, array in design.arrays.items() if name != "pos"}
    found = indicial.design("selects", **large, pos=design.arrays["pos"]).check("position")
    assert not found.passed
    assert "the scores are too large to be computed" in str(found)


def test_only_designs_are_compared() -> None:
    with pytest.raises(IndicialError, match="3 is neither a design nor a run"):
        indicial.compare(hand("position"), 3)  # type: ignore[arg-type]
