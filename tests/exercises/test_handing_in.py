"""Files of answers: three formats, a class, and people one does not know."""

import csv
import io
import json
import os
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

import indicial
from indicial.cli import main
from indicial.exercises import marks
from indicial.exercises.answers import answers_of
from indicial.exercises.apart import Apart
from indicial.exercises.asking import Exercise, ask
from indicial.exercises.grading import Grader
from indicial.exercises.handout import latex, markdown, notebook, prose
from indicial.exercises.marks import Class, Marks, grade, safe_cell
from indicial.notation.parse import parse_text
from indicial.program.messages import IndicialError

SHEET = """\
# Sums

What you will see: sums, which the handout does not tell.

## One sum

```indicial
input x[t]
m = 1/T Σ_t x[t]
```

**(a)** (3 points) What is the slope of $m$? Guess first.

It is the same everywhere.

```indicial
claim ∂m/∂x[t] = 1/T
claim work of m = T + 1
claim false: m = 0
```

## A head

**(b)** Which matrices give the first token?

```design position
W^Q = [[1, 1, 1, 0, 0, 0, 0]]
W^K = [[0, 0, 0, 10, 0, 0, 0]]
W^V[o,c] = [o = c]
pos[t,p] = [t = p]
size P = 4
```
"""
ANSWERS = "a1: 1/T\na2: T + 1\na3: false\n"


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    path = tmp_path / "sums.md"
    path.write_text(SHEET, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    return ask(SHEET, "sums.md")


def test_what_a_handout_says(exercise: Exercise) -> None:
    text = markdown(exercise)
    assert "What you will see" not in text and "the same everywhere" not in text
    assert "**(a)** (3 points) What is the slope of $m$?\n" in text and "Guess" not in text
    assert "claim ∂m/∂x[t] = ___  # a1" in text and "claim ___: m = 0  # a3" in text
    assert "W^Q = ___  # b1" in text and "size P = 4" in text
    assert "*In words, (a):*" in text
    assert "There are 7 points in all" in text


def test_a_gap_that_is_not_filled_is_told() -> None:
    (fault,) = parse_text("claim work = ___").faults
    assert fault.code == "gap" and fault.message == "there is a gap here"
    assert parse_text("claim true: a = b").statements == parse_text("claim a = b").statements
    assert not parse_text(r"\_\_\_ = 1", latex=True).statements


def test_the_notebook_runs_as_far_as_it_is_filled(exercise: Exercise) -> None:
    cells = ["".join(cell["source"]) for cell in notebook(exercise)["cells"]]
    assert "%load_ext indicial" in cells
    assert any(cell.startswith("%%indicial one_sum 2\nclaim") for cell in cells)
    assert any(cell.startswith("%%indicial design position\nW^Q = ___") for cell in cells)


def test_latex_compiles_where_there_is_a_compiler(exercise: Exercise, tmp_path: Path) -> None:
    source = tmp_path / "handout.tex"
    source.write_text(latex(exercise), encoding="utf-8")
    assert r"\answer{a1}{}" in source.read_text(encoding="utf-8")
    try:
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", source.name],
            cwd=tmp_path, capture_output=True, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("no pdflatex")
    assert done.returncode == 0, done.stdout[-2000:]


def test_prose_is_no_command_of_latex() -> None:
    assert prose("50 % & #1_x \\input{a}") == r"50 \% \& \#1\_x \textbackslash{}input\{a\}"
    assert (
        prose("*the* `h̃[t]` and $α$")
        == r"\emph{the} \texttt{\ensuremath{\tilde{h}}[t]} and $\alpha $"
    )


def test_answers_are_found_however_they_are_written(exercise: Exercise) -> None:
    texts = {
        "a.md": "```indicial\nclaim  ∂m/∂x[t]=1/T   # a1\nclaim false: m = 0\n```",
        "b.txt": "- **a1**: 1/T\n(a3) = false",
        "c.tex": r"\answer{a1}{\frac{1}{T}} \answer{a3}{false} % \answer{a2}{9}",
        "d.ipynb": json.dumps(
            {
                "cells": [
                    {
                        "cell_type": "code",
                        "source": ["claim ∂m/∂x[t] = 1/T # a1\n", "claim false: m = 0"],
                    }
                ]
            }
        ),
    }
    for name, text in texts.items():
        found = answers_of(text, name, exercise)
        assert sorted(found.filled) == ["a1", "a3"], name


def test_a_line_that_was_changed_around_its_gap_is_told(exercise: Exercise) -> None:
    found = answers_of("claim 0 = 0  # a1", "a.md", exercise)
    assert found.filled == {} and "was changed" in found.remarks[0]


def test_words_are_kept_to_be_read(exercise: Exercise) -> None:
    found = answers_of("*In words, (a):*\n\nIt is flat.\n\n## Next", "a.md", exercise)
    assert found.words == {"a": "It is flat."}
    assert answers_of(r"\words{a}{It is flat.}", "a.tex", exercise).words == {"a": "It is flat."}


def test_grade_in_python_and_points(sheet: Path, tmp_path: Path) -> None:
    answers = tmp_path / "anna.txt"
    answers.write_text(ANSWERS.replace("T + 1", "T") + "b1: ___", encoding="utf-8")
    marks = indicial.grade(answers, against=sheet, apart=False)
    assert isinstance(marks, Marks)
    assert (marks.points, marks.of) == (2, 7)
    assert list(marks.wrong) == ["a2", "b1", "b2", "b3", "b4"]
    assert "T + 1 against T" in str(marks) and "not answered" in str(marks)
    assert marks.to_json()["gaps"]["a2"]["state"] == "wrong"


def test_a_class_with_names_that_a_spreadsheet_would_compute(
    sheet: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(marks, "grader", lambda made, *more: nullcontext(Grader(made)))
    room = tmp_path / "room"
    (room / "anna").mkdir(parents=True)
    (room / "anna" / "answers.txt").write_text(ANSWERS, encoding="utf-8")
    for name in ("=1+1.txt", "@x.txt", "new\nline.txt"):
        (room / name).write_text("a3: true", encoding="utf-8")
    os.symlink(sheet, room / "link.md")
    os.mkfifo(room / "pipe.md")
    table, pages = tmp_path / "marks.csv", tmp_path / "pages"
    words = [
        "grade",
        str(room),
        "--against",
        str(sheet),
        "--csv",
        str(table),
        "--feedback",
        str(pages),
    ]
    assert main(words) == 0
    assert "hardest:" in capsys.readouterr().out
    rows = list(csv.reader(io.StringIO(table.read_text(encoding="utf-8"))))
    by_name = {row[0]: row for row in rows[1:]}
    assert by_name["anna"][1:4] == ["3", "7", "43"]
    assert "'=1+1.txt" in by_name and "'@x.txt" in by_name and "new line.txt" in by_name
    assert "link" in by_name["link.md"][-1] and "regular" in by_name["pipe.md"][-1]
    assert len(list(pages.glob("*.md"))) == len(rows) - 1
    assert "it is false:" in (pages / "1_1.md").read_text(encoding="utf-8")
    assert main(words) == 0  # its own files may be written again
    table.write_text("mine", encoding="utf-8")
    assert main(words) == 2


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\t=1", "\r=1", "|x", "%x", "\x00=1"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert safe_cell(text)[0] not in "=+-@\t\r|%"


HOSTILE = {
    "huge": "a1: " + "x+" * 300_000,
    "blanks": "claim ∂m/∂x[t] = " + " " * 300_000 + "# a2",
    "prefixes": "claim ∂m/∂x[t] =\n" * 15_000,
    "braces": r"\answer{a1}{" * 20_000,
    "deep": "a1: " + "(" * 3_900 + "\na2: " + "-" * 3_900 + "1",
    "large": "a1: Σ_{n=1}^{1000000000} n\na2: 9^9^9^9^9\na3: 10^9",
    "control": "a1: 1\x00/\x1b[2JT\u202e\na3: \x07",
    "formats": "a1: %s{0.__class__}\na2: ${x}",
    "code": "a1: __import__('os').system('exit')\na2: \\input{/etc/passwd}",
    "matrices": "b1: [[1e999]]\nb2: " + "[" * 3_000 + "\nb3: Σ_{n=1}^{99999} n\nb4: 10^9",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answers_get_nothing_and_end(name: str, sheet: Path, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.md"
    path.write_text(HOSTILE[name], encoding="utf-8")
    marks = grade(path, sheet, apart=False)
    assert marks.points == 0
    assert str(marks).isprintable() or "\n" in str(marks)
    assert "\x1b" not in str(marks)


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b"{}", b'{"cells": [1, {"source": 5}]}', bytes(range(256))]
)
def test_notebooks_that_are_none(content: bytes, sheet: Path, tmp_path: Path) -> None:
    room = tmp_path / "room"
    room.mkdir()
    (room / "a.ipynb").write_bytes(content)
    found = grade(room, sheet, apart=False)
    assert isinstance(found, Class) and found.students[0].points == 0
    assert found.students[0].remarks


SLOW = """\
# S

## A

```indicial
x ~ N(0, 1)
claim mean of x ≈ 0 within 0.00001
claim false: x = 0
```
"""


def test_an_answer_that_takes_too_long_is_given_up_and_the_next_is_tried() -> None:
    with Apart(ask(SLOW, "s.md"), draws=2_000_000_000, seconds=1) as grader:
        given_up = grader.grade("2.1", "1e-9")
        assert given_up.share == 0 and "it was given up" in given_up.told
        assert grader.grade("2.2", "false").share == 1


def test_python_is_run_only_if_asked(sheet: Path, tmp_path: Path) -> None:
    flag = tmp_path / "ran"
    cells = [
        f"open({str(flag)!r}, 'w').close()\nquery = np.zeros((1, 7)); query[0, :3] = 1",
        "%%indicial design position\nW^Q = query  # b1\nW^K = [[0, 0, 0, 10, 0, 0, 0]]  # b2\n"
        "W^V[o,c] = [o = c]  # b3\npos[t,p] = [t = p]  # b4",
    ]
    path = tmp_path / "a.ipynb"
    path.write_text(
        json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]}),
        encoding="utf-8",
    )
    data = grade(path, sheet, apart=False)
    assert data.points == 0 and not flag.exists()
    asked = grade(path, sheet, apart=False, run_code=True)
    assert asked.points == 4 and flag.exists()


