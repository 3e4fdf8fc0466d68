"""Runs that somebody else made, or a failing disk: used, or told what is wrong; nothing else."""

import os
from pathlib import Path

import pytest

from indicial.lab.compare import Run
from indicial.program.messages import IndicialError
from tests.decode.runs import make_run
from tests.fuzz.run_folders import attack, watchdog


def test_a_sample_of_changed_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDICIAL_NATIVE", "0")  # equations change all the time, and compile slowly
    found = attack(tmp_path, 60, seed=5)
    assert found["message"] > 20 and found["used"] > 3


FILES = ["run.json", "tokenizer.json", "checkpoints/step-00000001/tensors.safetensors",
         "checkpoints/step-00000001/checkpoint.json", "checkpoints"]  # fmt: skip


@pytest.mark.parametrize("what", ["pipe", "zero", "outside", "huge"])
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_plain_file_is_told(tmp_path: Path, name: str, what: str) -> None:
    make_run(tmp_path / "run", "trigram")
    path = tmp_path / "run" / name
    path.rename(tmp_path / "moved")
    if what == "pipe":
        os.mkfifo(path)
    elif what == "zero":
        path.symlink_to("/dev/zero")
    elif what == "outside":
        path.symlink_to(tmp_path / "moved")
    else:
        with path.open("wb") as file:
            file.truncate(1 << 42)
    with watchdog(), pytest.raises(IndicialError) as told:
        Run.open(tmp_path / "run").generate("ab", max_new_tokens=1)
    assert str(tmp_path / "run") in str(told.value)


def test_a_link_in_the_place_of_the_tokenizer_is_not_written_through(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path / "run", "trigram")
    tokenizer = run.tokenizer()
    (tmp_path / "mine").write_text("mine")
    for name in ("tokenizer.json", ".run.json"):
        (tmp_path / "run" / name).unlink(missing_ok=True)
        (tmp_path / "run" / name).symlink_to(tmp_path / "mine")
    run.mend(tokenizer)
    run.keep_setting("patience", 3)
    assert (tmp_path / "mine").read_text() == "mine"
    assert Run.open(tmp_path / "run").tokenizer().size == tokenizer.size


def test_checkpoints_that_lie_elsewhere_are_not_added_to(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path / "run", "trigram")
    found = run.checkpoint("last")
    (tmp_path / "run" / "checkpoints").rename(tmp_path / "mine")
    (tmp_path / "mine" / ".partial-1").mkdir()
    (tmp_path / "run" / "checkpoints").symlink_to(tmp_path / "mine")
    before = sorted((tmp_path / "mine").rglob("*"))
    with pytest.raises(IndicialError, match="it is a link"):
        run.checkpoints.save(found)
    with pytest.raises(IndicialError, match="it is a link"):
        run.checkpoints.latest()
    assert sorted((tmp_path / "mine").rglob("*")) == before


@pytest.mark.parametrize("what", ["pipe", "device"])
def test_what_takes_no_tokens_does_not_hold_it_up(tmp_path: Path, what: str) -> None:
    run, _ = make_run(tmp_path / "run", "trigram")
    tokenizer, path = run.tokenizer(), tmp_path / "run" / "tokenizer.json"
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
        with watchdog(), pytest.raises(IndicialError, match="it is a pipe that nobody reads"):
            run.mend(tokenizer)
    else:
        path.symlink_to("/dev/null")
        run.mend(tokenizer)
        assert Run.open(tmp_path / "run").tokenizer().size == tokenizer.size


def test_sizes_that_no_memory_holds_ask_for_none(tmp_path: Path) -> None:
    make_run(tmp_path / "run", "trigram")
    path = tmp_path / "run" / "run.json"
    path.write_text(
        path.read_text().replace('"V": 9', '"V": 999999999').replace('"J": 8', '"J": 900000000')
    )
    with pytest.raises(IndicialError, match="does not fit the equations"):
        Run.open(tmp_path / "run").module()
