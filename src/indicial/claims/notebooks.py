"""A sheet in Markdown → its pieces → a notebook, and that notebook with its outputs.

    ## Two heads                  ## Two heads                      a Markdown cell
    ```indicial             →     %%indicial two_heads 1            a code cell
    w[n] = β[n] / 2               w[n] = β[n] / 2
    ```
    ```console
    $ indicial check a.eq   →     %indicial check a.eq
    ```

Blocks of one section are the parts 1, 2, … of a program that has its title as a name. A section that reads what
the one before it defines says so: `%%indicial two_heads 1 after a_noisy_key`. Blocks run as in a document
(CONTRIBUTING.md): `python`, `pycon`, `console`, `design`, and those with `file=NAME`. All others, and those
with `no-run`, stay prose.

A notebook is run from top to bottom in a kernel of its own, in an empty folder that is removed afterwards. What
a sheet leaves open (`...`) may be different each time, and is not kept.
"""

from __future__ import annotations

import base64
import builtins
import copy
import doctest
import json
import keyword
import os
import re
import tempfile
from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Literal

from indicial.notation.delimiters import Fence, fence
from indicial.notation.displays import parse_document
from indicial.notation.documents import Display, Document, read
from indicial.notation.scanner import PLAIN_FENCES
from indicial.program.messages import IndicialError
from indicial.program.prose.parts import Block
from indicial.program.prose.sections import divide

DESIGN = "design"
"""The language of blocks that hold the matrices of a design."""
MARK = re.compile(r"<!--\s*(?P<word>given|answer|gap)\b:?(?P<rest>[^>]*?)-->[ \t]*\n*")
"""A comment that says what becomes of a paragraph in an exercise (`exercises/asking.py`)."""
_OPENING = re.compile(r"^(?:`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]", re.MULTILINE)
_SHELL = re.compile(r"[|<>;&$`*]")
"""What only a shell understands."""


@dataclass(frozen=True)
class Piece:
    """A stretch of the sheet, which begins at `start`, as the text of a cell."""

    kind: Literal["prose", "notation", "code"]
    text: str
    start: int = 0
    end: int = 0
    expected: str | None = None
    """What the sheet says that a piece of code prints; `...` stands for anything."""

    @property
    def varies(self) -> bool:
        """The sheet leaves open what is printed: it may be different each time."""
        return self.expected is not None and "..." in self.expected


def blocks(text: str) -> Iterator[tuple[re.Match[str], Fence]]:
    """The fenced blocks of a text, each with the line that opens it."""
    position = 0
    for opening in _OPENING.finditer(text):
        inside = opening.start() < position  # of the block before
        block = None if inside else fence(text, opening.group(), opening.end())
        if block is not None:
            position = block.end
            yield opening, block


def pieces(text: str) -> list[Piece]:
    """The pieces of a sheet in their order; a heading begins a new one."""
    found: list[Piece] = []
    prose, position = "", 0
    for opening, block in blocks(text):
        cells = list(_code(block.language, opening.group(), text[block.first : block.last]))
        before, inside = text[position : opening.start()], text[opening.start() : block.end]
        position = block.end
        *sections, prose = _at_headings(prose, before)
        found += _prose(sections)
        if not cells:
            prose += inside
            continue
        found += _prose([prose])
        prose = ""
        found += [
            Piece(piece.kind, piece.text.strip("\n"), opening.start(), block.end, piece.expected)
            for piece in cells
        ]
    return found + _prose(_at_headings(prose, text[position:]))


def _prose(texts: list[str]) -> list[Piece]:
    shown = [MARK.sub("", text) for text in texts]
    return [Piece("prose", text.strip("\n")) for text in shown if text.strip()]


def _at_headings(before: str, text: str) -> list[str]:
    """The prose so far and what follows it, divided where a heading stands in what follows."""
    starts = [0, *(match.start() for match in _HEADING.finditer(text)), len(text)]
    first, *rest = (text[a:b] for a, b in pairwise(starts))
    return [before + first, *rest]


