"""The command `notebook`.

$ indicial notebook docs/problems/argmax.md            # writes docs/problems/argmax.ipynb
$ indicial notebook docs/problems/argmax.md --run      # with what its cells put out
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from indicial.commands.arguments import Commands, check_outputs, command, forcing
from indicial.program.messages import IndicialError

TEXT = """\
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


def add(commands: Commands[Any]) -> None:
    """Adds `notebook` to the parser of `indicial`."""
    made = command(commands, "notebook", "make a notebook of a problem sheet", TEXT, _notebook)
    made.add_argument("sheets", nargs="+", metavar="SHEET", help="a text in Markdown")
    made.add_argument("--out", metavar="FILE", help="where to write it, if there is one sheet")
    forcing(made)
    made.add_argument(
        "--run", action="store_true", dest="outputs", help="run the cells, and keep their outputs"
    )


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
    check_outputs(options, {"out": outs}, out=MARK)
    failed = [_make(sheet, out, options.outputs) for sheet, out in zip(sheets, outs, strict=True)]
    return 1 if any(failed) else 0


def _make(sheet: Path, out: Path, run: bool) -> int:
    """Writes a notebook; how many of its cells failed."""
    from indicial.program.outputs import write_text
    from indicial.sheets.making import failures, keep_outputs, left_out, make, written

    notebook = make(sheet)
    for display in left_out(sheet):
        place = f"{sheet}:{display.span.line}"
        print(f"{place}: this formula stays text; in a block ```indicial it would run")
    if run:
        from indicial.sheets.making import run as run_cells

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
