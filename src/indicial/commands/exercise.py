"""The commands `exercise` and `grade`: a sheet as a handout, and the answers to it.

$ indicial exercise docs/problems/argmax.md
$ indicial grade answers.ipynb --against docs/problems/argmax.md
$ indicial grade answers/ --against docs/problems/argmax.md --csv marks.csv
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indicial.commands.arguments import Commands, check_outputs, command, forcing
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.exercises.gaps import Exercise
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
    """Adds both to the parser of `indicial`."""
    made = command(commands, "exercise", "make a handout of a problem sheet", EXERCISE, _exercise)
    made.add_argument("sheet", metavar="SHEET", help="a text in Markdown")
    made.add_argument("--out", metavar="FILE", help="one file; its ending says the format")
    made.add_argument("--format", choices=sorted(FORMATS), help="only this one (all three)")
    made.add_argument("--solution", action="store_true", help="with the answers of the sheet")
    forcing(made)

    grade = command(commands, "grade", "grade the answers to a handout", GRADE, _grade)
    grade.add_argument("answers", metavar="ANSWERS", help="a file, or a folder of files")
    grade.add_argument("--against", required=True, metavar="SHEET", help="the sheet, with answers")
    grade.add_argument("--csv", metavar="FILE", help="write a table: a row for each student")
    grade.add_argument("--feedback", metavar="FOLDER", help="write a page for each student (.md)")
    grade.add_argument("--json", action="store_true", help="everything as JSON")
    grade.add_argument("--seconds", type=float, default=20.0, metavar="N",
                       help="seconds of computing for one answer (20)")  # fmt: skip
    grade.add_argument("--run-code", action="store_true", help="run the Python of notebooks (no)")
    grade.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draws (0)")
    grade.add_argument("--draws", type=int, metavar="N", help="draws for each answer (200)")
    forcing(grade)


def _exercise(options: argparse.Namespace) -> int:
    from indicial.exercises.front import exercise_of
    from indicial.program.outputs import MADE, write_text

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
    check_outputs(options, {"out": outs}, out=MADE.encode())
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
    from indicial.exercises.handout import markdown, notebook
    from indicial.program.outputs import MADE
    from indicial.sheets.making import written

    said = f"{MADE} of {exercise.path.name}: indicial exercise {exercise.path.name}"
    if ending == ".ipynb":
        made = notebook(exercise, answers)
        made["metadata"] = {**made["metadata"], "indicial": said}
        return written(made)
    if ending == ".tex":
        from indicial.exercises.latex import latex

        return f"% {said}\n{latex(exercise, answers)}"
    return f"<!-- {said} -->\n\n{markdown(exercise, answers)}"


def _grade(options: argparse.Namespace) -> int:
    from indicial.exercises.front import grade
    from indicial.exercises.marks import Class, Marks
    from indicial.program.outputs import write_text

    if options.draws is not None and options.draws < 1:
        raise IndicialError("at least one draw is needed")
    if options.seed < 0:
        raise IndicialError("a seed is a whole number of at least 0")
    outs = {"csv": [Path(options.csv)]} if options.csv else {}
    check_outputs(options, outs, csv=MARKS)
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
    if folder is not None:
        _feedback(folder, room, options)
    if options.json:
        print(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
    else:
        assert many or isinstance(found, Marks)
        print(found)
    return 0


def _feedback(folder: Path, room: Class, options: argparse.Namespace) -> None:
    """A page for each student; its name is made of letters and numbers alone."""
    from indicial.program.outputs import MADE, check_output, write_text

    folder.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    for marks in room.students:
        name = _file_name(marks)
        while name in taken:
            name += "_"
        taken.add(name)
        path = folder / f"{name}.md"
        check_output(path, [options.answers, options.against], force=options.force)
        write_text(path, f"<!-- {MADE} -->\n\n{marks.markdown()}")


def _file_name(marks: Marks) -> str:
    stem = re.sub(r"\.(ipynb|md|markdown|tex|ltx|txt)$", "", marks.name, flags=re.IGNORECASE)
    return re.sub(r"[^\w-]+", "_", stem).strip("_")[:80] or "answers"
