"""Two processes, started by torchrun, train as one does; they agree, and end together.

What needs two processes takes half a minute of computing, and is `long`; what each of them does alone is tried below.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from small import CHOICES, sentences, small_data, small_module, small_task

from indicial import IndicialError
from indicial.cli import main
from indicial.training.checkpoints import Checkpoint
from indicial.training.curves import read_metrics
from indicial.training.processes import ALONE, Processes, joined_processes
from indicial.training.run import Run
from indicial.training.training import Training

QUICK = ["--max-steps", "6", "--context", "16", "--batch-size", "4", "--eval-every", "2",
         "--save-every", "3", "--learning-rate", "0.05"]  # fmt: skip
UGRNN = ["ugrnn", "--data", "text.txt", "--set", "J=8", *QUICK]
FOCUS = ["transformer", "focus", "--data", "text.txt", "--set", "J=8", "--set", "L=1", "--set", "D=9",
         "--accumulate", "2", "--clip", "0.1", "--clip-each", "--average", "3", "--eval-tokens", "100",
         *QUICK]  # fmt: skip
BLANK = ["encoder", "--data", "text.txt", "--set", "p=0", "--set", "J=8", "--set", "L=1",
         "--accumulate", "2", *QUICK]  # fmt: skip
EXPLODES = [*UGRNN, "--learning-rate", "1e30"]
TERM = int(signal.SIGTERM)


@dataclass
class Course:
    folder: Path
    commands: dict[str, dict[str, Any]]
    status: list[list[int]]
    """Of each process, for each command."""

    def of(self, name: str) -> tuple[list[int], str]:
        """How each ended, and what both said."""
        number = list(self.commands).index(name)
        ended = [of_one[number] for of_one in self.status if number < len(of_one)]
        return ended, said(self.folder, number)


COMMANDS: dict[str, dict[str, Any]] = {
    "ugrnn": {"arguments": [*UGRNN, "--out", "ugrnn"]},
    "blank": {"arguments": [*BLANK, "--out", "blank"]},
    "ugrnn divided": {"arguments": [*UGRNN, "--out", "ugrnn divided", "--fsdp"]},
    "focus divided": {"arguments": [*FOCUS, "--out", "focus divided", "--fsdp"]},
    "input": {"arguments": ["-" if a == "text.txt" else a for a in UGRNN] + ["--out", "input"]},
    "goes on divided": {"arguments": ["--resume", "goes on divided", "--fsdp"]},
    "stopped": {"arguments": [*UGRNN, "--out", "stopped"], "signal": [1, 2, TERM]},
    "there": {"arguments": [*UGRNN, "--out", "ugrnn"]},
    "odd": {"arguments": [*UGRNN, "--batch-size", "5"]},
    "other seed": {"arguments": UGRNN, "of 1": ["--seed", "3"]},
    "explodes": {"arguments": [*EXPLODES, "--out", "explodes"]},
    # The last, since torchrun ends all when one has died.
    "killed": {"arguments": [*UGRNN, "--out", "killed"], "signal": [1, 4, int(signal.SIGKILL)]},
}


def said(folder: Path, number: int) -> str:
    """What two processes printed to standard error during a command."""
    return "".join((folder / f"said-{rank}-{number}.txt").read_text("utf-8") for rank in (0, 1))


def torchrun(folder: Path, commands: list[dict[str, Any]], text: str) -> None:
    """Commands, one after the other, in two processes."""
    (folder / "commands.json").write_text(json.dumps(commands))
    script = Path(__file__).with_name("typed.py")
    subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2",
         "--master-port", "0", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0",
         str(script), str(folder)],
        input=text, text=True, capture_output=True, timeout=300, check=False,
    )  # fmt: skip


def back_to(folder: Path, step: int) -> None:
    """As if the training had ended there."""
    for path in (folder / "checkpoints").iterdir():
        if int(path.name.split("-")[1]) > step:
            shutil.rmtree(path)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Each model by one process, then everything by two."""
    folder = tmp_path_factory.mktemp("processes")
    text = "\n".join(sentences(80)) + "\n"
    (folder / "text.txt").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        for name, arguments in (("ugrnn", UGRNN), ("focus", FOCUS), ("blank", BLANK)):
            assert main(["train", *arguments, "--out", f"{name} alone"]) == 0
        shutil.copytree("ugrnn alone", "goes on divided")
        back_to(folder / "goes on divided", 4)
        torchrun(folder, list(COMMANDS.values()), text)
        status = [json.loads(Path(f"status-{rank}.json").read_text()) for rank in (0, 1)]
        shutil.copytree("ugrnn divided", "goes on alone")
        back_to(folder / "goes on alone", 4)
        assert main(["train", "--resume", "goes on alone"]) == 0
    return Course(folder, COMMANDS, status)


def numbers(folder: Path) -> list[tuple[Any, ...]]:
    """What one process and several must agree on, line by line."""
    found: list[tuple[Any, ...]] = []
    for line in read_metrics(folder / "metrics.jsonl"):
        if "validation" in line:
            found.append((line["step"], line["validation"]["loss"], line["validation"]["tokens"]))
        else:
            terms = tuple(line.get("terms", {}).values())
            found.append(
                (line["step"], line["loss"], line["tokens"], line["gradient_norm"], *terms)
            )
    return found