def _code(language: str, opening: str, text: str) -> Iterator[Piece]:
    """The cells of a block; none if it is to stay prose."""
    words = opening.strip("`~ ").split()
    file = next((word[5:] for word in words if word.startswith("file=")), "")
    if "no-run" in words:
        return
    if language in PLAIN_FENCES:
        yield Piece("notation", text)
    if language == DESIGN:
        yield Piece("code", f"%%indicial {' '.join(words)}\n{text}")
    if file:
        yield Piece("code", f"%%writefile {file}\n{text}")
    elif language == "python":
        yield Piece("code", text)
    elif language == "pycon":
        yield from _examples(text)
    elif language == "console":
        yield from _commands(text)


def _examples(text: str) -> Iterator[Piece]:
    """The examples of a session: a cell ends where something is printed."""
    source = ""
    for example in doctest.DocTestParser().get_examples(text):
        source += example.source
        if example.want:
            yield Piece("code", source, expected=example.want)
            source = ""
    if source:
        yield Piece("code", source)


def _commands(text: str) -> Iterator[Piece]:
    """Each `$ command` with the lines that it prints; ours runs in the kernel, others in a shell."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = re.sub(r"\\\n(?:> )?", "", part).partition("\n")
        ours = command.startswith("indicial ") and not _SHELL.search(command)
        yield Piece("code", f"{'%' if ours else '!'}{command}", expected=expected)


Notebook = dict[str, Any]
"""The JSON of a notebook, format 4.5."""

START = """\
This notebook is made of `{name}` by `indicial notebook`. Run its cells from the top. Then change a
number or an equation and run that cell again: you see what comes of it, there and in the cells below."""

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
LONGEST = 3
"""So many words of a title are its name."""
SMALL = {
    "a", "an", "and", "as", "at", "by", "each", "for", "from", "in", "is", "of", "on", "or", "that",
    "the", "them", "to", "when", "with",
}  # fmt: skip
"""Words of a title that are left out of its name."""
PICTURES = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg"}
VARIES = "varies"
"""The tag of a cell whose output is not kept: it may be different each time."""


def make(path: Path) -> Notebook:
    """The notebook of a sheet, without outputs."""
    document = read(path)
    if document.faults:
        raise IndicialError(f"{path}: {document.faults[0].message}")
    found = pieces(document.source.text)
    if all(piece.kind == "prose" for piece in found):
        raise IndicialError(
            f"there is nothing to run in {path}: a notebook is made of the blocks ```indicial, "
            "```python, ```pycon and ```console of a Markdown text"
        )
    parts = parts_of(document, found)
    cells = [_cell(piece, parts, path.parent) for piece in found]
    first = int(found[0].kind == "prose")
    start = START.format(name=path.name)
    cells[first:first] = [markdown_cell(start), code_cell("%load_ext indicial")]
    for number, cell in enumerate(cells, start=1):
        cell["id"] = f"cell-{number}"
    return {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def keep_outputs(notebook: Notebook, earlier: Path) -> bool:
    """Takes over the outputs of an earlier notebook if its code is the same: only prose has changed."""
    try:
        old = _code_cells(json.loads(earlier.read_text(encoding="utf-8")))
        same = [c["source"] for c in old] == [c["source"] for c in _code_cells(notebook)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):  # none there, or no notebook
        return False
    if same:
        for cell, before in zip(_code_cells(notebook), old, strict=True):
            cell["outputs"], cell["execution_count"] = before["outputs"], before["execution_count"]
    return same


def left_out(path: Path) -> list[Display]:
    """The displayed formulas that stay prose, so that no cell runs them."""
    document = read(path)
    blocks = [p for p in pieces(document.source.text) if p.kind == "notation"]
    return [d for d in document.displays if not any(_holds(block, d) for block in blocks)]


def written(notebook: Notebook) -> str:
    """The text of the file: as Jupyter writes it, a line for each line."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def lines(text: str) -> list[str]:
    """A text as a notebook keeps it."""
    return text.splitlines(keepends=True)


