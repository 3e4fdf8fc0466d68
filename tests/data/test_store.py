"""Prepared data on disk: made once, whole or not at all, checked when opened."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from indicial.compile.ground import private
from indicial.data import corpus
from indicial.program.messages import IndicialError


class Builds:
    """A builder that counts how often it was called."""

    def __init__(self, text: str = "content") -> None:
        self.times, self.text = 0, text

    def __call__(self, folder: Path) -> None:
        self.times += 1
        (folder / "a").write_text(self.text)
        (folder / "b").write_text(self.text[::-1])


def test_made_once(tmp_path: Path) -> None:
    build = Builds()
    folder = corpus.stored("key", build, tmp_path)
    assert corpus.stored("key", build, tmp_path) == folder
    assert build.times == 1
    assert (folder / "a").read_text() == "content"
    corpus.stored("another", build, tmp_path)
    assert build.times == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["another", "key"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "a").write_text("CONTENT"),
        lambda folder: (folder / "a").write_text("cont"),
        lambda folder: (folder / "b").unlink(),
        lambda folder: (folder / corpus.CHECKSUMS).write_text("{"),
        lambda folder: (folder / corpus.CHECKSUMS).write_text("[]"),
        lambda folder: (folder / corpus.CHECKSUMS).unlink(),
    ],
)
def test_damage_is_noticed(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    build = Builds()
    folder = corpus.stored("key", build, tmp_path)
    damage(folder)
    assert corpus.stored("key", build, tmp_path) == folder
    assert build.times == 2
    assert (folder / "a").read_text() == "content"


def test_nothing_is_left_of_a_build_that_fails(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "a").write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        corpus.stored("key", fail, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(IndicialError, match=r"no room in .*: make room, or set INDICIAL_CACHE"):
        corpus.stored("key", fail, tmp_path)


def test_another_process_is_quicker(tmp_path: Path) -> None:
    def overtaken(folder: Path) -> None:
        corpus.stored("key", Builds("theirs"), tmp_path)
        Builds("ours")(folder)

    folder = corpus.stored("key", overtaken, tmp_path)
    assert (folder / "a").read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [folder]


def test_several_processes_at_once(tmp_path: Path) -> None:
    code = (
        "import sys, time, pathlib; from indicial.data import corpus\n"
        "root = pathlib.Path(sys.argv[1])\n"
        "def build(folder):\n"
        "    (folder / 'a').write_text('x' * 100_000); time.sleep(0.05)\n"
        "for n in range(5):\n"
        "    folder = corpus.stored(f'key{n}', build, root)\n"
        "    assert (folder / 'a').read_text() == 'x' * 100_000\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(4)]
    assert [process.wait(timeout=120) for process in running] == [0] * 4
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"key{n}" for n in range(5)]


def test_what_was_not_used_for_longest_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = 1000
    monkeypatch.setattr(corpus, "MOST", 3 * sizes)
    for n, name in enumerate(["old", "older", "new"]):
        folder = corpus.stored(name, Builds("x" * (sizes // 2 - 100)), tmp_path)
        os.utime(folder, (1000 + (n - 1) ** 2, 1000 + (n - 1) ** 2))
    left = tmp_path / f"{corpus.BUILDING}left"
    left.mkdir()
    os.utime(left, (1000, 1000))
    (tmp_path / f"{corpus.BUILDING}now").mkdir()
    corpus.stored("newest", Builds("x" * (sizes // 2 - 100)), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"old", "new", "newest", f"{corpus.BUILDING}now"}
    assert time.time() - (tmp_path / "newest").stat().st_mtime < 100


def test_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path / "chosen"))
    assert corpus.directory() == tmp_path / "chosen" / "data"
    assert corpus.stored("key", Builds()).parent == tmp_path / "chosen" / "data"


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    folder = corpus.stored("key", Builds(), tmp_path / "file" / "data")
    assert folder.parent.parent == private.temporary()
    assert (folder / "a").read_text() == "content"
