"""Checkpoints: whole or not at all, damage is noticed, the one before is used."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from indicial.program.messages import IndicialError
from indicial.training import checkpoints as module
from indicial.training.checkpoints import RECORD, TENSORS, Checkpoint, Checkpoints
from tests.forked import Forked


def checkpoint(step: int) -> Checkpoint:
    tensors = {
        "model/W": torch.full((2, 3), float(step)),
        "optimizer/W/momentum": torch.arange(6.0).reshape(3, 2).T,
        "optimizer/W/step": torch.tensor(float(step)),
        "random/torch": torch.arange(5, dtype=torch.uint8),
    }
    return Checkpoint(step, tensors, {"best_loss": 1 / 3, "seen": [step, None, "é"]})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def assert_same(found: Checkpoint | None, expected: Checkpoint) -> None:
    assert found is not None
    assert (found.step, found.facts) == (expected.step, expected.facts)
    assert found.tensors.keys() == expected.tensors.keys()
    for name, value in expected.tensors.items():
        assert torch.equal(found.tensors[name], value), name
        assert found.tensors[name].dtype == value.dtype


def test_there_and_back(tmp_path: Path) -> None:
    path = Checkpoints(tmp_path / "new").save(checkpoint(7))
    assert path == tmp_path / "new" / "step-00000007"
    found = Checkpoints(tmp_path / "new").latest()
    assert_same(found, checkpoint(7))
    assert found is not None
    assert found.part("optimizer/W").keys() == {"momentum", "step"}


def test_nothing_there(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path / "none").latest() is None
    assert Checkpoints(tmp_path / "none").best() is None


def test_the_last_two_and_the_best_are_kept(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    for step in range(100, 700, 100):
        kept.save(checkpoint(step), best=step in (100, 200))
    assert names(tmp_path) == ["step-00000200", "step-00000500", "step-00000600"]
    assert_same(kept.best(), checkpoint(200))
    assert_same(kept.latest(), checkpoint(600))


def test_a_step_that_is_saved_again_replaces_the_first(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    kept.save(checkpoint(1))
    kept.save(checkpoint(2))
    again = Checkpoint(2, {"model/W": torch.ones(1)})
    kept.save(again, best=True)
    assert_same(kept.latest(), again)
    assert_same(kept.best(), again)
    assert len(names(tmp_path)) == 2


def truncated(name: str, length: Callable[[int], int]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        os.truncate(path / name, length((path / name).stat().st_size))

    return damage


def removed(name: str) -> Callable[[Path], None]:
    return lambda path: (path / name).unlink()


def replaced(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda path: [(path / name).write_bytes(content), None][1]


DAMAGE = {
    "tensors empty": (truncated(TENSORS, lambda n: 0), "has 0 bytes instead of"),
    "tensors without their header": (truncated(TENSORS, lambda n: 5), "has 5 bytes"),
    "tensors cut in half": (truncated(TENSORS, lambda n: n // 2), "bytes instead of"),
    "tensors without the last byte": (truncated(TENSORS, lambda n: n - 1), "bytes instead of"),
    "tensors missing": (removed(TENSORS), "tensors.safetensors is missing"),
    "record empty": (truncated(RECORD, lambda n: 0), "checkpoint.json does not agree"),
    "record cut in half": (truncated(RECORD, lambda n: n // 2), "does not agree"),
    "record without the last byte": (truncated(RECORD, lambda n: n - 1), "does not agree"),
    "record missing": (removed(RECORD), "checkpoint.json is missing"),
    "record of another kind": (replaced(RECORD, b"[1, 2]"), "does not agree"),
    "record no text": (replaced(RECORD, b"\xff\xfe\x00"), "does not agree"),
    "record a number": (replaced(RECORD, b"7"), "does not agree"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_one_is_named_and_the_one_before_is_used(tmp_path: Path, kind: str) -> None:
    damage, says = DAMAGE[kind]
    kept = Checkpoints(tmp_path)
    kept.save(checkpoint(1), best=True)
    path = kept.save(checkpoint(2), best=True)
    assert path is not None
    damage(path)
    fresh = Checkpoints(tmp_path)
    assert_same(fresh.latest(), checkpoint(1))
    assert_same(fresh.best(), checkpoint(1))
    assert len(fresh.damaged) == 1
    assert str(path) in fresh.damaged[0] and says in fresh.damaged[0]


@pytest.mark.parametrize("name", [TENSORS, RECORD])
def test_a_flipped_bit_in_any_byte_is_noticed(tmp_path: Path, name: str) -> None:
    kept = Checkpoints(tmp_path)
    path = kept.save(Checkpoint(3, {"W": torch.ones(2)}, {"loss": 1.5}))
    assert path is not None
    whole = (path / name).read_bytes()
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        (path / name).write_bytes(flipped)
        assert Checkpoints(tmp_path).latest() is None, place
    (path / name).write_bytes(whole)
    assert Checkpoints(tmp_path).latest() is not None


def test_damaged_ones_are_removed_by_the_next_save_and_do_not_count(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    for step in (1, 2, 3):
        path = kept.save(checkpoint(step))
    assert path is not None
    (path / TENSORS).unlink()
    again = Checkpoints(tmp_path)
    assert_same(again.latest(), checkpoint(2))
    again.save(checkpoint(3))  # the same step, trained again
    assert_same(Checkpoints(tmp_path).latest(), checkpoint(3))
    assert len(names(tmp_path)) == 2


def test_what_was_left_behind_is_removed_and_never_read(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    kept.save(checkpoint(1))
    left = tmp_path / f"{module.PARTIAL}99999"
    left.mkdir()
    (left / TENSORS).write_bytes(b"half")
    assert_same(Checkpoints(tmp_path).latest(), checkpoint(1))
    assert left.exists()  # reading changes nothing: another process may be writing it
    kept.save(checkpoint(2))
    assert names(tmp_path) == ["step-00000001", "step-00000002"]


def test_stopped_at_any_call_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever call is the last one that happens, what can be read is whole."""

    class Stopped(BaseException):
        pass

    def stopping(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            calls.append(real)
            if len(calls) == last:
                raise Stopped
            return real(*arguments, **named)

        return call

    for last in range(1, 100):
        folder = tmp_path / str(last)
        for step in (1, 2):
            Checkpoints(folder).save(checkpoint(step))
        calls: list[object] = []
        with monkeypatch.context() as patched:
            for name in ("rename", "fsync", "open"):
                patched.setattr(os, name, stopping(getattr(os, name)))
            patched.setattr(module.shutil, "rmtree", stopping(module.shutil.rmtree))
            try:
                Checkpoints(folder).save(checkpoint(3))
                done = True
            except Stopped:
                done = False
        fresh = Checkpoints(folder)
        found = fresh.latest()
        assert found is not None and not fresh.damaged
        assert_same(found, checkpoint(found.step))
        assert found.step == 3 if done else found.step in (2, 3)
        Checkpoints(folder).save(checkpoint(4))
        assert names(folder) == [f"step-0000000{step}" for step in (found.step, 4)]
        if done:
            assert last > 5
            return
    raise AssertionError("it never got to the end")


FULL = """
import resource, sys, torch
from indicial.program.messages import IndicialError
from indicial.training.checkpoints import Checkpoint, Checkpoints

kept = Checkpoints(sys.argv[1])
kept.save(Checkpoint(1, {"W": torch.ones(8)}, {}))
for room in (0, 10_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    try:
        kept.save(Checkpoint(2, {"W": torch.ones(100_000)}, {}))
    except IndicialError as error:
        print(error)
"""


def test_a_full_disk(tmp_path: Path, forked: Forked) -> None:
    """A limit on the size of files stands for it: `write` fails in the same way."""
    result = subprocess.run(
        [*forked.python, "-c", FULL, str(tmp_path)],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    expected = (
        f"the disk is full: the checkpoint of step 2 needs 0.4 MB in {tmp_path}. "
        "Those of step 1 are as they were. Make room, then resume"
    )
    assert result.stdout.splitlines() == [expected, expected]
    assert names(tmp_path) == ["step-00000001"]
    found = Checkpoints(tmp_path).latest()
    assert found is not None and torch.equal(found.tensors["W"], torch.ones(8))


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IndicialError, match=r"step 1 could not be written to .*none before it"):
        Checkpoints(tmp_path / "file").save(checkpoint(1))


def test_facts_that_json_cannot_hold(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    with pytest.raises(IndicialError, match="do not fit into JSON"):
        kept.save(Checkpoint(1, {}, {"loss": float("nan")}))
    assert kept.latest() is None


def test_a_newer_format(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    path = kept.save(checkpoint(1))
    assert path is not None
    body = json.loads((path / RECORD).read_text(encoding="utf-8"))["checkpoint"]
    text = module._signed({**body, "format": 99})
    (path / RECORD).write_text(text, encoding="utf-8")
    with pytest.raises(IndicialError, match=r"newer indicial \(format 99"):
        kept.latest()


def test_only_the_first_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "writes", lambda: False)
    assert Checkpoints(tmp_path).save(checkpoint(1)) is None
    assert names(tmp_path) == []
    with pytest.raises(IndicialError, match="at least 1"):
        Checkpoints(tmp_path, keep=0)
