"""What is derived from equations, kept on disk: the next process reads it.

    stored(("backward", key, arguments), make)      what `make()` gives, here or in an earlier process

The name of a file is a hash of what was asked and of everything that answers: the sources of this
package, and the versions of Python and PyTorch. So a change anywhere in the package makes all files
stale at once, and nobody has to think of it. A file begins with the SHA-256 of the rest; one that was
cut short or changed is made again. Files are written beside their place and renamed.

A file is text that is read and never run (`ground/encoding.py`). Some of what it tells is the PyTorch that was
emitted, though, and that is run: so files lie in a folder that only the user can write to, as the
compiled kernels beside them do (`ground/private.py`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import torch

from indicial.compile.ground import private
from indicial.compile.ground.encoding import decoded, encoded
from indicial.notation.node import kept
from indicial.program.ir import Code

T = TypeVar("T")

PACKAGE = str(Path(__file__).parents[2])
FOLDERS = ("notation", "program", "compile")
"""The sources that decide what is derived."""

KEPT = 2000
"""How many files stay; those that were made first make room."""

BEGUN = time.time()

DIGEST = hashlib.sha256().digest_size


def stored(asked: tuple[object, ...], make: Callable[[], T]) -> T:
    """What `make` gives; read where an earlier process has kept it. `asked` is told apart by `repr`."""
    try:
        path = directory() / _key(asked)
    except OSError:  # there is no place to keep anything
        return make()
    found: T | None = _read(path)
    if found is None:
        found = make()
        _write(path, found)
    return found


def directory() -> Path:
    """Where it is kept: `~/.cache/indicial/plans`."""
    return private.folder("plans")


@kept
def key_of(code: Code) -> str:
    """A program's equations as a short text; how they are written counts too, as comments show it."""
    written = [statement.span.text for statement in code.statements]
    return hashlib.sha256(repr((code, written)).encode()).hexdigest()


def _key(asked: tuple[object, ...]) -> str:
    return hashlib.sha256(f"{_makers()}\0{asked!r}".encode()).hexdigest()[:40]


def _read(path: Path) -> Any:
    try:
        content = path.read_bytes() if private.ours(path) else b""
        if hashlib.sha256(content[DIGEST:]).digest() == content[:DIGEST]:
            return decoded(content[DIGEST:].decode())
    except Exception:  # whatever is wrong with it, it can be made again
        return None
    return None


def _write(path: Path, value: object) -> None:
    """Keep a value; not being able to costs the next process some time and nothing else."""
    if _edited():
        return
    with contextlib.suppress(OSError, TypeError, AttributeError):
        content = encoded(value).encode()
        private.written(path, hashlib.sha256(content).digest() + content)
        private.trim(path.parent, KEPT)


@functools.cache
def _makers() -> str:
    """Everything that decides what comes out besides what is asked."""
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(f"{path.removeprefix(PACKAGE)}\0".encode())
        with open(path, "rb") as file:
            digest.update(file.read())
    return f"{digest.hexdigest()} {sys.version} {torch.__version__}"


def _edited() -> bool:
    """Whether somebody changed the sources since: what is derived is not what they say now."""
    return _edited_by(int(time.monotonic()))


@functools.lru_cache(maxsize=1)
def _edited_by(second: int) -> bool:
    """One look a second is enough, and much is stored within one."""
    return any(os.stat(path).st_mtime >= BEGUN for path in _sources())


def _sources() -> Iterator[str]:
    for folder in FOLDERS:
        for where, folders, files in os.walk(os.path.join(PACKAGE, folder)):
            folders.sort()
            for name in sorted(files):
                if name.endswith((".py", ".h")):
                    yield os.path.join(where, name)
