"""Kernels and plans are loaded from folders that nobody else can write to."""

import os
import stat
from pathlib import Path

import pytest

from indicial.compile.ground import private

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and modes")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(private, "_said", set())
    return tmp_path / "cache"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_is_ours_alone(place: Path) -> None:
    assert private.folder("native") == place / "native"
    assert mode(place / "native") == 0o700


def test_what_others_could_only_look_into_is_closed(place: Path) -> None:
    (place / "native").mkdir(parents=True)
    (place / "native").chmod(0o755)
    assert private.folder("native") == place / "native"
    assert mode(place / "native") == 0o700


@pytest.mark.parametrize("how", ["group", "all", "link", "owner", "above"])
def test_another_folder_is_used_where_others_can_write(
    place: Path, how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    native = place / "native"
    native.mkdir(parents=True)
    if how == "group":
        native.chmod(0o770)
    elif how == "all":
        native.chmod(0o777)
    elif how == "link":
        native.rmdir()
        (place / "other").mkdir()
        native.symlink_to(place / "other")
    elif how == "owner":
        monkeypatch.setattr(os, "getuid", lambda: 54321)
    else:
        native.chmod(0o700)
        place.chmod(0o777)
    for _ in range(2):
        found = private.folder("native")
        assert found != native
        assert found.parent == private.temporary()
    assert capsys.readouterr().err.count("nothing is loaded from there") == 1


def test_files_are_plain_and_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    found = {name: private.ours(tmp_path / name) for name in ("file", "link", "pipe")}
    assert found == {"file": True, "link": False, "pipe": False}
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    assert not private.ours(tmp_path / "file")


def test_no_home_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INDICIAL_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def nobody(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", nobody)
    assert private.folder("native").parent == private.temporary()
