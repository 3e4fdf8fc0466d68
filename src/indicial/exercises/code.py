"""The Python of an answer, run because the lecturer asked for it: names → their values.

    query = 10 * np.eye(3, 7)        in a cell of the student's notebook
    W^Q = query  # d1                in a gap

>>> values_of(cells, {"query"}, seconds=20)
{'query': '[[10.0, 0.0, …], …]'}

It runs in a process of its own, in an empty folder, with bounds on time and memory. These are bounds on
accidents: whoever runs code that others wrote does so in a container, or reads it first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from typing import Any

from indicial.exercises.apart import bound_memory, bound_time, paths

MOST_NUMBERS = 10_000
MOST_REPLY = 1_000_000


def values_of(cells: Sequence[str], names: Collection[str], seconds: float) -> dict[str, str]:
    """What some names are when all cells have run, as texts that can stand in a gap."""
    asked = json.dumps({"cells": list(cells), "names": sorted(names), "seconds": seconds})
    with tempfile.TemporaryDirectory(prefix="indicial-code-") as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "indicial.exercises.code"],
                input=asked.encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": paths()},
                timeout=15 * seconds + 60,
                check=False,
            )
            found = json.loads(done.stdout[-MOST_REPLY:].splitlines()[-1])
        except (subprocess.TimeoutExpired, ValueError, IndexError, OSError):
            return {}
    if not isinstance(found, dict):
        return {}
    return {str(name): str(value) for name, value in found.items()}


def _run() -> None:
    """In the process: cells that fail are passed over."""
    asked = json.loads(sys.stdin.read())
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what they print is no reply
    bound_memory()
    bound_time(asked["seconds"])
    space: dict[str, Any] = {"__name__": "answers"}
    exec("import numpy as np", space)
    for cell in asked["cells"]:
        try:
            exec(compile(cell, "<cell>", "exec"), space)
        except Exception:  # whatever it is, the next cell may do
            continue
    found = {}
    for name in asked["names"]:
        if name in space:
            text = _text(space[name])
            if text is not None:
                found[name] = text
    replies.write("\n" + json.dumps(found) + "\n")
    replies.flush()


def _text(value: Any) -> str | None:
    """A number, or lists of numbers; None for anything else."""
    import numpy as np

    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        return None
    if array.size > MOST_NUMBERS or not np.isfinite(array).all():
        return None
    return json.dumps(array.tolist())


if __name__ == "__main__":
    _run()
