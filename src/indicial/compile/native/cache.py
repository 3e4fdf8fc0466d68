"""Compiled kernels on disk, found by what they were made from.

    library(key, build)  →  ~/.cache/indicial/native/3f…c0/91…ab.so

`key` stands for everything that decides what the compiler makes (`toolchain.load` computes it).
The folder is named by the key, the file in it by the SHA-256 of its own content. So one rename
stores a kernel together with its checksum: a file that was cut short or changed does not bear its
own name, is removed, and is built again. Processes that build the same kernel at once each write a
file of their own and rename it; whichever comes last, every file with the right name is good.
A file is never written in place, because another process may have it mapped.

    note(key, make)      →  a short text, made once

The folder is one that nobody else can write to (`private.py`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from indicial.compile.ground import private

KEPT = 2000
"""How many kernels stay; those that were not used for longest make room."""


def directory() -> Path:
    """Where kernels are kept: `~/.cache/indicial/native`, or a folder of this process."""
    return private.folder("native")


def library(key: str, build: Callable[[Path], None], root: Path | None = None) -> Path:
    """The file for `key`; `build(path)` makes it where it is missing or damaged.

    `root` is where to look and store, `directory()` unless given. An exception of `build` passes
    through, and nothing is stored.
    """
    root = root or directory()
    try:
        folder = root / key
        folder.mkdir(mode=0o700, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(folder)
    except OSError:
        folder = private.temporary() / key
        folder.mkdir(mode=0o700, exist_ok=True)
    return _find(folder) or _store(folder, build)


def note(key: str, make: Callable[[], str | None]) -> str | None:
    """A text kept beside the kernels; `make` makes it where it is missing, or says that it cannot."""
    try:
        path = directory() / f"{key}.txt"
    except OSError:
        return make()
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if private.ours(path) and (known := path.read_text(encoding="utf-8")):
            return known
    text = make()
    if text is not None:
        with contextlib.suppress(OSError):
            handle, name = tempfile.mkstemp(suffix=".building", dir=path.parent)
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(path)
    return text


def _find(folder: Path) -> Path | None:
    """The file in `folder` whose content is what its name says; others are removed."""
    for path in sorted(folder.glob("*.so")):
        with contextlib.suppress(OSError):
            if private.ours(path) and _checksum(path) == path.stem:
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
