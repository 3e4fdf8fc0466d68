"""The commands `attend`, `trace`, `inspect` and `design`: what a model looks at, its values, matrices by hand."""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indicial.commands.arguments import (
    Commands,
    check_outputs,
    command,
    forcing,
    given_inputs,
    option,
    pair,
    print_json,
    reads_run,
    refuse,
    weights,
)
from indicial.program.messages import IndicialError
from indicial.program.terminal import raw

if TYPE_CHECKING:
    from indicial.designs.design import Design
    from indicial.inspect.subjects import Seen, Subject
    from indicial.training.run import Run


INSPECT = """\
Looks inside the model of a run, while it reads texts of its validation part.

  indicial inspect runs/book
  indicial inspect runs/book --words king,queen
  indicial inspect runs/book --data other.txt --out pictures

It tells how gradients grow or vanish over the steps, the eigenvalues of what
one step does to the state, which units are saturated, the size of parameters
and activations, and which words the model treats as alike. Two pictures are
drawn: gradients.png and eigenvalues.png (and as .svg), into the run or --out.

exit status: 0, 2 for wrong usage.
"""


def _add_inspect(commands: Commands[Any]) -> None:
    parser = command(commands, "inspect", "look inside a trained model", INSPECT, _inspect)
    reads_run(parser)
    option(parser, "--data PATH", "texts to look with (the validation part of the run)", nargs="+")
    option(parser, "--field NAME", "the field or column that holds the text")
    option(parser, "--words A,B,C", "whose nearest words to show (those that come most often)", default="")  # fmt: skip
    option(parser, "--out FOLDER", "where the pictures go (the run)")
    forcing(parser)
    weights(parser)
    option(parser, "--json", "all numbers as JSON")


def _inspect(options: argparse.Namespace) -> int:
    from indicial.inspect.findings import PICTURES, inspect_run, page
    from indicial.training.run import Run

    run = Run.open(options.run_folder)
    folder = Path(options.out) if options.out is not None else run.folder
    check_outputs(options, out=[folder / name for name in PICTURES])
    words = [word.strip() for word in options.words.split(",") if word.strip()]
    found = inspect_run(
        run, options.data, field=options.field, words=words, checkpoint=options.checkpoint
    )
    paths = found.draw(folder)
    if options.json:
        told = {**found.to_json(), "pictures": [str(path) for path in paths]}
        print_json(told, allow_nan=False)
    else:
        print(page(found))
        if paths:
            print("\npictures: " + ", ".join(str(path) for path in paths if path.suffix == ".png"))
    return 0


ATTEND = """\
Shows what each head of a model looks at on a text: a row for each place, with
the weights of the places it looks at.

  indicial attend runs/transformer-people-1 "Anna knows Ben"
  indicial attend runs/transformer-people-1 "Anna knows Ben" --layer 1 --head 0
  indicial attend runs/transformer-people-1 "Anna knows Ben" --figure heads.svg
  indicial attend runs/translation "Anna kennt Ben" --target "Anna knows Ben"
  indicial attend runs/translation --input x="Anna kennt Ben"
  indicial attend runs/captions --input I=dog.jpg --figure dog.png
  indicial attend runs/bahdanau-phrasebook-1 --row 3     a row of its world
  indicial attend position ABCA          a design that was made by hand
  indicial attend mine.json ABCA         a design that was saved

A place is labelled with the token that it reads; · reads none. Where a target
looks at a source, `the → dog` is the place that has read `the` and predicts
`dog`. Weights are what the equations define as a softmax over the places of a
text or an image and read in a sum. What a model predicts from other inputs it
says itself, if it is not given. On a picture each word has one of its own.

exit status: 0, 2 for wrong usage.
"""

