"""Trainings that are started from the page: one at a time, in a process of its own, on a built-in world.

    trainings = Trainings("/home/me/runs")
    trainings.start({"text": "…", "data": "people", "minutes": 2, "sizes": {"J": 64}})   →   "lab-1"
    trainings.stop()         it saves, as at Ctrl-C
    trainings.go_on("lab-1")

What is trained is the text of the page; nothing that comes over the wire is the name of a file. A
training ends with the lab, and saves before it does.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from indicial.data.world import tables, worlds
from indicial.page import protocol
from indicial.page.equations import LONGEST_TEXT
from indicial.program.messages import IndicialError

MOST_MINUTES = 60
TOLD = 4000
"""Characters of what a training said last."""
_SIZE = re.compile(r"\w[\w{}^,]*", re.UNICODE)


class Trainings:
    """The training that was started last, if any."""

    def __init__(self, folder: str, settings: Sequence[str] = ()) -> None:
        self.folder = Path(folder)
        self.settings = list(settings)
        """Words that every training gets: `--world-size 2000` for a quick one."""
        self.name = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._text: tempfile.TemporaryDirectory[str] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def status(self) -> protocol.Training:
        failed = self._process is not None and self._process.poll() not in (None, 0, 130, -15)
        return {"run": self.name, "running": self.running, "said": self._told() if failed else ""}

    def start(self, question: protocol.AskTraining) -> protocol.Training:
        """Begins a training of a text; its run is in the folder, under a name that is free."""
        known = [*worlds(), *tables()]
        if question["data"] not in known:
            raise IndicialError(f"from the page one trains on {', '.join(known)}")
        if len(question["text"]) > LONGEST_TEXT:
            raise IndicialError("the text is too long to be trained from the page")
        sizes = []
        for name, value in question["sizes"].items():
            if not _SIZE.fullmatch(name) or not 1 <= value <= 1024:
                raise IndicialError(f"the size {name} is from 1 to 1,024 here")
            sizes += ["--set", f"{name}={value}"]
        self._check_free()
        self._text = tempfile.TemporaryDirectory()
        path = Path(self._text.name) / "lab.eq"
        path.write_text(question["text"], encoding="utf-8")
        minutes = min(max(0.1, float(question["minutes"])), MOST_MINUTES)
        name = self._free_name()
        words = [str(path), "--data", question["data"], "--minutes", f"{minutes:g}", *sizes]
        return self._begin(name, [*words, *self.settings, "--out", str(self.folder / name)])

    def go_on(self, name: str, folder: Path) -> protocol.Training:
        """Goes on with a run of the lab."""
        self._check_free()
        return self._begin(name, ["--resume", str(folder)])

    def stop(self) -> protocol.Training:
        """Asks it to save and to end."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)
        return self.status()

    def close(self) -> None:
        """Ends it with the lab."""
        self.stop()
        if self._process is not None:
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._text is not None:
            self._text.cleanup()

    def _check_free(self) -> None:
        if self.running:
            raise IndicialError(f"{self.name} is being trained; stop it first")

    def _free_name(self) -> str:
        number = 1
        while (self.folder / f"lab-{number}").exists():
            number += 1
        return f"lab-{number}"

    def _begin(self, name: str, words: list[str]) -> protocol.Training:
        self.name = name
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "indicial", "train", *words],
            stdin=subprocess.DEVNULL, stdout=self._said, stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal is for the lab, which asks it to save
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "80"},
        )  # fmt: skip
        return self.status()

    def _told(self) -> str:
        if self._said is None:
            return ""
        self._said.seek(0)
        return self._said.read().decode("utf-8", "replace")[-TOLD:].strip()
