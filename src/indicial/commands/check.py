"""The commands `check` and `models`.

$ indicial check notes.tex
$ indicial models
"""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from typing import Any

from indicial.commands.arguments import Commands, command, filling, settings

CHECK = """\
Checks files and models. Documents (.md, .tex, .txt, .ipynb) may hold many
programs, one for each heading; an .eq file is one program. Every mistake is
shown with its place, what was derived and what to do. A comment silences a
message: `# indicial: ignore[code]` on its line or on the line before.

exit status: 0 without errors (warnings may be there), 1 with errors,
2 for a wrong call.
"""


def add(commands: Commands[Any]) -> None:
    """Adds `check` and `models` to the parser of `indicial`."""
    check = command(commands, "check", "find mistakes in equations", CHECK, _check)
    check.add_argument("files", nargs="+", metavar="FILE", help="a file, or the name of a model")
    check.add_argument("--join", action="store_true", help="read all files as one program")
    check.add_argument("--json", action="store_true", help="messages as JSON, for editors")
    check.add_argument(
        "--notes", action="store_true", help="also say how doubtful things were read"
    )
    filling(check)

    models = command(commands, "models", "list the models of the library",
                     "Lists the models of the library with one line each.", _models)  # fmt: skip
    models.add_argument("--json", action="store_true", help="as JSON")


def _check(options: argparse.Namespace) -> int:
    from indicial.library.loading import load, load_document
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
