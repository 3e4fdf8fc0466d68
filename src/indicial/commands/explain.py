"""The commands `explain`, `try` and `plot`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from indicial.commands.arguments import (
    Commands,
    check_outputs,
    choosing,
    command,
    filling,
    forcing,
    option,
    print_json,
    read_programs,
    stretch,
    with_settings,
)
from indicial.program.messages import IndicialError, in_order
from indicial.program.outputs import write_text
from indicial.program.terminal import raw

if TYPE_CHECKING:
    from indicial.program.program import Program


EXPLAIN = """\
Explains a model of the library, a file or several of them joined: the
equations, what each name was taken for, the ranges, what is read outside them,
and what it costs: as formulas, and with sizes as numbers. A name with a
question mark was guessed.

  indicial explain transformer
  indicial explain ugrnn --set J=256 --set K=64 --set T=128
  indicial explain transformer focus        the two as one program
  indicial explain notes.md --section "The cell"
  indicial explain notes.md --from Gates --to "The state"
  indicial explain - < chat.txt             what was copied from elsewhere
  indicial explain lstm --graph lstm.svg    a drawing of what needs what
  indicial explain lstm --gradient          the equations of backpropagation
  indicial explain lstm --latex > lstm.tex  a document for pdflatex

exit status: 0, 1 if the equations have mistakes (they are shown), 2 for a
wrong call.
"""

TRY = """\
Runs equations on small random values and shows every result as a heat map.
Without an argument it takes the equations from the clipboard or, if there are
none, from the keyboard. LaTeX and plain notation are told apart automatically,
and names that nothing defines are guessed by convention.

  indicial try                               what you just copied
  indicial try "y[j] = tanh(W[j,I] x[I])"
  indicial try ugrnn --set T=6 --seed 3
  indicial try - < notes.txt

