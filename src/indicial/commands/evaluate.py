"""The command `evaluate`: how well the model of a run predicts data; `--match`, how many answers are exactly right."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indicial.commands.arguments import (
    Commands,
    check_outputs,
    columns_of,
    command,
    forcing,
    option,
    print_json,
    reads_run,
    refuse,
    weights,
)
from indicial.program.messages import IndicialError, counted
from indicial.program.outputs import write_text, written
from indicial.program.terminal import raw

if TYPE_CHECKING:
    from indicial.decode.matching import Matches
    from indicial.inspect.attention import Truth
    from indicial.training.run import Run


EVALUATE = """\
Measures how well the model of a run predicts data: files, a folder, or a
built-in world. Every token is counted once, the ends of documents too.

  indicial evaluate runs/book --data other.txt
  indicial evaluate runs/ugrnn-people-1 --data people   new sentences of it
  indicial evaluate runs/book --data other.txt --tokens-out losses.tsv
  indicial evaluate runs/bahdanau-phrasebook-1 --data phrasebook

A model that reads several inputs is given them as in training. Texts that it
makes are compared with the true ones by sacreBLEU; labels and numbers are
counted (accuracy, macro F1, R²):

  indicial evaluate runs/german --data x=val.de --data w=val.en --num-beams 5
  indicial evaluate runs/reviews --data test.csv

A text that is longer than the context is read in rows that overlap: each row
counts --stride tokens, and the tokens before them are there to predict from.
A smaller stride gives better numbers and takes longer.

Questions with answers, of a model that has learned such: --match counts the
answers that are exactly right, and tells what the others are like:

  indicial evaluate runs/answers --data birth_dev.tsv --match

In the phrasebook and in scenes the truth is known: how much of what the model
says is right, and how often it looks where it should.

exit status: 0, 2 for wrong usage.
"""

COLUMNS = "place\ttoken\ttext\tnats"
"""The first line of a table, by which it is known as one of ours."""
EVERY = 0.2
"""Seconds between two looks at how far it is."""


def add(commands: Commands[Any]) -> None:
    """Adds `evaluate` to the parser of `indicial`."""
    parser = command(commands, "evaluate", "measure how well a model predicts a text",
                     EVALUATE, _evaluate)  # fmt: skip
    reads_run(parser)
    option(parser, "--data PATH", "files, a folder, - for standard input, or a world; NAME=PATH "
           "for an input", nargs="+", required=True, action="extend")  # fmt: skip
    option(parser, "--column NAME=COLUMN …", "the column of a table that an input reads")
    option(parser, "--num-beams N", "search for likely texts, N at a time (1: the likeliest "
           "token each time)", int)  # fmt: skip
    option(parser, "--length-penalty X", "with beams: log-probability / length^X is what counts (1)",
           float)  # fmt: skip
    option(parser, "--lowercase", "compare texts in small letters")
    option(parser, "--no-texts", "of a model that makes texts, only the probabilities of the true ones")  # fmt: skip
    option(parser, "--texts-out --predictions FILE", "write the texts or answers that it makes, "
           "a line for each row")  # fmt: skip
    option(parser, "--match", "questions with answers: how many are exactly right")
    option(parser, "--pages PATH", "with --match: pages to look answers up in (those of the "
           "training)", nargs="+")  # fmt: skip
    option(parser, "--plot FILE.png", "with --match: how sure it is of its answers, and how often right")  # fmt: skip
    option(parser, "--field NAME", "the field or column that holds the text")
    option(parser, "--documents UNIT", "what a document is: auto, file, lines, blank-lines (as "
           "in training)")  # fmt: skip
    option(parser, "--context N", "tokens of a row (as in training)", int)
    option(parser, "--stride N", "tokens that a further row of a text counts (half of the context)", int)  # fmt: skip
    option(parser, "--sentences --world-size N", "sentences of a world (10000)", int)
    option(parser, "--seed N", "seed of the sentences of a world (0)", int)
    weights(parser)
    option(parser, "--tokens-out FILE.tsv", "write each token with its nats: place, token, text, nats")  # fmt: skip
    forcing(parser)
    option(parser, "--json", "the numbers as JSON")


def _evaluate(options: argparse.Namespace) -> int:
    from indicial.compile.native.shared import wait_asleep

    wait_asleep()
    from indicial.decode.evaluate import evaluate_text
    from indicial.training.run import Run

    check_outputs(options, "tokens_out", marks={"tokens_out": COLUMNS.encode()})
    run = Run.open(options.run_folder)
    if options.match:
        return matched(options, run)
    if options.plot is not None:
        raise IndicialError("--plot shows how sure answers are: it goes with --match")
    if run.description.task == "columns":
        return _examine(options, run)
    refuse(
        options,
        ("num_beams", "length_penalty", "column", "lowercase", "no_texts", "texts_out"),
        "is for a model that reads several inputs, and this one reads only its own words",
    )
    names = ("checkpoint", "context", "stride", "field", "documents", "sentences", "seed")
    said = {name: getattr(options, name) for name in names}
    with progress_of("tokens") as progress, _table(options.tokens_out, run) as each:
        found = evaluate_text(run, options.data, **said, progress=progress, each=each)
    notes = [*run.checkpoints.damaged, *found.notes]
    return tell(options, notes, found.to_json(), lambda: str(found))


def tell(
    options: argparse.Namespace,
    notes: Iterable[object],
    numbers: Mapping[str, Any],
    page: Callable[[], str],
    answers: Iterable[object] = (),
) -> int:
    """What was measured, for people or as JSON; then the answers, whose file may not find room."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    if options.json:
        told = {"run": options.run_folder, "checkpoint": options.checkpoint, **numbers}
        print_json(told)
    else:
        print(page())
    if options.texts_out is not None:
        write_text(options.texts_out, "".join(f"{one}\n" for one in answers))
    return 0


