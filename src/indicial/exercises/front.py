"""Answers and a sheet → marks: the front door.

>>> print(indicial.grade("answers.ipynb", against="sheet.md"))
answers.ipynb: 13.5 of 15 points
…
>>> indicial.grade("answers/", against="sheet.md").csv()
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from indicial.exercises.answers import SUFFIXES, Answers, read_answers
from indicial.exercises.apart import SECONDS, Apart
from indicial.exercises.asking import ask
from indicial.exercises.code import values_of
from indicial.exercises.gaps import EMPTY, Exercise, Grade
from indicial.exercises.marks import Class, Marks
from indicial.program.messages import IndicialError

MOST_FILES = 5_000
Told = Callable[[Marks], object]


class Grading(Protocol):
    """What grades: here or in a process of its own."""

    def grade(self, label: str, answer: str, own: list[str] = ...) -> Grade: ...

    def grade_together(self, answers: dict[str, str]) -> dict[str, Grade]: ...


def grade(
    answers: str | os.PathLike[str],
    against: str | os.PathLike[str],
    *,
    seconds: float = SECONDS,
    seed: int = 0,
    draws: int | None = None,
    apart: bool = True,
    run_code: bool = False,
    told: Told | None = None,
) -> Marks | Class:
    """The marks of a file of answers, or of all files in a folder.

    Answers are read and never run. Each is tried in another process that has so many `seconds` of
    computing for it; `apart=False` tries them in this one. `run_code=True` runs the Python of notebooks, so
    that a gap may hold the name of what it computed. `told(marks)` is called for each file.
    """
    if not seconds > 0:
        raise IndicialError("an answer needs some time: seconds is a number above 0")
    exercise = exercise_of(against)
    place = Path(answers)
    read = partial(_read, exercise=exercise, seconds=seconds if run_code else None)
    with grader(exercise, seconds, seed, draws, apart) as grading:
        if place.is_dir():
            found = []
            for name, path in _handed_in(place, Path(against)):
                found.append(_marked(name, path, exercise, grading, read))
                if told is not None:
                    told(found[-1])
            return Class(exercise, tuple(found))
        if not place.exists():
            raise IndicialError(f"there is no file {place}")
        made = marks_of(read(place), exercise, grading)
    if told is not None:
        told(made)
    return made


def exercise_of(sheet: str | os.PathLike[str]) -> Exercise:
    """The exercise of a sheet; it must ask something."""
    path = Path(sheet)
    if path.suffix.lower() not in (".md", ".markdown"):
        raise IndicialError(f"a sheet is a text in Markdown (.md), and {path} is not")
    if not path.is_file():
        raise IndicialError(f"there is no file {path}")
    exercise = ask(path)
    if not exercise.gaps:
        raise IndicialError(
            f"{path} asks nothing: there is no claim in its blocks ```indicial, and no definition that a "
            "question (**(a)** …) names"
        )
    return exercise


def grader(
    exercise: Exercise, seconds: float, seed: int, draws: int | None, apart: bool
) -> AbstractContextManager[Any]:
    if apart:
        return Apart(exercise, seed=seed, draws=draws, seconds=seconds)
    from indicial.exercises.grading import Grader

    return nullcontext(Grader(exercise, seed=seed, draws=draws))


def marks_of(answers: Answers, exercise: Exercise, grading: Grading) -> Marks:
    """Every gap graded; those that nobody filled are empty."""
    grades: dict[str, Grade] = {}
    together: dict[str, str] = {}
    for label, gap in exercise.gaps.items():
        said = answers.filled.get(label, "")
        if said and gap.kind != "matrix":
            grades[label] = grading.grade(label, said, answers.own.get(label, []))
        else:
            grades[label] = EMPTY
        if said and (gap.kind == "matrix" or (gap.by_claims and grades[label].share < 1)):
            together[label] = said
    if together:
        by_claims = {n: s for n, s in answers.filled.items() if exercise.gaps[n].by_claims}
        for label, found in grading.grade_together(by_claims | together).items():
            matrix = exercise.gaps[label].kind == "matrix"
            grades[label] = found if matrix else max(found, grades[label], key=lambda g: g.share)
    return Marks(
        answers.name, exercise, grades, answers.filled, answers.words, tuple(answers.remarks)
    )


def _read(path: Path, exercise: Exercise, seconds: float | None) -> Answers:
    """The answers in a file; with `seconds`, names of what its Python computed become numbers."""
    answers = read_answers(path, exercise)
    if seconds is not None and answers.code:
        asked = {n: s.strip() for n, s in answers.filled.items() if s.strip().isidentifier()}
        values = values_of(answers.code, set(asked.values()), seconds) if asked else {}
        answers.filled |= {n: values[name] for n, name in asked.items() if name in values}
    return answers


def _marked(
    name: str,
    path: Path,
    exercise: Exercise,
    grading: Grading,
    read: Callable[[Path], Answers],
) -> Marks:
    """The marks of a file; one that cannot be read has none, and says why."""
    try:
        answers = read(path)
    except IndicialError as error:
        return Marks(name, exercise, dict.fromkeys(exercise.gaps, EMPTY), remarks=(str(error),))
    answers.name = name
    return marks_of(answers, exercise, grading)


def _handed_in(folder: Path, sheet: Path) -> Iterator[tuple[str, Path]]:
    """The files of a folder, each with the name of whoever handed it in: its own or its folder's."""
    found: list[Path] = []
    for where, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(n for n in folders if not n.startswith("."))
        paths = [Path(where) / name for name in sorted(files) if not name.startswith(".")]
        found += [p for p in paths if p.suffix.lower() in SUFFIXES and not _same(p, sheet)]
        if len(found) > MOST_FILES:
            raise IndicialError(f"there are more than {MOST_FILES:,} files in {folder}")
    if not found:
        raise IndicialError(f"there are no answers in {folder}: no {', '.join(SUFFIXES)} file")
    homes = [p.relative_to(folder).parts[0] for p in found]
    for path, home in zip(found, homes, strict=True):
        inside = path.relative_to(folder)
        alone = homes.count(home) == 1
        yield (home if alone and len(inside.parts) > 1 else str(inside)), path


def _same(path: Path, sheet: Path) -> bool:
    return not path.is_symlink() and path.exists() and path.samefile(sheet)
