"""Settings → a run that is trained, from its beginning or from where it was stopped.

>>> train_with(Settings.read({"model": "ugrnn", "data": "people", "minutes": 2}), None, print)
<Run runs/ugrnn-people-1: ugrnn + language_model>
>>> resume("runs/ugrnn-people-1", Settings()).plan.first
1400
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from indicial.data.column_rows import Columns
from indicial.data.corpus import Data
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.tasks.task import Classes
from indicial.training.checkpoints import Checkpoint, first_change
from indicial.training.curves import Confusion, Curves, Metrics, TensorBoard, summary_writer
from indicial.training.defaults import best_device
from indicial.training.display import make_display
from indicial.training.folders import FILE
from indicial.training.loop import FEW, make_plan, rehearse
from indicial.training.loop import train as take_steps
from indicial.training.processes import ALONE, Processes, joined_processes
from indicial.training.run import EQUATIONS, Description, Run
from indicial.training.settings import MAY_CHANGE, Choices, Settings
from indicial.training.shared_data import Tell, read_run_data
from indicial.training.starting import Origin, Ready, begin, task_of
from indicial.training.watchers import Watcher


def train_with(
    settings: Settings,
    folder: str | None,
    tell: Tell,
    quiet: bool = False,
    more: tuple[Watcher, ...] = (),
    model: tuple[str | os.PathLike[str] | Program, ...] | None = None,
) -> Run:
    """A new run, or that of a `folder`, which goes on; `model` where it is not all names and files."""
    said = {**settings.said(), "resume": folder}
    with joined_processes(said, bool(settings.fsdp)) as processes:
        if settings.tensorboard:
            summary_writer()  # a missing package is told before anything is prepared
        shows = processes.rank == 0
        heard = tell if shows else lambda text: None
        if folder is not None:
            ready = resume(folder, settings, heard, processes)
        else:
            ready = begin(settings, heard, processes, model=model)
        watchers = [*_watchers(settings, ready, tell, quiet), *more] if shows else []
        ready.run.summary = take_steps(
            ready.task, ready.module, ready.choices, ready.run, watchers, ready.plan, processes
        )
        return ready.run


def _watchers(settings: Settings, ready: Ready, tell: Tell, quiet: bool) -> list[Watcher]:
    run = ready.run
    watchers: list[Watcher] = [Metrics(run.metrics)]
    if not quiet:
        watchers.append(make_display())
    watchers.append(Curves(run.metrics))
    if settings.tensorboard or run.description.settings.get("tensorboard"):
        try:
            watchers.append(TensorBoard(run.folder / "tensorboard"))
        except IndicialError as error:  # a run that was begun with it goes on without
            tell(f"note: {error}")
    scoring = getattr(ready.task, "scoring", None)
    if isinstance(scoring, Classes):
        watchers.append(Confusion(run.folder, scoring, ready.task.program.title))
    return watchers


def tell_stderr(text: str) -> None:
    print(text, file=sys.stderr)


def resume(
    folder: str,
    settings: Settings,
    tell: Tell = lambda text: None,
    processes: Processes = ALONE,
    data: Data | Columns | None = None,
) -> Ready:
    """A run that goes on as it began; only what changes nothing in it may be said anew.

    `data` are those of the run, if they are prepared already.
    """
    run = _open_run(folder, processes)
    settings = settings.located()
    kept = Settings.kept(run.description.settings)
    _check_same(folder, settings, kept)
    choices = Choices.from_json(run.description.settings)
    if settings.device is not None:
        choices = replace(choices, device=best_device(settings.device, processes.of))
    processes.rows(choices.batch_size, said=True)
    latest = run.checkpoints.to_go_on()
    if latest is not None:
        _check_description(run, latest)
    first = processes.share(latest.step if latest is not None else 0)
    stretch = processes.share(latest and latest.facts.get("stretch"))
    _check_left(folder, first, settings.max_steps)
    if settings.max_steps is not None and settings.max_steps != choices.max_steps:
        tell(
            f"the learning rate was planned for {choices.max_steps} steps and is now for "
            f"{settings.max_steps}"
        )
    changed: dict[str, Any] = {}
    if settings.max_steps is not None:  # so many, however long they take
        changed |= {
            "max_steps": settings.max_steps, "seconds": None,
            "eval_every": choices.eval_every or choices.mark_every,
            "save_every": choices.save_every or choices.mark_every,
        }  # fmt: skip
    if settings.patience is not None:
        changed["patience"] = settings.patience
    choices = replace(choices, **changed)
    program = run.program
    if data is None:
        known = run.folder if kept.from_ is not None else None
        data = read_run_data(run, settings, tell, known, processes)
    _check_data(run, data)
    if settings.data:
        run.keep_setting("data", list(settings.data))
    run.mend(data, tell)
    rows = (choices.context, choices.batch_size)
    task = task_of(run.description.task, program, data, kept, *rows, choices.seed)
    torch.manual_seed(choices.seed)
    device = processes.device(choices.device)
    module = program.compile(sizes=run.description.sizes, device=device)
    if latest is None and kept.from_ is not None:  # it was stopped before it had begun
        tell(Origin(Run.open(kept.from_)).fill(module))
    end = stretch["end"] if stretch and choices.seconds is not None else choices.max_steps
    left = end - first
    for name, value in changed.items():
        run.keep_setting(name, value)
    if left <= 0:
        tell(f"all {first:,} steps are done; to train on: --max-steps with more than {first}")
    per_step = rehearse(task, module, choices, processes) if left > FEW else None
    plan = make_plan(task, module, choices, run.folder, per_step, first, end)
    return Ready(task, module, choices, run, plan)


def _open_run(folder: str, processes: Processes) -> Run:
    """The run as the first process finds it: other machines need not have its folder."""
    found = Run.open(folder) if processes.rank == 0 else None
    told = processes.share(found and [str(found.folder), found.description.to_json()])
    return found or Run(Path(told[0]), Description.from_json(told[1]))


def _check_data(run: Run, data: Data | Columns) -> None:
    """The run goes on with what it was begun with, token by token."""
    for part, found in (("train", data.train), ("validation", data.validation)):
        before = run.description.data.get(part, {})
        if before.get("digest") == found.digest:
            continue
        if run.description.data.get("format") != data.description.get("format"):
            raise IndicialError(
                f"{run.folder} was begun by a version of Indicial that stored data in another way, so it cannot go on "
                f"as if nothing had happened. To train it further: --from {run.folder}"
            )
        name = "training" if part == "train" else "validation"
        then, now = before.get("documents"), found.documents
        how = f"{then} documents then, {now} now" if then != now else "with other tokens"
        raise IndicialError(
            f"the data changed since {run.folder} was begun (the {name} part: {how}), so it cannot "
            "go on as if nothing had happened. To train it further on the new data: --from "
            f"{run.folder}"
        )


def _check_description(run: Run, latest: Checkpoint) -> None:
    """`run.json` still says what the steps up to here followed from."""
    before, now = latest.facts.get("decided"), run.description.decided()
    changed = None if before is None else first_change(before, now)
    if before is None or changed is None:  # it is from before this was kept, or all is as it was
        return
    then = f"then {_typed(before.get(changed))}, now {_typed(now.get(changed))}"
    how = "" if changed == EQUATIONS else f": {then}"
    raise IndicialError(
        f"{run.folder / FILE} was changed since the checkpoint of step {latest.step} was written "
        f"({changed}{how}), so the run cannot go on as if nothing had happened. Put back what was "
        f"there; to train its weights in another way: --from {run.folder}"
    )


def _check_left(folder: str, done: int, most: int | None) -> None:
    if most is not None and most < done:
        raise IndicialError(
            f"--max-steps {most}: {folder} has done {done:,} steps already; "
            "give a larger number, or leave it out"
        )


def _check_same(folder: str, said: Settings, kept: Settings) -> None:
    for name, value in said.said().items():
        if name in MAY_CHANGE or kept.said().get(name) == value:
            continue
        before = kept.said().get(name)
        flag = "" if name == "model" else f"--{name.replace('_', '-')} "
        was = f"was begun with {_typed(before)}" if before is not None else "was begun without it"
        raise IndicialError(
            f"{flag}{_typed(value)}: {folder} {was}, and --resume goes on as it began. To train its "
            f"weights in another way: --from {folder}"
        )


def _typed(value: object) -> str:
    """A setting as it is typed: `{"J": "32"}` → `J=32`."""
    if isinstance(value, dict):
        return " ".join(f"{name}={given}" for name, given in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
