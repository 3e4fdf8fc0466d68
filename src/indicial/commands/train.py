"""The commands `train` and `compare`."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from indicial.commands.arguments import (
    Commands,
    check_outputs,
    command,
    forcing,
    option,
    refuse,
    setting,
)
from indicial.commands.attend import compare_designs
from indicial.program.messages import IndicialError
from indicial.training.settings import (
    DATA,
    GROUPS,
    LEARNING,
    MACHINE,
    OPTIONS,
    OTHER_NAMES,
    Settings,
    read_config,
)

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
    parser = command(commands, "train", "train a model on text", TEXT, _train)
    parser.other_names = OTHER_NAMES
    parser.add_argument("model", nargs="*", metavar="MODEL", help=OPTIONS["model"].help)
    for title, options in GROUPS.items():
        group = parser.add_argument_group(title)
        for one in options:
            if one.name != "model":
                setting(group, one)
        if title == "model":
            option(group, "--resume RUN", "go on with a run, from its last "
                   "checkpoint", nargs="?", const=True)  # fmt: skip
            option(group, "--config FILE", "settings in YAML, by these names")
    _add_compare(commands)


def _train(options: argparse.Namespace) -> int:
    from indicial.compile.native.shared import wait_asleep

    wait_asleep()
    from indicial.training.display import summary_lines
    from indicial.training.processes import Silent
    from indicial.training.train import tell_stderr, train_with

    settings = _settings(options)
    try:
        run = train_with(settings, _resumed(options, settings), tell_stderr)
    except Silent:
        return 2
    assert run.summary is not None
    if run.summary.lost is not None:
        _tell_unread(summary_lines(run.summary), run.summary.lost)
    return STOPPED if run.summary.reason == "stopped" else 0


def _resumed(options: argparse.Namespace, settings: Settings) -> str | None:
    """The run to go on with; `--resume` alone means that of `--out`."""
    if not options.resume:
        return None
    folder = settings.out if options.resume is True else options.resume
    if folder is None:
        raise IndicialError("name the run to continue: --resume RUN")
    return str(folder)


def _tell_unread(lines: Iterable[str], lost: object) -> None:
    """How it ended, where the output can tell it no more: `indicial train … | head`."""
    from indicial.training.display import discard_stdout
    from indicial.training.train import tell_stderr

    discard_stdout()
    with contextlib.suppress(OSError):  # it may be closed as well
        tell_stderr(f"the output cannot be written any more ({lost})")
        for line in lines:
            tell_stderr(line)


def _settings(options: argparse.Namespace) -> Settings:

    values = {name: getattr(options, name) for name in OPTIONS}
    said = Settings.read({**values, "model": options.model or None})
    return said.over(read_config(Path(options.config))) if options.config else said


COMPARE = """\
Train several models on equal terms, side by side, and compare what comes of
them.

Equal terms: nearly the same number of parameters (all of them, word vectors
too: the width is chosen for it), the same data, the same batches, as many
tokens, and the learning rate by the same rule, from the width. Each training is
a process with one thread. Ctrl-C saves and prints what there is; the same call
with --out FOLDER goes on, and what is finished is not repeated.

examples:
  indicial compare ugrnn transformer --data people --minutes 2 --samples
  indicial compare rnn ugrnn gru lstm --parameters 100k,300k,1M --data people
  indicial compare gru cell.eq --data book.txt     your own beside a known one
  indicial compare transformer:L=2 transformer:L=6 --data people
  indicial compare transformer transformer+focus:λ=0.1 --data people

The folder gets a table (table.md), pictures, every number (compare.json), and a
run for each training, which `generate` and `evaluate` take.

Designs, and runs of the same equations, are compared as they are; nothing is
trained. You see what is the same in their attention and what is not
(docs/design.md):

  indicial compare position learned.json --figure both.svg
  indicial compare mine.json runs/first-1 --text "ABC="
"""

DESIGN_OPTIONS = ("text", "task", "figure", "json", "force")
"""What is for designs alone."""


def _add_compare(commands: Commands[Any]) -> None:
    parser = command(
        commands, "compare", "models on equal terms, or two designs", COMPARE, _compare
    )
    parser.other_names = OTHER_NAMES
    parser.add_argument("models", nargs="*", metavar="MODEL",
                        help="as in the examples: NAME, FILE.eq, NAME+NAME, NAME:SIZE=VALUE,…; "
                        "or two designs: a name, FILE.json, the folder of a run")  # fmt: skip
    group = parser.add_argument_group("comparison")
    option(group, "--parameters N,…", "how many each model has: 100k,300k,1M (300k)")
    option(group, "--seeds N", "trainings of each, with other first weights and batches (2; "
           "with --minutes 1)", int)  # fmt: skip
    option(group, "--tokens-budget N", "tokens that each training sees (1.6M)")
    option(group, "--minutes M", "instead: so long for each training, however many tokens")
    option(group, "--samples", "let each model say something, at three temperatures")
    option(group, "--out FOLDER", "(runs/compare-DATA-1)")
    option(group, "--workers N", "trainings at a time (as many as there are cores)", int)
    group = parser.add_argument_group("two designs or runs; nothing else is for them")
    option(group, "--figure FILE", "draw both in one picture: .svg, .png or .pdf")
    forcing(group)
    option(group, "--text COMPARE", "the example on which weights are shown")
    option(group, "--task NAME", "why they differ, on every case of content, position or unique")
    option(group, "--json", "all numbers as JSON")
    more = {
        DATA: GROUPS[DATA], LEARNING: [OPTIONS["batch_size"], *GROUPS[LEARNING]], MACHINE: GROUPS[MACHINE],
    }  # fmt: skip
    for title, options in more.items():
        own = parser.add_argument_group(title)
        for one in options:
            if one.name not in ("seed", "fsdp"):
                setting(own, one)


def _compare(options: argparse.Namespace) -> int:
    from indicial.designs.hand import two_designs

    designs = two_designs(options.models)
    if designs is not None:
        others = vars(options).keys() - {*DESIGN_OPTIONS, "run", "command", "models"}
        refuse(
            options, sorted(others), "is not for this: nothing is trained when designs are compared"
        )
        check_outputs(options, "figure")
        return compare_designs(designs, options)
    refuse(
        options,
        DESIGN_OPTIONS,
        "is not for this: models are compared in a folder, with pictures (--out)",
    )
    from indicial.lab.compare import Wanted, compare_models

    wanted = Wanted(**{name: getattr(options, name) for name in Wanted.__dataclass_fields__})
    comparison = compare_models(options.models, _terms(options), wanted, options.samples)
    if comparison.mistakes:
        return 1
    if comparison.finished:
        return 0
    if comparison.lost is not None:
        _tell_unread([comparison.to_go_on], comparison.lost.strerror or comparison.lost)
    return STOPPED


def _terms(options: argparse.Namespace) -> Settings:
    names = [name for name in OPTIONS if hasattr(options, name) and name not in ("out", "model")]
    return Settings.read({name: getattr(options, name) for name in names})
