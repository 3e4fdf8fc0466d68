"""Prepared data on disk, found by what they were made from.

    stored(key, build)  →  ~/.cache/indicial/data/3f…c0     a folder that `build` filled

A folder is filled under another name and renamed when it is whole, so nobody sees half of one, and
of several processes that build the same one the first to finish wins. A list of checksums in it is
compared whenever it is opened: what is damaged is removed and built again. The place is that of
the kernels (`compile/ground/private.py`), `$INDICIAL_CACHE` if it is set; where it cannot be written
to, a folder of this process is used.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from indicial.compile.ground import private
from indicial.program.messages import IndicialError

CHECKSUMS = "checksums.json"
BUILDING = ".building-"
MOST = 20 << 30
"""Bytes that are kept; what was not used for longest makes room."""
ABANDONED = 2 * 24 * 3600
"""Seconds after which a half-filled folder belongs to a process that died."""


def directory() -> Path:
    """Where prepared data are kept: `~/.cache/indicial/data`."""
    return private.place() / "data"


def stored(key: str, build: Callable[[Path], None], root: Path | None = None) -> Path:
    """The folder for `key`; `build(folder)` fills it where it is missing or damaged."""
    root = _writable(root or directory())
    folder = root / key
    if not _is_whole(folder):
        _remove(folder)
        _fill(folder, build)
        _trim(root, folder)
    with contextlib.suppress(OSError):
        os.utime(folder)  # used now: `_trim` goes by this
    return folder


def find(key: str, root: Path | None = None) -> Path | None:
    """The folder for `key`, if it is there and whole."""
    folder = (root or directory()) / key
    if Path(key).name != key or not _is_whole(folder):
        return None
    with contextlib.suppress(OSError):
        os.utime(folder)
    return folder


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of each file of a stored folder."""
    found: dict[str, str] = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
    return found


def _writable(root: Path) -> Path:
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(root, os.W_OK | os.X_OK):
            return root
    except OSError:
        pass
    root = private.temporary() / "data"
    root.mkdir(exist_ok=True)
    return root


def _is_whole(folder: Path) -> bool:
    """Whether the files are there and are what they were when they were written."""
    try:
        return all(_checksum(folder / name) == said for name, said in checksums(folder).items())
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def _fill(folder: Path, build: Callable[[Path], None]) -> None:
    building = Path(tempfile.mkdtemp(prefix=BUILDING, dir=folder.parent))
    try:
        build(building)
        sums = {path.name: _checksum(path) for path in sorted(building.iterdir())}
        (building / CHECKSUMS).write_text(json.dumps(sums), encoding="utf-8")
        try:
            building.rename(folder)
        except OSError:
            if not _is_whole(folder):  # else another process was quicker
                raise
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise IndicialError(
            f"there is no room in {folder.parent} for the tokens of the data: make room, or set "
            "INDICIAL_CACHE to a folder on a larger disk"
        ) from None
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _remove(folder: Path) -> None:
    """Take a folder away in one step, so that nobody reads from one that is half gone."""
    with contextlib.suppress(FileNotFoundError):
        away = Path(tempfile.mkdtemp(prefix=BUILDING, dir=folder.parent))
        try:
            folder.rename(away / "damaged")
        finally:
            shutil.rmtree(away, ignore_errors=True)


def _trim(root: Path, kept: Path) -> None:
    """Remove what was not used for longest, until the rest is small enough."""
    with contextlib.suppress(OSError):
        entries = [path for path in root.iterdir() if path.is_dir() and path != kept]
        for path in entries:
            if path.name.startswith(BUILDING) and time.time() - path.stat().st_mtime > ABANDONED:
                shutil.rmtree(path, ignore_errors=True)
        room = MOST - _size(kept)
        done = [path for path in entries if not path.name.startswith(BUILDING)]
        for path in sorted(done, key=lambda path: -path.stat().st_mtime):
            room -= _size(path)
            if room < 0:
                _remove(path)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
