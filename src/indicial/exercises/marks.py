"""Answers and a sheet → marks: the front door. A student gets a page, a class a table.

>>> print(indicial.grade("answers.ipynb", against="sheet.md"))
anna.ipynb: 13.5 of 15 points
  a1      1/1    claim work of h = 2 J T (J + K) + 3 J T
  a3      0/1    claim parallel time of h = T^2
                 T against T² where T = 2
>>> indicial.grade("answers/", against="sheet.md").csv()
'name,points,of,percent,a1,a2,…'
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from indicial.exercises.answers import SUFFIXES, Answers, read_answers
from indicial.exercises.apart import SECONDS, Apart, values_of
from indicial.exercises.asking import EMPTY, Exercise, Grade, ask
from indicial.exercises.handout import count_points, number
from indicial.program.messages import IndicialError, wrapped

WIDTH = 80
LONGEST = 200
"""Signs of an answer that are shown."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
"""How a cell begins that a spreadsheet would compute."""


@dataclass(frozen=True)
class Marks:
    """The grades of one file of answers; `str(…)` is a report."""

    name: str
    exercise: Exercise = field(repr=False)
    grades: Mapping[str, Grade]
    answers: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    """What is to be read by a person, by question."""
    remarks: Sequence[str] = ()

    @property
    def points(self) -> float:
        gaps = self.exercise.gaps
        return round(sum(gaps[n].points * grade.share for n, grade in self.grades.items()), 6)

    @property
    def of(self) -> float:
        return self.exercise.points

    def point(self, label: str) -> float:
        """What one gap got."""
        return round(self.exercise.gaps[label].points * self.grades[label].share, 6)

    @property
    def wrong(self) -> dict[str, Grade]:
        """All that did not get its full points, by label."""
        return {n: grade for n, grade in self.grades.items() if grade.share < 1}

    def shown(self, label: str) -> str:
        """The line of a gap as it was answered."""
        line = next(n for n in self.exercise.lines if any(g.label == label for g in n.gaps))
        texts = [self.answers.get(g.label) or "___" for g in line.gaps]
        return plain(line.filled([" ".join(t.split())[:LONGEST] for t in texts]))

    def __str__(self) -> str:
        lines = [f"{plain(self.name)}: {number(self.points)} of {count_points(self.of)}"]
        lines += [
            line for remark in self.remarks for line in wrapped(f"  {plain(remark)}", WIDTH, "    ")
        ]
        for label, grade in self.grades.items():
            got = f"{number(self.point(label))}/{number(self.exercise.gaps[label].points)}"
            first = f"  {label:<5} {got:>6}  "
            if grade.state == "empty":
                lines.append(f"{first}not answered")
                continue
            lines += wrapped(first + " ".join(self.shown(label).split()), WIDTH, " " * 17)
            if grade.share < 1:
                for told in grade.told.splitlines():
                    lines += wrapped(" " * 15 + plain(told), WIDTH, " " * 17)
        for label, said in self.words.items():
            lines += wrapped(
                f"  ({label}) in words, to be read: {plain(' '.join(said.split()))}",
                WIDTH,
                "      ",
            )
        return "\n".join(lines)

    def markdown(self) -> str:
        """The same as a page for the student."""
        rows = [
            f"# {self.exercise.title}",
            "",
            f"{_cell(self.name)}: **{number(self.points)} of {count_points(self.of)}**",
            "",
        ]
        rows += [f"- {_cell(remark)}" for remark in self.remarks]
        for label, grade in self.grades.items():
            points = f"{number(self.point(label))} of {number(self.exercise.gaps[label].points)}"
            rows += ["", f"**{label}** ({points}, {grade.word})", ""]
            if grade.state != "empty":
                rows += [_fenced(self.shown(label))]
            if grade.share < 1 and grade.state != "empty":
                rows += ["", _fenced(plain(grade.told))]
        for label, said in self.words.items():
            rows += ["", f"**({label})** in words, read by a person:", "", _fenced(plain(said))]
        return "\n".join(rows) + "\n"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "points": self.points,
            "of": self.of,
            "gaps": {
                label: {
                    "points": self.point(label),
                    "of": self.exercise.gaps[label].points,
                    "state": grade.word,
                    "answer": self.answers.get(label, ""),
                    "told": grade.told,
                }
                for label, grade in self.grades.items()
            },
            "words": dict(self.words),
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True)
class Class:
    """The marks of all who handed in; `str(…)` is a table."""

    exercise: Exercise = field(repr=False)
    students: tuple[Marks, ...]

    def __iter__(self) -> Any:
        return iter(self.students)

    def __len__(self) -> int:
        return len(self.students)

    def __getitem__(self, name: str) -> Marks:
        return next(marks for marks in self.students if marks.name == name)

    def csv(self) -> str:
        """A table for a spreadsheet: no cell begins with what it would compute."""
        labels = list(self.exercise.gaps)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["name", "points", "of", "percent", *labels, "in words", "remarks"])
        for marks in self.students:
            percent = 100 * marks.points / marks.of if marks.of else 0.0
            writer.writerow(
                [
                    safe_cell(marks.name), number(marks.points), number(marks.of), f"{percent:.0f}",
                    *(number(marks.point(label)) if label in marks.grades else "0" for label in labels),
                    " ".join(marks.words), safe_cell("; ".join(marks.remarks)),
                ]
            )  # fmt: skip
        return out.getvalue()

    def __str__(self) -> str:
        width = min(40, max([len(plain(m.name)) for m in self.students], default=0))
        lines = [
            f"{self.exercise.title}: {count_points(self.exercise.points)}, {len(self)} handed in"
        ]
        for marks in self.students:
            missed = [n for n, grade in marks.grades.items() if grade.share < 1]
            said = f"missed {', '.join(missed)}" if missed else "all right"
            if marks.remarks and not marks.grades:
                said = marks.remarks[0]
            first = f"  {plain(marks.name)[:40]:<{width}}  {number(marks.points):>6}  "
            lines += wrapped(first + plain(said), WIDTH, " " * (width + 12))
        if self.students and self.exercise.gaps:
            lines += self._hardest()
        return "\n".join(lines)

    def _hardest(self) -> list[str]:
        """The gaps that fewest got right."""
        shares = {
            label: sum(m.grades[label].share for m in self.students if label in m.grades)
            / len(self)
            for label in self.exercise.gaps
        }
        low = sorted((share, label) for label, share in shares.items() if share < 1)[:5]
        said = ", ".join(f"{label} {share:.0%}" for share, label in low)
        return [f"  hardest: {said}"] if low else []

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.exercise.title,
            "points": self.exercise.points,
            "students": [marks.to_json() for marks in self.students],
        }


def plain(text: str) -> str:
    """A text in one line or more, without signs that are obeyed and not seen."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "�" for sign in text)


def safe_cell(text: str) -> str:
    """A cell that is text in any spreadsheet: `=1+1` would be computed, `'=1+1` is not."""
    seen = " ".join(plain(text).split())
    return f"'{seen}" if seen.startswith(_FORMULA) else seen


def _cell(text: str) -> str:
    """In Markdown, without what would be markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|!])", r"\\\1", " ".join(plain(text).split()))


def _fenced(text: str) -> str:
    """A block that nothing in it can close."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


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
                try:
                    handed_in = read(path)
                except IndicialError as error:  # it has no marks, and says why
                    empty = dict.fromkeys(exercise.gaps, EMPTY)
                    found.append(Marks(name, exercise, empty, remarks=(str(error),)))
                else:
                    handed_in.name = name
                    found.append(marks_of(handed_in, exercise, grading))
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
