"""Equations from the clipboard or the keyboard, in whichever notation they are.

>>> written("$y_j = \\\\tanh(x_j)$").equations
[Equation(…)]
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import TextIO

from indicial.library.loading import load, resolve
from indicial.notation.displays import parse_pasted
from indicial.notation.documents import read_text
from indicial.notation.syntax import Declaration
from indicial.program.messages import IndicialError
from indicial.program.program import Program

CLIPBOARDS = (
    ("wl-paste", "--no-newline"),
    ("xclip", "-selection", "clipboard", "-out"),
    ("xsel", "--clipboard", "--output"),
    ("pbpaste",),
    ("powershell.exe", "-NoProfile", "-Command", "Get-Clipboard"),
)
LIMIT = 200_000
"""A clipboard with more characters than this holds something else."""


def written(
    text: str,
    fills: Mapping[str, str] | None = None,
    title: str = "pasted",
    document: bool | None = True,
) -> Program:
    """A program from pasted text, told apart by its looks: a document, LaTeX, plain notation.

    Nobody declares inputs in what is copied from a paper, so names that nothing defines are
    guessed, as in a document; with `document=None` only where the text declares nothing.
    """
    source = read_text(text, title)
    if source.flavour != "plain":
        return load(source, fills=fills)
    parsed = [p for _, p in parse_pasted(source)]
    faults = source.faults
    statements = [s for p in parsed for s in p.statements]
    if document is None:
        document = not any(isinstance(s, Declaration) for s in statements)
    return Program(
        statements,
        title=title,
        faults=[*faults, *(f for p in parsed for f in p.faults)],
        skipped=[s for p in parsed for s in p.skipped],
        document=document,
        resolve=resolve,
        fills=fills,
    )


def pasted(keyboard: TextIO, only_stdin: bool = False) -> tuple[str, str]:
    """Text and where it is from: what is piped in, else the clipboard, else the keyboard."""
    if only_stdin or not keyboard.isatty():
        return keyboard.read(), "standard input"
    text = clipboard()
    if text and "=" in text:
        return text, "the clipboard"
    why = "The clipboard holds no equation" if text is not None else "There is no clipboard here"
    print(f"{why}. Type equations; an empty line ends them.", file=sys.stderr)
    lines: list[str] = []
    for line in keyboard:
        if not line.strip():
            if lines:
                break
            continue
        lines.append(line)
    if not lines:
        raise IndicialError('nothing to try: indicial try "y[j] = W[j,I] x[I]"')
    return "".join(lines), "the keyboard"


def clipboard() -> str | None:
    """What was copied last; None where no program can tell."""
    for command in CLIPBOARDS:
        if shutil.which(command[0]) is None:
            continue
        try:
            done = subprocess.run(command, capture_output=True, timeout=5, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return done.stdout[: 4 * LIMIT].decode("utf-8", "replace")[:LIMIT]
    return None
