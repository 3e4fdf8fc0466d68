"""A console that says it when nobody reads what it writes any more.

    indicial train … | head -5        BrokenPipeError at the sixth line

Rich by itself would end the process there, and a training with it, before anything is saved.
"""

from __future__ import annotations

import contextlib
import os
import sys

from rich.console import Console


class Output(Console):
    """Raises `BrokenPipeError` once; what comes later is not written."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        raise  # rich calls this where it has caught the error


def discard_stdout() -> None:
    """What still waits to be written goes nowhere: else Python complains about it at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
