"""What is derived is read by the next process: the same numbers, and nothing that is stale."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import indicial
from indicial.compile.ground import stored as store
from indicial.compile.ground.stored import Packed, decoded, encoded, key_of, stored
from indicial.compile.native import toolchain
from indicial.compile.pipeline import planned
from tests.compile.agreeing import recurrences


class Maker:
    """Counts how often something was made."""

    def __init__(self, value: object) -> None:
        self.value, self.count = value, 0

    def __call__(self) -> object:
        self.count += 1
        return self.value


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test stores, with sources that nobody edits meanwhile."""
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path))
    monkeypatch.setattr(store, "_edited", lambda: False)
    return store.plans_folder()


def test_what_was_made_once_is_read(folder: Path) -> None:
    make = Maker({"a": (1, 2.5)})
    assert stored(("kind", "key", 1), make) == stored(("kind", "key", 1), make) == make.value
    assert make.count == 1
    stored(("kind", "key", 2), make)
    assert make.count == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: b"",
        lambda content: content[:-3] + bytes([content[-3] ^ 1]) + content[-2:],
        lambda content: bytes([content[0] ^ 1]) + content[1:],
    ],
    ids=["cut", "empty", "changed", "other checksum"],
)
def test_a_damaged_file_is_made_again(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    make = Maker(["long enough to be cut"])
    stored(("kind",), make)
    (file,) = folder.iterdir()
    good = file.read_bytes()
    file.write_bytes(damage(good))
    assert stored(("kind",), make) == make.value
    assert make.count == 2
    assert file.read_bytes() == good


def test_a_place_that_cannot_be_written_to_costs_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path / "file"))
    make = Maker(3)
    assert stored(("kind",), make) == stored(("kind",), make) == 3
    assert make.count == 1  # kept for as long as this process lives


def test_what_is_of_no_known_kind_is_not_stored(folder: Path) -> None:
    make = Maker(lambda: None)
    assert stored(("kind",), make) is stored(("kind",), make) is make.value


def test_other_sources_have_other_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "package"
    (folder / "compile").mkdir(parents=True)
    monkeypatch.setattr(store, "SOURCES", str(folder))
    monkeypatch.setenv("INDICIAL_CACHE", str(tmp_path / "cache"))
    make = Maker(1)
    source = folder / "compile" / "passes.py"
    for count, text in enumerate(["x = 1", "x = 2"], 1):
        source.write_text(text)
        os.utime(source, (1, 1))
        store._makers.cache_clear()
        store._edited_by.cache_clear()
        for _ in range(2):
            stored(("kind",), make)
            assert make.count == count
    # Edited while this process runs: whatever it derives is not what the sources say.
    source.touch()
    store._edited_by.cache_clear()
    stored(("another",), make)
    stored(("another",), make)
    assert make.count == 4
    store._makers.cache_clear()
    store._edited_by.cache_clear()


def test_few_enough_files_stay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_PLANS", 8)
    for number in range(20):
        stored((number,), Maker(number))
    assert len(list(folder.iterdir())) <= 8


def test_a_packed_value_stays_bytes_until_it_is_asked_for() -> None:
    value = [1, {"a": 2}]
    again: Packed[object] = decoded(encoded(Packed(value)))
    twice: Packed[object] = decoded(encoded(again))
    assert again.value == twice.value == value
    assert again.value is again.value


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
def test_the_key_of_a_program_has_its_constants_and_its_comments() -> None:
    texts = ["input x[t]; constant λ = 0.5; h[t] = λ h[t-1] + x[t]"]
    texts += [texts[0].replace("0.5", "0.3"), texts[0].replace("λ h", "λ  h")]
    codes = [indicial.load(text.replace("; ", "\n")).code for text in texts]
    assert len({key_of(code) for code in codes}) == 3
    values = []
    for code in codes[:2]:
        (recurrence,) = recurrences(planned(code, ["h"]).plan)
        assert decoded(encoded(recurrence)) is recurrence
        x = torch.ones(1, 2)
        values.append(recurrence.plain([x], {"T": 2}, {})[0][0, 1].item())
    assert values == pytest.approx([1.5, 1.3])


STEP = """
import json, sys, torch, indicial
from indicial.inspect.trial import small
from indicial.program.meaning.sample import sample
found = {}
for name in ("bidirectional", "encoder"):
    code = indicial.load(name).code
    drawn = sample(code, small(code, {}))
    torch.manual_seed(0)
    module = indicial.load(name).compile(sizes=drawn.sizes)
    inputs = {n: torch.as_tensor(v) for n, v in drawn.inputs.items()}
    result = module(**{n: v.float() if v.is_floating_point() else v for n, v in inputs.items()})
    total = sum(v.sum() for v in result.values())
    total.backward()
    found[name] = [total.item(), *(p.grad.double().sum().item() for p in module.parameters())]
print(json.dumps([found, [name for name in sys.modules if name.startswith("indicial.compile")]]))
"""


@pytest.mark.skipif(not toolchain.available(), reason="no C compiler")
def test_the_next_process_computes_the_same_and_derives_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "INDICIAL_CACHE": str(tmp_path)}
    ran = [
        subprocess.run(
            [sys.executable, "-c", STEP],
            env=environment, capture_output=True, text=True, check=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    (first, made), (second, read) = (json.loads(one.stdout) for one in ran)
    assert first == second
    store._edited_by.cache_clear()
    if store._edited() and not os.environ.get("CI"):  # in CI nobody edits them
        pytest.skip("the sources were edited meanwhile, so nothing was stored")
    deriving = {
        f"indicial.compile.{name}" for name in ("passes.adjoint", "emit.program", "pipeline")
    }
    assert deriving <= set(made)
    assert deriving.isdisjoint(read)
