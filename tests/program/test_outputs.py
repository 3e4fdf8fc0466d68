"""Files are written whole or not at all, and in the place of nothing that is not ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from indicial.program.messages import IndicialError
from indicial.program.outputs import LOOK, MADE, check_output, write_text, written


def test_a_file_is_there_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "losses.tsv"
    write_text(target, "old")
    with written(target) as beside:
        beside.write_text("new")
        assert target.read_text() == "old"
        assert beside.suffix == ".tsv"
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["losses.tsv"]


def test_what_is_broken_off_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), written(target) as beside:
        beside.write_text("half")
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_new_file_has_the_usual_mode_and_no_link_is_followed(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "file", "a")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    (tmp_path / "link").symlink_to("file")
    write_text(tmp_path / "link", "b")
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "a"


def test_a_folder_that_is_not_there_is_made_when_something_is_written(tmp_path: Path) -> None:
    check_output(tmp_path / "new" / "er" / "a")
    assert os.listdir(tmp_path) == []
    write_text(tmp_path / "new" / "er" / "a", "x")
    assert (tmp_path / "new" / "er" / "a").read_text() == "x"


def test_a_folder_that_is_none_is_told_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "nowhere").symlink_to("gone")
    for name in ("file", "nowhere"):
        with pytest.raises(IndicialError, match=rf"cannot write .*{name} is not a folder"):
            check_output(tmp_path / name / "a" / "b")
    # Who runs the tests may be root, who may write anywhere.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(IndicialError, match=f"cannot write .*a: {tmp_path} cannot be written to"):
        check_output(tmp_path / "new" / "a")


def test_devices_are_written_to(tmp_path: Path) -> None:
    check_output(Path(os.devnull))
    write_text(os.devnull, "x")


def test_what_is_not_ours_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    check_output(path)
    path.write_text("")
    check_output(path)  # nothing is lost
    path.write_text("Call me Ishmael.")
    with pytest.raises(IndicialError, match=r"Indicial did not write it.*--force"):
        check_output(path)
    check_output(path, force=True)
    with pytest.raises(IndicialError, match="is a folder"):
        check_output(tmp_path)


@pytest.mark.parametrize("before", ["", "x" * LOOK])
def test_ours_is_known_by_its_mark(tmp_path: Path, before: str) -> None:
    path = tmp_path / "a.svg"
    path.write_text(f"{before}<!-- {MADE} -->")
    check_output(path)
    with pytest.raises(IndicialError):
        check_output(path, mark=b"another")


@pytest.mark.parametrize("force", [False, True])
def test_what_is_read_is_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    text = tmp_path / "texts" / "a.txt"
    text.write_text(MADE)
    (tmp_path / "hard").hardlink_to(text)
    (tmp_path / "soft").symlink_to(text)
    for path in (text, Path("texts/../texts/a.txt"), Path("hard"), Path("soft")):
        with pytest.raises(IndicialError, match="is also read here"):
            check_output(path, [text], force=force)
    text.write_text("a text of a folder that is read")
    with pytest.raises(IndicialError, match="is also read here"):
        check_output(text, ["texts"], force=force)
    check_output(tmp_path / "texts" / "new.tsv", ["texts"], force=force)


def test_a_pipe_is_written_to_whoever_reads_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(IndicialError, match=r"cannot write .*: it is a pipe that nobody reads"):
        write_text(pipe, "lost")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "all of it")
        assert os.read(reader, 100) == b"all of it"
        assert os.read(reader, 100) == b""  # it is closed again
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_only_links_of_the_system_are_followed(tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to("/dev/null")
    write_text(link, "kept")
    assert link.read_text() == "kept" and not link.is_symlink()
    write_text("/dev/null", "nothing")
    assert Path("/dev/null").is_char_device()


def test_a_figure_says_nothing_of_folders_for_fonts(tmp_path: Path) -> None:
    code = "from indicial.program.outputs import new_figure; new_figure(1, 1)"
    nowhere = {"MPLCONFIGDIR": "/dev/null/none", "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **nowhere}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
