"""The commands `notebook`, `exercise` and `grade`: a sheet as a notebook or a handout, and the answers to it."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indicial.commands.arguments import (
    Commands,
    check_outputs,
    command,
    forcing,
    option,
    print_json,
)
from indicial.program.messages import IndicialError
from indicial.program.outputs import MADE, write_text

if TYPE_CHECKING:
    from indicial.exercises.asking import Exercise
    from indicial.exercises.marks import Class, Marks


EXERCISE = """\
Makes a handout of a problem sheet in Markdown: the same text with gaps. What a
claim says is a gap, and so is what a question asks for; answers in words are
left out.

  indicial exercise sheet.md                 sheet-exercise.md, .tex and .ipynb
  indicial exercise sheet.md --format tex    one of them
  indicial exercise sheet.md --out week3.ipynb
  indicial exercise sheet.md --solution      with the answers of the sheet in
                                             the gaps (sheet-solution.md, …)

Students write in the place of each ___, in any of the three, and `indicial
grade` tries what they wrote. How to say in a sheet what is given and what is
asked is told in docs/exercises.md.

exit status: 0, 2 for wrong usage or a sheet that asks nothing.
"""

GRADE = """\
Grades answers against the sheet that the handout was made from. Each answer is
tried on values: any equivalent form is right. What is partly right gets
a part of the points, and what is wrong is shown with values that refute it.

  indicial grade answers.ipynb --against sheet.md
  indicial grade answers/ --against sheet.md --csv marks.csv
                                   a folder with a file of each student, or a
                                   folder of each (.ipynb, .md, .tex, .txt)
  indicial grade answers/ --against sheet.md --feedback pages/
                                   and a page for each student

Answers are data: nothing in them is run, and no other file is read for them.
Each is tried in a process of its own with bounds on time and memory. With
--run-code the Python of their notebooks is run, with your rights: a gap may
then hold the name of what it computed. Only for code that you have read, or in
a container.

exit status: 0 (whatever the marks are), 2 for wrong usage.
"""

FORMATS = {"md": ".md", "tex": ".tex", "ipynb": ".ipynb"}
MARKS = b"name,points,of,percent"
"""How a table begins that was written here."""


def add(commands: Commands[Any]) -> None:
    """Adds `notebook`, `exercise` and `grade` to the parser of `indicial`."""
    _add_notebook(commands)
    made = command(commands, "exercise", "make a handout of a problem sheet", EXERCISE, _exercise)
    made.add_argument("sheet", metavar="SHEET", help="a text in Markdown")
    option(made, "--out FILE", "one file; its ending says the format")
    option(made, "--format", "only this one (all three)", choices=sorted(FORMATS))
    option(made, "--solution", "with the answers of the sheet")
    forcing(made)

    grade = command(commands, "grade", "grade the answers to a handout", GRADE, _grade)
    grade.add_argument("answers", metavar="ANSWERS", help="a file, or a folder of files")
    option(grade, "--against SHEET", "the sheet, with answers", required=True)
    option(grade, "--csv FILE", "write a table: a row for each student")
    option(grade, "--feedback FOLDER", "write a page for each student (.md)")
    option(grade, "--json", "everything as JSON")
    option(grade, "--seconds N", "seconds of computing for one answer (20)", float, default=20.0)
    option(grade, "--run-code", "run the Python of notebooks (no)")
    option(grade, "--seed N", "seed of the draws (0)", int, default=0)
    option(grade, "--draws N", "draws for each answer (200)", int)
    forcing(grade)


def _exercise(options: argparse.Namespace) -> int:
    from indicial.exercises.marks import exercise_of

    sheet = Path(options.sheet)
    if options.out:
        ending = Path(options.out).suffix.lower()
        if ending not in FORMATS.values() or (options.format and FORMATS[options.format] != ending):
            raise IndicialError(
                f"--out ends in .md, .tex or .ipynb, as the format is: {options.out}"
            )
        outs = [Path(options.out)]
    else:
        word = "solution" if options.solution else "exercise"
        endings = [FORMATS[options.format]] if options.format else list(FORMATS.values())
        outs = [sheet.with_name(f"{sheet.stem}-{word}{ending}") for ending in endings]
    check_outputs(options, out=outs)
    exercise = exercise_of(sheet)
    answers = {n: gap.key for n, gap in exercise.gaps.items()} if options.solution else None
    for out in outs:
        write_text(out, _written(exercise, out.suffix.lower(), answers))
    from indicial.exercises.handout import count_points

    gaps, questions = len(exercise.gaps), len(exercise.questions)
    print(f"{', '.join(map(str, outs))}: {gaps} gaps in {questions} questions, "
          f"{count_points(exercise.points)}")  # fmt: skip
    return 0


def _written(exercise: Exercise, ending: str, answers: dict[str, str] | None) -> str:
    from indicial.claims.notebooks import written
    from indicial.exercises.handout import markdown, notebook

    said = f"{MADE} of {exercise.path.name}: indicial exercise {exercise.path.name}"
    if ending == ".ipynb":
        made = notebook(exercise, answers)
        made["metadata"] = {**made["metadata"], "indicial": said}
        return written(made)
    if ending == ".tex":
        from indicial.exercises.handout import latex

        return f"% {said}\n{latex(exercise, answers)}"
    return f"<!-- {said} -->\n\n{markdown(exercise, answers)}"


def _grade(options: argparse.Namespace) -> int:
    from indicial.exercises.marks import Class, Marks, grade

    if options.draws is not None and options.draws < 1:
        raise IndicialError("at least one draw is needed")
    if options.seed < 0:
        raise IndicialError("a seed is a whole number of at least 0")
    check_outputs(options, "csv", marks={"csv": MARKS})
    folder = Path(options.feedback) if options.feedback else None
    if folder is not None and folder.exists() and not folder.is_dir():
        raise IndicialError(f"--feedback {folder}: this is not a folder")
    many = Path(options.answers).is_dir()
    found = grade(
        options.answers, options.against, seconds=options.seconds, seed=options.seed,
        draws=options.draws, run_code=options.run_code,
    )  # fmt: skip
    room = found if isinstance(found, Class) else Class(found.exercise, (found,))
    if options.csv:
        write_text(options.csv, room.csv())
    if options.json:
        print_json(found.to_json())
    else:
        assert many or isinstance(found, Marks)
        print(found)
    if folder is not None:
        _feedback(folder, room, options)
    return 0


def _feedback(folder: Path, room: Class, options: argparse.Namespace) -> None:
    """A page for each student; its name is made of letters and numbers alone."""
    pages: dict[Path, str] = {}
    taken: set[str] = set()
    for marks in room.students:
        name = _file_name(marks)
        while name in taken:
            name += "_"
        taken.add(name)
        pages[folder / f"{name}.md"] = f"<!-- {MADE} -->\n\n{marks.markdown()}"
    check_outputs(options, feedback=pages)
    for path, page in pages.items():
        write_text(path, page)


def _file_name(marks: Marks) -> str:
    stem = re.sub(r"\.(ipynb|md|markdown|tex|ltx|txt)$", "", marks.name, flags=re.IGNORECASE)
    return re.sub(r"[^\w-]+", "_", stem).strip("_")[:80] or "answers"


NOTEBOOK = """\
Makes a notebook of a problem sheet in Markdown. Prose becomes Markdown cells,
and each block a cell that runs:

  ```indicial            a cell %%indicial NAME NUMBER: its equations are
                         typeset and checked together with the parts before
                         it, and its claims tried; NAME is made of the heading
  ```python, ```pycon    a cell of Python
  ```console             a cell %indicial … or !… for each command
  any with file=NAME     a cell that writes the file
  any other, or no-run   stays text

