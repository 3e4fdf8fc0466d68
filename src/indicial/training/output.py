"""A console that says it when nobody reads what it writes any more.

    indicial train … | head -5        BrokenPipeError at the sixth line

Rich by itself would end the process there, and a training with it, before anything is saved.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable
from typing import IO

from rich.console import Console
from rich.segment import Segment

from indicial.program.terminal import escaped, raw


class Output(Console):
    """Raises `BrokenPipeError` once; what comes later is not written.

    Control characters in what is said are shown; those of rich itself, segments of their own, are obeyed.
    """

    @property
    def file(self) -> IO[str]:
        return raw(super().file)

    @file.setter
    def file(self, new: IO[str]) -> None:
        self._file = new

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        if not self.is_terminal:
            return super()._render_buffer(buffer)
        return super()._render_buffer(
            [one if one.control else one._replace(text=escaped(one.text)) for one in buffer]
        )

    def on_broken_pipe(self) -> None:
        self.quiet = True
        raise  # rich calls this where it has caught the error


def discard_stdout() -> None:
    """What still waits to be written goes nowhere: else Python complains about it at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
