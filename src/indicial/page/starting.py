"""What the lab begins with: from the words of a call to a text, folders of runs and a link.

beginning(["ugrnn"])        →   the text of that model; the runs in ./runs
beginning(["runs/names"])   →   that run
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from indicial import __version__, library
from indicial.data.world import tables, worlds
from indicial.notation import files
from indicial.page.equations import LONGEST_TEXT
from indicial.page.protocol import Start
from indicial.page.runs import is_run, runs_in
from indicial.program.messages import IndicialError

FOLDER = "runs"
"""Where trainings put their runs."""


def beginning(what: Sequence[str]) -> tuple[Start, list[str], str]:
    """The first answer, the folders that runs are looked for in, and the fragment of a link."""
    start: Start = {
        "version": __version__,
        "file": "",
        "text": "",
        "view": "equations",
        "run": "",
        "worlds": [*worlds(), *tables()],
        "models": [{"name": n, "summary": library.summary(n)} for n in library.names()],
    }
    folders: list[str] = []
    fragment = ""
    for word in what:
        path = Path(word)
        if word.startswith(("http://", "https://")):
            fragment = f"#{urlsplit(word).fragment}"
        elif word in library.names():
            start["file"] = f"{word}.eq"
            start["text"] = library.path(word).read_text(encoding="utf-8")
        elif path.is_dir():
            folders.append(os.path.abspath(path))
            if not is_run(path) and not any(runs_in(path)):
                raise IndicialError(f"there is no run in {word}")
            start["view"] = "runs"
            start["run"] = path.resolve().name if is_run(path) else ""
        else:
            source, faults = files.load(path, word)
            if not source.text and faults:
                raise IndicialError(f"cannot show {word}: {faults[0].message}")
            if len(source.text) > LONGEST_TEXT:
                raise IndicialError(
                    f"{word} has {len(source.text):,} characters; {LONGEST_TEXT:,} is the limit here"
                )
            start["file"], start["text"] = path.name, source.text
    if all(map(is_run, map(Path, folders))):
        folders.insert(0, os.path.abspath(FOLDER))  # where a training that is started goes
    return start, folders, fragment
