"""What is derived from equations, kept on disk as texts that are only read: the next process reads it.

    stored(("backward", key, arguments), make)      what `make()` gives, here or in an earlier process

The name of a file is a hash of what was asked and of everything that answers: the sources of this
package, and the versions of Python and PyTorch. So a change anywhere in the package makes all files
stale at once, and nobody has to think of it. A file begins with the SHA-256 of the rest; one that was
cut short or changed is made again. Files are written beside their place and renamed.

    encoded((Affine((("t", 1),), Size()), "h"))  →  '[1, [["p.ir.Affine", …], …]]'
    decoded(text)                                →  the same again

The text is JSON: a list of records, each a number, a word, or a list of a kind and the numbers of
earlier records. So both ways are a loop, however deep the value is. The kinds are the containers of
Python and the classes of `CLASSES`; a text that names anything else is refused. Two references to one
object are so again. `Packed(value)` inside what is encoded is a text of its own until somebody asks
for the value.

Some of what a text tells is the PyTorch that was emitted, though, and that is run: so files lie in a
folder that only the user can write to, as the compiled kernels beside them do (`ground/private.py`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any, Generic, TypeVar

from indicial.compile.ground import private
from indicial.notation.node import kept
from indicial.program.ir import Code

T = TypeVar("T")

CLASSES = {
    "notation.source": "Source Span",
    "program.sizes": "Size Strided",
    "program.ir": "Affine Apply Axis Code Constant Derivative Draw Flat Gather Growth Index IndexValue"
    " Join Part Quantity Read Reduce Select SizeValue Softmax Statement Statistic Tensor Test",
    "program.cost.conditions": "Constraint",
    "program.cost.dependence": "Edge",
    "compile.schedule.schedule": "Loop Need Piece Plan Run",
    "compile.emit.dispatch": "Dispatch Taken",
    "compile.emit.doubling": "Alone Doubling Handed",
    "compile.passes.linear": "Linear",
    "compile.emit.running": "Source",
    "compile.module.runnable": "Runnable",
    "compile.native.projections": "Gathered Outer Outers Projection Weighted",
    "compile.native.recurrence": "Recurrence",
    "compile.native.routine": "Inside Kernel Native Routine Stretch Tiled",
    "compile.passes.scan": "Members Scan",
}
"""All that is ever made of a stored text; imported when it is met."""

PACKAGE = "indicial."
CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "list": list,
    "set": set,
    "frozenset": frozenset,
    "dict": lambda parts: dict(zip(parts[::2], parts[1::2], strict=True)),
    "fraction": lambda parts: Fraction(*parts),
}
PLAIN = (str, int, float, bool, type(None))


class Packed(Generic[T]):
    """A value that is a text in the text around it, and stays so until it is asked for."""

    def __init__(self, value: T) -> None:
        self._value = value
        self._text: str | None = None

    @staticmethod
    def of(text: str) -> Packed[Any]:
        packed = Packed[Any](None)
        packed._text = text
        return packed

    @property
    def value(self) -> T:
        if self._text is not None:
            self._value, self._text = decoded(self._text), None
        return self._value

    @property
    def text(self) -> str:
        return encoded(self._value) if self._text is None else self._text


def encoded(value: object) -> str:
    """The text of a value; `TypeError` where something in it has no place in `CLASSES`."""
    records: list[object] = []
    known: dict[object, int] = {}
    alive: list[object] = []  # an object that is gone may leave its `id` to another
    waiting: list[tuple[object, str, list[object] | None]] = [(value, "", None)]
    while waiting:
        one, kind, parts = waiting.pop()
        name: object = (type(one), repr(one)) if isinstance(one, PLAIN) else id(one)
        if name in known:
            continue
        if isinstance(one, PLAIN):
            if type(one) not in PLAIN:
                raise TypeError(f"{type(one)} is not stored")
            known[name] = len(records)
            records.append(one)
        elif parts is None:
            kind, parts = _taken_apart(one)
            alive += [one, parts]
            waiting.append((one, kind, parts))
            waiting += [(part, "", None) for part in parts]
        else:
            numbers = [known[(type(p), repr(p)) if isinstance(p, PLAIN) else id(p)] for p in parts]
            known[name] = len(records)
            records.append([kind, *numbers])
    return json.dumps(records, ensure_ascii=False, separators=(",", ":"))


def decoded(text: str) -> Any:
    """The value of a text; any exception where it is none of ours."""
    records = json.loads(text)
    if not isinstance(records, list):
        raise TypeError("no list of records")
    values: list[Any] = []
    for record in records:
        if not isinstance(record, list):
            values.append(record)
            continue
        kind, *numbers = record
        if any(number < 0 for number in numbers):
            raise ValueError("a record that is not there yet")
        values.append(_maker(kind)([values[number] for number in numbers]))
    return values[-1]


def _taken_apart(value: object) -> tuple[str, list[object]]:
    """The kind of a value that is no number or word, and what it is made of."""
    if isinstance(value, Packed):
        return "packed", [value.text]
    if isinstance(value, Fraction):
        return "fraction", [value.numerator, value.denominator]
    if type(value).__name__ in CONTAINERS and type(value).__module__ == "builtins":
        assert isinstance(value, Iterable)
        if isinstance(value, dict):
            return "dict", [part for item in value.items() for part in item]
        return type(value).__name__, [*value]
    kind = _name(type(value))
    return kind, [getattr(value, name) for name in _fields(kind)]


def _name(thing: Any) -> str:
    return f"{thing.__module__.removeprefix(PACKAGE)}.{thing.__qualname__}"


@functools.cache
def _maker(kind: str) -> Callable[[list[Any]], Any]:
    """What makes a value of its parts."""
    if kind in CONTAINERS:
        return CONTAINERS[kind]
    if kind == "packed":
        return lambda parts: Packed.of(*parts)
    made, names = _class(kind), _fields(kind)
    made = getattr(made, "restored", made)
    return lambda parts: made(**dict(zip(names, parts, strict=True)))


@functools.cache
def _fields(kind: str) -> tuple[str, ...]:
    """The fields that are kept: those of the class, unless it says itself which (`STORED`)."""
    own = _class(kind)
    return tuple(getattr(own, "STORED", None) or (field.name for field in fields(own)))


@functools.cache
def _class(kind: str) -> Any:
    module, _, name = kind.rpartition(".")
    if name not in CLASSES.get(module, "").split():
        raise TypeError(f"{kind} is not stored")
    return getattr(importlib.import_module(PACKAGE + module), name)


SOURCES = str(Path(__file__).parents[2])
FOLDERS = ("notation", "program", "compile")
"""The sources that decide what is derived."""

MOST_PLANS = 2000
"""How many files stay; those that were made first make room."""

BEGUN = time.time()

DIGEST = hashlib.sha256().digest_size


def stored(asked: tuple[object, ...], make: Callable[[], T]) -> T:
    """What `make` gives; read where an earlier process has kept it. `asked` is told apart by `repr`."""
    try:
        path = plans_folder() / _key(asked)
    except OSError:  # there is no place to keep anything
        return make()
    found: T | None = _read(path)
    if found is None:
        found = make()
        _write(path, found)
    return found


def plans_folder() -> Path:
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
        private.trim(path.parent, MOST_PLANS)


@functools.cache
def _makers() -> str:
    """Everything that decides what comes out besides what is asked."""
    import torch  # which takes long, and whoever decides how its threads wait does so before (`shared.py`)

    digest = hashlib.sha256()
    for path in _sources():
        digest.update(f"{path.removeprefix(SOURCES)}\0".encode())
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
        for where, folders, files in os.walk(os.path.join(SOURCES, folder)):
            folders.sort()
            for name in sorted(files):
                if name.endswith((".py", ".h")):
                    yield os.path.join(where, name)
