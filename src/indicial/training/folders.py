"""Whether a folder is a run, told at once: nothing here needs what a run is opened with.

>>> check_run("runs/first")
IndicialError: there is no run runs/first; did you mean runs/first-1?
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from indicial.program.messages import IndicialError, there_is

FILE = "run.json"


def check_run(folder: str | os.PathLike[str]) -> None:
    """Complain where there is no run."""
    path = Path(folder)
    path = path.parent if path.name == FILE else path
    try:
        os.lstat(path / FILE)
    except (FileNotFoundError, NotADirectoryError):
        raise IndicialError(no_run(path)) from None
    except OSError as error:
        raise IndicialError(f"cannot read {path / FILE}: {error.strerror}") from error


def no_run(folder: Path) -> str:
    """Why a folder is no run, and which runs are near."""
    if not folder.exists():
        text = f"there is no run {folder}"
        places = [folder.parent, Path("runs"), Path(".")]
    elif not folder.is_dir():
        return f"{folder} is a file; a run is a folder with a {FILE}"
    else:
        text = f"{folder} is not a run: it has no {FILE}"
        places = [folder, folder.parent]
    runs = {str(path): None for place in places for path in _runs(place)}
    close = difflib.get_close_matches(str(folder), runs, 1)
    if close:
        return f"{text}; did you mean {close[0]}?"
    return f"{text}; {there_is(list(runs)[:5])}" if runs else text


def _runs(place: Path) -> list[Path]:
    if not place.is_dir():
        return []
    return sorted(path.parent for path in place.glob(f"*/{FILE}"))
