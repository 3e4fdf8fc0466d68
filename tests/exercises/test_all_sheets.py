"""Every sheet of docs/problems as an exercise: its own answers, none, and a planted wrong one."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from indicial.exercises.answers import Answers, answers_of
from indicial.exercises.asking import Exercise, ask
from indicial.exercises.grading import Grader
from indicial.exercises.handout import latex, markdown, notebook
from indicial.exercises.marks import marks_of

PROBLEMS = Path(__file__).resolve().parents[2] / "docs" / "problems"
SHEETS = sorted(path for path in PROBLEMS.glob("*.md") if path.stem != "README")

every_sheet = pytest.mark.parametrize("path", SHEETS, ids=lambda path: path.stem)


@cache
def graded(path: Path) -> Grader:
    return Grader(ask(path))


def handed_in(exercise: Exercise, filled: bool) -> list[Answers]:
    """The three handouts, read back as answers."""
    keys = {label: gap.key for label, gap in exercise.gaps.items()} if filled else None
    texts = {
        "answers.md": markdown(exercise, keys),
        "answers.ipynb": json.dumps(notebook(exercise, keys)),
        "answers.tex": latex(exercise, keys),
    }
    return [answers_of(text, name, exercise) for name, text in texts.items()]


@every_sheet
def test_the_sheets_own_answers_get_full_marks_in_each_format(path: Path) -> None:
    grader = graded(path)
    for answers in handed_in(grader.exercise, filled=True):
        marks = marks_of(answers, grader.exercise, grader)
        assert {n: grade.told for n, grade in marks.wrong.items()} == {}
        assert marks.points == marks.of > 0
        assert answers.own == {} and not answers.remarks


@every_sheet
def test_an_empty_handout_gets_none(path: Path) -> None:
    grader = graded(path)
    for answers in handed_in(grader.exercise, filled=False):
        assert answers.filled == {}
        assert marks_of(answers, grader.exercise, grader).points == 0


@every_sheet
def test_a_handout_does_not_tell_its_answers(path: Path) -> None:
    exercise = graded(path).exercise
    text = markdown(exercise)
    for question in exercise.questions.values():
        for paragraph in filter(None, question.words.split("\n\n")):
            assert paragraph not in text
    assert text.count("___") >= len(exercise.gaps)
    assert "claim false:" not in text.split("**How to answer.**")[1].replace("claim false: …", "")


def wrong(kind: str, key: str) -> str:
    """A planted wrong answer."""
    if kind == "verdict":
        return "true" if key == "false" else "false"
    if kind == "constant":
        return re.sub(r"\d+", lambda digits: str(int(digits.group()) + 1), key, count=1)
    return f"({key}) + 1 + ({key})^2"


@every_sheet
def test_a_planted_wrong_answer_is_found_with_a_counterexample(path: Path) -> None:
    grader = graded(path)
    kinds = {}
    for label, gap in grader.gaps.items():  # one of each kind
        if gap.kind not in ("bound", "matrix") and not gap.by_claims and "O(" not in gap.key:
            kinds.setdefault(gap.kind, label)
    assert kinds
    for kind, label in kinds.items():
        found = grader.grade(label, wrong(kind, grader.gaps[label].key))
        assert found.share < 1 and found.state != "unread", (label, found)
        assert re.search(r"\d| is not ", found.told), (label, found)
