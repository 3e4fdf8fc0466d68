"""The command `design`, and what commands about designs share: what is told of them, and of a word that names none."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indicial.commands.arguments import (
    Commands,
    check_outputs,
    command,
    forcing,
    option,
    print_json,
    refuse,
)
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.designs.design import Design


TEXT = """\
Tries a design on every case of its task. A design is equations with matrices
that a person chose: one attention head, small enough to be written down.

  indicial design content       every place gives its own token, ABCA → ABCA
  indicial design position      every place gives the first token, BCA → BBB
  indicial design unique        every token says whether it is there once
  indicial design mine.json --task position
                                a design of your own (design.save in Python)

With --train the same equations are learned from a random start, one sequence at
a time by gradient descent, and what was learned is compared with the design.
For each difference every case is run again with it exchanged: which case
changes most, what it changes, and whether any case turns wrong.

  indicial design content --train
  indicial design position --train --figure both.svg --out learned.json

exit status: 0 if every case is right (of what was learned too), 1 if not, 2 for
a wrong call.
"""


def add(commands: Commands[Any]) -> None:
    """Adds the command to the parser of `indicial`."""
    parser = command(
        commands, "design", "try matrices chosen by hand, and learn them", TEXT, _design
    )
    parser.add_argument("design", metavar="DESIGN", help="its name, or its file")
    option(parser, "--task NAME", "content, position or unique (its own)")
    option(parser, "--json", "all numbers as JSON")
    group = parser.add_argument_group("learning")
    option(group, "--train", "learn the same equations")
    option(group, "--steps N", "sequences to learn from (10000)", int)
    option(group, "--rate X", "learning rate of the gradient descent (0.03)", float)
    option(group, "--seed N", "seed of the start and the sequences (0)", int)
    option(group, "--starts N", "try this many seeds, keep the one with the smallest error (1)", int)  # fmt: skip
    option(group, "--out FILE", "save what was learned, as a design (.json)")
    forcing(group)
    option(group, "--figure FILE", "draw both in one picture: .svg, .png or .pdf")


def _design(options: argparse.Namespace) -> int:
    check_outputs(options, "out", "figure", marks={"out": b"indicial design"})
    made, task = _opened(options)
    given = {name: getattr(options, name) for name in ("steps", "rate", "seed", "starts")}
    settings = {name: value for name, value in given.items() if value is not None}
    if not options.train:
        refuse(options, [*settings, "out", "figure"], "is for what is learned: add --train")
    checked = made.check(task)
    if not options.json:
        print(f"{made.name}\n{checked}")
    if not options.train:
        if options.json:
            print_json({"design": checked.to_json()}, indent=None)
        return 0 if checked.passed else 1
    learned = made.train(task, **settings, told=None if options.json else _told)
    found, comparison = learned.check(task), made.compare(learned)
    if options.out:
        learned.save(options.out)
    if options.figure:
        comparison.figure(options.figure)
    if options.json:
        told = {
            "design": checked.to_json(),
            "learned": found.to_json(),
            "comparison": comparison.to_json(),
            "reasons": [reason.to_json() for reason in comparison.reasons(task)],
        }
        print_json(told, indent=None)
    else:
        print(f"{learned.name}: {learned.remark}\n{found}\n\n{comparison.told(task)}")
    return 0 if checked.passed and found.passed else 1


def _opened(options: argparse.Namespace) -> tuple[Design, str]:
    """The design and its task, or what there is."""
    from indicial.designs.checking import TASKS
    from indicial.designs.hand import HAND, hand, named_design

    made = named_design(options.design) or hand(options.design)  # which says what there is
    task = options.task or (options.design if options.design in HAND else None)
    if task is None:
        raise IndicialError(f"say what {options.design} is to do: --task {', '.join(TASKS)}")
    return made, task


def _told(step: int, error: float) -> None:
    print(f"  step {step:,}: squared error {error:.2g}", flush=True)


@contextmanager
def design_meant(word: str) -> Iterator[None]:
    """Adds to a complaint about a run that is not there what else may have been meant."""
    from indicial.designs.hand import HAND
    from indicial.library import names

    try:
        yield
    except IndicialError as error:
        if Path(word).exists():
            raise
        close = difflib.get_close_matches(word, HAND, 1)
        if word in names():
            raise IndicialError(
                f"{word} is a model of the library, not a run; train it first, for example\n"
                f"  indicial train {word} --data people"
            ) from error
        hint = f" (or did you mean the design {close[0]}?)" if close else ""
        raise IndicialError(f"{error}{hint}") from error


def compare_designs(pair: tuple[Design, Design], options: argparse.Namespace) -> int:
    """Prints what is the same in two designs and what is not."""
    from indicial.designs.comparison import compare

    found, task = compare(*pair, options.text), options.task
    if options.figure is not None:
        found.figure(options.figure)
    if options.json:
        why = {"reasons": [r.to_json() for r in found.reasons(task)]} if task else {}
        print_json(found.to_json() | why)
    else:
        print(found.told(task) if task else found)
    return 0