@pytest.mark.parametrize(
    "words, message",
    [
        (["grade", "nowhere.md", "--against", "SHEET"], "there is no file"),
        (["grade", "SHEET", "--against", "nowhere.md"], "there is no file nowhere.md"),
        (["grade", "SHEET", "--against", "a.tex"], "a sheet is a text in Markdown"),
        (["grade", "SHEET", "--against", "SHEET", "--seconds", "0"], "above 0"),
        (["grade", "EMPTY", "--against", "SHEET"], "there are no answers"),
        (["exercise", "SHEET", "--out", "a.pdf"], ".md, .tex or .ipynb"),
        (["exercise", "PROSE"], "asks nothing"),
    ],
)
def test_wrong_calls(
    words: list[str], message: str, sheet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "prose.md").write_text("# A\n\nNothing.\n", encoding="utf-8")
    places = {"SHEET": sheet, "EMPTY": tmp_path / "empty", "PROSE": tmp_path / "prose.md"}
    assert main([str(places.get(word, word)) for word in words]) == 2
    assert message in capsys.readouterr().err


def test_the_command_writes_three_handouts_and_a_solution(
    sheet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["exercise", str(sheet)]) == 0
    assert "7 gaps in 2 questions, 7 points" in capsys.readouterr().out
    for ending in (".md", ".tex", ".ipynb"):
        assert sheet.with_name(f"sums-exercise{ending}").is_file()
    assert main(["exercise", str(sheet)]) == 0  # again
    assert main(["exercise", str(sheet), "--solution", "--format", "md"]) == 0
    solved = grade(sheet.with_name("sums-solution.md"), sheet, apart=False)
    assert solved.points == 7


def test_two_questions_of_one_letter_are_told() -> None:
    with pytest.raises(IndicialError, match="a second question"):
        ask("# A\n\n## B\n\n**(a)** What?\n\n**(a)** What?\n", "a.md")
