"""The commands `explain` and `try`, as typed."""

import io
import json
import re
from pathlib import Path

import pytest

from indicial import library, paste
from indicial.cli import main


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(arguments)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


COMMANDS = [
    "", "check", "models", "notebook", "plot", "exercise", "grade", "explain", "try", "train", "generate", "evaluate",
    "compare",
    "inspect", "attend", "trace", "design", "study", "study shaping", "study heads",
    "study run_time", "study repetition", "export", "lab", "lsp", "report",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as end:
        main([*command.split(), "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert end.value.code == 0 and len(lines) > 3
    assert [line for line in lines if len(line) > 80] == []


def test_every_command_has_its_help_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert len(listed) > 9 and set(listed) <= set(COMMANDS)


# ---------------------------------------------------------------------- explain


def test_explain_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "explain", "rnn", "--set", "J=4", "--set", "K=2", "--set", "T=3")
    assert status == 0
    assert out.startswith("rnn: the vanilla RNN\n")
    assert "parameters  28 = J² + J K + J" in out


def test_explain_joins_what_is_named_together(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "explain", "rnn", "y[t,i] = U[i,J] h[t,J]")
    assert status == 0
    assert "defined     h[t,j]  y[t,i]" in out


def test_explain_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "explain", "rnn", "--json")
    (found,) = json.loads(out)
    assert status == 0
    assert found["cost"]["parameters"]["formula"] == "J² + J K + J"


def test_explain_lists_what_is_not_read_under_other_headings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "notes.md"
    path.write_text(
        "# Means\n\n$$m = \\mathbb{E}[x]$$\n\n# Sums\n\n$$y = \\sum_i x_i$$\n\n# Words\n\nNothing.\n",
        encoding="utf-8",
    )
    status, out, _ = run(capsys, "explain", str(path))
    assert status == 0
    means, _, sums = out.partition("Sums")
    assert "Means\n\nnot read    line 3: it holds an expectation" in means
    assert "Σ_i x_i" in sums and "Words" not in sums


def test_explain_each_program_of_a_document(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    note = tmp_path / "note.md"
    note.write_text("# One\n$$y[j] = W[j,I] x[I]$$\n# Two\n$$h[t] = h[t-1] + x[t]$$\n")
    status, out, _ = run(capsys, "explain", str(note), "--set", "T=9")
    assert status == 0
    assert [line for line in out.splitlines() if line in ("One", "Two")] == ["One", "Two"]
    status, _, err = run(capsys, "explain", str(note), "--set", "Q=9")
    assert status == 2
    assert "no size Q" in err


@pytest.mark.parametrize("command", ["explain", "try", "check"])
@pytest.mark.parametrize("model", ["rnn", "h[t,j] = tanh(W[j,I] h[t-1,I] + x[t,j])"])
def test_a_size_takes_a_number(
    capsys: pytest.CaptureFixture[str], command: str, model: str
) -> None:
    status, _, err = run(capsys, command, model, "--set", "J=abc")
    assert status == 2
    assert "--set J=abc: J is a size of the model, a whole number from 1" in err
    status, _, err = run(capsys, command, model, "--set", "J=0.5")
    assert status == 2 and "--set J=0.5: J is a size of the model, a whole number from 1" in err
    status, _, err = run(capsys, command, model, "--set", "J=2", "--set", "J=3")
    assert status == 2 and "--set says J twice" in err


def test_a_hole_takes_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "explain", "stacked", "--set", "CELL=gru")[0] == 0
    status, _, err = run(capsys, "explain", "stacked", "--set", "CEL=gru")
    assert status == 2 and "there is no hole CEL to fill" in err


def test_explain_shows_mistakes_like_check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bad = tmp_path / "bad.eq"
    bad.write_text("input x[t,k]\nh[t,j] = W[j,K] x[t]\n")
    status, out, _ = run(capsys, "explain", str(bad))
    _, checked, _ = run(capsys, "check", str(bad))
    assert status == 1
    assert "error:" in out and "^" in out
    assert checked.rpartition("\n\n")[0] == out.rpartition("\n\n")[0]
    status, out, _ = run(capsys, "explain", str(bad), "--json")
    assert status == 1
    assert "error" in [m["severity"] for m in json.loads(out)[0]["messages"]]


def test_unknown_name_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "explain", "tranformer")
    assert status == 2
    assert "did you mean transformer?" in err


def test_graph_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    where = tmp_path / "lstm.svg"
    status, out, _ = run(capsys, "explain", "lstm", "--graph", str(where))
    assert status == 0
    assert where.read_text(encoding="utf-8").startswith("<svg ")
    assert str(where) in out


@pytest.mark.parametrize("name", ["lstm.png", "lstm"])
def test_other_pictures_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    status, _, err = run(capsys, "explain", "lstm", "--graph", str(tmp_path / name))
    assert status == 2
    assert ".svg" in err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "no").touch()
    status, _, err = run(capsys, "explain", "rnn", "--graph", str(tmp_path / "no" / "a.svg"))
    assert status == 2
    assert "cannot write" in err


# ---------------------------------------------------------------------- try


@pytest.mark.parametrize(
    "text",
    [
        "y[j] = tanh(W[j,I] x[I])",
        r"y_j = \tanh(\sum_i W_{ji} x_i)",
        r"$$y[j] = \tanh\left(W[j,I] x[I]\right)$$",
        "\\begin{align}\ny[j] &= \\tanh(W[j,I] x[I])\n\\end{align}",
    ],
)
def test_try_any_notation(capsys: pytest.CaptureFixture[str], text: str) -> None:
    status, out, _ = run(capsys, "try", text)
    assert status == 0, out
    assert "y[j]  " in out
    assert "\x1b" not in out


