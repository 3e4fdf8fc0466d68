"""Folders that nobody else can write to: only from such are kernels and plans loaded.

    folder("native")     ~/.cache/indicial/native, or a folder of this process where that is not ours alone

Whoever can put a kernel into a folder can have code run by whoever loads it. So a folder must belong
to the user, must not be a link, and only the user may enter it; a new one is made so, and one that
others could only look into is closed. Where others can write, or replace the folder, a temporary one
is used in its place, and this is said once. It goes when the process ends.

Where: `$INDICIAL_CACHE`, else `$XDG_CACHE_HOME/indicial`, else `~/.cache/indicial`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

WRITABLE = stat.S_IWGRP | stat.S_IWOTH

_temporary: tempfile.TemporaryDirectory[str] | None = None
_said: set[str] = set()


def place() -> Path:
    """Where what is kept lies; it need not be there, or ours."""
    if chosen := os.environ.get("INDICIAL_CACHE"):
        return _home(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return _home(base or "~/.cache") / "indicial"


def folder(name: str) -> Path:
    """A folder of the cache that is ours alone; `OSError` where there is no place at all."""
    wanted = place() / name
    problem = closed(wanted)
    if problem is None:
        return wanted
    made = temporary() / name
    made.mkdir(mode=0o700, exist_ok=True)
    if problem:
        _say(
            f"{wanted} {problem}, so nothing is loaded from there; a folder of this process is used "
            "instead. To keep compiled equations: INDICIAL_CACHE=FOLDER, one of your own"
        )
    return made


def temporary() -> Path:
    """A folder of this process only, for when the cache cannot be used."""
    global _temporary
    if _temporary is None or not Path(_temporary.name).is_dir():  # a forked child may remove it
        try:
            where = tempfile.gettempdir()
        except OSError:  # TMPDIR is no place to write to, and /tmp neither
            where = str(place())
            if closed(Path(where)) is not None:
                raise
        _temporary = tempfile.TemporaryDirectory(
            prefix="indicial-", dir=where, ignore_cleanup_errors=True
        )
    return Path(_temporary.name)


def closed(path: Path) -> str | None:
    """None if the folder is there and ours alone, after making it so; else why it is not.

    An empty reason is one that needs no words: the folder cannot be made, or not be written to.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not hasattr(os, "getuid"):
            return None
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return "is a link"
        if found.st_uid != os.getuid():
            return "belongs to another user"
        if found.st_mode & WRITABLE:
            return "can be written to by others"
        above = path.resolve().parents
        if any(_open(parent.stat()) for parent in above):
            return "lies in a folder in which others can replace it"
        if stat.S_IMODE(found.st_mode) != 0o700:
            path.chmod(0o700)
        return None if os.access(path, os.W_OK | os.X_OK) else ""
    except OSError:
        return ""


def written(path: Path, content: bytes) -> None:
    """A file, written beside its place and renamed: nobody ever sees half of it."""
    handle, name = tempfile.mkstemp(suffix=".writing", dir=path.parent)
    with open(handle, "wb") as file:
        file.write(content)
    Path(name).replace(path)


def trim(folder: Path, most: int) -> None:
    """Remove what was made or used longest ago, down to three quarters of `most`."""
    with contextlib.suppress(OSError), os.scandir(folder) as listed:
        entries = list(listed)
        if len(entries) <= most:  # nearly always, and how old each is takes as long as it to store
            return
        ages = sorted((entry.stat().st_mtime, entry.path) for entry in entries)
        for _, path in ages[: len(ages) - 3 * most // 4]:
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                Path(path).unlink(missing_ok=True)


def ours(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a plain one, and the user's."""
    found = os.lstat(path)
    return stat.S_ISREG(found.st_mode) and (
        not hasattr(os, "getuid") or found.st_uid == os.getuid()
    )


def _open(found: os.stat_result) -> bool:
    """Whether anybody may rename what is in a folder; in /tmp only the owner of a thing may."""
    return bool(found.st_mode & stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX


def _home(path: str) -> Path:
    """With `~` as the home; a user without one has no folder that could be meant."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(os.devnull) / "no-home"


def _say(text: str) -> None:
    if text not in _said:
        _said.add(text)
        print(f"note: {text}", file=sys.stderr)
