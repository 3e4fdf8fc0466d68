"""The state of a training on disk: whole or not at all, and checked when it is read.

    checkpoints/
        step-00001000/tensors.safetensors       weights, state of the optimizer, random states
                      checkpoint.json           step, facts, whether it was the best so far, sha256
        step-00002000/…

>>> kept = Checkpoints(folder)
>>> kept.save(Checkpoint(2000, {"model/W": w, "optimizer/W/momentum": m}, {"best_loss": 1.25}))
>>> kept.latest().step
2000

A checkpoint is written into a folder of another name, brought to the disk with fsync, and renamed.
So whoever is stopped at any moment leaves the checkpoints before it as they were. What does not
agree with its checksums is passed over (`damaged` says what and why), and the one before is used.

Folders that a command owns: one file says what is in them, and is there whole or not at all.

>>> begin_json(Path("runs/a/run.json"), {"task": "language"})  # runs/a/.run.json
>>> finish(Path("runs/a/run.json"))
>>> check_mine(Path("runs/b"), "run.json", "run")
IndicialError: runs/b holds other things and is not a run; choose another --out

A process can be killed between the two. A folder with `.run.json` is then known as a beginning, and
can be begun anew; anything else in a folder is the user's, and is not touched.

Where a new run goes: a folder that is free.

>>> free_folder(Settings.read({"model": "ugrnn", "data": "people"}))
PosixPath('runs/ugrnn-people-1')
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from indicial.program.inputs import TEXT, Unfit, json_of, memory, plain_bytes, plain_folder
from indicial.program.messages import IndicialError
from indicial.program.outputs import UNFINISHED, write_text
from indicial.training.processes import writes
from indicial.training.settings import Settings


def write_json(path: Path, told: Mapping[str, Any]) -> None:
    """Whole or not at all."""
    begin_json(path, told)
    finish(path)


def begin_json(path: Path, told: Mapping[str, Any]) -> None:
    """What `finish` will put in place."""
    text = json.dumps(told, ensure_ascii=False, indent=1, allow_nan=False)
    write_text(_begun(path), text + "\n")


def finish(path: Path) -> None:
    os.replace(_begun(path), path)


def check_mine(folder: Path, file: str, what: str, beside: Iterable[str] = ()) -> None:
    """A folder that is not there, is empty, has `file`, or was left while `file` was made.

    `beside` are written between `begin_json` and `finish`, and may be there too.
    """
    if not folder.exists() or (folder / file).exists():
        return
    begun = _begun(folder / file).name
    found = {path.name for path in folder.iterdir()} if folder.is_dir() else {"a file"}
    # A process that is killed while it writes leaves what it had, not yet in its place.
    found = {name for name in found if not name.startswith(UNFINISHED)}
    if found and not (begun in found and found <= {begun, *beside}):
        raise IndicialError(
            f"{folder} holds other things and is not a {what}; choose another --out"
        )


def begun_before(folder: Path, file: str, what: str, *kept: str) -> dict[str, Any] | None:
    """What `file` says of a folder that was begun already, `kept` among it; None of one that is new."""
    check_mine(folder, file, what)
    path = folder / file
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if all(isinstance(found[name], dict) for name in kept):
            return dict(found)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise IndicialError(f"{path} is damaged; choose another --out")


def first_change(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first name that two sets of terms differ in."""
    names = sorted(before.keys() | now.keys())
    return next((name for name in names if before.get(name) != now.get(name)), None)


def _begun(path: Path) -> Path:
    return path.with_name(f".{path.name}")


def free_folder(settings: Settings) -> Path:
    """A name for a run: `runs/ugrnn-people-1`, and `-2` if there is one."""
    model = "-".join(Path(what).stem for what in settings.model)
    data = settings.data[0]
    data = data if os.path.exists(data) else data.rpartition("=")[2]  # of x=train.de
    return numbered(f"{model}-{Path(data).stem}")


def numbered(name: str) -> Path:
    """The first of `runs/NAME-1`, `runs/NAME-2`, … that is free."""
    name = re.sub(r"[^\w.+-]+", "-", name).strip("-")[:60] or "run"
    number = 1
    while (Path("runs") / f"{name}-{number}").exists():
        number += 1
    return Path("runs") / f"{name}-{number}"


FORMAT = 1
TENSORS = "tensors.safetensors"
RECORD = "checkpoint.json"
PARTIAL = ".partial-"
NAME = re.compile(r"step-(\d{8,})(?:-(\d+))?")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
CHUNK = 1 << 24


