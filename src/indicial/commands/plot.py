"""The command `plot`: what varies from draw to draw, as pictures.

$ indicial plot attention.md "α[0]"                 a histogram
$ indicial plot attention.md "c[i]" --set I=2       vectors in the plane, with their mean
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from indicial.commands.arguments import (
    Commands,
    check_outputs,
    choosing,
    command,
    filling,
    forcing,
    settings,
    stretch,
    with_constants,
)
from indicial.program.messages import IndicialError

PLOT = """\
Draws how a quantity is distributed over the draws (`~`) of a text: a histogram
of a number, the vectors in the plane and their mean where it has two elements,
else a histogram for each element. Without a QUANTITY it draws what the text
asks for with lines like `plot of α[a]`.

  indicial plot attention.eq "α[0]" --out alpha.png
  indicial plot attention.md "c[i]" --set I=2 --draws 5000 --seed 1
  indicial plot attention.md --section "One head"

Sizes that the text leaves open are 2 for the indices of the quantity and 4 for
the others; --set says otherwise.

exit status: 0, 1 where the text has errors, 2 for wrong usage.
"""


def add(commands: Commands[Any]) -> None:
    """Adds `plot` to the parser of `indicial`."""
    plot = command(commands, "plot", "draw how a quantity varies from draw to draw", PLOT, _plot)
    plot.add_argument("file", metavar="FILE", help="a text, or the name of a model")
    plot.add_argument("quantity", metavar="QUANTITY", nargs="*", help="what to draw: α[0], c[i]")
    plot.add_argument("--out", metavar="FILE", help="the picture: .png, .svg or .pdf (plot.png)")
    plot.add_argument("--draws", type=int, metavar="N", help="how many draws (2,000)")
    plot.add_argument("--seed", type=int, default=0, metavar="N", help="the draws (0)")
    choosing(plot)
    filling(plot)
    forcing(plot)


def _plot(options: argparse.Namespace) -> int:
    from indicial.claims.pictures import pictures, plots
    from indicial.library.loading import load, load_document

    if options.draws is not None and options.draws < 1:
        raise IndicialError("at least one draw is needed")
    numbers, fills = settings(options)
    out = Path(options.out or "plot.png")
    programs = load_document(options.file, **stretch(options))
    if options.quantity:
        asked = "".join(f"plot of {one}\n" for one in options.quantity)
        source = programs if stretch(options) else [options.file]
        programs = [load(one, asked, fills=fills) for one in source]
    programs, sizes = with_constants(programs, numbers)
    errors = [m for program in programs if plots(program) for m in program.errors]
    for message in errors:
        print(message.render(), end="\n\n")
    if errors:
        return 1
    found = [
        picture
        for program in programs
        if plots(program)
        for picture in pictures(
            program,
            tests=plots(program)[-len(options.quantity) :],
            sizes={n: v for n, v in sizes.items() if n in program.analysis.code.sizes},
            seed=options.seed,
            draws=options.draws,
        )
    ]
    if not found:
        raise IndicialError(
            "there is nothing to draw: name a quantity, or write `plot of …` in the text"
        )
    paths = [out if n == 0 else out.with_stem(f"{out.stem}-{n + 1}") for n in range(len(found))]
    check_outputs(options, {"out": paths})
    for picture, path in zip(found, paths, strict=True):
        picture.save(path)
        print(f"{picture.line()}: {path}")
    return 0
