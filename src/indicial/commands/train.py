"""The command `train`.

$ indicial train ugrnn --data people
$ indicial train transformer focus --set λ=0.1 --data book.txt --minutes 20
$ indicial train --resume runs/ugrnn-people-1
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from indicial.commands.arguments import Commands, command, setting
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.training.settings import Settings
    from indicial.training.watchers import Summary

TEXT = """\
Train a model of the library, or equations of your own, on text, or on columns
of data that are the inputs of the equations.

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
  translation, of a world, from files side by side or from a table; captions:
    indicial train bahdanau --data phrasebook
    indicial train bahdanau --data x=train.de --data w=train.en
    indicial train bahdanau --data pairs.tsv --column x=german --column w=text
    indicial train captioning --data scenes
    indicial train captioning --data I=photos/ --data w=captions.tsv
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
    from indicial.training.front import tell_stderr, train_with
    from indicial.training.processes import Silent

    settings = _settings(options)
    try:
        run = train_with(settings, _resumed(options, settings), tell_stderr)
    except Silent:
        return 2
    assert run.summary is not None
    if run.summary.lost is not None:
        _tell_unread(run.summary)
    return STOPPED if run.summary.reason == "stopped" else 0


def _resumed(options: argparse.Namespace, settings: Settings) -> str | None:
    """The run to go on with; `--resume` alone means that of `--out`."""
    if not options.resume:
        return None
    folder = settings.out if options.resume is True else options.resume
    if folder is None:
        raise IndicialError("name the run to continue: --resume RUN")
    return str(folder)


def _tell_unread(summary: Summary) -> None:
    """How it ended, where the output can tell it no more: `indicial train … | head`."""
    import contextlib
    from dataclasses import replace

    from indicial.training.display import discard_stdout, summary_lines
    from indicial.training.front import tell_stderr

    discard_stdout()
    note = f"the output cannot be written any more ({summary.lost})"
    with contextlib.suppress(OSError):  # it may be closed as well
        for line in summary_lines(replace(summary, notes=(note, *summary.notes))):
            tell_stderr(line)


def _settings(options: argparse.Namespace) -> Settings:
    from pathlib import Path

    from indicial.training.options import OPTIONS
    from indicial.training.settings import Settings, read_config

    values = {name: getattr(options, name) for name in OPTIONS}
    said = Settings.read({**values, "model": options.model or None})
    return said.over(read_config(Path(options.config))) if options.config else said
