"""The command `train`.

$ indicial train ugrnn --data people
$ indicial train transformer focus --set λ=0.1 --data book.txt --minutes 20
$ indicial train --resume runs/ugrnn-people-1
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from indicial.commands.arguments import Commands, command, setting

if TYPE_CHECKING:
    from indicial.training.processes import Processes
    from indicial.training.settings import Settings
    from indicial.training.watchers import Summary, Watcher

TEXT = """\
Train a model of the library, or equations of your own, on text.

What is not said is chosen by the model, the data and the time, and told before
the first step. Everything that the run needs later is kept in its folder:
equations, tokenizer, weights, numbers, curves. Ctrl-C saves and ends; --resume
goes on as if nothing had happened.

examples:
  five minutes on a built-in world, an hour on a text of your own:
    indicial train ugrnn --data people
    indicial train transformer --data book.txt --minutes 60
  a cell of your own, that gives h[t,j] from x[t,k]; a stack of another cell:
    indicial train cell.eq --data notes/ --set J=256
    indicial train stacked --set CELL=lstm --set L=3 --data people
  a loss with another term; a blank language model:
    indicial train transformer focus --set λ=0.1 --data people
    indicial train encoder --data people
  go on; fine-tune:
    indicial train --resume runs/ugrnn-people-1
    indicial train ugrnn --from runs/ugrnn-people-1 --data more.txt
  the same names in a file, `batch-size: 64`:
    indicial train --config run.yaml

In brackets: what happens if nothing is said.
"""

STOPPED = 130


def add(commands: Commands[Any]) -> None:
    from indicial.training.options import GROUPS, OTHER_NAMES

    parser = command(commands, "train", "train a model on text", TEXT, _train)
    parser.other_names = OTHER_NAMES
    parser.add_argument("model", nargs="*", metavar="MODEL", help=GROUPS["model"][0].help)
    for title, options in GROUPS.items():
        group = parser.add_argument_group(title)
        for option in options:
            if option.name != "model":
                setting(group, option)
        if title == "model":
            group.add_argument(
                "--resume", nargs="?", const=True, metavar="RUN",
                help="go on with a run, from its last checkpoint",
            )  # fmt: skip
            group.add_argument("--config", metavar="FILE", help="settings in YAML, by these names")


def _train(options: argparse.Namespace) -> int:
    from indicial.compile.native.threads import wait_asleep

    wait_asleep()
    from indicial.training.joining import Silent, joined_processes

    settings = _settings(options)
    said = {**settings.said(), "resume": options.resume}
    try:
        with joined_processes(said, bool(settings.fsdp)) as processes:
            return _together(options, settings, processes)
    except Silent:
        return 2


def _together(options: argparse.Namespace, settings: Settings, processes: Processes) -> int:
    from indicial.program.messages import IndicialError
    from indicial.training.loop import train
    from indicial.training.resuming import resume
    from indicial.training.starting import begin

    if settings.tensorboard:
        from indicial.training.tensorboard import summary_writer

        summary_writer()
    shows = processes.rank == 0
    tell = _tell if shows else lambda text: None
    if options.resume:
        folder = settings.out if options.resume is True else options.resume
        if folder is None:
            raise IndicialError("say which run to go on with: --resume RUN")
        ready = resume(folder, settings, tell, processes)
    else:
        ready = begin(settings, tell, processes)
    watchers = _watchers(settings, ready.run) if shows else []
    summary = train(
        ready.task, ready.module, ready.choices, ready.run, watchers, ready.plan, processes
    )
    if summary.lost is not None:
        _tell_unread(summary)
    return STOPPED if summary.reason == "stopped" else 0


def _tell_unread(summary: Summary) -> None:
    """How it ended, where the output can tell it no more: `indicial train … | head`."""
    import contextlib
    from dataclasses import replace

    from indicial.training.display import summary_lines
    from indicial.training.output import discard_stdout

    discard_stdout()
    note = f"the output cannot be written any more ({summary.lost})"
    with contextlib.suppress(OSError):  # it may be closed as well
        for line in summary_lines(replace(summary, notes=(note, *summary.notes))):
            _tell(line)


def _settings(options: argparse.Namespace) -> Settings:
    from pathlib import Path

    from indicial.training.options import OPTIONS
    from indicial.training.settings import Settings, read_config

    values = {name: getattr(options, name) for name in OPTIONS}
    said = Settings.read({**values, "model": options.model or None})
    return said.over(read_config(Path(options.config))) if options.config else said


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


def _watchers(settings: Settings, run: Any) -> list[Watcher]:
    from indicial.training.curves import Curves
    from indicial.training.display import make_display
    from indicial.training.metrics import Metrics

    watchers: list[Watcher] = [Metrics(run.metrics), make_display(), Curves(run.metrics)]
    if settings.tensorboard or run.description.settings.get("tensorboard"):
        from indicial.program.messages import IndicialError
        from indicial.training.tensorboard import TensorBoard

        try:
            watchers.append(TensorBoard(run.folder / "tensorboard"))
        except IndicialError as error:  # a run that was begun with it goes on without
            _tell(f"note: {error}")
    return watchers
