"""Files that somebody else may have made: plain ones only, not through links, of a size that fits.

>>> plain_bytes(folder / "run.json", most=1 << 24)
>>> json_of(content)["settings"]

A run may come from anywhere. A pipe in the place of a file would wait for ever, a device would never
end, a link would lead out of the folder, a large number would ask for memory that is not there.
`Unfit` says which of it was met.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

TEXT = 1 << 26
"""The most that is read as text, in bytes."""


class Unfit(ValueError):
    """Why a file is not read."""


def plain_bytes(path: str | os.PathLike[str], most: int = TEXT) -> bytes:
    """The content of a plain file of at most so many bytes."""
    descriptor = open_plain(path, os.O_RDONLY)
    with open(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        if size > most:
            raise Unfit(f"it has {size:,} bytes; {most:,} is the limit")
        return file.read(most)


def named_text(path: str | os.PathLike[str], most: int = TEXT) -> str:
    """The text of a file that the user named: it may be a pipe or a link, and must come to an end."""
    with open(path, "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise Unfit(f"it has more than {most:,} bytes")
    return content.decode("utf-8")


def open_plain(path: str | os.PathLike[str], flags: int) -> int:
    """`os.open` for plain files: what is something else is not waited for, and links are not followed."""
    wary = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    if os.path.islink(path):
        raise Unfit("it is a link, and may lead anywhere")
    if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise Unfit("it is not a regular file")
    descriptor = os.open(path, flags | wary, 0o644)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unfit("it is not a regular file")
    return descriptor


def json_of(content: bytes | str) -> Any:
    """JSON; `ValueError` says what is wrong with it, however deep it is."""
    try:
        return json.loads(content)
    except RecursionError:
        raise Unfit("it is nested too deep") from None


def plain_folder(path: Path) -> bool:
    """Whether a folder is there, and is no link to another."""
    return path.is_dir() and not path.is_symlink()


def memory() -> int:
    """The bytes of memory that this machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 1 << 40
