"""A notebook → the same with its outputs, run from top to bottom in a kernel of its own.

>>> ran = run(make(Path("docs/problems/argmax.md")))
>>> ran["cells"][4]["outputs"][0]["data"]["text/plain"]
['s[n] = k[n,I] q[I]\\n', …]

It runs in an empty folder that is removed afterwards, as the blocks of a document do. What a sheet
leaves open (`...`) may be different each time, and is not kept.
"""

from __future__ import annotations

import copy
import os
import tempfile
from typing import Any

from indicial.program.messages import IndicialError
from indicial.sheets.making import VARIES, Notebook, lines, written

FAILED = "failed"
"""What the output of a cell is marked with (`indicial.notebook`)."""
LONGEST = 600
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
        from nbclient.exceptions import CellExecutionError
    except ImportError as error:
        raise IndicialError(
            f"running a notebook needs {error.name}: pip install 'indicial[notebook]'"
        ) from None
    made = nbformat.reads(written(notebook), as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            made,
            timeout=LONGEST,
            startup_timeout=LONGEST,  # a busy machine takes long to import
            resources={"metadata": {"path": folder}},
            # A kernel of this machine warns that its port is not encrypted.
            extra_arguments=["--log-level=ERROR"],
        )
        try:
            # Lines are as wide as in a terminal of 80 columns, and without colours.
            client.execute(env=os.environ | {"COLUMNS": "80", "NO_COLOR": "1"})
        except CellExecutionError as error:
            raise IndicialError(
                f"a cell fails: {error.ename}: {error.evalue} (in the cell {_failed(made)!r}); "
                "run the notebook in Jupyter to see where"
            ) from None
    return [cell.outputs for cell in made.cells if cell.cell_type == "code"]


def _failed(notebook: Any) -> str:
    """The first line of the cell that raised an exception."""
    for cell in notebook.cells:
        if any(output.output_type == "error" for output in cell.get("outputs", ())):
            return str(cell.source).partition("\n")[0]
    return ""


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