TRACE = """\
Shows the values of any tensor of a model on a text: what the equations define,
parameters too.

  indicial trace runs/transformer-people-1 "Anna knows Ben" --want alpha
  indicial trace runs/transformer-people-1 "Anna" --want "y, W^Q" --json

Names may be spelled as in the equations, in LaTeX, or in plain letters.

exit status: 0, 2 for wrong usage.
"""

NARROWEST, WIDEST = 40, 160
"""Columns; on a wider screen lines would be hard to follow."""
ROWS = 64
"""The rows of a matrix that `trace` shows; a text is rarely longer."""


def add(commands: Commands[Any]) -> None:
    """Adds all four to the parser of `indicial`."""
    _add_inspect(commands)
    attend = command(commands, "attend", "show what the heads of a model look at", ATTEND, _attend)
    _subject(attend)
    option(attend, "--layer N", "this layer only", int)
    option(attend, "--head N", "this head only", int)
    option(attend, "--places FIRST-LAST", "the places to show (as many as fit)")
    option(attend, "--figure FILE", "draw them: .svg, .png or .pdf")
    forcing(attend)
    trace = command(commands, "trace", "show the values of any tensor of a model", TRACE, _trace)
    _subject(trace)
    option(trace, "--want NAME,…", "the tensors to show", required=True)
    _add_design(commands)


def _subject(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="RUN",
                        help="the folder of a run, or a design: its file, or its name")  # fmt: skip
    parser.add_argument("text", metavar="TEXT", nargs="?",
                        help="what the model reads; of two texts, the source")  # fmt: skip
    option(parser, "--target TEXT", "of a model with two texts, the one that it predicts")
    option(parser, "--input NAME=VALUE …", "what an input reads: a text, a picture (.png, .jpg), "
           "an array saved by numpy (.npy)")  # fmt: skip
    option(parser, "--row N", "of a model of the phrasebook or of scenes: row N that it has not seen", int)  # fmt: skip
    option(parser, "--checkpoint", "which weights of a run "
           "(best)", choices=["best", "last"], default="best")  # fmt: skip
    option(parser, "--json", "the numbers as JSON")


def _seen(options: argparse.Namespace) -> Seen:
    """The model with what it reads; what is too long is cut, and that is told."""
    from indicial.designs.hand import named_design
    from indicial.inspect.subjects import Seen, Subject
    from indicial.training.run import Run

    made = named_design(options.model)
    if made is not None:
        arrays = dict(map(_array, options.input))
        seen = Seen(made.subject(options.text, options.target, arrays))
    else:
        with design_meant(options.model):
            run = Run.open(options.model)
        if run.description.task == "columns":
            seen = _of_columns(run, options)
        else:
            arrays = dict(map(_array, options.input))
            found = Subject.of_run(
                run, options.text, options.target, checkpoint=options.checkpoint, arrays=arrays
            )
            seen = Seen(found)
    _tell_cut(seen.subject)
    return seen


def _of_columns(run: Run, options: argparse.Namespace) -> Seen:
    """Inputs by their names; a text and a target without one are the source and what is predicted."""
    from indicial.inspect.subjects import column_subject, readings

    reads = readings(run.program.code)
    unnamed = {one.name: options.target if one.predicted else options.text for one in reads}
    given = {name: said for name, said in unnamed.items() if said is not None}
    given |= given_inputs(options)
    return column_subject(run, given, row=options.row, checkpoint=options.checkpoint)


def _tell_cut(subject: Subject) -> None:
    for text in subject.texts:
        if text.left_out:
            of = "the text" if len(subject.texts) == 1 else text.reading.name
            print(
                f"indicial: the model reads {len(text.tokens)} tokens; "
                f"the last {text.left_out} of {of} are left out",
                file=sys.stderr,
            )


def _array(word: str) -> tuple[str, object]:
    """`"M=dog.npy"` → `("M", array)`."""
    import numpy as np

    name, path = pair(word, "--input", "FILE, as in M=dog.npy")
    try:
        return name, np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        why = (
            error.strerror
            if isinstance(error, OSError) and error.strerror
            else "it is not an .npy file"
        )
        raise IndicialError(f"cannot read {path}: {why}") from error


