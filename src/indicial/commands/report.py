"""The command `report`.

$ indicial report runs/people-1 --out people.html
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from indicial.commands.arguments import (
    Commands,
    check_outputs,
    command,
    forcing,
    given_inputs,
    weights,
)

REPORT = """\
Writes one HTML file about a run that stands alone: its equations typeset, its
curves, texts that it says, what its heads look at (point at a word; a click
holds it), gradients and eigenvalues, settings. It can be sent to somebody, and
needs no net. For typeset equations: pip install "indicial[report]".

  indicial report runs/people-1
  indicial report runs/people-1 --out people.html --text "Helen was born in"
  indicial report runs/translation-1 --input x="ein Hund schläft"

exit status: 0, 2 for wrong usage.
"""


def add(commands: Commands[Any]) -> None:
    """Adds `report` to the parser of `indicial`."""
    parser = command(commands, "report", "write a page about a run", REPORT, _report)
    parser.add_argument("run_folder", metavar="RUN", help="the folder of a run")
    parser.add_argument("--out", metavar="FILE", help="the file (report.html in the run)")
    parser.add_argument("--text", metavar="TEXT",
                        help="what the heads read (what the model says itself)")  # fmt: skip
    parser.add_argument("--input", action="append", default=[], metavar="NAME=VALUE",
                        help="what an input reads, of a model with several")  # fmt: skip
    parser.add_argument("--row", type=int, metavar="N",
                        help="of a model of the phrasebook or of scenes: from this row on (0)")  # fmt: skip
    weights(parser)
    forcing(parser)


def _report(options: argparse.Namespace) -> int:
    from indicial.lab.report import report
    from indicial.program.outputs import write_text
    from indicial.training.run import Run

    run = Run.open(options.run_folder)
    file = Path(options.out) if options.out is not None else run.folder / "report.html"
    check_outputs(options, {"out": [file]})
    made = report(
        run,
        text=options.text,
        given=given_inputs(options),
        row=options.row,
        checkpoint=options.checkpoint,
    )
    write_text(file, made)
    print(f"the report is in {file}")
    return 0
