"""A folder that was left at any moment of its making is begun anew; what else it holds is kept."""

from pathlib import Path
from typing import Any

import pytest

from indicial import IndicialError, load
from indicial.data import tokenizers
from indicial.data.tokenizers import make_tokenizer
from indicial.training import checkpoints, run
from indicial.training.checkpoints import check_mine, write_json
from indicial.training.run import Description, Equations, Run


class Killed(BaseException):
    """As SIGKILL: nothing that follows is done."""


def description() -> Description:
    return Description(Equations.of(load("trigram")), {"V": 3}, "language")


def stop(*arguments: Any, **named: Any) -> None:
    raise Killed


@pytest.mark.parametrize("moment", ["before anything", "the tokenizer", "half of it", "the end"])
def test_killed_while_a_run_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    folder, tokenizer = tmp_path / "run", make_tokenizer("characters", ["abc"])

    def half(self: object, folder: Path) -> None:
        (folder / tokenizers.FILE).write_text('{"form')
        raise Killed

    with monkeypatch.context() as patch:
        if moment == "before anything":
            patch.setattr(run, "begin_json", stop)
        elif moment == "the tokenizer":
            patch.setattr(type(tokenizer), "save", stop)
        elif moment == "half of it":
            patch.setattr(type(tokenizer), "save", half)
        else:
            patch.setattr(run, "finish", stop)
        with pytest.raises(Killed):
            Run.create(folder, description(), tokenizer)
    assert folder.is_dir() and not (folder / run.FILE).exists()
    Run.create(folder, description(), tokenizer)
    assert Run.open(folder).tokenizer().size == tokenizer.size
    assert {path.name for path in folder.iterdir()} == {"run.json", "tokenizer.json"}


def test_what_is_there_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.json"
    write_json(path, {"a": 1})
    monkeypatch.setattr(checkpoints, "finish", stop)
    with pytest.raises(Killed):
        write_json(path, {"a": 2})
    assert path.read_text() == '{\n "a": 1\n}\n'
    check_mine(tmp_path, "study.json", "study")


@pytest.mark.parametrize(
    "names", [["thesis.tex"], [".run.json", "thesis.tex"], ["tokenizer.json"], [".run.json", "x/y"]]
)
def test_what_is_not_ours(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("years of work")
    with pytest.raises(IndicialError, match="holds other things and is not a run"):
        check_mine(tmp_path, "run.json", "run", beside=["tokenizer.json"])
    with pytest.raises(IndicialError, match="holds other things and is not a run"):
        check_mine(tmp_path / names[0], "run.json", "run")