@pytest.mark.parametrize(
    ("name", "alone"),
    [
        ("ugrnn", "ugrnn alone"),
        ("blank", "blank alone"),
        ("ugrnn divided", "ugrnn alone"),
        ("focus divided", "focus alone"),
        ("input", "ugrnn alone"),
        ("goes on divided", "ugrnn alone"),
        ("goes on alone", "ugrnn alone"),
    ],
)
@pytest.mark.long
def test_the_losses_are_those_of_one_process(course: Course, name: str, alone: str) -> None:
    found, expected = numbers(course.folder / name), numbers(course.folder / alone)
    assert len(found) == len(expected) == 9
    for one, two in zip(found, expected, strict=True):
        assert one == pytest.approx(two, rel=1e-5, abs=1e-5)
    if name in course.commands:
        assert course.of(name)[0] == [0, 0]


@pytest.mark.parametrize("name", ["ugrnn", "ugrnn divided", "focus divided"])
@pytest.mark.long
def test_checkpoints_hold_whole_tensors(course: Course, name: str) -> None:
    own = Run.open(course.folder / name).checkpoints.latest()
    alone = Run.open(course.folder / f"{name.split()[0]} alone").checkpoints.latest()
    assert own is not None and alone is not None and own.tensors.keys() == alone.tensors.keys()
    for key, value in alone.tensors.items():
        torch.testing.assert_close(own.tensors[key], value, rtol=1e-3, atol=1e-4)


@pytest.mark.long
def test_a_signal_to_one_ends_all_at_the_same_step(course: Course) -> None:
    status, _ = course.of("stopped")
    last = Run.open(course.folder / "stopped").checkpoints.latest()
    assert status == [130, 130] and last is not None and last.step == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("there", "there is already a run in ugrnn"),
        (
            "odd",
            "--batch-size 5 is the batch of all processes together, and cannot be divided over 2",
        ),
        ("other seed", "process 1 was started with other settings than the first: --seed"),
        ("explodes", "step 2: the validation loss is nan"),
    ],
)
@pytest.mark.long
def test_what_is_wrong_is_said_once(course: Course, name: str, text: str) -> None:
    status, told = course.of(name)
    assert status == [2, 2]
    assert told.count("indicial: ") == 1 and text in told and "Traceback" not in told


@pytest.mark.long
def test_one_that_dies_ends_all(course: Course) -> None:
    status, told = course.of("killed")
    assert status == [2]  # of the other one
    assert told.count("indicial: another process of this training has ended") == 1
    last = Run.open(course.folder / "killed").checkpoints.latest()
    assert last is not None and last.step == 3


# ---------------------------------------------------------------------- without torchrun


def test_the_rows_of_all_are_the_batch() -> None:
    """And so are the blanks in them."""
    for what in ("ugrnn", "encoder"):
        task = small_task(what, data=small_data(50))
        for number in (0, 7):
            whole, parts = task.batch(number), [task.batch(number, rank, 4) for rank in range(4)]
            assert sum(part.count for part in parts) == whole.count
            for name, value in whole.inputs.items():
                assert torch.equal(torch.cat([part.inputs[name] for part in parts]), value)


@pytest.mark.parametrize("most", [None, 60])
def test_the_blocks_of_all_are_the_validation_part(most: int | None) -> None:
    for what in ("ugrnn", "encoder"):
        task = small_task(what, data=small_data(80))
        task.batch_size = 2
        module = small_module(task)
        whole = task.validate(module, most)
        parts = [task.validate(module, most, rank, 3) for rank in range(3)]
        assert sum(part.count for part in parts) == whole.count
        assert sum(part.nats for part in parts) == pytest.approx(whole.nats, rel=1e-12)
        assert sorted(part.count > 0 for part in parts)[1:] == [True, True]


def test_measuring_says_nothing_to_the_others() -> None:
    """There are none here: a word to them would be an error."""
    task = small_task("ugrnn", data=small_data(50))
    training = Training(task, small_module(task), CHOICES, Processes(1, 2, connected=True).apart())
    assert training.step().loss > 0 and training.progress.tokens == 4 * 24


def test_alone() -> None:
    found = Checkpoint(3, {"model/W": torch.ones(2)})
    assert ALONE.sum([1.5, 2]) == [1.5, 2] and ALONE.any(True) and not ALONE.any(False)
    assert ALONE.share({"a": 1}) == {"a": 1} and ALONE.share_checkpoint(found) is found
    assert ALONE.rows(5, said=True) == 5 and ALONE.device("cuda:1") == "cuda:1"


def test_a_batch_size_that_nobody_said_is_made_to_fit() -> None:
    assert [Processes(0, 3).rows(n, said=False) for n in (1, 3, 32)] == [3, 3, 33]


@pytest.mark.parametrize(
    ("environment", "sharded", "text"),
    [
        ({"WORLD_SIZE": "2"}, False, "RANK and MASTER_ADDR and MASTER_PORT are not set. Start them "
            "with `torchrun --nproc-per-node 2 -m indicial train …`; for one process, unset"),
        ({"WORLD_SIZE": "2", "MASTER_ADDR": "a", "RANK": "0"}, False, "MASTER_PORT is not set"),
        ({"WORLD_SIZE": "two"}, False, "the environment says WORLD_SIZE=two"),
        ({"WORLD_SIZE": "0"}, False, "the environment says WORLD_SIZE=0"),
        ({}, True, "--fsdp divides a model over several processes, and there is one"),
    ],
)  # fmt: skip
def test_no_others_came(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], sharded: bool, text: str
) -> None:
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(IndicialError) as error, joined_processes({}, sharded):
        pass
    assert text in str(error.value)


def test_each_process_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda number: None)
    assert Processes(5, 8, local=1).device("cuda") == "cuda:1"
    with pytest.raises(IndicialError, match="there are 2 GPUs on this machine, and more"):
        Processes(2, 3, local=2).device("cuda")
    with pytest.raises(IndicialError, match="--device cuda:1 is for one process"):
        Processes(1, 2, local=1).device("cuda:1")
