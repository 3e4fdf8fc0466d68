"""A terminal shows what it is told and obeys none of it; signs that it lacks are spelt."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from indicial.cli import main
from indicial.program.terminal import FEWER, Shown, escaped, raw, shown_safely
from indicial.training.display import Output


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_control_characters_are_shown() -> None:
    assert escaped("a\tb\n\x1b[2J\r\x07\x9b31m\u202e") == "a\tb\n\\x1b[2J\\r\\x07\\x9b31m\\u202e"
    every = "".join(map(chr, range(0x110000)))
    left = {c for c in escaped(every) if not c.isprintable()}
    assert not left & {chr(n) for n in (*range(9), *range(11, 32), *range(127, 160))}
    assert escaped("Σ_t é 日本 \u00a0") == "Σ_t é 日本 \u00a0"


def test_only_terminals_are_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, expected in ((Screen(), "\\x1b[31m\n"), (io.StringIO(), "\x1b[31m\n")):
        monkeypatch.setattr(sys, "stdout", stream)
        with shown_safely():
            print("\x1b[31m")
            assert raw(sys.stdout) is stream
            assert sys.stdout.isatty() == stream.isatty()
        assert sys.stdout is stream
        assert stream.getvalue() == expected


@pytest.mark.parametrize("call", ["check", "explain", "try"])
def test_what_equations_hold_is_not_obeyed(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "odd\x1b[31m.eq"
    path.write_text("# \x1b]0;title\x07\ninput x[t]\ny[t] = x[t] + \x1b[2J q[t,j]\n")
    monkeypatch.setattr(sys, "stdout", screen := Screen())
    monkeypatch.setattr(sys, "stderr", Screen())
    main([call, str(path)])
    assert "\\x1b" in screen.getvalue()
    assert "\x1b" not in screen.getvalue() and "\x07" not in screen.getvalue()


def test_a_board_obeys_its_own_movements_only() -> None:
    console = Output(file=(screen := Screen()), force_terminal=True, color_system="standard")
    console.print("data \x1b[2J \x9b", style="bold", markup=False, highlight=False)
    assert "data \\x1b[2J \\x9b" in screen.getvalue()
    assert "\x1b[1m" in screen.getvalue()
    assert Output(file=(through := Shown(screen))).file is through.stream


def test_ascii_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["explain", "ugrnn", "--unicode"]) == 0
    print_status = main(["explain", "transformer", "--set", "J=8"])
    assert print_status == 0
    with shown_safely():
        print("┏━nsubj━┓\n┃  ┤╌└┐⠓┃⠀|")
    sys.stdout.flush()
    text = written.getvalue().decode("ascii")
    assert "sigma(" in text and "J^2" in text and "..." in text
    assert text.endswith("+-nsubj-+\n|  +-++*| |\n")
    assert all(spelt.isascii() for spelt in FEWER.values())


def test_the_locale_c_writes_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python gives a file's name that is no text its bytes there, and fails at any other sign."""
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii", errors="surrogateescape")
    monkeypatch.setattr(sys, "stdout", stream)
    with shown_safely():
        print(os.fsdecode(b"\xff\xfe.eq"), "Σ_t → \ud800σ")
    assert stream.errors == "surrogateescape"
    sys.stdout.flush()
    assert written.getvalue() == b"\xff\xfe.eq Sigma_t -> \\ud800sigma\n"


NOWHERE = """
import os, pwd, sys, tempfile
def nobody(uid): raise KeyError(uid)
pwd.getpwuid = nobody
tempfile._candidate_tempdir_list = lambda: [sys.argv[1]]  # no folder, on any machine
os.chdir("/proc")
from indicial.cli import main
assert main(["check", sys.argv[1]]) == 0
assert main(["explain", sys.argv[1], "--schedule"]) == 0
import indicial, torch
from indicial.compile.native import toolchain
module = indicial.load(sys.argv[1]).compile()
assert not toolchain.available()
assert torch.allclose(module(x=torch.zeros(1, 3))["h"], torch.zeros(1, 3))
"""


def test_nobody_without_a_home_or_a_place_to_write(tmp_path: Path) -> None:
    """An unknown user, no temporary folder, a folder that nothing can be written to, ASCII."""
    program = tmp_path / "cell.eq"
    program.write_text("input x[t]\nh[t] = tanh(w h[t-1] + x[t])\n")
    away = ("HOME", "INDICIAL_CACHE", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in away}
    ran = subprocess.run(
        [sys.executable, "-c", NOWHERE, str(program)],
        env={**environment, "PYTHONIOENCODING": "ascii"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