@dataclass(frozen=True)
class Checkpoint:
    """What training needs to go on as if it had never stopped."""

    step: int
    tensors: dict[str, Tensor] = field(repr=False)
    """All under flat names: `model/W_hR`, `optimizer/W_hR/exp_avg`, `random/torch`."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What JSON can hold: numbers, texts, lists, dicts, null; no nan and no infinity."""

    def part(self, name: str) -> dict[str, Tensor]:
        """The tensors below a name: `part("model")` → `{"W_hR": …}`."""
        start = f"{name}/"
        return {k.removeprefix(start): v for k, v in self.tensors.items() if k.startswith(start)}


class Damaged(Exception):
    """Why a checkpoint cannot be used."""


class Checkpoints:
    """The checkpoints in a folder; the last `keep` and the best stay."""

    def __init__(self, folder: str | os.PathLike[str], keep: int = 2) -> None:
        if keep < 1:
            raise IndicialError(f"keep {keep} checkpoints; at least 1 is kept")
        self.folder = Path(folder)
        self.keep = keep
        self.damaged: list[str] = []
        """A message for each checkpoint that was passed over, in the order they were found."""
        self._bad: set[Path] = set()

    # ------------------------------------------------------------------ writing

    def save(self, checkpoint: Checkpoint, best: bool = False) -> Path | None:
        """Write a checkpoint, then remove what is not kept; only the first of several processes does.

        `best` marks it as the best so far; the newest that is marked is the best of all.
        """
        if not writes():
            return None
        tensors = safetensors.torch.save({k: v.contiguous() for k, v in checkpoint.tensors.items()})
        body = {
            "format": FORMAT,
            "step": checkpoint.step,
            "best": best,
            "facts": checkpoint.facts,
            "files": {TENSORS: {"bytes": len(tensors), "sha256": _sha256(tensors)}},
        }
        partial = self.folder / f"{PARTIAL}{os.getpid()}"
        self._no_link()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._tidy()
            partial.mkdir()
            _write(partial / TENSORS, tensors)
            _write(partial / RECORD, _signed(body).encode())
            _sync(partial)
            path = self._unused(checkpoint.step)
            os.rename(partial, path)
            _sync(self.folder)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            raise self._not_written(checkpoint.step, len(tensors), error) from error
        self._prune()
        return path

    def _unused(self, step: int) -> Path:
        """A folder for a step. A step that is saved again gets `-2`: no moment is without it."""
        path = self.folder / f"step-{step:08d}"
        number = 2
        while path.exists():
            path = self.folder / f"step-{step:08d}-{number}"
            number += 1
        return path

    def _tidy(self) -> None:
        """Remove what a process left behind that was stopped while it wrote or removed."""
        for left in self.folder.glob(f"{PARTIAL}*"):
            shutil.rmtree(left, ignore_errors=True)

    def _prune(self) -> None:
        """Keep the last of the sound ones and the best; of one step, the newest."""
        found = [path for path in self._paths() if path not in self._bad]
        newest = {_order(path)[0]: path for path in reversed(found)}
        stay = set(sorted(newest.values(), key=_order, reverse=True)[: self.keep])
        best = next((path for path in found if _marked_best(path)), None)
        for path in self._paths():
            if path not in stay and path != best:
                # Renamed first: half a checkpoint is never under its name.
                doomed = self.folder / f"{PARTIAL}{path.name}"
                os.rename(path, doomed)
                shutil.rmtree(doomed, ignore_errors=True)

    def _not_written(self, step: int, size: int, error: OSError) -> IndicialError:
        steps = sorted({_order(path)[0] for path in self._paths()})
        intact = (
            f"Those of step {', '.join(map(str, steps))} are as they were"
            if steps
            else "There is none before it"
        )
        if error.errno not in FULL:
            why = error.strerror or str(error)
            return IndicialError(
                f"the checkpoint of step {step} could not be written to {self.folder}: {why}. {intact}"
            )
        return IndicialError(
            f"the disk is full: the checkpoint of step {step} needs {_megabytes(size)} in "
            f"{self.folder}. {intact}. Make room, then resume"
        )

    # ------------------------------------------------------------------ reading

    def _no_link(self) -> None:
        """What is written and removed in a folder of somebody else stays in it."""
        if self.folder.is_symlink():
            raise IndicialError(f"cannot use {self.folder}: it is a link, and may lead anywhere")

    def latest(self) -> Checkpoint | None:
        """The newest checkpoint that is sound; None if there is none."""
        return self._first(self._paths())

    def to_go_on(self) -> Checkpoint | None:
        """The newest that is sound; None before the first was written.

        Where all are damaged it is an error: who began anew would save over what may be mended.
        """
        found = self.latest()
        if found is None and self.damaged:
            listed = "".join(f"\n  {text}" for text in self.damaged)
            raise IndicialError(
                f"no checkpoint in {self.folder} can be used, so there is nothing to go on from. Nothing "
                f"was changed:{listed}\nPut an intact copy of one of them back, or start a new run: in "
                "another folder (--out FOLDER), or with the weights of another run (--from RUN)"
            )
        return found

    def best(self) -> Checkpoint | None:
        """The newest sound one that was saved as the best so far; None if there is none."""
        return self._first([path for path in self._paths() if _marked_best(path)])

    def _first(self, paths: list[Path]) -> Checkpoint | None:
        for path in paths:
            try:
                return read(path)
            except Damaged as why:
                if path not in self._bad:
                    self._bad.add(path)
                    self.damaged.append(f"checkpoint {path} is damaged and left out: {why}")
        return None

    def _paths(self) -> list[Path]:
        """The checkpoints by name, newest first; what is being written is not among them."""
        self._no_link()
        if not plain_folder(self.folder):
            return []
        found = [p for p in self.folder.iterdir() if NAME.fullmatch(p.name) and plain_folder(p)]
        return sorted(found, key=_order, reverse=True)


