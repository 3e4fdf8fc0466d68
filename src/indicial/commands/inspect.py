"""The command `inspect`: what goes on inside the model of a run.

$ indicial inspect runs/book --words king,queen
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from indicial.commands.arguments import (
    Commands,
    check_outputs,
    command,
    forcing,
    weights,
)

INSPECT = """\
Looks inside the model of a run, while it reads texts of its validation part.

  indicial inspect runs/book
  indicial inspect runs/book --words king,queen
  indicial inspect runs/book --data other.txt --out pictures

It tells how gradients grow or vanish over the steps, the eigenvalues of what
one step does to the state, which units are saturated, the size of parameters
and activations, and which words the model treats as alike. Two pictures are
drawn: gradients.png and eigenvalues.png (and as .svg), into the run or --out.

exit status: 0, 2 for wrong usage.
"""


def add(commands: Commands[Any]) -> None:
    """Adds `inspect` to the parser of `indicial`."""
    parser = command(commands, "inspect", "look inside a trained model", INSPECT, _inspect)
    parser.add_argument("run_folder", metavar="RUN", help="the folder of a run")
    parser.add_argument("--data", nargs="+", metavar="PATH",
                        help="texts to look with (the validation part of the run)")  # fmt: skip
    parser.add_argument("--field", metavar="NAME", help="the field or column that holds the text")
    parser.add_argument("--words", default="", metavar="A,B,C",
                        help="whose nearest words to show (those that come most often)")  # fmt: skip
    parser.add_argument("--out", metavar="FOLDER", help="where the pictures go (the run)")
    forcing(parser)
    weights(parser)
    parser.add_argument("--json", action="store_true", help="all numbers as JSON")


def _inspect(options: argparse.Namespace) -> int:
    from indicial.inspect.findings import PICTURES, inspect_run, page
    from indicial.training.run import Run

    run = Run.open(options.run_folder)
    folder = Path(options.out) if options.out is not None else run.folder
    check_outputs(options, {"out": [folder / name for name in PICTURES]})
    words = [word.strip() for word in options.words.split(",") if word.strip()]
    found = inspect_run(
        run, options.data, field=options.field, words=words, checkpoint=options.checkpoint
    )
    paths = found.draw(folder)
    if options.json:
        told = {**found.to_json(), "pictures": [str(path) for path in paths]}
        print(json.dumps(told, ensure_ascii=False, indent=2, allow_nan=False))
    else:
        print(page(found))
        if paths:
            print("\npictures: " + ", ".join(str(path) for path in paths if path.suffix == ".png"))
    return 0
