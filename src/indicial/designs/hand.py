"""Designs for the three tasks, made by hand; which design a word means; designs as they stand in sheets.

>>> print(hand("unique").check("unique"))
unique: all 120 sequences are right
…

All are `selects`: one head, one layer, x = one-hot token joined with a position, scale 1/√I. In a sheet a block has a
line for each matrix:

    ```design position                 what it is to do; the equations are those of `selects`
    W^Q = [[1, 1, 1, 0, 0, 0, 0]]      numbers,
    W^K[i,c] = 10 [c = 3]              or an equation
    W^V[o,c] = [o = c]
    pos[t,p] = [t = p]
    size P = 4                         sizes that no numbers tell
    ```

Tokens, outputs and the longest text are those of the task. A line may also be LaTeX, with a `bmatrix`.
"""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from indicial.claims.notebooks import DESIGN, blocks
from indicial.designs.checking import TASKS, Task, named_task
from indicial.designs.design import Array, Design, design, parameter_name
from indicial.library import names
from indicial.library.loading import load
from indicial.notation.literals import numbers
from indicial.notation.notebooks import MAGIC, all_cells
from indicial.notation.parse import parse_text
from indicial.notation.source import Source
from indicial.notation.syntax import Declaration, Equation
from indicial.program.messages import IndicialError
from indicial.training.folders import FILE
from indicial.training.run import Run

STRENGTH = 10.0
"""By how much the score of what is looked for is above the others: they get e^-10 of its weight."""


def hand(name: str) -> Design:
    """The design for a task."""
    if name not in HAND:
        close = difflib.get_close_matches(name, HAND, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(HAND)}"
        raise IndicialError(f"there is no design {name!r}; {hint}")
    return HAND[name]()


def _content() -> Design:
    """A token asks for its own kind: query and key are the token itself, and so is the value."""
    token = _tokens(3, positions=1)
    gain = math.sqrt(STRENGTH * math.sqrt(3))  # for query and key each, against 1/√I
    return design(
        "selects", Q=gain * token, K=gain * token, V=token, positions=np.zeros((6, 1)),
        name="content by hand",
    )  # fmt: skip


def _position() -> Design:
    """Every token asks the same question, and only the first position has that key.

    A token is one-hot, so a row of ones over the tokens is 1 whatever the token is. Positions are
    one-hot too. Query and key need a single number, so the scale is 1.
    """
    query, key = np.zeros((1, 7)), np.zeros((1, 7))
    query[0, :3] = 1.0
    key[0, 3] = STRENGTH
    return design(
        "selects",
        Q=query,
        K=key,
        V=_tokens(3, positions=4),
        positions=np.eye(4),
        name="position by hand",
    )


def _unique() -> Design:
    """A token looks at its own kind and at `*`, the same amount at each place.

    If it is there n times, then `*` gets 1/(1 + n r) of its weight, where r is the weight of one of
    its kind against that of `*`. With r = 1/√2 that is 0.59 for n = 1 and at most 0.41 for more, as
    far above a half as below; the values make it the sign of an output, ten times as large.
    """
    gain = math.sqrt(STRENGTH * 2)  # I = 4, so the scale is 1/2
    query, key = np.zeros((4, 5)), np.zeros((4, 5))
    for token in (1, 2, 3):
        query[token, token] = key[token, token] = gain
        query[0, token] = gain
    key[0, 0] = gain + 2 * math.log(math.sqrt(2)) / gain  # ln √2 above its own kind
    value = np.zeros((2, 5))
    value[:, 0] = 0.5 + np.array([1, -1]) * 2.5
    value[:, 1:4] = 0.5 - np.array([[1], [-1]]) * 2.5
    return design(
        "selects", Q=query, K=key, V=value, positions=np.zeros((5, 1)),
        tokens=TASKS["unique"].tokens, name="unique by hand",
    )  # fmt: skip


def _tokens(count: int, positions: int) -> Array:
    """The matrix that keeps the token and drops the position."""
    return np.hstack([np.eye(count), np.zeros((count, positions))])


HAND = {"content": _content, "position": _position, "unique": _unique}


def named_design(word: str | os.PathLike[str]) -> Design | None:
    """A design by its file or by its name; None for what is a run, a model or nothing known."""
    path = Path(word)
    if path.is_file() and path.suffix == ".json" and path.name != FILE:
        return Design.load(path)
    return hand(str(word)) if str(word) in HAND and not path.exists() else None


def two_designs(words: Sequence[object]) -> tuple[Design, Design] | None:
    """Both designs, if designs or runs are what the words name; None if they name models.

    A run beside a design is taken for one: its equations with what it learned. The name of a model
    means the model; a run in a folder of that name is `./ugrnn`.
    """
    found = [_design(word) for word in words]
    if not any(found):
        return None
    odd = [word for word, one in zip(words, found, strict=True) if one is None]
    if odd or len(words) != 2:
        what = f"{odd[0]} is neither a design nor a run" if odd else f"this names {len(words)}"
        raise IndicialError(
            f"a design or a run is compared with one other; {what} (models are compared with "
            "models: indicial compare gru lstm --data people)"
        )
    one, other = (d if isinstance(d, Design) else Design.of_run(d) for d in found if d is not None)
    return one, other


def _design(word: object) -> Design | Run | Path | None:
    """A design, or a run that is not opened yet; None for anything else."""
    if isinstance(word, Design | Run):
        return word
    if not isinstance(word, str | os.PathLike):
        return None
    if str(word) not in names() and (Path(word) / FILE).is_file():
        return Path(word)
    return named_design(word)


MODEL = "selects"
MOST_NUMBERS = 100_000
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
    for opening, block in blocks(text):
        if block.language == DESIGN:
            words = tuple(opening.group().strip("`~").split()[1:])
            line = text.count("\n", 0, opening.start()) + 1
            yield DesignBlock(line, words, text[block.first : block.last])


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
