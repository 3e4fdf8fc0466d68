"""The front door of training: equations, data and settings → a run.

>>> run = train("ugrnn", data="people", minutes=2)
>>> run.summary.best.per_token
1.307
>>> print(*run.generate("Helen Kowalski was born in", temperature=0))
Helen Kowalski was born in Lund .

Settings have the names of the command line, `batch_size=64` for `--batch-size 64`, and are checked
in the same way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.tasks.scoring import Classes
from indicial.training.curves import Confusion, Curves, Metrics, TensorBoard, summary_writer
from indicial.training.display import make_display
from indicial.training.loop import train as take_steps
from indicial.training.processes import Processes, joined_processes
from indicial.training.resuming import resume as resumed
from indicial.training.run import Run
from indicial.training.settings import Settings, read_config
from indicial.training.shared_data import Tell
from indicial.training.starting import Ready, begin
from indicial.training.watchers import Watcher


def train(
    *model: str | os.PathLike[str] | Program,
    resume: str | os.PathLike[str] | Run | None = None,
    config: str | os.PathLike[str] | None = None,
    quiet: bool = False,
    watchers: Iterable[Watcher] = (),
    **settings: Any,
) -> Run:
    """Trains a model as `indicial train` does, and gives its run; `run.summary` says how it ended.

    >>> train("transformer", "focus", data="book.txt", minutes=20, set={"λ": 0.1})
    >>> train(load("h[t,j] = …"), data="people", set={"J": 256})
    >>> train(resume="runs/ugrnn-people-1")
    >>> train(from_="runs/ugrnn-people-1", data="more.txt")

    A model is a name of the library, a file, or a program; several are joined. `config` is a file
    with settings, `quiet` shows nothing, and `watchers` are told what happens. Ctrl-C saves: then
    `run.summary.reason` is "stopped", and `train(resume=run)` goes on.
    """
    if "from_" in settings:
        settings["from"] = settings.pop("from_")
    for name, value in settings.items():
        if isinstance(value, os.PathLike | Run):
            settings[name] = str(value.folder if isinstance(value, Run) else value)
    if "model" in settings:
        raise IndicialError('the model comes first, without a name: train("ugrnn", data="people")')
    said = Settings.read({"model": [_named(one) for one in model] or None, **settings})
    if config is not None:
        said = said.over(read_config(Path(config)))
    folder = resume.folder if isinstance(resume, Run) else resume
    written = model if any(isinstance(one, Program) for one in model) else None
    tell: Tell = (lambda text: None) if quiet else tell_stderr
    return train_with(
        said, None if folder is None else str(folder), tell, quiet, tuple(watchers), written
    )


def train_with(
    settings: Settings,
    resume: str | None,
    tell: Tell,
    quiet: bool = False,
    more: tuple[Watcher, ...] = (),
    model: tuple[str | os.PathLike[str] | Program, ...] | None = None,
) -> Run:
    """The same with settings that are read already; `model` where it is not all names and files."""
    with joined_processes({**settings.said(), "resume": resume}, bool(settings.fsdp)) as processes:
        return _train(settings, resume, tell, quiet, more, model, processes)


def _train(
    settings: Settings,
    resume: str | None,
    tell: Tell,
    quiet: bool,
    more: tuple[Watcher, ...],
    model: tuple[str | os.PathLike[str] | Program, ...] | None,
    processes: Processes,
) -> Run:
    if settings.tensorboard:
        summary_writer()  # a missing package is told before anything is prepared
    shows = processes.rank == 0
    heard = tell if shows else lambda text: None
    if resume is not None:
        ready = resumed(resume, settings, heard, processes)
    else:
        ready = begin(settings, heard, processes, model=model)
    run = ready.run
    own = [*_watchers(settings, run, tell, quiet), *_pictures(ready)]
    watchers = [*own, *more] if shows else []
    run.summary = take_steps(
        ready.task, ready.module, ready.choices, run, watchers, ready.plan, processes
    )
    return run


def _watchers(settings: Settings, run: Run, tell: Tell, quiet: bool) -> list[Watcher]:
    watchers: list[Watcher] = [Metrics(run.metrics)]
    if not quiet:
        watchers.append(make_display())
    watchers.append(Curves(run.metrics))
    if settings.tensorboard or run.description.settings.get("tensorboard"):
        try:
            watchers.append(TensorBoard(run.folder / "tensorboard"))
        except IndicialError as error:  # a run that was begun with it goes on without
            tell(f"note: {error}")
    return watchers


def _pictures(ready: Ready) -> list[Watcher]:
    """What is drawn for the task of a run, beside its curves."""
    scoring = getattr(ready.task, "scoring", None)
    if not isinstance(scoring, Classes):
        return []
    return [Confusion(ready.run.folder, scoring, ready.task.program.title)]


def _named(model: str | os.PathLike[str] | Program) -> str:
    """What a run says that it is made of."""
    return model.title if isinstance(model, Program) else os.fspath(model)


def tell_stderr(text: str) -> None:
    print(text, file=sys.stderr)
