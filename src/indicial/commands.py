"""The commands `explain` and `try`."""
from __future__ import annotations
def add_commands(commands, command, filling):  # type: ignore
    return None
