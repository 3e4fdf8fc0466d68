"""A grader in a process of its own: whatever an answer asks for, the grading goes on.

>>> with Apart(exercise, seconds=20) as grader:
...     grader.grade("a1", "Σ_{n=1}^{1000000000} n")
Grade(share=0.0, told='it took more than 20 seconds or too much memory', …)

The process has so many seconds of processor time for each answer, and so much memory. One that needs
more is ended, and another one started for the next answer.

>>> values_of(["query = 10 * np.eye(3, 7)"], {"query"}, seconds=20)
{'query': '[[10.0, 0.0, …], …]'}

The Python of an answer is run if the lecturer asks for it, in such a process and in an empty folder. These are
bounds on accidents: whoever runs code that others wrote does so in a container, or reads it first.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from indicial.exercises.asking import Exercise, Grade
from indicial.program.messages import IndicialError

SECONDS = 20.0
"""Of processor time for one answer."""
MEMORY = 3 << 30
"""Bytes that an answer may take, beyond what the grader itself does."""
PATIENCE = 15
"""How many times as long by the clock: a machine may have other things to do."""


PROCESS = [sys.executable, "-m", "indicial.exercises.apart"]
MOST_NUMBERS = 10_000
"""Of a value that Python computed."""
MOST_REPLY = 1_000_000


class Apart:
    """Grades like `Grader`, in another process; without an exercise it runs Python there."""

    def __init__(
        self,
        exercise: Exercise | None,
        *,
        seed: int = 0,
        draws: int | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self.seconds = seconds
        self._start: dict[str, Any] = {"seed": seed, "draws": draws, "seconds": seconds}
        if exercise is not None:
            self._start |= {"text": exercise.source.text, "name": str(exercise.path)}
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="indicial-grade-")
        self._known: dict[str, Any] = {}

    def grade(self, label: str, answer: str, own: Sequence[str] = ()) -> Grade:
        found = self._asked({"label": label, "answer": answer, "own": list(own)})
        return Grade(**found) if found is not None else self._gave_up()

    def grade_together(self, answers: Mapping[str, str]) -> dict[str, Grade]:
        found = self._asked({"together": dict(answers)})
        return {n: Grade(**g) for n, g in found.items()} if found is not None else {}

    def values(self, cells: Sequence[str], names: Collection[str]) -> dict[str, str]:
        """What some names are when all cells have run, as texts that can stand in a gap."""
        found = self._asked({"cells": list(cells), "names": sorted(names)})
        if not isinstance(found, dict):  # it came to an end over them, or what they ran replied
            return {}
        return {str(name): str(value) for name, value in found.items()}

    def _gave_up(self) -> Grade:
        return Grade(
            0.0,
            f"it was given up: it takes more than {self.seconds:g} seconds of computing, or more memory "
            "than there is for an answer",
            "unread",
        )

    def _asked(self, what: Mapping[str, Any]) -> Any:
        """The reply of the process; None if it came to an end over it. The same is asked once."""
        line = json.dumps(what, sort_keys=True)
        if line not in self._known:
            self._known[line] = self._reply(line)
        return self._known[line]

    def _reply(self, line: str) -> Any:
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        timer = threading.Timer(PATIENCE * self.seconds + 60, process.kill)
        timer.start()
        try:
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
            reply = process.stdout.readline(MOST_REPLY)
            if reply.endswith(b"\n"):
                return json.loads(reply)
        except (OSError, ValueError):
            pass
        finally:
            timer.cancel()
        self._stop()
        return None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._stop()
            # It begins in an empty folder: what lies in ours would be imported. This package is found first.
            here = str(Path(__file__).resolve().parents[2])
            known = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
            self._process = subprocess.Popen(
                PROCESS, cwd=self._folder.name, env={**os.environ, "PYTHONPATH": known},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.write(json.dumps(self._start).encode() + b"\n")
            self._process.stdin.flush()
            if self._process.stdout.readline() != b"ready\n":
                raise IndicialError("the process that tries answers does not start")
        return self._process

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._folder.cleanup()


def values_of(cells: Sequence[str], names: Collection[str], seconds: float) -> dict[str, str]:
    """What some names are when all cells have run, in a process that is there for them alone."""
    with Apart(None, seconds=seconds) as process:
        return process.values(cells, names)


# ---------------------------------------------------------------------- in the process


def _serve() -> None:
    """Reads requests, a line of JSON each, and writes a reply for each."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what else is printed is no reply
    # Nor is what comes next an input of theirs.
    requests, sys.stdin = sys.stdin.buffer, io.StringIO()
    start = json.loads(requests.readline())
    grader: Any = None
    if "text" in start:
        from indicial.exercises.asking import ask
        from indicial.exercises.grading import Grader

        grader = Grader(ask(start["text"], start["name"]), seed=start["seed"], draws=start["draws"])
    bound_memory(MEMORY)
    replies.write(b"ready\n")
    replies.flush()
    for line in requests:
        bound_time(start["seconds"])
        request = json.loads(line)
        reply = _replied(grader, request) if grader is not None else _computed(**request)
        replies.write(json.dumps(reply).encode() + b"\n")
        replies.flush()


def _replied(grader: Any, request: Mapping[str, Any]) -> Any:
    try:
        if "together" in request:
            found = grader.grade_together(request["together"])
            return {name: vars(grade) for name, grade in found.items()}
        return vars(grader.grade(request["label"], request["answer"], request["own"]))
    except (Exception, RecursionError, MemoryError) as error:
        if "together" in request:
            return {}
        told = f"it could not be tried: {type(error).__name__}"
        return vars(Grade(0.0, told, "unread"))


def bound_memory(more: int) -> None:
    """So many bytes on top of what is there, where the system tells how much that is: Linux. A computation that
    needs more gets a MemoryError."""
    try:
        import resource

        rows = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        data = next(int(row.split()[1]) << 10 for row in rows if row.startswith("VmData"))
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = data + more
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    except (ImportError, OSError, ValueError, StopIteration):
        return


def bound_time(seconds: float) -> None:
    """The process is ended when it has computed for so long from now on."""
    try:
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ImportError, OSError, ValueError):
        return


def _computed(cells: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Cells that fail are passed over."""
    space: dict[str, Any] = {"__name__": "answers"}
    exec("import numpy as np", space)
    for cell in cells:
        try:
            exec(compile(cell, "<cell>", "exec"), space)
        except Exception:  # whatever it is, the next cell may do
            continue
    texts = {name: _text(space[name]) for name in names if name in space}
    return {name: text for name, text in texts.items() if text is not None}


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
    _serve()
