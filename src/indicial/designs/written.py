"""A design as it stands in a sheet: a block with a line for each matrix.

    ```design position                 what it is to do; the equations are those of `selects`
    W^Q = [[1, 1, 1, 0, 0, 0, 0]]      numbers,
    W^K[i,c] = 10 [c = 3]              or an equation
    W^V[o,c] = [o = c]
    pos[t,p] = [t = p]
    size P = 4                         sizes that no numbers tell
    ```

>>> written_design(block, "position").check("position").passed
True

Tokens, outputs and the longest text are those of the task. A line may also be LaTeX, with a `bmatrix`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from indicial.designs.arrays import Array, parameter_name
from indicial.designs.design import Design, design
from indicial.designs.tasks import Task
from indicial.designs.tasks import task as named_task
from indicial.library.loading import load
from indicial.notation.delimiters import fence
from indicial.notation.literals import numbers
from indicial.notation.notebooks import MAGIC, all_cells
from indicial.notation.parse import parse_text
from indicial.notation.source import Source
from indicial.notation.syntax import Declaration, Equation
from indicial.program.messages import IndicialError
from indicial.sheets.pieces import DESIGN

MODEL = "selects"
MOST_NUMBERS = 100_000
_OPENING = re.compile(rf"^`{{3,}}{DESIGN}\b[^\n]*$", re.MULTILINE)
_LINE = re.compile(r"^\s*(?P<left>[^=\n]+?)\s*=\s*(?P<right>.*\S)\s*$")
_SIZE = re.compile(r"^\s*size\s+(?P<name>\w+)\s*=\s*(?P<value>\d{1,4})\s*$")


@dataclass(frozen=True)
class DesignBlock:
    """A block of a text: its line (of a notebook, its cell), what stands behind `design`, its inside."""

    line: int
    words: tuple[str, ...]
    text: str

    def design(self) -> Design:
        return written_design(self.text, *self.words)

    @property
    def task(self) -> str:
        return self.words[0] if self.words else ""


def design_blocks(text: str) -> Iterator[DesignBlock]:
    """The designs of a text in Markdown."""
    at = 0
    for opening in _OPENING.finditer(text):
        block = fence(text, opening.group(), opening.end())
        if opening.start() < at or block is None:
            continue
        at = block.end
        words = tuple(opening.group().strip("`").split()[1:])
        yield DesignBlock(
            text.count("\n", 0, opening.start()) + 1, words, text[block.first : block.last]
        )


def design_cells(text: str) -> Iterator[DesignBlock]:
    """The designs of a notebook: its cells `%%indicial design position`, by their numbers."""
    for number, (kind, cell) in enumerate(all_cells(Source("notebook", text))[0], start=1):
        words, _, inside = cell.lstrip().partition("\n")
        if kind == "code" and words.split()[:2] == [MAGIC, DESIGN] and len(words.split()) > 2:
            yield DesignBlock(number, tuple(words.split()[2:]), inside)


def written_design(text: str, what: str | Task = "", model: str = MODEL) -> Design:
    """The design that the lines of a block make."""
    if not what:
        raise IndicialError(
            "say what the design is to do, behind ```design: content, position or unique"
        )
    task = named_task(what)
    sizes, lines = _divided(text)
    known = task_sizes(task, model) | sizes
    arrays: dict[str, Any] = {}
    for left, right in lines:
        name = re.sub(r"\[.*", "", left).strip()
        arrays[name] = matrix(right)
        if arrays[name] is None:
            arrays[name] = f"{left} = {right}" if "[" in left else right
    for name in arrays:
        parameter_name(load(model).code, name)  # says what there is
    return design(model, sizes=known, tokens=task.tokens, name=f"{task.name} as written", **arrays)


def task_sizes(task: Task, model: str = MODEL) -> dict[str, int]:
    """The sizes that a task has for the equations: how many tokens, outputs and places."""
    given = {"V": len(task.tokens), "O": len(task.outputs), "T": task.places}
    known = load(model).code.sizes
    return {name: value for name, value in given.items() if name in known}


def _divided(text: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Sizes, and the two sides of each line."""
    sizes: dict[str, int] = {}
    lines: list[tuple[str, str]] = []
    for line in text.splitlines():
        said = line.split("#")[0].strip()
        if found := _SIZE.match(said):
            sizes[found["name"]] = int(found["value"])
        elif found := _LINE.match(said):
            lines.append((found["left"], found["right"]))
        elif said:
            raise IndicialError(
                f"a line of a design is `W^Q = [[…]]` or `W^Q[i,c] = …`, and not `{said[:60]}`"
            )
    return sizes, lines


def matrix(text: str) -> Array | None:
    """The numbers of `[[1, 0], [0, 1]]` or of a `bmatrix`; None if it is an expression."""
    latex = "\\" in text
    parsed = parse_text(f"q = {text}" if latex else f"constant q[i,j] = {text}", "matrix", latex)
    if parsed.faults or len(parsed.statements) != 1:
        return None
    statement = parsed.statements[0]
    value = statement.value if isinstance(statement, Declaration) else None
    if isinstance(statement, Equation) and len(statement.sides) == 2:
        value = statement.sides[1]
    try:
        found = np.array(numbers(value), np.float64)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
    if latex and found.ndim == 1:  # a bmatrix with one column, or with one row
        found = found[:, None] if "\\\\" in text else found[None]
    return found if found.ndim and found.size <= MOST_NUMBERS else None
