"""Folders that a command owns: one file says what is in them, and is there whole or not at all.

>>> begin_json(Path("runs/a/run.json"), {"task": "language"})  # runs/a/.run.json
>>> finish(Path("runs/a/run.json"))
>>> check_mine(Path("runs/b"), "run.json", "run")
IndicialError: runs/b holds other things and is not a run; choose another --out

A process can be killed between the two. A folder with `.run.json` is then known as a beginning, and
can be begun anew; anything else in a folder is the user's, and is not touched.

Where a new run goes: a folder that is free.

>>> free_folder(Settings.read({"model": "ugrnn", "data": "people"}))
PosixPath('runs/ugrnn-people-1')
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from indicial.program.messages import IndicialError
from indicial.program.outputs import UNFINISHED, write_text
from indicial.training.settings import Settings


def write_json(path: Path, told: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    begin_json(path, told)
    finish(path)


def begin_json(path: Path, told: Mapping[str, Any]) -> None:
    """What `finish` will put in place."""
    text = json.dumps(told, ensure_ascii=False, indent=1, allow_nan=False)
    write_text(_begun(path), text + "\n")


def finish(path: Path) -> None:
    os.replace(_begun(path), path)


def check_mine(folder: Path, file: str, what: str, beside: Iterable[str] = ()) -> None:
    """A folder that is not there, is empty, has `file`, or was left while `file` was made.

    `beside` are written between `begin_json` and `finish`, and may be there too.
    """
    if not folder.exists() or (folder / file).exists():
        return
    begun = _begun(folder / file).name
    found = {path.name for path in folder.iterdir()} if folder.is_dir() else {"a file"}
    # A process that is killed while it writes leaves what it had, not yet in its place.
    found = {name for name in found if not name.startswith(UNFINISHED)}
    if found and not (begun in found and found <= {begun, *beside}):
        raise IndicialError(
            f"{folder} holds other things and is not a {what}; choose another --out"
        )


def _begun(path: Path) -> Path:
    return path.with_name(f".{path.name}")


def free_folder(settings: Settings) -> Path:
    """A name for a run: `runs/ugrnn-people-1`, and `-2` if there is one."""
    model = "-".join(Path(what).stem for what in settings.model)
    data = settings.data[0]
    data = data if os.path.exists(data) else data.rpartition("=")[2]  # of x=train.de
    return numbered(f"{model}-{Path(data).stem}")


def numbered(name: str) -> Path:
    """The first of `runs/NAME-1`, `runs/NAME-2`, … that is free."""
    name = re.sub(r"[^\w.+-]+", "-", name).strip("-")[:60] or "run"
    number = 1
    while (Path("runs") / f"{name}-{number}").exists():
        number += 1
    return Path("runs") / f"{name}-{number}"
