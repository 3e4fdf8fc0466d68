"""`indicial inspect` as typed."""

import json
from pathlib import Path

import pytest

from indicial.cli import main
from tests.decode.runs import make_run


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "book.txt").write_text("ab ba cab ac\n" * 60, encoding="utf-8")
    return tmp_path / "book.txt"


def run_folder(tmp_path: Path, name: str, book: Path) -> str:
    told = {"context": 12, "batch_size": 4, "data": [str(book)]}
    run, _ = make_run(tmp_path / "run", name, **told)
    return str(run.folder)


def test_a_page_of_80_columns(
    tmp_path: Path, book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path, "stacked+language_model_stack", book)
    assert main(["inspect", folder, "--data", str(book), "--words", "a,b"]) == 0
    told = capsys.readouterr().out
    for part in ("gradients of", "recurrent Jacobian", "saturated", "parameters", "nearest words"):
        assert part in told
    assert max(map(len, told.split("\npictures")[0].splitlines())) <= 82  # signs above letters
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names >= {"gradients.png", "gradients.svg", "eigenvalues.png", "eigenvalues.svg"}


def test_json_and_what_does_not_apply(
    tmp_path: Path, book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path, "transformer", book)
    assert main(["inspect", folder, "--json", "--out", str(tmp_path / "pictures")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "no recurrence" in told["jacobians"]["not_applicable"]
    assert told["texts"].startswith("32 texts of 12 tokens, the validation part of")
    assert [one["name"] for one in told["gradients"]] == ["L[0,t,j]"]
    assert sorted(Path(p).name for p in told["pictures"]) == ["gradients.png", "gradients.svg"]
    assert not (Path(folder) / "gradients.png").exists()


def test_a_model_that_fills_in_blanks(
    tmp_path: Path, book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It reads three inputs, and has a token more than the tokenizer knows."""
    folder = str(tmp_path / "run")
    few = ["--max-steps", "1", "--context", "12", "--set", "J=8", "--set", "L=1", "--out", folder]
    assert main(["train", "encoder", "--data", str(book), *few]) == 0
    capsys.readouterr()
    assert main(["inspect", folder, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["gradients"]] == ["L[0,t,j]"]
    assert {len(one["near"]) for one in told["neighbours"]} == {5}


def test_a_model_with_a_loss_alone(
    tmp_path: Path, book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What needs a probability does not apply; the rest is told."""
    equations = tmp_path / "near.eq"
    equations.write_text("input w[t] in V\nloss = 1/T Σ_t Σ_j (e[w[t],j] - c[j])^2\n")
    few = ["--max-steps", "1", "--context", "12", "--set", "J=4", "--out", str(tmp_path / "run")]
    assert main(["train", str(equations), "--data", str(book), *few]) == 0
    capsys.readouterr()
    assert main(["inspect", str(tmp_path / "run"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "no distribution" in told["gradients"]["not_applicable"]
    assert [one["name"] for one in told["parameters"]] == ["e[·,j]", "c[j]"]
    assert main(["evaluate", str(tmp_path / "run"), "--data", str(book)]) == 2
    assert "no nats to count" in capsys.readouterr().err


def test_a_text_that_is_too_short(
    tmp_path: Path, book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path, "rnn_lm", book)
    book.write_text("ab", encoding="utf-8")
    assert main(["inspect", folder, "--data", str(book)]) == 2
    said = "has 3 tokens, and the model is looked at while it reads 12: give more text"
    assert said in capsys.readouterr().err


def test_data_that_is_gone(tmp_path: Path, book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_folder(tmp_path, "rnn_lm", book)
    book.unlink()
    assert main(["inspect", folder]) == 2
    assert "--data PATH" in capsys.readouterr().err
