"""Matrices of a design as answers: any that get every case right, and where the fault is."""

import json
from pathlib import Path

import numpy as np
import pytest

from indicial.cli import main
from indicial.designs.hand import HAND, design_blocks, hand, matrix, written_design
from indicial.exercises.asking import Grade, ask
from indicial.exercises.grading import Grader
from indicial.program.messages import IndicialError

SHEET = Path(__file__).resolve().parents[2] / "docs" / "problems" / "hand_design.md"

KEY = """\
W^Q = [[1, 1, 1, 0, 0, 0, 0]]
W^K[i,c] = 10 [c = 3]
W^V[o,c] = [o = c]
pos[t,p] = [t = p]
size P = 4
"""


@pytest.fixture(scope="module")
def grader() -> Grader:
    return Grader(ask(SHEET))


def graded(grader: Grader, **answers: str) -> dict[str, Grade]:
    """The grades of the design by position, other matrices as in the sheet."""
    keys = {label: grader.gaps[label].key for label in ("d1", "d2", "d3", "d4")}
    return grader.grade_together({**keys, **answers})


def test_every_design_of_the_sheet_is_right() -> None:
    text = SHEET.read_text(encoding="utf-8")
    blocks = list(design_blocks(text))
    assert sorted(block.task for block in blocks) == sorted(HAND)
    assert all(block.design().check(block.task).passed for block in blocks)


def test_numbers_and_equations_make_the_same_design() -> None:
    made = written_design(KEY, "position")
    for name, array in hand("position").arrays.items():
        np.testing.assert_array_equal(made.arrays[name], array)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("[[1, -2], [1/2, 0]]", [[1, -2], [0.5, 0]]),
        (r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}", [[1, 2], [3, 4]]),
        (r"\begin{pmatrix} 1 & 2 & 3 \end{pmatrix}", [[1, 2, 3]]),
        (r"\begin{bmatrix} 1 \\ 2 \end{bmatrix}", [[1], [2]]),
    ],
)
def test_matrices_are_read_in_both_notations(text: str, expected: list[list[float]]) -> None:
    np.testing.assert_array_equal(matrix(text), expected)


def test_other_matrices_that_do_it_are_right(grader: Grader) -> None:
    """Query and key in two dimensions and with other numbers, in LaTeX, or as an equation."""
    query = r"\begin{bmatrix} 2 & 2 & 2 & 0 & 0 & 0 & 0 \\ 0 & 0 & 0 & 0 & 0 & 0 & 0 \end{bmatrix}"
    key = "[[0, 0, 0, 9, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7]]"
    found = graded(grader, d1=query, d2=key)
    assert [grade.share for grade in found.values()] == [1, 1, 1, 1]
    assert graded(grader, d2="10 [c = 3]")["d2"].share == 1


def test_a_wrong_matrix_has_a_case_and_the_product_that_is_at_fault(grader: Grader) -> None:
    found = graded(grader, d2="[[0, 0, 0, 0, 10, 0, 0]]")  # looks at the second place
    assert found["d3"].share == 1
    assert found["d1"].share == found["d2"].share == pytest.approx(42 / 120, abs=1e-4)
    assert "AB: place 0 should be A" in found["d2"].told
    assert "look at query and key" in found["d2"].told
    values = graded(grader, d3="[[0,1,0,0,0,0,0],[1,0,0,0,0,0,0],[0,0,1,0,0,0,0]]")
    assert values["d2"].share == 1 and values["d3"].share < 1
    assert "look at the values" in values["d3"].told


def test_a_missing_matrix_gets_nothing_and_the_others_are_tried(grader: Grader) -> None:
    found = graded(grader, d4="")
    assert found["d4"].word == "empty" and found["d1"].share == 1


@pytest.mark.parametrize(
    "answer", ["[[1, 2], [3]]", "W^Q", "[[1e400]]", "[[" * 500, "[[x]]", "np.eye(3)", "[]"]
)
def test_what_is_no_matrix_is_told(grader: Grader, answer: str) -> None:
    found = graded(grader, d1=answer)["d1"]
    assert found.share < 0.5 and found.told


def test_a_line_that_is_no_matrix_is_told() -> None:
    with pytest.raises(IndicialError, match="a line of a design"):
        written_design("nonsense", "position")
    with pytest.raises(IndicialError, match="no parameter"):
        written_design("W^X = [[1]]", "position")
    with pytest.raises(IndicialError, match="what the design is to do"):
        written_design(KEY)


@pytest.mark.parametrize("name", ["a.md", "a.ipynb"])
@pytest.mark.parametrize("strength, status", [("10", 0), ("-10", 1), ("x y", 1)])
def test_check_tries_the_designs_of_sheets_and_notebooks(
    name: str, strength: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = KEY.replace("10", strength)
    cell = {"cell_type": "code", "source": f"%%indicial design position\n{lines}"}
    text = f"# A\n\n```design position\n{lines}```\n"
    path = tmp_path / name
    path.write_text(text if name == "a.md" else json.dumps({"cells": [cell]}), encoding="utf-8")
    assert main(["check", str(path)]) == status
    out = capsys.readouterr().out
    assert ("all 120 sequences are right" in out) == (status == 0)
    assert ("1 error" in out) == (status == 1)