def test_try_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "try", "ugrnn", "--set", "T=6", "--seed", "3")
    assert status == 0
    assert "seed 3" in out and "h[t,j]  6×" in out


def test_try_shows_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "try", "y[j] = W[j,I x[I]")
    assert status == 1
    assert "never closed" in out


def test_try_reads_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y[i] = 2 x[i]\n"))
    status, out, _ = run(capsys, "try")
    assert status == 0
    assert out.startswith("from standard input:")


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_text_that_is_piped_in_is_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("The gate:\n\ngₜ = σ(W xₜ\n"))
    status, said, _ = run(capsys, command, "-")
    assert status == 1 and "standard input:3:7: error: `(` is never closed" in said
    monkeypatch.setattr("sys.stdin", Keyboard(""))
    status, _, said = run(capsys, command, "-")
    assert status == 2 and "pipe a text into it" in said


def test_try_takes_the_clipboard_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Keyboard("z = 1\n"))
    monkeypatch.setattr(paste, "clipboard", lambda: "y[i] = 2 x[i]")
    status, out, _ = run(capsys, "try")
    assert status == 0
    assert out.startswith("from the clipboard:")


@pytest.mark.parametrize("copied", [None, "a shopping list"])
def test_try_asks_where_nothing_was_copied(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, copied: str | None
) -> None:
    monkeypatch.setattr("sys.stdin", Keyboard("\ny[i] = 2 x[i]\n\nz = behind[\n"))
    monkeypatch.setattr(paste, "clipboard", lambda: copied)
    status, out, err = run(capsys, "try")
    assert status == 0
    assert "an empty line ends them" in err
    assert "y[i]  " in out and "behind" not in out


def test_try_with_nothing_typed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Keyboard(""))
    monkeypatch.setattr(paste, "clipboard", lambda: None)
    status, _, err = run(capsys, "try")
    assert status == 2
    assert "nothing to try" in err


def test_colour_on_a_terminal_unless_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    _, out, _ = run(capsys, "try", "y[j] = W[j,I] x[I]")
    assert "\x1b[" in out
    monkeypatch.setenv("NO_COLOR", "1")
    _, out, _ = run(capsys, "try", "y[j] = W[j,I] x[I]")
    assert "\x1b[" not in out


def test_explaining_needs_no_heavy_library() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from indicial.cli import main; main(['explain', 'ugrnn']); "
        "sys.exit(', '.join({'torch', 'sympy', 'numpy'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device", "out.svg"), "out.svg No space left on device"),
        (MemoryError(), "not enough memory"),
    ],
)
def test_what_the_machine_refuses_is_said_in_one_line(
    error: Exception,
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object) -> None:
        raise error

    monkeypatch.setattr("indicial.library.names", refused)
    code, _, said = run(capsys, "models")
    assert code == 2
    assert told in said and "Traceback" not in said


def test_a_model_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = library.path("ugrnn").read_text(encoding="utf-8")
    assert run(capsys, "models", "ugrnn") == (0, text, "")
    code, _, wrong = run(capsys, "models", "ugrn")
    assert code == 2 and "the library has no model 'ugrn'; did you mean ugrnn?" in wrong


def test_a_model_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "nothing like it"]) == 2
    assert capsys.readouterr().err == "indicial: the library has no model 'nothing like it'\n"


def test_data_may_be_said_several_times() -> None:
    from indicial.cli import _parser

    options = _parser().parse_args(["train", "rnn", "--data", "a", "b", "--data", "c"])
    assert options.data == ["a", "b", "c"]


@pytest.mark.parametrize(
    "module", ["indicial.program.terminal", "indicial.commands.arguments", "indicial.commands.export"]
)  # fmt: skip
def test_ctrl_c_while_it_starts_ends_quietly(module: str) -> None:
    import subprocess
    import sys

    code = f"""
import sys
from indicial.cli import main

class Interrupted:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
sys.exit(main(["models"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("train ugrnn --data people --batch-size 0", "--batch-size takes a number of at least 1"),
        ("train ugrnn --max-steps 5", "name the data to train on"),
        ("train --resume none", "there is no run none"),
        ("train ugrnn --data people --from none", "there is no run none"),
        ("generate none", "there is no run none"),
        ("evaluate none --data people", "there is no run none"),
        ("inspect none", "there is no run none"),
        ("report none", "there is no run none"),
    ],
)
def test_a_wrong_call_waits_for_no_heavy_library(call: str, told: str, tmp_path: Path) -> None:
    import subprocess
    import sys

    code = f"""
import sys
from indicial.cli import main
status = main({call.split()!r})
sys.exit(9 if "torch" in sys.modules else status)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 2, done.stderr
    assert told in done.stderr


def test_the_settings_of_a_text_wait_for_no_heavy_library() -> None:
    import subprocess
    import sys

    code = "import sys, indicial.decode.settings; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_no_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """`indicial check "$NOTES"`, where that is not set."""
    (tmp_path / "wrong.eq").write_text("y[j] = W[j,I] x[I", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for command in ("check", "explain"):
        status, out, err = run(capsys, command, name)
        assert (status, out) == (2, "") and "an empty name names nothing" in err


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    from indicial import IndicialError, load

    with pytest.raises(IndicialError, match="is a folder: name a file in it"):
        load(str(tmp_path))
    with pytest.raises(IndicialError, match="an empty name names nothing"):
        load("")
