"""The command `evaluate`: how well the model of a run predicts a text.

$ indicial evaluate runs/book --data other.txt
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indicial.commands.arguments import Commands, check_outputs, command, forcing

if TYPE_CHECKING:
    from indicial.decode.evaluate import Evaluation

EVALUATE = """\
Measures how well the model of a run predicts data: files, a folder, or a
built-in world. Every token is counted once, the ends of documents too.

  indicial evaluate runs/book --data other.txt
  indicial evaluate runs/people --data people        new sentences of the world
  indicial evaluate runs/book --data other.txt --tokens-out losses.tsv

A text that is longer than the context is read in rows that overlap: each row
counts --stride tokens, and the tokens before them are there to predict from.
A smaller stride gives better numbers and takes longer.

exit status: 0, 2 for a wrong call.
"""

COLUMNS = "place\ttoken\ttext\tnats"
"""The first line of a table, by which it is known as one of ours."""
EVERY = 0.2
"""Seconds between two looks at how far it is."""


def add(commands: Commands[Any]) -> None:
    """Adds `evaluate` to the parser of `indicial`."""
    parser = command(commands, "evaluate", "measure how well a model predicts a text",
                     EVALUATE, _evaluate)  # fmt: skip
    parser.add_argument("run_folder", metavar="RUN", help="the folder of a run")
    parser.add_argument("--data", nargs="+", required=True, metavar="PATH",
                        help="files, a folder, - for standard input, or a world")  # fmt: skip
    parser.add_argument("--field", metavar="NAME", help="the field or column that holds the text")
    parser.add_argument("--documents", metavar="UNIT",
                        help="what a document is: auto, file, lines, blank-lines (as in training)")  # fmt: skip
    parser.add_argument("--context", type=int, metavar="N",
                        help="tokens of a row (as in training)")  # fmt: skip
    parser.add_argument("--stride", type=int, metavar="N",
                        help="tokens that a further row of a text counts (half of the context)")  # fmt: skip
    parser.add_argument("--sentences", "--world-size", type=int, metavar="N",
                        help="sentences of a world (10000)")  # fmt: skip
    parser.add_argument("--seed", type=int, metavar="N",
                        help="of the sentences of a world (0)")  # fmt: skip
    parser.add_argument("--checkpoint", choices=["best", "last"], default="best",
                        help="which weights of the run (best)")  # fmt: skip
    parser.add_argument("--tokens-out", metavar="FILE.tsv",
                        help="write each token with its nats: place, token, text, nats")  # fmt: skip
    forcing(parser)
    parser.add_argument("--json", action="store_true", help="the numbers as JSON")


def _evaluate(options: argparse.Namespace) -> int:
    from indicial.compile.native.threads import wait_asleep

    wait_asleep()
    from indicial.decode.evaluate import evaluate
    from indicial.training.run import Run

    if options.tokens_out is not None:
        paths = [Path(options.tokens_out)]
        check_outputs(options, {"tokens_out": paths}, tokens_out=COLUMNS.encode())
    run = Run.open(options.run_folder)
    with _progress() as progress, _table(options.tokens_out, run) as each:
        found = evaluate(
            run,
            options.data,
            checkpoint=options.checkpoint,
            context=options.context,
            stride=options.stride,
            field=options.field,
            documents=options.documents,
            sentences=options.sentences,
            seed=options.seed,
            progress=progress,
            each=each,
        )
    for damaged in run.checkpoints.damaged:
        print(f"note: {damaged}", file=sys.stderr)
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    if options.json:
        told = {"run": options.run_folder, "checkpoint": options.checkpoint, **found.to_json()}
        print(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        print(_page(found))
    return 0


def _page(found: Evaluation) -> str:
    scores = found.scores
    blank = f", {scores.count:,} of them left blank" if scores.count < found.tokens else ""
    lines = [
        f"{found.name}: {_count(found.tokens, 'token')} in {_count(found.documents, 'document')}{blank}",
        f"  {scores.per_token:.4f} nats per token, perplexity {scores.perplexity:.2f}",
        f"  {scores.bits_per_character:.4f} bits per character, "
        f"{found.bits_per_byte:.4f} bits per byte",
    ]
    if scores.above_entropy is not None:
        lines.append(
            f"  {scores.per_word:.4f} nats per word, {scores.above_entropy:.4f} above the entropy"
        )
    if found.unknown:
        lines.append(
            f"  {_count(found.unknown, 'character')} that the model does not know, each one "
            "token and 20 bits that say which"
        )
    lines.append(f"context {found.context}, stride {found.stride}, rows of {_rows(found.layout)}")
    return "\n".join(lines)


def _rows(layout: str) -> str:
    return "whole documents" if layout == "documents" else "running text"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


@contextmanager
def _progress() -> Iterator[Callable[[int, int], object] | None]:
    """A line that says how far it is, where a person is looking."""
    if not sys.stderr.isatty():
        yield None
        return
    from indicial.program.terminal import raw

    last, screen = 0.0, raw(sys.stderr)

    def progress(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > EVERY:
            last = time.monotonic()
            print(f"\r{done:,} of {total:,} tokens", end="", file=screen, flush=True)

    try:
        yield progress
    finally:
        print("\r\x1b[K", end="", file=screen, flush=True)


@contextmanager
def _table(path: str | None, run: Any) -> Iterator[Callable[[int, int, float], object] | None]:
    """A file with a line for each token."""
    from indicial.program.outputs import written

    if path is None:
        yield None
        return
    tokenizer = run.tokenizer()
    with written(path) as beside, beside.open("w", encoding="utf-8") as file:
        file.write(f"{COLUMNS}\n")
        yield lambda place, token, nats: file.write(
            f"{place}\t{token}\t{tokenizer.token(token)}\t{nats:.6g}\n"
        )
