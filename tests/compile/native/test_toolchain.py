"""C text becomes functions; the cache survives damage, crowds and bad directories."""

import ctypes
import os
import platform
import stat
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from indicial.compile.ground import private
from indicial.compile.native import toolchain
from indicial.compile.native.toolchain import NativeError
from tests.forked import Forked

TWICE = "double twice(double x) { return 2 * x; }\n"

needs_compiler = pytest.mark.skipif(not toolchain.available(), reason="no C compiler")


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and nothing loaded."""
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(toolchain, "_libraries", {})
    return tmp_path / "cache" / "native"


def twice(library: ctypes.CDLL) -> float:
    library.twice.argtypes = [ctypes.c_double]
    library.twice.restype = ctypes.c_double
    return float(library.twice(21.0))


def count_compilations(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The outputs that the compiler is asked for from now on."""
    outputs: list[Path] = []
    original = toolchain.Compiler.compile

    def compile(self: toolchain.Compiler, source: str, output: Path) -> None:
        outputs.append(output)
        original(self, source, output)

    monkeypatch.setattr(toolchain.Compiler, "compile", compile)
    return outputs


@needs_compiler
def test_a_text_is_compiled_once(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = count_compilations(monkeypatch)
    assert twice(toolchain.load(TWICE)) == 42
    toolchain._libraries.clear()  # as another process would
    assert twice(toolchain.load(TWICE)) == 42
    assert toolchain.load(TWICE) is toolchain.load(TWICE)
    assert len(outputs) == 1
    toolchain.load(TWICE + "// another text\n")
    assert len(outputs) == 2
    assert len(list(store.glob("*/*.so"))) == 2
    assert list(store.glob("*/*.building")) == []


@needs_compiler
@pytest.mark.parametrize("damage", ["cut", "changed", "emptied"])
def test_damage_is_noticed(store: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    twice(toolchain.load(TWICE))
    (path,) = store.glob("*/*.so")
    content = path.read_bytes()
    half = len(content) // 2
    path.unlink()  # the old file stays mapped: a new one takes its name
    path.write_bytes(
        {
            "cut": content[:half],
            "changed": content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :],
            "emptied": b"",
        }[damage]
    )
    toolchain._libraries.clear()
    outputs = count_compilations(monkeypatch)
    assert twice(toolchain.load(TWICE)) == 42
    assert len(outputs) == 1
    assert [toolchain._checksum(path) for path in store.glob("*/*.so")] == [
        path.stem for path in store.glob("*/*.so")
    ]


@needs_compiler
def test_many_processes_at_once(store: Path, forked: Forked) -> None:
    code = (
        "import sys, ctypes, time; from indicial.compile.native import toolchain\n"
        "time.sleep(max(0, float(sys.argv[1]) - time.time()))\n"
        f"f = toolchain.load({TWICE!r}).twice\n"
        "f.argtypes = [ctypes.c_double]; f.restype = ctypes.c_double\n"
        "sys.exit(f(21.0) != 42)"
    )
    start = str(time.time() + 0.5)
    crowd = [subprocess.Popen([*forked.python, "-c", code, start]) for _ in range(3)]
    assert [process.wait(600) for process in crowd] == [0] * 3
    assert list(store.glob("*/*.building")) == []


@needs_compiler
@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_a_cache_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no directory")
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path / "file"))
    assert twice(toolchain.load(TWICE)) == 42
    assert list(private.temporary().glob("**/*.so"))


