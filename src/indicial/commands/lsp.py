"""The command `lsp`.

$ indicial lsp        # an editor starts it, and talks with it
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from indicial.commands.arguments import Commands, command
from indicial.program.messages import IndicialError

LSP = """\
The language server: an editor starts it and talks with it over standard input
and output. It shows mistakes as you type, what a name is and what an equation
costs, completes, renames and formats. docs/editor.md says how to set up
VS Code, Neovim, Emacs and Helix. It needs pygls:
pip install "indicial[editor]"
"""


def add(commands: Commands[Any]) -> None:
    """Adds `lsp` to the parser of `indicial`."""
    lsp = command(commands, "lsp", "check equations in an editor, as you type", LSP, _lsp)
    lsp.add_argument("--stdio", action="store_true", help="accepted, since many editors say so")


def _lsp(options: argparse.Namespace) -> int:
    from indicial.program.terminal import raw

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