exit status: 0, 1 if the equations have mistakes (they are shown), 2 for a
wrong call.
"""


def add(commands: Commands[Any]) -> None:
    """Adds `explain`, `try` and `plot` to the parser of `indicial`."""
    explain = command(commands, "explain", "say how equations were read and what they cost",
                      EXPLAIN, _explain)  # fmt: skip
    explain.add_argument(
        "what", nargs="+", metavar="NAME|FILE", help="a model, a file, or - for standard input"
    )
    spelling = explain.add_mutually_exclusive_group()
    option(spelling, "--latex", "the equations as a LaTeX document, and nothing else")
    option(spelling, "--unicode", "print the equations in Unicode")
    option(explain, "--json", "everything as JSON")
    option(explain, "--all", "also what the analysis made, and costs by tensor", dest="everything")
    option(explain, "--graph FILE.svg", "draw what needs what into a file")
    forcing(explain)
    option(explain, "--gradient", "the equations of the gradient instead, for reading")
    option(explain, "--schedule", "how it is run instead: loops, kernels, library calls")
    choosing(explain)
    filling(explain)

    trying = command(commands, "try", "run equations on small random values", TRY, _try)
    trying.add_argument("what", nargs="?", metavar="EQUATIONS|NAME|FILE",
                        help="what to run; - reads standard input")  # fmt: skip
    trying.add_argument("--seed", type=int, default=0, help="seed of the random values (0)")
    option(trying, "--all", "also inputs and parameters, and every slice", dest="everything")
    filling(trying)
    _add_plot(commands)


# ---------------------------------------------------------------------- explain


def _explain(options: argparse.Namespace) -> int:
    from indicial.program.explain.explain import explain

    programs, given, unread = _programs(options, options.what)
    good = [p for p in programs if not p.errors]
    sizes = _shared_out(good, given)
    if options.graph and good:
        _draw(good, options)
    elif options.gradient or options.schedule:
        _show_pages(options, good)
    elif options.latex:
        from indicial.program.explain.explain import heading, shown_equations
        from indicial.program.explain.latex import Part, latex_document

        if good:
            print(latex_document([Part(heading(p), shown_equations(p)) for p in good]))
    elif options.json:
        from indicial.program.explain.facts import read
        from indicial.program.explain.report import to_json

        found: list[Any] = [to_json(read(p, s)) for p, s in zip(good, sizes, strict=True)]
        bad = [p for p in programs if p.errors]
        found += [{"title": p.title, "messages": [m.to_json() for m in p.messages]} for p in bad]
        print_json(found)
        return 0 if len(good) == len(programs) else 1
    else:
        spelling = "unicode" if options.unicode else "typed"
        texts = {
            id(p): explain(p, sizes=s, spelling=spelling, everything=options.everything)
            for p, s in zip(good, sizes, strict=True)
        }
        texts |= {id(p): explain(p) for p in unread}
        in_turn = sorted([*good, *unread], key=_begin)
        if texts:
            print("\n\n\n".join(texts[id(p)] for p in in_turn))
    _show_mistakes(programs, sys.stderr if options.latex else None)
    return 0 if len(good) == len(programs) else 1


def _show_pages(options: argparse.Namespace, programs: Sequence[Program]) -> None:
    """Pages that take the place of the usual one."""
    name = "gradient" if options.gradient else "schedule"
    for other in ("latex", "unicode", "json", "schedule"):
        if getattr(options, other) and other != name and (name, other) != ("gradient", "latex"):
            raise IndicialError(f"--{name} prints one page for reading, so not with --{other}")
    if options.latex:
        from indicial.compile.explain.gradient import gradient_latex

        if programs:
            print(gradient_latex(programs))
        return
    if name == "gradient":
        from indicial.compile.explain.gradient import gradient as page
    else:
        from indicial.compile.explain.schedule_page import schedule_page as page
    if programs:
        print("\n\n\n".join(page(program) for program in programs))


def _programs(
    options: argparse.Namespace, what: Sequence[str]
) -> tuple[list[Program], dict[str, int], list[Program]]:
    """One program of several texts, or all programs of one; their sizes; those of which nothing is read."""
    (programs,), sizes = read_programs(options, what, join=len(what) > 1)
    found = [p for p in programs if p.equations or p.errors]
    if not found:
        reasons = [f"line {s.span.line}: {s.reason}" for p in programs for s in p.skipped[:3]]
        raise IndicialError(f"no equations in {what[0]}" + "".join(f"\n  {r}" for r in reasons))
    return found, sizes, [p for p in programs if p not in found and p.skipped]


def _begin(program: Program) -> int:
    """Where a program begins in its document, for pages in the order of the text."""
    begins = [st.span.start for st in program.written] + [one.span.start for one in program.skipped]
    return min(begins, default=0)


def _shared_out(programs: Sequence[Program], given: dict[str, int]) -> list[dict[str, int]]:
    """The sizes that concern each program; of several, not each must have all."""
    if len(programs) == 1:
        return [given]
    shares: list[dict[str, int]] = [{} for _ in programs]
    refused: list[IndicialError] = []
    for name, value in given.items():
        reasons = []
        for program, share in zip(programs, shares, strict=True):
            try:
                program.sizes({name: value})
                share[name] = value
            except IndicialError as error:
                reasons.append(error)
        if len(reasons) == len(programs):
            refused += reasons[:1]
    if refused:
        raise refused[0]
    return shares


def _draw(programs: Sequence[Program], options: argparse.Namespace) -> None:
    from indicial.inspect.graph import draw

    path = Path(options.graph)
    if path.suffix.lower() != ".svg":
        raise IndicialError(f"--graph writes SVG: give a name that ends in .svg, not {path.name}")
    paths = [path]
    if len(programs) > 1:
        paths = [path.with_stem(f"{path.stem}-{n}") for n in range(1, len(programs) + 1)]
    check_outputs(options, graph=paths)
    for one, program in zip(paths, programs, strict=True):
        write_text(one, draw(program))
        print(f"wrote {one}: {program.title}")


def _show_mistakes(programs: Sequence[Program], where: TextIO | None = None) -> None:
    found = []
    for program in programs:
        if program.errors:
            found += [m for m in program.mistakes if m not in found]
    for message in in_order(found):
        print(message.render(), end="\n\n", file=where)
    bad = sum(1 for p in programs if p.errors)
    if bad:
        word = "program has" if len(programs) == 1 else f"of {len(programs)} programs have"
        print(
            f"the {word} mistakes" if len(programs) == 1 else f"{bad} {word} mistakes", file=where
        )


# ---------------------------------------------------------------------- try


def _try(options: argparse.Namespace) -> int:
    from indicial.inspect.trial import trial
    from indicial.paste import pasted, written
    from indicial.program.explain.explain import equations, unread

    text = options.what
    if text is None or text == "-":
        text, where = pasted(sys.stdin, only_stdin=text == "-")
        print(f"from {where}:\n")
    if text is not options.what or "=" in text or "\n" in text or "~" in text:
        (programs,), given = with_settings(options, lambda fills: [[written(text, fills)]])
    else:
        programs, given, _ = _programs(options, [text])
    good = [p for p in programs if not p.errors]
    if not any(p.equations for p in programs) and len(good) == len(programs):
        raise IndicialError(
            "there is no equation in that; an equation looks like y[j] = W[j,I] x[I]"
        )
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for program, sizes in zip(good, _shared_out(good, given), strict=True):
        if len(programs) > 1:
            print(f"{program.title}\n")
        print("\n".join([*equations(program), ""]))
        if left_out := unread(program):
            print("\n".join([*left_out, ""]))
        for message in program.mistakes:  # warnings: what has errors is shown behind
            print(message.render(), end="\n\n")
        lines = trial(
            program, sizes=sizes, seed=options.seed, everything=options.everything, colour=colour
        )
        print("\n".join([*lines, ""]), file=raw(sys.stdout))
    _show_mistakes(programs)
    return 0 if len(good) == len(programs) else 1


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


def _add_plot(commands: Commands[Any]) -> None:
    """Adds `plot` to the parser of `indicial`."""
    plot = command(commands, "plot", "draw how a quantity varies from draw to draw", PLOT, _plot)
    plot.add_argument("file", metavar="FILE", help="a text, or the name of a model")
    plot.add_argument("quantity", metavar="QUANTITY", nargs="*", help="what to draw: α[0], c[i]")
    option(plot, "--out FILE", "the picture: .png, .svg or .pdf (plot.png)")
    option(plot, "--draws N", "how many draws (2,000)", int)
    option(plot, "--seed N", "the draws (0)", int, default=0)
    choosing(plot)
    filling(plot)
    forcing(plot)


def _plot(options: argparse.Namespace) -> int:
    from indicial.claims.trying import pictures, plots
    from indicial.library.loading import load, load_document

    if options.draws is not None and options.draws < 1:
        raise IndicialError("at least one draw is needed")
    out, chosen = Path(options.out or "plot.png"), stretch(options)
    asked = "".join(f"plot of {one}\n" for one in options.quantity)

    def read(fills: dict[str, str]) -> list[list[Program]]:
        if not asked:
            return [load_document(options.file, fills=fills, **chosen)]
        source = load_document(options.file, **chosen) if chosen else [options.file]
        return [[load(one, asked, fills=fills) for one in source]]

    (programs,), sizes = with_settings(options, read)
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
    check_outputs(options, out=paths)
    for picture, path in zip(found, paths, strict=True):
        picture.save(path)
        print(f"{picture.line()}: {path}")
    return 0
