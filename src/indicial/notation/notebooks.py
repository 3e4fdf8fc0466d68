"""The cells of a Jupyter notebook that hold notation.

A markdown cell is read like a Markdown file; a code cell that begins with `%%indicial` holds the
plain surface below that line. Each cell is a text of its own, `attention.ipynb#cell3`, counted
from 1 over all cells, so that lines and columns are those that the author sees in the cell.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from indicial.notation.faults import Fault
from indicial.notation.source import Source, Span

MAGIC = "%%indicial"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell; the notation of a code cell begins at `start`."""

    source: Source
    markdown: bool
    start: int = 0


def cells(notebook: Source) -> tuple[list[Cell], list[Fault]]:
    """The cells that are to be read, in order; a fault instead if this is not a notebook."""
    every, faults = _every_cell(notebook)
    found = []
    for number, kind, text in every:
        source = Source(f"{notebook.name}#cell{number}", text)
        if kind in ("markdown", "heading"):
            found.append(Cell(source, markdown=True))
        elif (
            kind == "code" and text.lstrip().split(maxsplit=1)[:1] == [MAGIC] and not _designs(text)
        ):
            first_line = text.find("\n", text.index(MAGIC))
            start = len(text) if first_line < 0 else first_line + 1
            found.append(Cell(source, markdown=False, start=start))
    return found, faults


def _designs(text: str) -> bool:
    """`%%indicial design position`: its lines are matrices, and no equations of a program."""
    words = text.lstrip().partition("\n")[0].split()
    return words[1:2] == ["design"] and len(words) == 3 and not words[2].isdigit()


def all_cells(notebook: Source) -> tuple[list[tuple[object, str]], list[Fault]]:
    """Kind and text of all cells, whatever they hold, without what they put out."""
    every, faults = _every_cell(notebook)
    return [(kind, text) for _, kind, text in every], faults


def _every_cell(notebook: Source) -> tuple[list[tuple[int, object, str]], list[Fault]]:
    """The number, kind and text of each cell."""
    try:
        content = json.loads(notebook.text)
    except json.JSONDecodeError as error:
        place = Span(notebook, error.pos, min(error.pos + 1, len(notebook.text)))
        return [], [Fault("notebook", f"this is not a notebook: {error.msg}", (place,))]
    except (ValueError, RecursionError):
        return [], [_fault(notebook, "its JSON cannot be read")]
    raw = _raw_cells(content)
    if raw is None:
        return [], [_fault(notebook, "it has no list of cells")]
    found, faults = [], []
    for number, cell in enumerate(raw, start=1):
        text = _text(cell)
        if text is None:
            faults.append(_fault(notebook, f"cell {number} has no text"))
        else:
            found.append((number, cell.get("cell_type"), text))
    return found, faults


def _raw_cells(content: Any) -> list[Any] | None:
    """The list of cells; notebooks before format 4 keep them in worksheets."""
    if not isinstance(content, dict):
        return None
    raw = content.get("cells")
    if raw is None and isinstance(sheets := content.get("worksheets"), list):
        raw = []
        for sheet in sheets:
            part = sheet.get("cells") if isinstance(sheet, dict) else None
            raw.extend(part if isinstance(part, list) else [])
    return raw if isinstance(raw, list) else None


def _text(cell: Any) -> str | None:
    """What stands in a cell, which is kept whole or as a list of lines."""
    if not isinstance(cell, dict):
        return None
    text = cell.get("source", cell.get("input"))
    if isinstance(text, list) and all(isinstance(line, str) for line in text):
        return "".join(text)
    return text if isinstance(text, str) else None


def _fault(notebook: Source, message: str) -> Fault:
    return Fault("notebook", f"this is not a notebook: {message}", (Span(notebook, 0, 0),))
