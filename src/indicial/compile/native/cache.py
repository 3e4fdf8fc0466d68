"""Compiled kernels on disk, found by what they were made from.

    library(key, build)  →  ~/.cache/indicial/native/3f…c0/91…ab.so

`key` stands for everything that decides what the compiler makes (`toolchain.load` computes it).
The folder is named by the key, the file in it by the SHA-256 of its own content. So one rename
stores a kernel together with its checksum: a file that was cut short or changed does not bear its
own name, is removed, and is built again. Processes that build the same kernel at once each write a
file of their own and rename it; whichever comes last, every file with the right name is good.
A file is never written in place, because another process may have it mapped.

    note(key, make)      →  a short text, made once

Where: `$INDICIAL_CACHE`, else `$XDG_CACHE_HOME/indicial`, else `~/.cache/indicial`. A place that
cannot be written to is replaced by a temporary directory that goes when the process ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

KEPT = 2000
"""How many kernels stay; those that were not used for longest make room."""

_temporary: tempfile.TemporaryDirectory[str] | None = None


def directory() -> Path:
    """Where kernels are kept: `~/.cache/indicial/native`."""
    if chosen := os.environ.get("INDICIAL_CACHE"):
        return Path(chosen).expanduser() / "native"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "indicial" / "native"


def temporary() -> Path:
    """A directory of this process only, for when the cache cannot be written to or run from."""
    global _temporary
    if _temporary is None or not Path(_temporary.name).is_dir():  # a forked child may remove it
        _temporary = tempfile.TemporaryDirectory(prefix="indicial-", ignore_cleanup_errors=True)
    return Path(_temporary.name)


def library(key: str, build: Callable[[Path], None], root: Path | None = None) -> Path:
    """The file for `key`; `build(path)` makes it where it is missing or damaged.

    `root` is where to look and store, `directory()` unless given. An exception of `build` passes
    through, and nothing is stored.
    """
    root = root or directory()
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = root / key
        folder.mkdir(exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(folder)
    except OSError:
        folder = temporary() / key
        folder.mkdir(exist_ok=True)
    return _find(folder) or _store(folder, build)


def note(key: str, make: Callable[[], str | None]) -> str | None:
    """A text kept beside the kernels; `make` makes it where it is missing, or says that it cannot."""
    path = directory() / f"{key}.txt"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if known := path.read_text(encoding="utf-8"):
            return known
    text = make()
    if text is not None:
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(suffix=".building", dir=path.parent)
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(path)
    return text


def _find(folder: Path) -> Path | None:
    """The file in `folder` whose content is what its name says; others are removed."""
    for path in sorted(folder.glob("*.so")):
        with contextlib.suppress(OSError):
            if _checksum(path) == path.stem:
                os.utime(folder)  # used now: `_trim` goes by this
                return path
            path.unlink()
    return None


def _store(folder: Path, build: Callable[[Path], None]) -> Path:
    """Build next to the final place and rename, so that nobody ever sees half a file."""
    handle, name = tempfile.mkstemp(suffix=".building", dir=folder)
    os.close(handle)
    building = Path(name)
    try:
        build(building)
        path = folder / f"{_checksum(building)}.so"
        building.replace(path)
    finally:
        building.unlink(missing_ok=True)
    _trim(folder.parent)
    return path


def _trim(root: Path) -> None:
    """Remove the kernels that were not used for longest, down to three quarters of `KEPT`."""
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        ages = sorted((entry.stat().st_mtime, entry.path) for entry in entries if entry.is_dir())
        if len(ages) > KEPT:
            for _, path in ages[: len(ages) - 3 * KEPT // 4]:
                shutil.rmtree(path, ignore_errors=True)


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
