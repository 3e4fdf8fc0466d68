"""C text → functions that can be called, through the system's C compiler.

    >>> library = load("double twice(double x) { return 2 * x; }")
    >>> library.twice.argtypes = [ctypes.c_double]
    >>> library.twice.restype = ctypes.c_double
    >>> library.twice(21.0)
    42.0
    >>> start(other)                            in the background; `load(other)` waits for it

`load(source)` compiles once for each text, compiler and processor, whatever the number of
processes; a second `load` of a text in one process returns the same library. ctypes lets
go of Python's lock during a call.

The text may `#include "vector_math.h"` and the other headers of this folder. They are put in
before anything is hashed, so the cache notices when one of them changes.

`available()` says whether there is a compiler; `INDICIAL_NATIVE=0` says no for it. Kernels are made for
the processor at hand; `INDICIAL_MARCH=x86-64-v3` makes them for another one that this one can be.
Everything that goes wrong is a `NativeError`, with what the compiler said.

**Arithmetic stays IEEE.** `-ffast-math` and its relatives are never passed: libraries linked with
them switch the whole process to flushing denormals when they are loaded, and code compiled with
them does not see nan. What is passed lets loops vectorise all the same: no errno, no traps, and
`a*b+c` may become one operation. Sums are vectorised where the text says so:
`#pragma omp simd reduction(+:s)`.

**Compiled kernels stay on disk**, found by what they were made from.

    library_file(key, build)  →  ~/.cache/indicial/native/3f…c0/91…ab.so

`key` stands for everything that decides what the compiler makes (`_key`). The folder is
named by the key, the file in it by the SHA-256 of its own content. So one rename
stores a kernel together with its checksum: a file that was cut short or changed does not bear its
own name, is removed, and is built again. Processes that build the same kernel at once each write a
file of their own and rename it; whichever comes last, every file with the right name is good.
A file is never written in place, because another process may have it mapped.

The folder is one that nobody else can write to (`private.py`).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from indicial.compile.ground import private
from indicial.compile.ground.stored import stored

HEADERS = Path(__file__).parent

FLAGS = (
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-shared",
    "-pthread",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fopenmp-simd",
    "-fno-tree-pre",  # gcc's, which leaves loops with choices in them in scalars
    "-fno-stack-protector",
    "-Werror=implicit-function-declaration",
)
QUICK_FLAGS = (
    "-O1",
    "-fexpensive-optimizations",
    "-ftree-loop-vectorize",
    "-fvect-cost-model=very-cheap",
)
"""For gcc in the place of -O2: less than two thirds of its time, and fused operations all the same."""

TUNING = (
    ("-march=native", "-mprefer-vector-width=512"),
    ("-march=native",),
    ("-mcpu=native",),
    (),
)
"""The first of these that the compiler takes is used: not all processors know all options."""

FORBIDDEN = re.compile(r"-Ofast|-f(fast-math|unsafe-math-optimizations|finite-math-only)")

_libraries: dict[str, ctypes.CDLL] = {}
_started: dict[tuple[Compiler, str], Future[ctypes.CDLL]] = {}


class NativeError(RuntimeError):
    """There is no compiler, or it does not compile this."""


@dataclass(frozen=True)
class Compiler:
    """A C compiler that works: how to call it, and what its output depends on besides the text."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    identity: str

    def quick(self) -> Compiler:
        """The one for texts that write out their vectors, which gain nothing from more."""
        if "__clang__" in self.identity:
            return self
        flags = [flag for own in self.flags for flag in (QUICK_FLAGS if own == "-O2" else (own,))]
        return replace(self, flags=tuple(flags))

    def compile(self, source: str, output: Path) -> None:
        """Write the shared library for a C text to `output`."""
        command = [*self.command, *self.flags, "-x", "c", "-", "-o", str(output), "-lm"]
        # The compiler's own files go there too: it need not have another place to write to.
        result = _run(command, source, TMPDIR=str(output.parent))
        if result.returncode:
            full = os.strerror(errno.ENOSPC)  # what the compiler says too, with LC_ALL=C
            if full in result.stderr:
                raise OSError(errno.ENOSPC, full, str(output.parent))
            raise NativeError(
                f"{shlex.join(command)} failed ({result.returncode}):\n{result.stderr.strip()}"
            )


def available() -> bool:
    """Whether kernels can be compiled here."""
    try:
        find_compiler()
    except NativeError:
        return False
    return True


def find_compiler() -> Compiler:
    """The compiler that `$CC` names, else cc, gcc or clang; `NativeError` if there is none."""
    if os.environ.get("INDICIAL_NATIVE", "") == "0":
        raise NativeError("native kernels are switched off by INDICIAL_NATIVE=0")
    try:
        kernels_folder()
    except OSError as error:
        raise NativeError(f"there is no folder for kernels: {error}") from error
    chosen = os.environ.get("CC", "").strip()
    return _find_compiler(
        (chosen,) if chosen else ("cc", "gcc", "clang"),
        os.environ.get("PATH"),
        os.environ.get("INDICIAL_MARCH", "").strip(),
    )


def load(source: str, *, quick: bool = False) -> ctypes.CDLL:
    """Compile a C text, or find it compiled, and load it."""
    compiler = find_compiler().quick() if quick else find_compiler()
    started = _started.get((compiler, source))
    if started is None:
        return _loaded(compiler, source)
    try:
        return started.result()
    except Exception:
        _started.pop((compiler, source), None)  # who asks again may have more luck
        raise


def start(source: str, *, quick: bool = False) -> None:
    """Do what `load` does in the background: compilers run beside each other, and beside Python."""
    compiler = find_compiler().quick() if quick else find_compiler()
    key = (compiler, source)
    if key not in _started:
        _started[key] = _pool().submit(_loaded, compiler, source)