@needs_compiler
def test_a_full_disk(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cache is full there may be room elsewhere; else it is said what is full."""
    run = toolchain._run
    full = [str(store)]

    def no_space(command: list[str], text: str, **more: str) -> subprocess.CompletedProcess[str]:
        if any(more.get("TMPDIR", "").startswith(folder) for folder in full):
            said = "kernel.c:1: fatal error: error writing to x.s: No space left on device"
            return subprocess.CompletedProcess(command, 1, "", said)
        return run(command, text, **more)

    monkeypatch.setattr(toolchain, "_run", no_space)
    assert toolchain.load("int fits(void) { return 7; }").fits() == 7
    full.append(str(private.temporary()))
    with pytest.raises(OSError, match="No space left") as told:
        toolchain.load("int fits_nowhere(void) { return 7; }")
    assert str(told.value.filename).startswith(full[1])


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    path = toolchain.library_file(
        "key", lambda output: output.write_text("content") and None, tmp_path
    )
    assert path.parent.parent == private.temporary()
    assert path.read_text() == "content"


def test_old_kernels_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "MOST_KERNELS", 8)
    for number in range(8):
        toolchain.library_file(
            f"key{number}", lambda output: output.write_text("x") and None, tmp_path
        )
        os.utime(tmp_path / f"key{number}", (number, number))
    toolchain.library_file("key0", pytest.fail, tmp_path)  # used, so no longer the oldest
    toolchain.library_file("key8", lambda output: output.write_text("x") and None, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"key{n}" for n in (0, 4, 5, 6, 7, 8)}


@needs_compiler
def test_what_the_compiler_says_is_shown(store: Path) -> None:
    with pytest.raises(NativeError, match=r"kernel\.c:2:.*nonsense"):
        toolchain.load("int x;\nnonsense y;\n")
    with pytest.raises(NativeError, match="missing_function"):
        toolchain.load("int f(void) { return missing_function(); }")
    assert list(store.glob("*/*")) == []


@needs_compiler
def test_headers_are_put_in_once_with_their_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "HEADERS", tmp_path)
    (tmp_path / "a.h").write_text('#include "b.h"\nstatic int a(void) { return b() + 1; }\n')
    (tmp_path / "b.h").write_text("static int b(void) { return 41; }\n")
    source = '#include "a.h"\n#include "b.h"\nint f(void) { return a(); }\n'
    assert toolchain.load(source).f() == 42
    with pytest.raises(NativeError, match=r"kernel\.c:4:"):
        toolchain.load(source + "nonsense y;\n")
    (tmp_path / "b.h").write_text("static int b(void) { return 1; }\n")
    assert toolchain.load(source).f() == 2
    with pytest.raises(NativeError, match=r"no header c\.h"):
        toolchain.load('#include "c.h"\n')


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not toolchain.available()
    with pytest.raises(NativeError, match="cc is not there; gcc is not there; clang is not there"):
        toolchain.load(TWICE)


def test_a_compiler_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken-cc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(NativeError, match="broken-cc does not preprocess"):
        toolchain.load(TWICE)


def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDICIAL_NATIVE", "0")
    assert not toolchain.available()
    with pytest.raises(NativeError, match="INDICIAL_NATIVE=0"):
        toolchain.load(TWICE)


def test_fast_arithmetic_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "cc -Ofast")
    with pytest.raises(NativeError, match="IEEE"):
        toolchain.load(TWICE)
    assert not toolchain.FORBIDDEN.search(" ".join(toolchain.FLAGS))


@needs_compiler
def test_denormals_and_nan_survive() -> None:
    """A library linked with -ffast-math would flush denormals in the whole process."""
    source = "int is_nan(double x) { return x != x; }\ndouble half(double x) { return x / 2; }\n"
    library = toolchain.load(source)
    library.half.argtypes = library.is_nan.argtypes = [ctypes.c_double]
    library.half.restype = ctypes.c_double
    smallest = np.finfo(np.float64).tiny
    assert np.array([smallest]) / 2 > 0  # numpy, in this process
    assert library.half(smallest) > 0
    assert library.is_nan(float("nan")) == 1
    assert library.is_nan(1.0) == 0


@needs_compiler
def test_what_is_on_disk_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    twice(toolchain.load(TWICE))
    toolchain._libraries.clear()
    monkeypatch.setattr(toolchain.Compiler, "compile", lambda *_: pytest.fail("compiled again"))
    twice(toolchain.load(TWICE))


@needs_compiler
def test_what_was_started_is_waited_for() -> None:
    text = f"int number(void) {{ return {os.getpid() % 1000}; }}"
    toolchain.start(text)
    toolchain.start(text)
    assert toolchain.load(text).number() == os.getpid() % 1000
    assert toolchain.load(text) is toolchain.load(text)


@needs_compiler
def test_what_fails_in_the_background_is_told_to_who_asks() -> None:
    text = "int number(void) { return nothing; }"
    toolchain.start(text)
    for _ in range(2):
        with pytest.raises(toolchain.NativeError, match="nothing"):
            toolchain.load(text)


FORKED = """
import os
from indicial.compile.native import toolchain
text = "int number(void) { return 7; }"
toolchain.start(text)
child = os.fork()
if child == 0:
    os._exit(toolchain.load(text).number())
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert toolchain.load(text).number() == 7
"""


@needs_compiler
def test_a_forked_process_compiles_itself(tmp_path: Path, forked: Forked) -> None:
    environment = os.environ | {"INDICIAL_CACHE": str(tmp_path)}
    command = [*forked.python, "-c", FORKED]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr


def test_a_compiler_is_asked_once_for_each_processor(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/sh\necho x >> {calls}\necho '#define VERSION 1'\n")
    compiler.chmod(0o755)
    monkeypatch.setattr(toolchain, "_processor", lambda: "flags: one")
    ask = toolchain._find_compiler.__wrapped__

    def count() -> int:
        return len(calls.read_text().splitlines())

    first = ask((str(compiler),), None)
    assert ask((str(compiler),), None) == first and count() == 1
    monkeypatch.setattr(toolchain, "_processor", lambda: "flags: two")
    ask((str(compiler),), None)
    assert count() == 2
    os.utime(compiler, (1, 1))  # another compiler
    ask((str(compiler),), None)
    assert count() == 3
    monkeypatch.setattr(toolchain, "_processor", lambda: "")
    ask((str(compiler),), None)
    ask((str(compiler),), None)
    assert count() == 5


@needs_compiler
def test_kernels_for_another_processor(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that this one can be: what the text is compiled for tells what its compiler predefines."""
    if platform.machine() != "x86_64":
        pytest.skip("the names are those of x86")
    source = "int wide(void) { return 0\n#ifdef __AVX__\n+ 1\n#endif\n; }"
    monkeypatch.setenv("INDICIAL_MARCH", "x86-64-v2")
    assert toolchain.load(source).wide() == 0
    monkeypatch.setenv("INDICIAL_MARCH", "no-such-processor")
    assert not toolchain.available()
    with pytest.raises(NativeError, match="INDICIAL_MARCH"):
        toolchain.load(source)


def test_what_linux_says_of_the_processor() -> None:
    found = toolchain._processor()
    assert "MHz" not in found and "bogomips" not in found


def test_a_compiler_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    with pytest.raises(NativeError, match=r"cc does not run: .*No such file"):
        toolchain._run([str(tmp_path / "cc")], "")
