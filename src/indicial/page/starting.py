"""What the lab begins with: from the words of a call to a text, folders of runs and a link.

beginning(["ugrnn"])        →   the text of that model; the runs in ./runs
beginning(["runs/names"])   →   that run
beginning(["texts/"])       →   an empty text; the files there can be trained on
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from indicial import __version__, library
from indicial.notation import files
from indicial.page.equations import LONGEST_TEXT
from indicial.page.protocol import Start
from indicial.page.runs import is_run, runs_in
from indicial.page.trainings import data_in
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
            if any(runs_in(path)):
                start["view"] = "runs"
                start["run"] = path.resolve().name if is_run(path) else ""
            elif not data_in([word]):
                raise IndicialError(f"there is neither a run in {word} nor data to train on")
        else:
            source, faults = files.load(path, word)
            if not source.text and faults:
                raise IndicialError(f"cannot show {word}: {faults[0].message}")
            if len(source.text) > LONGEST_TEXT:
                raise IndicialError(
                    f"{word} has {len(source.text):,} characters; {LONGEST_TEXT:,} is the limit here"
                )
            start["file"], start["text"] = path.name, source.text
    # The first is where a training that is started goes.
    full = [f for f in folders if any(runs_in(Path(f))) and not is_run(Path(f))]
    first = full[0] if full else os.path.abspath(FOLDER)
    return start, [first, *(folder for folder in folders if folder != first)], fragment
