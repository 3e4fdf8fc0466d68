"""The commands `lab` and `lsp`: equations and runs in the browser, equations in an editor."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from typing import Any

from indicial.commands.arguments import Commands, command, option
from indicial.program.messages import IndicialError
from indicial.program.terminal import raw

LAB = """\
Opens a page in the browser: equations with their messages, costs and heat maps
as one types, attention with vectors that one drags, and the runs of trainings.

  indicial lab                       an empty text, and the runs in runs/
  indicial lab model.eq              that text; the file itself is never changed
  indicial lab transformer           a model of the library
  indicial lab runs/cell-people-1    that run; or a folder with several
  indicial lab cell.eq texts/        with the files of a folder to train on
  indicial lab "http://127.0.0.1:8765/#eq=…"     a link that somebody copied

The page is served on this machine only, to whoever has the link that is
printed; nothing is fetched from anywhere else. Ctrl-C ends it.

exit status: 0, 2 for wrong usage.
"""
PORT = 8765


def add(commands: Commands[Any]) -> None:
    """Adds `lab` and `lsp` to the parser of `indicial`."""
    parser = command(commands, "lab", "open equations and runs in the browser", LAB, _lab)
    parser.add_argument("what", nargs="*", metavar="FILE|MODEL|FOLDER|LINK", help="what to show")
    option(parser, "--port N", f"where to serve ({PORT}, or another that is free)", int)
    option(parser, "--no-browser", "only print the link")
    _add_lsp(commands)


def _lab(options: argparse.Namespace) -> int:
    try:
        from indicial.page.server import Lab, serve
    except ImportError as error:
        raise IndicialError(
            f"the lab needs {error.name}, which is not installed: pip install 'indicial[lab]'"
        ) from None
    from indicial.page.runs import Trainings
    from indicial.page.server import beginning
    from indicial.page.workers import Workers

    begun, folders, fragment = beginning(options.what)
    port = _free(options.port)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    workers = Workers(max(2, min(4, cores or 2)), folders=folders)
    lab = Lab(begun, port, workers, Trainings(folders))
    link = f"{lab.link}{fragment}"

    def ready() -> None:
        print(f"the lab is at {link}\nCtrl-C ends it", flush=True)
        if not options.no_browser:
            import webbrowser

            webbrowser.open(link)

    serve(lab, ready)
    return 0


def _free(wanted: int | None) -> int:
    """The port that is wanted, or one that is free."""
    if wanted is not None and not 0 <= wanted <= 65535:
        raise IndicialError(f"a port is a number from 0 (any) to 65535, not {wanted}")
    for port in [PORT, 0] if wanted is None else [wanted]:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as door:
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                door.bind(("127.0.0.1", port))
            except OSError as error:
                if wanted is not None:
                    raise IndicialError(f"port {wanted} cannot be used: {error.strerror}") from None
                continue
            return int(door.getsockname()[1])
    raise IndicialError("no port is free")


LSP = """\
The language server: an editor starts it and talks with it over standard input
and output. It shows mistakes as you type, what a name is and what an equation
costs, completes, renames and formats. docs/editor.md says how to set up
VS Code, Neovim, Emacs and Helix. It needs pygls:
pip install "indicial[editor]"
"""


def _add_lsp(commands: Commands[Any]) -> None:
    lsp = command(commands, "lsp", "check equations in an editor, as you type", LSP, _lsp)
    option(lsp, "--stdio", "accepted, since many editors say so")


def _lsp(options: argparse.Namespace) -> int:
    try:
        from indicial.editor.server import serve
    except ImportError as error:
        raise IndicialError(
            'the language server needs pygls: pip install "indicial[editor]"'
        ) from error
    stdout = raw(sys.stdout).buffer  # type: ignore[attr-defined]
    sys.stdout = sys.stderr  # nothing that is printed gets between the answers
    serve(sys.stdin.buffer, stdout)
    return 0
