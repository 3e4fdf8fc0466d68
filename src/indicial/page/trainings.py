"""Trainings that are started from the page: one at a time, in a process of its own.

    trainings = Trainings(["/home/me/runs", "/home/me/texts"])
    trainings.start({"text": "…", "data": "people", "minutes": 2, …})      →   the run lab-1 in the first
    trainings.start({"text": "…", "data": "texts/book.txt", …})            →   on a file of the second
    trainings.stop()         it saves, as at Ctrl-C
    trainings.go_on("lab-1")

What is trained is the text of the page, on a built-in world or a file that lies in the lab's folders: what
comes over the wire is one of the names that were listed, and no path. A training ends with the lab, and
saves before it does.
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
MOST_FILES = 200
KINDS = (".txt", ".tsv", ".csv", ".jsonl", ".ndjson", ".conllu", ".conll", ".parquet", ".npz")
"""How the names of data end; .gz may follow."""
TOLD = 4000
"""Characters of what a training said last."""
_SIZE = re.compile(r"\w[\w{}^,]*", re.UNICODE)


def data_in(folders: Sequence[str]) -> dict[str, Path]:
    """The files that can be trained on, by the names that the page shows: `texts/book.txt`."""
    found: dict[str, Path] = {}
    for folder in map(Path, folders):
        with contextlib.suppress(OSError):
            for path in sorted(folder.iterdir()):
                fits = path.name.lower().removesuffix(".gz").endswith(KINDS)
                if fits and path.is_file() and not path.is_symlink() and len(found) < MOST_FILES:
                    found[f"{folder.resolve().name}/{path.name}"] = path.resolve()
    return found


class Trainings:
    """The training that was started last, if any."""

    def __init__(self, folders: Sequence[str], settings: Sequence[str] = ()) -> None:
        self.folder, self.folders = Path(folders[0]), list(folders)
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
        return {
            "run": self.name,
            "running": self.running,
            "said": self._told() if failed else "",
            "data": [*worlds(), *tables(), *data_in(self.folders)],
        }

    def start(self, question: protocol.AskTraining) -> protocol.Training:
        """Begins a training of a text; its run is in the folder, under a name that is free."""
        files = data_in(self.folders)
        if question["data"] not in [*worlds(), *tables(), *files]:
            raise IndicialError(f"there is no {question['data']} in the folders of this lab")
        if len(question["text"]) > LONGEST_TEXT:
            raise IndicialError("the text is too long to be trained from the page")
        sizes = []
        for name, value in question["sizes"].items():
            if not _SIZE.fullmatch(name) or not 1 <= value <= 1024:
                raise IndicialError(f"the size {name} is from 1 to 1,024 here")
            sizes += ["--set", f"{name}={value}"]
        columns = [f"--column={name}={of}" for name, of in question["columns"].items()]
        if not all(map(str.isprintable, columns)):
            raise IndicialError("the name of a column is made of signs that can be read")
        self._check_free()
        self._text = tempfile.TemporaryDirectory()
        path = Path(self._text.name) / "lab.eq"
        path.write_text(question["text"], encoding="utf-8")
        minutes = min(max(0.1, float(question["minutes"])), MOST_MINUTES)
        name = self._free_name()
        data = str(files.get(question["data"], question["data"]))
        words = [str(path), "--data", data, *columns, "--minutes", f"{minutes:g}", *sizes]
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
