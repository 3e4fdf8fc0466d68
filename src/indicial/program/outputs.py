"""Files that are written for the user: whole or not at all, and in the place of nothing of theirs.

>>> check_output(Path("losses.tsv"), reads=["book.txt"], mark=b"place\\ttoken")   # before any work
>>> with written("losses.tsv") as path:                                         # beside its place
...     path.write_text("…")                                                    # then moved there

What is written is never what the same command reads. A file that is there already is replaced only
if it is one of ours, which it says itself (its `mark`, near its beginning or its end), or if the user
said so.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from indicial.program.messages import IndicialError

UNFINISHED = ".indicial-"
"""How the name of a file begins while it is written."""
MADE = "made by Indicial"
LOOK = 1 << 13
"""How many bytes from both ends of a file are looked at for its mark."""


def check_output(
    path: Path,
    reads: Iterable[str | os.PathLike[str]] = (),
    *,
    mark: bytes = MADE.encode(),
    force: bool = False,
) -> None:
    """Says it if a file cannot be written there, or must not be."""
    try:
        there = path.stat() if path.exists() else None
        if there is not None and stat.S_ISDIR(there.st_mode):
            raise IndicialError(f"{path} is a folder; name a file in it")
        if there is not None and not stat.S_ISREG(there.st_mode):  # /dev/stdout holds nothing
            return
        _check_folder(path)
        if there is None:
            return
        own = there.st_size == 0 or _marked(path, mark)
        for read in map(Path, reads):
            inside = read.is_dir() and read.resolve() in path.resolve().parents and not own
            if inside or (read.exists() and read.samefile(path)):
                raise IndicialError(f"{path} is also read here; write to another file")
    except OSError as error:
        raise IndicialError(f"cannot write {path}: {error.strerror}") from error
    if not own and not force:
        raise IndicialError(
            f"{path} already exists, and Indicial did not write it; choose another name, or add "
            "--force to replace it"
        )


def _check_folder(path: Path) -> None:
    """`OSError` if no file can be made there; folders that are missing are made when it is written."""
    folder = path.absolute().parent
    while not os.path.lexists(folder):
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, f"{folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"{folder} cannot be written to")


@contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file beside the place of another, whose place it takes at the end; not after an exception.

    It takes the place of a link as well: in a folder of somebody else that may lead anywhere.
    """
    target = Path(path)
    beside: Path | None = None
    try:
        if target.exists() and not target.is_file() and _leads_where_it_lies(target):
            with _read_by_somebody(target):  # a pipe or a device has nothing beside it
                yield target
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=UNFINISHED, suffix=target.suffix, dir=target.parent)
        os.close(handle)
        beside = Path(name)
        yield beside
        beside.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        beside.replace(target)
    except OSError as error:
        raise IndicialError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if beside is not None:
            beside.unlink(missing_ok=True)


def _leads_where_it_lies(target: Path) -> bool:
    """No link, or one of the system, as /dev/stdout is."""
    return not target.is_symlink() or target.parts[1:2] in (("dev",), ("proc",))


@contextmanager
def _read_by_somebody(target: Path) -> Iterator[None]:
    """Who opens a pipe that nobody reads waits without end."""
    if not target.is_fifo():
        yield
        return
    try:
        handle = os.open(target, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        raise IndicialError(f"cannot write {target}: it is a pipe that nobody reads") from error
    try:
        yield
    finally:
        os.close(handle)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    with written(path) as beside:
        beside.write_text(text, encoding="utf-8")


def new_figure(width: float, height: float) -> Any:
    """Without pyplot nothing is shared and no window is asked for."""
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)  # where it keeps its fonts is nothing that anybody has to do with
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    finally:
        log.setLevel(level)
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """A figure of matplotlib; the same numbers give the same file."""
    import matplotlib

    said = {
        ".svg": {"Date": None, "Creator": MADE},
        ".pdf": {"CreationDate": None, "Creator": MADE},
        ".png": {"Software": MADE},
    }
    with (
        matplotlib.rc_context({"svg.hashsalt": "indicial"}),
        warnings.catch_warnings(),
        written(path) as beside,
    ):
        # A sign that no font has is drawn as a box, which is seen; a warning for each names our lines.
        warnings.filterwarnings("ignore", message="Glyph ")
        figure.savefig(beside, dpi=150, metadata=said.get(beside.suffix.lower()))


def _marked(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        if mark in file.read(LOOK):
            return True
        file.seek(max(0, path.stat().st_size - LOOK))
        return mark in file.read(LOOK)


def _umask() -> int:
    """What new files are not allowed; it can be read only by setting it."""
    now = os.umask(0o077)
    os.umask(now)
    return now
