r"""Files as texts: decoding, limits, and which files a document may pull in.

A file is read at all costs: bytes that are no UTF-8 are replaced, and a fault says where. What is
not a regular file (a device, a pipe) or is larger than 20 MB is not read. `\input` stays inside
the folder of the document it started from.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path

from indicial.notation.faults import Fault
from indicial.notation.source import Source, Span

MOST_BYTES = 20_000_000


def load(path: Path, name: str | None = None) -> tuple[Source, list[Fault]]:
    """The text of a file; an empty text and a fault if it cannot be read."""
    name = str(path) if name is None else name
    problem = None
    data = b""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            problem = "it is not a regular file"
        elif status.st_size > MOST_BYTES:
            problem = f"it is larger than {MOST_BYTES // 1_000_000} MB"
        else:
            with path.open("rb") as file:
                data = file.read(MOST_BYTES)
    except FileNotFoundError:
        problem = "there is no such file"
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
    if problem is not None:
        source = Source(name, "")
        return source, [Fault("file", f"{name} cannot be read: {problem}", (Span(source, 0, 0),))]
    return decode(data, name)


def decode(data: bytes, name: str) -> tuple[Source, list[Fault]]:
    r"""Bytes as a text.

    `b"a = \xff"` → `a = �`, with a fault that points at the sign.
    """
    encoding = "utf-8-sig"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    text = data.decode(encoding, errors="replace")
    source, faults = clean(text, name)
    damaged = source.text.find("\ufffd")
    if damaged >= 0 and not faults and "\ufffd".encode() not in data:
        place = Span(source, damaged, damaged + 1)
        message = "these bytes are no UTF-8; they are read as �"
        faults.append(Fault("encoding", message, (place,), "save the file as UTF-8"))
    return source, faults


def clean(text: str, name: str) -> tuple[Source, list[Fault]]:
    """A text without what no text should hold; no offset moves, except by a byte order mark."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = re.sub(r"\r(?!\n)", "\n", text)
    nul = text.find("\0")
    if nul < 0:
        return Source(name, text), []
    source = Source(name, text.replace("\0", "\ufffd"))
    message = "the text holds zero bytes; they are read as �"
    return source, [Fault("encoding", message, (Span(source, nul, nul + 1),))]


def find_input(name: str, folder: Path, root: Path, place: Span) -> tuple[Path | None, list[Fault]]:
    r"""The file that `\input{name}` means, seen from `folder`, inside `root`."""
    relative = Path(name)
    if "\0" in name or not name:
        return None, [Fault("input", "this names no file", (place,))]
    if relative.is_absolute() or name.startswith(("~", "|")) or relative.drive:
        hint = "name the file relative to the document"
        return None, [Fault("input", f"`{name}` is an absolute path", (place,), hint)]
    bases = [folder] if folder == root else [folder, root]
    candidates = [base / ending for base in bases for ending in (name + ".tex", name)]
    escaped = False
    for candidate in candidates:
        try:
            resolved = candidate.resolve()
            if not resolved.is_relative_to(root):
                escaped = True
            elif resolved.is_file():
                return resolved, []
        except (OSError, RuntimeError, ValueError):
            continue
    if escaped:
        message = f"`{name}` leaves the folder of the document, and is not read"
        return None, [Fault("input", message, (place,))]
    return None, [Fault("input", f"there is no file `{name}`", (place,))]