def _code_cells(notebook: Notebook) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@dataclass(frozen=True)
class Part:
    """Where a block stands: the first line of its cell."""

    display: Display
    name: str
    number: int
    after: str = ""

    @property
    def magic(self) -> str:
        first = f"%%indicial {self.name} {self.number}"
        return f"{first} after {self.after}" if self.after else first


def parts_of(document: Document, found: list[Piece]) -> list[Part]:
    """The blocks of a document, each with its name, its number and what it goes on with.

    A formula of the prose stays text: it is no part that could be run.
    """
    blocks = [piece for piece in found if piece.kind == "notation"]
    source, home = document.source, dict[int, str]()
    sections: dict[str, list[Display]] = {}
    for title, group in groupby(document.sections, key=lambda section: section.title):
        name = _name(title or Path(source.name).stem, source.text, sections)
        sections[name] = [display for section in group for display in section.displays]
        home |= {display.body.start: name for display in sections[name]}
    borrowing = _borrowing(document, home)
    parts, before = [], ""
    for name, displays in sections.items():
        runs = [d for d in displays if any(_holds(block, d) for block in blocks)]
        for number, display in enumerate(runs, start=1):
            goes_on = number == 1 and name in borrowing
            parts.append(Part(display, name, number, before if goes_on else ""))
        before = name if runs else before
    return parts


def _borrowing(document: Document, home: dict[int, str]) -> set[str]:
    """The sections that read what the one before them defines."""
    parsed = parse_document(document)
    place = {id(s): home[d.body.start] for _, d, p in parsed for s in p.statements}
    blocks = [Block(section.title, p.statements) for section, _, p in parsed]
    found: set[str] = set()
    for part in divide(blocks):
        here = {place[id(statement)] for statement in part.statements}
        if any(place[id(statement)] not in here for statement in part.borrowed):
            found |= here
    return found


def _name(title: str, text: str, taken: Container[str]) -> str:
    """A title as the name of a variable: `From softmax to argmax` → `softmax_argmax`.

    A title that the text speaks of (`claim work of two_heads ≤ …`) keeps all its words.
    """
    words = re.findall(r"\w+", title.casefold())
    name = "_".join(words)
    if len(words) > LONGEST and name not in text:
        name = "_".join([word for word in words if word not in SMALL][:LONGEST]) or name
    if not name.isidentifier():
        name = f"part_{name}"
    if keyword.iskeyword(name) or hasattr(builtins, name):
        name += "_"
    while name in taken:
        name += "_"
    return name


def _cell(piece: Piece, parts: list[Part], folder: Path) -> dict[str, Any]:
    if piece.kind == "prose":
        return with_pictures(markdown_cell(piece.text), folder)
    if piece.kind == "code":
        return code_cell(piece.text, VARIES if piece.varies else "")
    part = next((part for part in parts if _holds(piece, part.display)), None)
    if part is None:  # a block with nothing in it
        return markdown_cell(f"```indicial\n{piece.text}\n```")
    return code_cell(f"{part.magic}\n{piece.text}")


def _holds(piece: Piece, display: Display) -> bool:
    return piece.start <= display.body.start < piece.end


