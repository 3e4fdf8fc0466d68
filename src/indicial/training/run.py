"""A run: the folder that a training leaves. What can be done with it is in `lab/compare.py`.

    runs/names-1/
        run.json            the equations themselves, sizes, task, settings, data, versions
        tokenizer.json      or columns.json, of a program with several inputs
        metrics.jsonl       one line for each step and each validation
        checkpoints/        the last two and the best
        curves.png, curves.svg

>>> run = Run.create("runs/names-1", Description(Equations.of(program), sizes, …), tokenizer)
>>> run = Run.open("runs/names-1")
>>> run.module("best")(w=tokens).loss

The folder stands alone: neither the library nor the data nor the files of the equations are needed.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Protocol, Self

import torch

from indicial import __version__
from indicial.compile.module.module import ProgramModule
from indicial.data.codings import Coding
from indicial.data.column_rows import load_codings
from indicial.data.tokenizers import Tokenizer, load_tokenizer
from indicial.program.inputs import Unfit, json_of, open_plain, plain_bytes
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.training.checkpoints import (
    Checkpoint,
    Checkpoints,
    begin_json,
    check_mine,
    finish,
    write_json,
)
from indicial.training.equations import Equations
from indicial.training.folders import FILE, no_run
from indicial.training.processes import divided, writes
from indicial.training.settings import MAY_CHANGE
from indicial.training.watchers import Summary

FORMAT = 1
TOKENIZER = "tokenizer.json"
COLUMNS = "columns.json"
METRICS = "metrics.jsonl"
CHECKPOINTS = "checkpoints"
CLAIM = ".claim"
WHICH = ("best", "last")
EQUATIONS = "the equations"
FREE = (*MAY_CHANGE, "seconds", "eval_every", "save_every", "validation", "from")
"""Settings that change no step; a run keeps those that were said anew when it went on."""
MOST_SIZE = 10**9
KINDS = {
    "sizes": dict,
    "task": str,
    "settings": dict,
    "data": dict,
    "versions": dict,
    "created": str,
}
"""Of what stands in `run.json` beside the equations."""
WORDS = {
    dict: "names with values are expected",
    str: "text is expected",
    int: "a whole number is expected",
    float: "a number is expected",
}


def versions() -> dict[str, str]:
    """What made the run: it may matter to whoever wants the same numbers."""
    return {
        "indicial": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


@dataclass(frozen=True)
class Description:
    """What `run.json` says; everything but the equations is JSON."""

    equations: Equations
    sizes: Mapping[str, int]
    """As given to `compile`."""
    task: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=versions)
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            **self.equations.to_json(),
            "sizes": dict(self.sizes),
            "task": self.task,
            "settings": dict(self.settings),
            "data": dict(self.data),
            "versions": dict(self.versions),
            "created": self.created,
        }

    def decided(self) -> dict[str, Any]:
        """What each step follows from, by name; the data have a digest of their own."""
        equations = json.dumps(self.equations.to_json(), sort_keys=True).encode()
        settings = {n: v for n, v in self.settings.items() if n not in FREE}
        sizes = {f"size {name}": value for name, value in self.sizes.items()}
        digest = hashlib.sha256(equations).hexdigest()
        return {EQUATIONS: digest, "task": self.task, **sizes, **settings}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Description:
        for name, kind in KINDS.items():
            _check(name, found[name], kind)
        for name, size in found["sizes"].items():
            if not 0 < _check(name, size, int) < MOST_SIZE:
                raise ValueError(f"the size {name} is {size}; it is from 1 to {MOST_SIZE - 1:,}")
        data = found["data"]
        _check("vocabulary", data.get("vocabulary", 0), int)
        _check("world", data.get("world", {}), dict)
        for part in ("train", "validation"):
            _check(part, data.get(part, {}), dict)
            for name, value in data.get(part, {}).items():
                _check(name, value, str if name == "digest" else float)
        return Description(Equations.from_json(found), **{name: found[name] for name in KINDS})


def _check(name: str, value: Any, kind: type) -> Any:
    """A value of `run.json` that is of the kind that it must be; a whole number is a number too."""
    kinds = (int, float) if kind is float else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{name} is {value!r:.40}, where {WORDS[kind]}")
    return value


def check_free(folder: Path) -> None:
    """A run is never written over, and neither is anything else of the user."""
    if (folder / FILE).exists():
        raise IndicialError(
            f"there is already a run in {folder}. To continue it: --resume {folder}; for a new "
            "one choose another --out"
        )
    check_mine(folder, FILE, "run", beside=(TOKENIZER, COLUMNS))


class Kept(Protocol):
    """What a run keeps of its data: a tokenizer, or all that makes numbers of columns."""

    def save(self, folder: Path) -> None: ...


class Run:
    """A folder with a trained model, or one that is being trained."""

    def __init__(self, folder: Path, description: Description) -> None:
        self.folder = folder
        self.description = description
        self.checkpoints = Checkpoints(folder / CHECKPOINTS)
        self.metrics = folder / METRICS
        self.summary: Summary | None = None
        """How the training ended, where it was done by this process."""

    def __repr__(self) -> str:
        return f"<Run {self.folder}: {self.description.equations.title}>"

    @classmethod
    def create(
        cls, folder: str | os.PathLike[str], description: Description, data: Kept | None = None
    ) -> Self:
        """A new run. `run.json` comes last: a folder that has it is whole.

        What it will hold comes first: a process that is killed before the end leaves a folder
        that is known as a beginning, and is begun anew.
        """
        run = cls(Path(folder), description)
        if not writes():
            return run
        check_free(run.folder)
        try:
            run.folder.mkdir(parents=True, exist_ok=True)
            begin_json(run.folder / FILE, description.to_json())
            if data is not None:
                data.save(run.folder)
            finish(run.folder / FILE)
        except OSError as error:
            raise IndicialError(f"cannot make a run in {folder}: {error.strerror}") from error
        return run

    def keep_setting(self, name: str, value: Any) -> None:
        """A setting that was said anew: who goes on later need not say it again."""
        settings = {**self.description.settings, name: value}
        self.description = replace(self.description, settings=settings)
        if not writes():
            return
        try:
            write_json(self.folder / FILE, self.description.to_json())
        except OSError as error:
            raise IndicialError(f"cannot write {self.folder / FILE}: {error.strerror}") from error

    @classmethod
    def open(cls, folder: str | os.PathLike[str] | Run) -> Self:
        """A run that is there, by its folder or as it is; what is wrong with a folder is said."""
        if isinstance(folder, cls):
            return folder
        path = folder.folder if isinstance(folder, Run) else Path(folder)
        if path.name == FILE:
            path = path.parent
        return cls(path, _description(path))

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """While this lasts, no other process can train here; it ends with the process, however."""
        if not writes():
            yield
            return
        try:
            claim = open_plain(self.folder / CLAIM, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        except Unfit as why:
            raise IndicialError(f"cannot write {self.folder / CLAIM}: {why}") from None
        with open(claim, "a", encoding="utf-8") as file:
            if not _locked(file):
                raise IndicialError(
                    f"{self.folder} is being trained by another process; wait for it, or stop it"
                )
            yield

    # ------------------------------------------------------------------ the model

    @functools.cached_property
    def program(self) -> Program:
        """The equations, which stay as they are: read and checked once, whoever asks."""
        return self.description.equations.program()

    def checkpoint(self, which: str = "best") -> Checkpoint:
        """The `best` checkpoint by validation, or the `last`; the last too if none is marked best."""
        if which not in WHICH:
            raise IndicialError(f"there is no checkpoint {which!r}; there are best and last")
        found = self.checkpoints.best() if which == "best" else None
        found = found or self.checkpoints.latest()
        if found is None:
            damaged = "".join(f"\n  {text}" for text in self.checkpoints.damaged)
            raise IndicialError(f"the run {self.folder} has no checkpoint to use{damaged}")
        return found

    def module(
        self, which: str = "best", device: torch.device | str | None = None
    ) -> ProgramModule:
        """The trained module, in evaluation mode."""
        checkpoint, program = self.checkpoint(which), self.program
        with torch.random.fork_rng(devices=[]):  # the starting values are thrown away
            # Without memory first: what sizes a file says may ask for more than there is.
            fitting(program.compile(sizes=self.description.sizes, device="meta"), checkpoint)
            made = program.compile(sizes=self.description.sizes, device=device)
        load_weights(made, checkpoint)
        return made.eval()

    def tokenizer(self) -> Tokenizer:
        if self.description.task == "columns":
            raise IndicialError(
                f"the model of {self.folder} reads several inputs, each with tokens of its own: give "
                'them by name, --input NAME=TEXT (inputs={"NAME": …} in Python)'
            )
        if not (self.folder / TOKENIZER).is_file():
            raise IndicialError(f"the run {self.folder} has no {TOKENIZER}")
        found = load_tokenizer(self.folder)
        known = self.description.data.get("vocabulary", found.size)
        if found.size != known:
            raise IndicialError(
                f"{self.folder / TOKENIZER} has {found.size} tokens, and the model was trained with "
                f"{known}: the file is damaged, or that of another run"
            )
        return found

    def number(self, name: str, otherwise: int | None = None) -> int:
        """A whole number among the settings: `run.number("context")`."""
        value = self.description.settings.get(name, otherwise)
        if not isinstance(value, int) or value < 0:
            raise IndicialError(
                f"{self.folder / FILE} says that {name} is {value!r}, which is not a number: it is "
                "damaged"
            )
        return value

    def codings(self) -> dict[str, Coding]:
        """How the cells of each input become numbers, of a run with several inputs."""
        return load_codings(self.folder)

    def mend(self, data: Kept, tell: Callable[[str], None] = lambda text: None) -> None:
        """Writes the tokens that the data were cut with where they are lost: without them a model is
        mute."""
        several = self.description.task == "columns"
        try:
            self.codings() if several else self.tokenizer()
        except IndicialError:
            if writes():
                path = self.folder / (COLUMNS if several else TOKENIZER)
                lost = "damaged" if path.exists() else "missing"
                data.save(self.folder)
                tell(f"note: {path} was {lost}, and was written again from the data")


def load_weights(module: ProgramModule, checkpoint: Checkpoint) -> None:
    """Put the weights of a checkpoint into a module of the same equations and sizes."""
    weights = fitting(module, checkpoint)
    with torch.no_grad():
        for key, value in weights.items():
            own = module.get_parameter(key)
            own.copy_(divided(value, own))


def fitting(module: ProgramModule, checkpoint: Checkpoint) -> dict[str, torch.Tensor]:
    """The weights of a checkpoint, which are those that a module has, of the same shapes."""
    weights = checkpoint.part("model")
    own = {key: module.get_parameter(key) for key in module.state_keys.values()}
    odd = sorted(weights.keys() ^ own.keys())
    odd += [key for key in weights.keys() & own.keys() if weights[key].shape != own[key].shape]
    if odd:
        raise IndicialError(
            f"the checkpoint of step {checkpoint.step} does not fit the equations: {', '.join(odd)}"
        )
    return weights


def _locked(file: IO[str]) -> bool:
    """Whether the lock of a file could be had; where there are no locks, always."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some file systems have none
        return True
    return True


def _description(folder: Path) -> Description:
    path = folder / FILE
    try:
        found = json_of(plain_bytes(path))
        made_for = found["format"]
        if isinstance(made_for, int) and made_for <= FORMAT:
            return Description.from_json(found)
    except (FileNotFoundError, NotADirectoryError):
        raise IndicialError(no_run(folder)) from None
    except OSError as error:
        raise IndicialError(f"cannot read {path}: {error.strerror}") from error
    except Unfit as error:
        raise IndicialError(f"cannot read {path}: {error}") from error
    except KeyError as error:
        raise IndicialError(f"{path} says nothing about {error}; it is damaged") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise IndicialError(f"{path} is damaged: {error}") from error
    raise IndicialError(
        f"{folder} was written by a newer indicial (format {made_for}, this one reads {FORMAT}); "
        "use that one"
    )