The notebook is written beside the sheet, SHEET.ipynb. In it, change a number,
run that cell again, and see what changes there and in the cells below. The
sheet stays the one source: change it, and make the notebook again; where only
prose has changed, the outputs that are there are kept. `indicial check
SHEET.ipynb` says the same as for the sheet.

examples:
  indicial notebook sheet.md                  sheet.ipynb, nothing run yet
  indicial notebook sheet.md --out week3.ipynb
  indicial notebook one.md two.md --run       both, with outputs (needs the
                                              extra indicial[notebook])

exit status: 0, 1 if equations have mistakes or a claim turns out otherwise
than stated (the notebook is written all the same), 2 for a
wrong call or a cell of Python that fails.
"""

MARK = b'"id": "cell-1"'
"""How a notebook begins that was made of a sheet; elsewhere cells have other names."""


def _add_notebook(commands: Commands[Any]) -> None:
    """Adds `notebook` to the parser of `indicial`."""
    made = command(commands, "notebook", "make a notebook of a problem sheet", NOTEBOOK, _notebook)
    made.add_argument("sheets", nargs="+", metavar="SHEET", help="a text in Markdown")
    option(made, "--out FILE", "where to write it, if there is one sheet")
    forcing(made)
    option(made, "--run", "run the cells, and keep their outputs", dest="outputs")


def _notebook(options: argparse.Namespace) -> int:
    sheets = [Path(sheet) for sheet in options.sheets]
    if options.out and len(sheets) > 1:
        raise IndicialError(f"--out is for one sheet, but there are {len(sheets)}")
    for sheet in sheets:
        if sheet.suffix.lower() not in (".md", ".markdown"):
            raise IndicialError(f"a notebook is made of Markdown (.md), and not of {sheet}")
        if not sheet.is_file():
            raise IndicialError(f"there is no file {sheet}")
    outs = [Path(options.out)] if options.out else [s.with_suffix(".ipynb") for s in sheets]
    check_outputs(options, marks={"out": MARK}, out=outs)
    failed = [_make(sheet, out, options.outputs) for sheet, out in zip(sheets, outs, strict=True)]
    return 1 if any(failed) else 0


def _make(sheet: Path, out: Path, run: bool) -> int:
    """Writes a notebook; how many of its cells failed."""
    from indicial.claims.notebooks import failures, keep_outputs, left_out, make, written

    notebook = make(sheet)
    for display in left_out(sheet):
        place = f"{sheet}:{display.span.line}"
        print(f"{place}: this formula stays text; in a block ```indicial it would run")
    if run:
        from indicial.claims.notebooks import run as run_cells

        notebook = run_cells(notebook)
        done = "run"
    else:
        done = "as they were run" if keep_outputs(notebook, out) else "to run"
    write_text(out, written(notebook))
    code = sum(1 for cell in notebook["cells"] if cell["cell_type"] == "code")
    print(f"{out}: {len(notebook['cells'])} cells, {code} of them {done}")
    failed = failures(notebook) if run else []
    for first in failed:
        print(f"{out}: the cell {first!r} fails: see what it says in the notebook")
    return len(failed)
