"""An exercise → a handout: in Markdown, or as a notebook.

    claim work of h = 2 J^2 T        →       claim work of h = ___  # a1

Answers in words are left out, and so is what the sheet computes below a question; each question has a
place for words of one's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from indicial.exercises.gaps import BLANK, Exercise, Unit
from indicial.notation.documents import read_text
from indicial.sheets.making import (
    METADATA,
    Notebook,
    code_cell,
    markdown_cell,
    parts_of,
    with_pictures,
)
from indicial.sheets.pieces import pieces

WORDS = "*In words, ({label}):*"
"""The line below which a question is answered in words."""

RULES = """\
**How to answer.** Write in the place of each `___`, and leave the rest of its line as it is, with the
label behind the `#`. Any form that has the same values is right, in this notation or in LaTeX. Where a
line begins `claim ___:`, write `true` or `false`. A bound should be as sharp as you can make it. You may
add lines that define names of your own; what is given stays as it is. There are {points} in all."""


def number(points: float) -> str:
    """`2`, `1.5`: no more digits than it needs."""
    return f"{points:.4g}"


def count_points(points: float) -> str:
    return f"{number(points)} point{'' if points == 1 else 's'}"


def rules(exercise: Exercise) -> str:
    return RULES.format(points=count_points(exercise.points))


def block_text(exercise: Exercise, unit: Unit, answers: Mapping[str, str] | None = None) -> str:
    """The text of a block with its gaps, or with what is answered in their place."""
    text, at, found = exercise.source.text, unit.start, ""
    for line in unit.lines:
        filled = [(answers or {}).get(gap.label) or BLANK for gap in line.gaps]
        found += text[at : line.start] + line.filled(filled) + f"  # {line.labels}"
        at = line.end
    return found + text[at : unit.end]


def markdown(exercise: Exercise, answers: Mapping[str, str] | None = None) -> str:
    """The handout as a text; `answers` by label fill its gaps."""
    found: list[str] = []
    for unit in exercise.units:
        text = block_text(exercise, unit, answers) if unit.lines else unit.text
        if text.strip():
            found.append(text.strip("\n"))
        if unit.kind == "heading" and unit.text.startswith("# "):
            found.append(rules(exercise))
        if unit.question and exercise.questions[unit.question].words:
            found.append(WORDS.format(label=unit.question))
    if not any(u.kind == "heading" and u.text.startswith("# ") for u in exercise.units):
        found.insert(0, rules(exercise))
    return "\n\n".join(found) + "\n"


def notebook(exercise: Exercise, answers: Mapping[str, str] | None = None) -> Notebook:
    """The handout as a notebook: cells with gaps run as soon as these are filled."""
    document = read_text(exercise.source.text, exercise.source.name)
    parts = parts_of(document, pieces(exercise.source.text))
    cells: list[dict[str, Any]] = []
    prose: list[str] = []

    def close() -> None:
        if prose:
            made = markdown_cell("\n\n".join(prose))
            cells.append(with_pictures(made, exercise.path.parent))
            prose.clear()

    for unit in exercise.units:
        text = block_text(exercise, unit, answers) if unit.lines else unit.text
        if not text.strip():
            continue
        if unit.kind in ("heading", "prose"):
            if unit.kind == "heading":
                close()
            prose.append(text.strip("\n"))
            if unit.kind == "heading" and text.startswith("# "):
                prose.append(rules(exercise))
                close()
                cells.append(code_cell("%load_ext indicial"))
            if unit.question and exercise.questions[unit.question].words:
                close()
                cells.append(markdown_cell(WORDS.format(label=unit.question) + "\n\n"))
            continue
        close()
        if unit.kind == "notation":
            part = next((p for p in parts if unit.start <= p.display.body.start < unit.end), None)
            inside = _inside(text)
            first = part.magic if part is not None else "%%indicial"
            cells.append(code_cell(f"{first}\n{inside}"))
        elif unit.kind == "design":
            cells.append(code_cell(f"%%indicial {unit.language}\n{_inside(text)}"))
        else:
            made = [p for p in pieces(text) if p.kind == "code"]
            cells += [code_cell(p.text) for p in made] or [markdown_cell(text)]
    close()
    if not any("%load_ext" in "".join(c["source"]) for c in cells):
        cells[:0] = [markdown_cell(rules(exercise)), code_cell("%load_ext indicial")]
    for place, cell in enumerate(cells, start=1):
        cell["id"] = f"cell-{place}"
    return {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def _inside(block: str) -> str:
    """A fenced block without its fence."""
    return "\n".join(block.strip("\n").splitlines()[1:-1])