def with_pictures(cell: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A cell with the pictures that it shows inside it: a notebook is passed on without its folder."""
    attachments: dict[str, dict[str, str]] = {}

    def attached(match: re.Match[str]) -> str:
        picture = folder / match["path"]
        kind = PICTURES.get(picture.suffix.lower())
        if kind is None or not picture.is_file():
            return match.group()
        data = base64.b64encode(picture.read_bytes()).decode("ascii")
        attachments[picture.name] = {kind: data}
        return f"{match['before']}attachment:{picture.name})"

    text = re.sub(
        r"(?P<before>!\[[^]]*\]\()(?P<path>[^()\s:]+)\)", attached, "".join(cell["source"])
    )
    if attachments:
        cell["source"] = lines(text)
        cell["attachments"] = attachments
    return cell


def markdown_cell(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": lines(text)}


def code_cell(text: str, tag: str = "") -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"tags": [tag]} if tag else {},
        "outputs": [],
        "source": lines(text),
    }


FAILED = "failed"
"""What the output of a cell is marked with (`indicial.notebook`)."""
TIMEOUT = 600
"""Seconds that a cell may take, and the start of a kernel."""


def run(notebook: Notebook) -> Notebook:
    """Runs every cell; an exception in one of them is an error that says which."""
    ran = copy.deepcopy(notebook)
    cells = [cell for cell in ran["cells"] if cell["cell_type"] == "code"]
    for count, (cell, outputs) in enumerate(zip(cells, _outputs(notebook), strict=True), start=1):
        if VARIES not in cell["metadata"].get("tags", ()):
            cell["execution_count"] = count
            cell["outputs"] = [_kept(output) for output in _joined(outputs)]
    return ran


def failures(notebook: Notebook) -> list[str]:
    """The cells that say of themselves that they failed: equations with mistakes, refuted claims."""
    return [
        "".join(cell["source"]).partition("\n")[0]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
        and any(output.get("metadata", {}).get(FAILED) for output in cell["outputs"])
    ]


def _outputs(notebook: Notebook) -> list[list[dict[str, Any]]]:
    """What each code cell puts out."""
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    except ImportError as error:
        raise IndicialError(
            f"running a notebook needs {error.name}: pip install 'indicial[notebook]'"
        ) from None
    made = nbformat.reads(written(notebook), as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            made,
            timeout=TIMEOUT,
            startup_timeout=TIMEOUT,  # a busy machine takes long to import
            resources={"metadata": {"path": folder}},
            # A kernel of this machine warns that its port is not encrypted.
            extra_arguments=["--log-level=ERROR"],
        )
        try:
            # Lines are as wide as in a terminal of 80 columns, and without colours.
            client.execute(env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1"})
        except Exception as error:
            if getattr(client, "_async_cleanup_kernel_future", None) is not None:
                # On Ctrl-C it ends its kernel, and then misses it in one way or another.
                raise KeyboardInterrupt from None
            if isinstance(error, CellExecutionError):
                why = f"{error.ename}: {error.evalue}"
            elif isinstance(error, DeadKernelError):
                why = "it ends the process that runs it"
            elif isinstance(error, CellTimeoutError):
                why = f"it takes longer than {TIMEOUT} seconds"
            else:
                raise
            raise IndicialError(
                f"a cell fails: {why} (in the cell {_failed(made)!r}); "
                "run the notebook in Jupyter to see where"
            ) from None
    return [cell.outputs for cell in made.cells if cell.cell_type == "code"]


def _failed(notebook: Any) -> str:
    """The first line of the cell that raised an exception, or else of the last that was begun."""
    begun = [cell for cell in notebook.cells if "execution" in cell.metadata]
    raised = (c for c in begun if any(o.output_type == "error" for o in c.get("outputs", ())))
    cell = next(raised, begun[-1] if begun else None)
    return "" if cell is None else str(cell.source).partition("\n")[0]


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a kernel sends of one stream in pieces, cut where it happened to be, is one output."""
    found: list[dict[str, Any]] = []
    for output in map(dict, outputs):
        if found and output.get("name") and output["name"] == found[-1].get("name"):
            found[-1]["text"] += output["text"]
        else:
            found.append(output)
    return found


def _kept(output: dict[str, Any]) -> dict[str, Any]:
    """An output as it stands in the file: texts as lists of lines."""
    kept = dict(output)
    if "text" in kept:
        kept["text"] = lines(kept["text"])
    if "data" in kept:
        kept["data"] = {kind: lines(text) for kind, text in sorted(kept["data"].items())}
    return kept
