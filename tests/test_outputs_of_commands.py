"""Every command that writes leaves the user's files alone."""

import shutil
from pathlib import Path

import pytest

from indicial.cli import main
from indicial.designs import comparison
from tests.decode.runs import make_run

MINE = "what the user wrote\n"
HANDOUT = """# A sheet

```indicial
input x[t]
y[t] = 2 x[t]
```

**(a)** How large is $y$?

```indicial
claim y[t] = 2 x[t]
```
"""
SHEET = "# A sheet\n\n```indicial\ny[t] = x[t]\n```\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    make_run(folder, "trigram", context=8)
    return folder


@pytest.fixture
def here(tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparison, "_columns", lambda *_: [])  # half of the matrices will do
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "text.txt").write_text("abab\n")
    (tmp_path / "sheet.md").write_text(SHEET)
    return tmp_path


WRITERS = [
    ("evaluate run --data text.txt --tokens-out {}", "out.tsv"),
    ("export run --format torch --out {}", "out.py"),
    ("explain rnn --graph {}", "out.svg"),
    ("notebook sheet.md --out {}", "out.ipynb"),
    ("attend position ABC --figure {}", "out.svg"),
    ("compare position position --figure {}", "out.png"),
    ("design position --train --steps 2 --out {}", "out.json"),
    ("design position --train --steps 2 --figure {}", "out.pdf"),
]


@pytest.mark.parametrize(("call", "name"), WRITERS, ids=[call for call, _ in WRITERS])
def test_a_file_of_the_user_stays_and_one_of_ours_is_made_again(
    here: Path, call: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words, out = call.format(name).split(), here / name
    out.write_text(MINE)
    assert main(words) == 2
    assert out.read_text() == MINE
    assert "Indicial did not write it" in capsys.readouterr().err
    assert main([*words, "--force"]) in (0, 1)  # a design may be wrong in some cases
    assert out.read_bytes() != MINE.encode()
    assert main(words) in (0, 1)
    assert [path.name for path in here.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("exercise handout.md --format md --out {}", "out.md"),
        ("notebook sheet.md --out {}", "out.ipynb"),
        ("export run --format torch --out {}", "out.py"),
        ("evaluate run --data text.txt --tokens-out {}", "out.tsv"),
    ],
)
def test_what_the_user_changed_in_a_file_of_ours_stays(
    here: Path, call: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "handout.md").write_text(HANDOUT)
    words, out = call.format(name).split(), here / name
    assert main(words) == 0
    changed = out.read_text() + "\n"
    out.write_text(changed)
    assert main(words) == 2
    assert out.read_text() == changed
    assert "was changed since Indicial wrote it" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0
    assert main(words) == 0


def test_a_call_that_failed_does_not_forget_what_is_ours(here: Path) -> None:
    words = ["notebook", "sheet.md", "--out", "out.ipynb"]
    assert main(words) == 0
    changed = (here / "out.ipynb").read_text() + "\n"
    assert main([*words[:1], "none.md", *words[2:]]) == 2
    (here / "out.ipynb").write_text(changed)
    assert main(words) == 2
    assert (here / "out.ipynb").read_text() == changed


def test_inspect_and_further_files_of_an_export(here: Path) -> None:
    for name in ("gradients.png", "eigenvalues.svg"):
        (here / name).write_text(MINE)
        assert main(["inspect", "run", "--data", "text.txt", "--out", "."]) == 2
        (here / name).unlink()
    (here / "model.safetensors").write_text(MINE)
    assert main(["export", "run", "--format", "torch", "--out", "model.py"]) == 2
    assert not (here / "model.py").exists()


@pytest.mark.parametrize(
    "call",
    [
        "evaluate run --data text.txt --tokens-out text.txt --force",
        "evaluate run --data . --tokens-out text.txt --force",
        "evaluate run --data text.txt --tokens-out run/run.json --force",
        "notebook sheet.md --out sheet.md --force",
        "design position --train --out a.svg --figure a.svg",
    ],
)
def test_what_is_read_stays(here: Path, call: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert main(call.split()) == 2
    assert "is also read here" in (said := capsys.readouterr().err) or "one file" in said
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before