def _examine(options: argparse.Namespace, run: Run) -> int:
    """Of a model that reads several inputs."""
    from indicial.decode.evaluate import examine

    refuse(
        options,
        ("field", "documents", "context", "stride", "tokens_out"),
        f"is for running text, and the model of {options.run_folder} reads rows of several inputs",
    )
    check_outputs(options, "texts_out")
    decoding = {name: getattr(options, name) for name in ("num_beams", "length_penalty")}
    with progress_of("rows") as progress:
        found = examine(
            run, options.data, decoding, columns=columns_of(options), checkpoint=options.checkpoint,
            lowercase=options.lowercase, texts=not options.no_texts, world_size=options.sentences,
            world_seed=options.seed or 0, progress=progress,
        )  # fmt: skip
    truths = _truths(run, options, decoding)
    told = {"truth": [truth.to_json() for truth in truths]} if truths else {}

    def page() -> str:
        from indicial.inspect.attention import truth_page

        return "\n".join([str(found), *truth_page(truths)])

    return tell(options, found.notes, {**found.to_json(), **told}, page, found.answers)


def _truths(run: Run, options: argparse.Namespace, decoding: Mapping[str, Any]) -> list[Truth]:
    """In a world where the truth is known: whether what the model says is right."""
    from indicial.data.world import tables
    from indicial.inspect.attention import true_of

    name = run.description.data.get("name")
    if options.no_texts or options.data != [name] or name not in tables() or options.column:
        return []
    count = 500 if options.sentences is None else options.sentences
    seed = 1 if options.seed is None else options.seed
    return true_of(run, decoding, count=count, seed=seed, checkpoint=options.checkpoint)


@contextmanager
def progress_of(unit: str) -> Iterator[Callable[[int, int], object] | None]:
    """A line that says how far it is, where a person is looking."""
    if not sys.stderr.isatty():
        yield None
        return

    last, screen = 0.0, raw(sys.stderr)

    def progress(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > EVERY:
            last = time.monotonic()
            print(f"\r{done:,} of {total:,} {unit}", end="", file=screen, flush=True)

    try:
        yield progress
    finally:
        print("\r\x1b[K", end="", file=screen, flush=True)


@contextmanager
def _table(path: str | None, run: Any) -> Iterator[Callable[[int, int, float], object] | None]:
    """A file with a line for each token."""
    if path is None:
        yield None
        return
    tokenizer = run.tokenizer()
    with written(path) as beside, beside.open("w", encoding="utf-8") as file:
        file.write(f"{COLUMNS}\n")
        yield lambda place, token, nats: file.write(
            f"{place}\t{token}\t{tokenizer.token(token)}\t{nats:.6g}\n"
        )


FEW = 10
"""Names that make no group."""


def matched(options: argparse.Namespace, run: Run) -> int:
    """Asks, compares and tells."""
    from indicial.decode.matching import match
    from indicial.inspect.pictures import draw_calibration

    check_outputs(options, "texts_out", "plot")
    with progress_of("questions") as progress:
        found = match(
            run, options.data, columns_of(options), checkpoint=options.checkpoint,
            pages=options.pages, progress=progress,
        )  # fmt: skip
    status = tell(
        options, run.checkpoints.damaged, found.to_json(), lambda: page(found), found.answers
    )
    if options.plot is not None:
        draw_calibration(found, Path(options.plot))
    return status


def page(found: Matches) -> str:
    """What a person wants to know of the answers."""
    lines = [
        f"{found.name}: {counted(len(found.truth), 'question')}",
        f"  {found.share:.1%} answered exactly right ({sum(found.right):,})",
    ]
    if found.recall:
        told = ", ".join(
            f"{share:.1%} among the first {most}" for most, share in found.recall.items()
        )
        lines.append(
            f"  the page that is asked about is found: {told}".replace("the first 1,", "the first,")
        )
    if found.usual is not None:
        lines += [
            f"  {found.usual.share:.1%} would be by saying {found.usual.answer} each time, the most "
            "frequent answer in training",
            f"  {found.known:.1%} of the answers are the answer to some question, in training or here",
            f"  {found.plausible:.1%} are wrong but plausible: an answer of the training set",
        ]
    sure, right = found.sure, found.right
    for name, these in (("right", True), ("wrong", False)):
        some = [s for s, r in zip(sure, right, strict=True) if r is these]
        if some:
            lines.append(f"  {sum(some) / len(some):.2f} is how sure it is where it is {name}")
    lines.append(f"  {found.calibration_error:.2f} apart are sureness and correctness, on average")
    names = [group for group in found.by_name if group[1] >= FEW]
    lines += ["by the name of what is asked about:"] * bool(names)
    lines += [f"  {name}: {share:.1%} of {several:,} right" for name, several, share in names]
    if found.text:
        for what, of in (("what is asked about", found.subjects), ("the true answer", found.truth)):
            lines.append(f"by how often {what} stands in the text that was read:")
            lines += [
                f"  {name:>6} times  {share:6.1%} of {several:,} right"
                for name, several, share in found.by_frequency(of)
            ]
    return "\n".join(lines)