def _attend(options: argparse.Namespace) -> int:
    from indicial.inspect.attention import attend
    from indicial.inspect.attention_views import (
        draw_attention,
        draw_on_picture,
        picture_blocks,
        weights_map,
    )

    first, last = _places(options.places)
    check_outputs(options, "figure")
    seen = _seen(options)
    subject = seen.subject
    looks = attend(subject, layer=options.layer, head=options.head)
    if seen.texts_across:
        across = [look for look in looks if look.at or look.rows.name != look.columns.name]
        looks = across or looks
    sides = [side for look in looks for side in (look.rows, look.columns)]
    ends = max(side.first + len(side) - 1 for side in sides)
    if first > ends:
        raise IndicialError(f"there is no place {first}: the places are 0 to {ends}")
    if options.figure:
        said = " / ".join(one for one in (options.text, options.target) if one)
        title = f"{options.model}: {said}" if said else options.model
        if seen.picture is not None:
            draw_on_picture(looks, seen.picture, options.figure, title)
        else:
            draw_attention(looks, options.figure, title, seen.links)
    if options.json:
        heads = [look.to_json() for look in looks]
        print_json({"texts": _texts_json(subject), "heads": heads}, indent=None)
        return 0
    if options.figure:
        one, many = ("matrix", "matrices") if seen.picture is None else ("word", "words")
        print(f"{len(looks)} {one if len(looks) == 1 else many} in {options.figure}")
        return 0
    if all(look.at is not None for look in looks):
        lines = picture_blocks(looks, colour=_colour(), width=screen_width())
        print("\n".join(lines), file=raw(sys.stdout))
        return 0
    for number, look in enumerate(looks):
        if number:
            print()
        lines = weights_map(look, first=first, last=last, colour=_colour(), width=screen_width())
        print("\n".join(lines), file=raw(sys.stdout))
    return 0


def _texts_json(subject: Subject) -> dict[str, list[str]]:
    return {text.reading.name: text.labels for text in subject.texts}


def _trace(options: argparse.Namespace) -> int:
    from indicial.inspect.attention_views import LABEL, clipped
    from indicial.inspect.subjects import trace
    from indicial.inspect.trial import heatmap

    subject = _seen(options).subject
    found = trace(subject, split_names(options.want))
    if options.json:
        told = {one.name: one.to_json() for one in found}
        print_json({"texts": _texts_json(subject), "values": told}, indent=None)
        return 0
    for number, one in enumerate(found):
        if number:
            print()
        lines = heatmap(
            one.values, one.name, one.letters, lowers=one.lowers, whole=one.whole, colour=_colour(),
            labels=[clipped(label, LABEL) for label in one.labels], rows=ROWS, width=screen_width(),
        )  # fmt: skip
        print("\n".join(lines), file=raw(sys.stdout))
    return 0


def split_names(text: str) -> list[str]:
    """`"alpha, W^{h,R}"` → `["alpha", "W^{h,R}"]`: commas in braces belong to a name."""
    pieces = re.findall(r"(?:\{[^}]*\}|[^,{])+", text)
    return [piece.strip() for piece in pieces if piece.strip()]


def _places(text: str | None) -> tuple[int, int | None]:
    if text is None:
        return 0, None
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if match is None or (match[2] is not None and int(match[2]) < int(match[1])):
        raise IndicialError(f"--places takes FIRST-LAST, as in 0-31, not {text!r}")
    return int(match[1]), int(match[2]) if match[2] is not None else None


def screen_width() -> int:
    """The columns of the terminal; 80 where there is none."""
    found = shutil.get_terminal_size((80, 24)).columns
    return max(NARROWEST, min(found, WIDEST))


def _colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


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


def _add_design(commands: Commands[Any]) -> None:
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
