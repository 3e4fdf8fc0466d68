"""The command `indicial`: arguments only; each command is a few calls into the package.

$ indicial check notes.tex
$ indicial explain transformer --set J=512
$ indicial models
"""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import sys
import textwrap
from collections.abc import Sequence

from indicial import __version__

DESCRIPTION = "Index notation that runs: check, explain and try equations of sequence models."

EXAMPLES = """\
examples:
  indicial models                      the models of the library
  indicial check notes.md ugrnn        every mistake in notes.md and in a model
  indicial explain transformer         its equations, names, sizes and costs
  indicial explain ugrnn --set J=256   the costs as numbers
  indicial try "y[j] = W[j,I] x[I]"    run equations on small random values
"""

CHECK = """\
Checks files and models. Documents (.md, .tex, .txt, .ipynb) may hold many
programs, one for each heading; an .eq file is one program. Every mistake is
shown with its place, what was derived and what to do. A comment silences a
message: `# indicial: ignore[code]` on its line or on the line before.

exit status: 0 without errors (warnings may be there), 1 with errors,
2 for a wrong call.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives the exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    # What is read lives to the end, so looking for garbage often finds none; in a long document it
    # would take a third of the time.
    gc.set_threshold(100_000, 50, 50)
    from indicial.program.messages import IndicialError

    try:
        return int(options.run(options))
    except IndicialError as error:
        print(f"indicial: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="indicial", description=DESCRIPTION, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"indicial {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    check = _command(commands, "check", "find mistakes in equations", CHECK, _check)
    check.add_argument("files", nargs="+", metavar="FILE", help="a file, or the name of a model")
    check.add_argument("--join", action="store_true", help="read all files as one program")
    check.add_argument("--json", action="store_true", help="messages as JSON, for editors")
    check.add_argument(
        "--notes", action="store_true", help="also say how doubtful things were read"
    )
    _filling(check)

    models = _command(commands, "models", "list the models of the library",
                      "Lists the models of the library with one line each.", _models)  # fmt: skip
    models.add_argument("--json", action="store_true", help="as JSON")

    from indicial.commands import add_commands

    add_commands(commands, _command, _filling)
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    line: str,
    text: str,
    run: object,
) -> argparse.ArgumentParser:
    made = commands.add_parser(
        name, help=line, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.set_defaults(run=run)
    return made


def _filling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="settings",
        help="a size (J=256) or what fills a hole (CELL=lstm); may be repeated",
    )  # fmt: skip


def settings(options: argparse.Namespace) -> tuple[dict[str, int], dict[str, str]]:
    """`--set J=256 --set CELL=lstm` → ({"J": 256}, {"CELL": "lstm"})."""
    from indicial.program.messages import IndicialError

    sizes: dict[str, int] = {}
    fills: dict[str, str] = {}
    for setting in options.settings:
        name, equals, value = setting.partition("=")
        if not equals or not name or not value:
            raise IndicialError(f"--set takes NAME=VALUE, not {setting!r}")
        if value.replace(".", "", 1).lstrip("+-").isdigit():
            if not value.isdigit() or not 0 < int(value) < 10**9:
                raise IndicialError(f"the size {name} must be a whole number from 1, not {value}")
            sizes[name] = int(value)
        else:
            fills[name] = value
    return sizes, fills


def _check(options: argparse.Namespace) -> int:
    from indicial.loading import load, load_document
    from indicial.program.messages import IndicialError, Message, in_order

    sizes, fills = settings(options)
    if options.join:
        programs = [load(*options.files, fills=fills)]
    elif fills:
        programs = [load(f, fills=fills) for f in options.files]
    else:
        programs = [p for f in options.files for p in load_document(f)]
    known = {name for program in programs for name in program.analysis.code.sizes}
    for name in sizes:
        if name not in known:
            raise IndicialError(f"there is no size {name}; there are {', '.join(sorted(known))}")
    every: dict[Message, None] = {m: None for program in programs for m in program.messages}
    found = in_order(m for m in every if options.notes or m.severity != "note")
    skipped = [s for p in programs for s in p.skipped]
    errors = sum(1 for m in found if m.severity == "error")
    warnings = sum(1 for m in found if m.severity == "warning")
    if options.json:
        print(json.dumps([m.to_json() for m in found], ensure_ascii=False, indent=2))
        return 1 if errors else 0
    for message in found:
        print(message.render(), end="\n\n")
    if options.notes:
        for one in skipped:
            print(f"{one.span.source.name}:{one.span.line}: skipped: {one.reason}")
    equations = sum(len(p.equations) for p in programs)
    print(_summary(equations, len(programs), errors, warnings, len(skipped)))
    return 1 if errors else 0


def _summary(equations: int, programs: int, errors: int, warnings: int, skipped: int) -> str:
    def count(number: int, word: str) -> str:
        return f"{number} {word}{'' if number == 1 else 's'}"

    read = f"{count(equations, 'equation')} in {count(programs, 'program')}"
    if not errors and not warnings:
        verdict = "no mistakes"
    else:
        parts = [count(n, w) for n, w in ((errors, "error"), (warnings, "warning")) if n]
        verdict = ", ".join(parts)
    tail = f"; {skipped} skipped (see --notes)" if skipped else ""
    return f"{read}: {verdict}{tail}"


def _models(options: argparse.Namespace) -> int:
    from indicial import library

    rows = {name: library.summary(name) for name in library.names()}
    if options.json:
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return 0
    width = max(len(name) for name in rows)
    room = shutil.get_terminal_size((80, 24)).columns
    for name, line in rows.items():
        start, hang = f"{name:<{width}}  ", " " * (width + 2)
        print(textwrap.fill(line, room, initial_indent=start, subsequent_indent=hang))
    return 0