def read(path: Path) -> Checkpoint:
    """The checkpoint in a folder; `Damaged` says what is wrong with it."""
    body = _record(path)
    said = body["files"][TENSORS]
    if said["bytes"] > memory():
        raise Damaged(f"{TENSORS} has {_megabytes(said['bytes'])}, more than fits into memory")
    content = _bytes(path / TENSORS, said["bytes"])
    if _sha256(content) != said["sha256"]:
        raise Damaged(f"{TENSORS} does not agree with its checksum")
    try:
        tensors = safetensors.torch.load(content)
    except Exception as error:  # it has exceptions of its own, and others
        raise Damaged(f"{TENSORS} is not readable: {str(error)[:100]}") from error
    return Checkpoint(body["step"], tensors, body["facts"])


def _record(path: Path) -> dict[str, Any]:
    text = _bytes(path / RECORD)
    try:
        body = json_of(text)["checkpoint"]
        sound = _signed(body).encode() == text
    except (ValueError, TypeError, KeyError, RecursionError, IndicialError):
        sound = False
    if not sound:
        raise Damaged(f"{RECORD} does not agree with its checksum")
    if not _well_formed(body):
        raise Damaged(f"{RECORD} does not say what it should")
    if body["format"] > FORMAT:
        raise IndicialError(
            f"{path} was written by a newer indicial (format {body['format']}, here {FORMAT}); "
            "use that one"
        )
    return dict(body)


def _well_formed(body: object) -> bool:
    """Whether a record has what is read of it. It names no file but that of the tensors."""
    match body:
        case {
            "format": int(),
            "step": int(step),
            "best": bool(),
            "facts": dict(),
            "files": dict(files),
        }:
            match files:
                case {"tensors.safetensors": {"bytes": int(size), "sha256": str()}, **others}:
                    return step >= 0 and size >= 0 and not others
    return False


def _marked_best(path: Path) -> bool:
    try:
        return bool(_record(path)["best"])
    except Damaged:
        return False


def _order(path: Path) -> tuple[int, int]:
    match = NAME.fullmatch(path.name)
    assert match is not None
    return int(match[1]), int(match[2] or 1)


def _signed(body: Mapping[str, Any]) -> str:
    """JSON with the checksum of itself: a changed digit is noticed as well as a changed weight."""
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise IndicialError(f"the facts of a checkpoint do not fit into JSON: {error}") from error
    digest = _sha256(text.encode())
    return json.dumps(
        {"checkpoint": body, "sha256": digest}, ensure_ascii=False, allow_nan=False, indent=1
    )


def _bytes(path: Path, size: int | None = None) -> bytes:
    """The content of a file; of one that must have so many bytes, if they are said."""
    try:
        found = path.lstat().st_size
        if size is not None and found != size and path.is_file():
            raise Damaged(f"{path.name} has {found} bytes instead of {size}")
        return plain_bytes(path, TEXT if size is None else size)
    except Unfit as why:
        raise Damaged(f"{path.name}: {why}") from None
    except FileNotFoundError:
        raise Damaged(f"{path.name} is missing") from None
    except OSError as error:
        raise Damaged(f"{path.name} cannot be read: {error.strerror}") from error


def _write(path: Path, content: bytes) -> None:
    """All of it, and on the disk when this returns."""
    with path.open("xb", buffering=0) as file:
        rest = memoryview(content)
        while rest:
            rest = rest[file.write(rest[:CHUNK]) :]
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """The names in a folder, on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"
