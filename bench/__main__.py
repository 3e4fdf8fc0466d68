"""`python -m bench`: measure, print, and with --write renew docs/benchmarks.md.

make bench                                 everything, about a quarter of an hour
make bench BENCH_ARGS="--only novel --quick"
make bench BENCH_ARGS=--write              and write it down
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from bench import machine
from bench.timing import Pace

if TYPE_CHECKING:
    from bench.options import Options
    from bench.table import Section

# What --only takes → the module in which the function of that name stands.
SECTIONS = {
    "novel": "layers",
    "library": "layers",
    "rate": "layers",
    "matrices": "matrices",
    "convolutions": "convolutions",
    "experts": "experts",
    "grids": "grids",
    "language": "language",
    "translation": "translation",
    "tokens": "tokens",
    "decoding": "decoding",
    "compiling": "compiling",
    "memory": "memory",
    "curves": "curves",
}
DOCS = Path(__file__).resolve().parents[1] / "docs"
BUSY = 2


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure Indicial beside its peers."
    )
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, help="this part; may be given several times"
    )
    parser.add_argument("--quick", action="store_true", help="few rounds and two sizes: a trial")
    parser.add_argument("--anyway", action="store_true", help="measure although others are busy")
    parser.add_argument("--compile", action="store_true", help="torch.compile as a peer (minutes)")
    parser.add_argument(
        "--input-gradient", action="store_true", help="layers: the gradient of the input as well"
    )
    parser.add_argument("--threads", type=int, default=machine.cores(), help="default: all cores")
    parser.add_argument("--rounds", type=int, help="rounds of each race (7; quick: 3)")
    parser.add_argument(
        "--write",
        nargs="?",
        const=DOCS,
        type=Path,
        metavar="FOLDER",
        help="renew docs/benchmarks.md",
    )
    asked = parser.parse_args(given)
    if asked.write == DOCS and (asked.only or asked.quick):
        parser.error("the document holds everything: --write without --only and --quick")
    return asked


def main(given: Sequence[str] | None = None) -> int:
    asked = arguments(given)
    busy = machine.complaint()
    if busy and not asked.anyway:
        print(f"not measuring: {busy} (--anyway measures all the same)", file=sys.stderr)
        return BUSY
    machine.limit_threads(asked.threads)
    # Only now: what these import counts the cores.
    from bench import document

    watch = machine.Watch.start()
    head = machine.describe(asked.threads)
    if asked.quick:
        head += "\nquick: few rounds and two sizes, no basis for a verdict"
    print(head + (f"\n{busy}" if busy else ""), flush=True)
    sections, failed = _measure(asked.only or list(SECTIONS), _options(asked))
    others = watch.others()
    if others is not None:
        head += f"\nother processes used {others:.0%} of the machine meanwhile"
    print(f"\n{head}\n\n{document.summary(sections)}")
    if asked.write:
        for path in document.write(sections, head, asked.write):
            print(f"wrote {os.path.relpath(path)}")
    return 1 if failed else 0


def _measure(names: Sequence[str], options: Options) -> tuple[list[Section], bool]:
    """Each part as far as it goes: one that fails does not cost the others their results."""
    from bench import document

    sections, failed = [], False
    for name in names:
        run: Callable[[Options], Section] = getattr(import_module(f"bench.{SECTIONS[name]}"), name)
        try:
            section = run(options)
        except Exception:
            traceback.print_exc()
            failed = True
            continue
        sections.append(section)
        print(document.terminal(section), flush=True)
    return sections, failed


def _options(asked: argparse.Namespace) -> Options:
    import torch

    from bench.cells import SIZES
    from bench.options import Options

    torch.set_num_threads(asked.threads)
    torch.manual_seed(0)
    pace = Pace(rounds=3, window=0.1) if asked.quick else Pace()
    if asked.rounds:
        pace = Pace(asked.rounds, pace.window)
    sizes = SIZES[1:3] if asked.quick else SIZES
    return Options(pace, sizes, asked.compile, asked.input_gradient, asked.quick)


if __name__ == "__main__":
    sys.exit(main())
