r"""Files as texts: decoding, limits, and which files a document may pull in.

A file is read at all costs: bytes that are no UTF-8 are replaced, and a fault says where. What is
not a regular file (a device, a pipe) or is larger than 20 MB is not read. `\input` stays inside
the tree of the document it started from: its repository, or the two folders above its own.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path

from indicial.notation.faults import Fault
from indicial.notation.source import Source, Span

MOST_BYTES = 20_000_000
FOLDERS_ABOVE = 2
"""How far above its own folder a document in no repository may pull in files."""
_REPOSITORIES = (".git", ".hg", ".svn")
_TEX = (".tex", ".sty", ".ltx", ".cls", ".def")


_FOREIGN = {
    b"%PDF-": ("it is a PDF", "name its LaTeX source, or copy its equations into a text"),
    b"PK\x03\x04": ("it is a packed document", "save it as LaTeX or Markdown; `pandoc` can"),
    b"\xd0\xcf\x11\xe0": (
        "it is a document of an old Word",
        "save it as LaTeX or Markdown; `pandoc` can",
    ),
}
"""How files begin that hold formulas in no notation that is read, with what to do."""
_TYPST = ("its notation is that of Typst", "`pandoc notes.typ -o notes.tex` makes LaTeX of it")


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
    hint = ""
    if problem is None:
        problem, hint = _foreign(data, path.suffix)
    if problem:
        source = Source(name, "")
        message = f"{name} cannot be read: {problem}"
        return source, [Fault("file", message, (Span(source, 0, 0),), hint)]
    return decode(data, name)


def _foreign(data: bytes, suffix: str) -> tuple[str, str]:
    """Why a file is none that is read, and what to do; nothing if it may be one."""
    if suffix.lower() == ".typ":
        return _TYPST
    return next((why for begins, why in _FOREIGN.items() if data.startswith(begins)), ("", ""))


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
        message = "these bytes are not UTF-8; they are read as �"
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


def tree_of(folder: Path) -> Path:
    """The folder that the files of a document lie in: the top of its repository, or two folders up.

    Neither the root of the file system nor somebody's home is such a folder.
    """
    above = [folder, *folder.parents]
    for candidate in above:
        if any((candidate / mark).exists() for mark in _REPOSITORIES):
            return candidate
    top = folder
    for candidate in above[1 : FOLDERS_ABOVE + 1]:
        if candidate == candidate.parent or candidate == Path.home():
            break
        top = candidate
    return top


def find_input(name: str, folder: Path, root: Path, place: Span) -> tuple[Path | None, list[Fault]]:
    r"""The file that `\input{name}` means, seen from `folder` or from the folder `root` of the document.

    It lies in the tree of the document; above `root` it must be a file of TeX by its name. A path that
    leads nowhere, such as one of the author's machine, may still name a file in a folder above.
    """
    if "\0" in name or not name:
        return None, [unread("no file is named here", place)]
    relative = Path(name)
    tree = tree_of(root)
    absolute = relative.is_absolute() or name.startswith(("~", "|")) or bool(relative.drive)
    bases = [folder] if folder == root else [folder, root]
    candidates = [] if absolute else [base / name for base in bases]
    # The author's folders are not always those of the reader: then the same name, further up.
    upwards = [base for base in (folder, *folder.parents) if base.is_relative_to(tree)]
    candidates += [base / relative.name for base in upwards if relative.name]
    escaped = False
    for candidate in candidates:
        for path in (candidate.with_name(candidate.name + ".tex"), candidate):
            try:
                resolved = path.resolve()
                found = resolved.is_file()
            except (OSError, RuntimeError, ValueError):
                continue
            ours = resolved.is_relative_to(tree) and resolved.suffix in _TEX
            if found and (ours or resolved.is_relative_to(root)):
                return resolved, []
            escaped = escaped or not resolved.is_relative_to(tree) or (found and not ours)
    if absolute:
        hint = "name the file relative to the document"
        return None, [unread(f"`{name}` is an absolute path", place, hint)]
    if escaped:
        message = f"`{name}` is outside the folders of the document, and is not read"
        return None, [unread(message, place)]
    return None, [unread(f"there is no file `{name}`", place)]


def unread(message: str, place: Span, hint: str = "") -> Fault:
    r"""Why the file of an `\input` is not read."""
    return Fault("input", message, (place,), hint, severity="note")