def _loaded(compiler: Compiler, source: str) -> ctypes.CDLL:
    text = expand(source)
    key = _key(compiler, text)
    if key not in _libraries:  # no lock: threads that come at once compile twice, and one wins
        _libraries.setdefault(key, _load(compiler, text, key))
    return _libraries[key]


@functools.cache
def _pool() -> ThreadPoolExecutor:
    """Threads that wait for compilers, as many as there are cores."""
    return ThreadPoolExecutor(os.cpu_count(), "indicial-cc")


def _forget() -> None:
    """A forked process does not have the threads that would finish what was started."""
    _started.clear()
    _pool.cache_clear()


os.register_at_fork(after_in_child=_forget)


def expand(source: str) -> str:
    """A C text with the headers of this folder in the place of their `#include`, each once."""
    seen: set[str] = set()

    def put(match: re.Match[str]) -> str:
        name = match[1]
        if name in seen:
            return ""
        seen.add(name)
        header = HEADERS / name
        if not header.is_file():
            raise NativeError(f"no header {name} in {HEADERS}")
        return insert(header.read_text(encoding="utf-8"), name)

    def insert(text: str, name: str) -> str:
        lines = [f'#line 1 "{name}"']
        for number, line in enumerate(text.splitlines(), 1):
            lines.append(replaced := _INCLUDE.sub(put, line))
            if replaced != line:
                lines.append(f'#line {number + 1} "{name}"')
        return "\n".join(lines) + "\n"

    return insert(source, "kernel.c")


_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"\s*$')


@functools.cache
def _find_compiler(candidates: tuple[str, ...], path: str | None, march: str = "") -> Compiler:
    tried = []
    tunings = ((f"-march={march}",),) if march else TUNING
    for candidate in candidates:
        command = tuple(shlex.split(candidate))
        if FORBIDDEN.search(candidate):
            raise NativeError(f"CC={candidate} asks for arithmetic that is not IEEE")
        file = shutil.which(command[0], path=path)
        if file is None:
            tried.append(f"{command[0]} is not there")
            continue
        for tuning in tunings:
            flags = FLAGS + tuning
            if (identity := _identity(command, flags, file)) is not None:
                return Compiler(command, flags, identity)
        tried.append(
            f"{candidate} does not preprocess an empty file"
            + (f" with -march={march} (INDICIAL_MARCH)" if march else "")
        )
    raise NativeError("no C compiler: " + "; ".join(tried))


def _identity(command: tuple[str, ...], flags: tuple[str, ...], file: str) -> str | None:
    """What the compiler predefines: its version, and what the processor can do.

    Asking takes longer than loading a kernel, so the answer is kept for the same file on the same
    processor. An answer that is too old costs nothing but a kernel of an older compiler.
    """

    def asked() -> str | None:
        result = _run([*command, *flags, "-dM", "-E", "-x", "c", "-"], "")
        return result.stdout if result.returncode == 0 else None

    processor = _processor()
    if not processor:
        return asked()
    state = os.stat(file)
    made = os.path.realpath(file), state.st_mtime_ns, state.st_size
    return stored(("compiler", *command, *flags, *made, processor), asked)


@functools.cache
def _processor() -> str:
    """What Linux says about the first core, without what changes from moment to moment."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0]
    except OSError:
        return ""
    same = ("vendor", "family", "model", "stepping", "flags", "Features", "CPU ")
    lines = [line for line in first.splitlines() if line.startswith(("cpu family", *same))]
    return "\n".join(lines) if any(line.startswith(("flags", "Features")) for line in lines) else ""


def _run(command: list[str], text: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"LC_ALL": "C"} | more
    try:
        return subprocess.run(
            command, input=text, env=environment, capture_output=True, encoding="utf-8", check=False
        )
    except OSError as error:
        raise NativeError(f"{command[0]} does not run: {error}") from error


def _key(compiler: Compiler, text: str) -> str:
    parts = ("1", *compiler.command, *compiler.flags, compiler.identity, text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def _load(compiler: Compiler, text: str, key: str) -> ctypes.CDLL:
    def build(output: Path) -> None:
        compiler.compile(text, output)

    try:
        return ctypes.CDLL(str(library_file(key, build)))
    except OSError:  # the cache may be full, or lie on a file system that nothing is run from
        path = library_file(key, build, private.temporary())
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise NativeError(f"a compiled kernel does not load: {error}") from error


MOST_KERNELS = 2000
"""How many kernels stay; those that were not used for longest make room."""


def kernels_folder() -> Path:
    """Where kernels are kept: `~/.cache/indicial/native`, or a folder of this process."""
    return private.folder("native")


def library_file(key: str, build: Callable[[Path], None], root: Path | None = None) -> Path:
    """The file for `key`; `build(path)` makes it where it is missing or damaged.

    `root` is where to look and store, `kernels_folder()` unless given. An exception of `build` passes
    through, and nothing is stored.
    """
    root = root or kernels_folder()
    try:
        folder = root / key
        folder.mkdir(mode=0o700, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(folder)
    except OSError:
        folder = private.temporary() / key
        folder.mkdir(mode=0o700, exist_ok=True)
    return _kept(folder) or _store(folder, build)


def _kept(folder: Path) -> Path | None:
    """The file in `folder` whose content is what its name says; others are removed."""
    for path in sorted(folder.glob("*.so")):
        with contextlib.suppress(OSError):
            if private.ours(path) and _checksum(path) == path.stem:
                os.utime(folder)  # used now: `trim` goes by this
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
    private.trim(folder.parent, MOST_KERNELS)
    return path


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
