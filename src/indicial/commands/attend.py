"""The commands `attend` and `trace`: what a model looks at, and any of its values.

$ indicial attend runs/people "Anna knows Ben"
$ indicial trace runs/people "Anna knows Ben" --want alpha,h
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indicial.commands.arguments import Commands, command

if TYPE_CHECKING:
    from indicial.inspect.attention import Look
    from indicial.inspect.subjects import Subject

ATTEND = """\
Shows what each head of a model looks at on a text: a row for each place, with
the weights of the places it looks at.

  indicial attend runs/people "Anna knows Ben"
  indicial attend runs/people "Anna knows Ben" --layer 1 --head 0
  indicial attend runs/people "Anna knows Ben" --figure attention.svg
  indicial attend position ABCA          a design that was made by hand
  indicial attend mine.json ABCA         a design that was saved

A place is labelled with the token that it reads; · reads none. Weights are what
the equations define as a softmax over the places of a text and read in a sum.

exit status: 0, 2 for a wrong call.
"""

TRACE = """\
Shows the values of any tensor of a model on a text: what the equations define,
parameters too.

  indicial trace runs/people "Anna knows Ben" --want alpha
  indicial trace runs/people "Anna" --want "y, W^Q" --json

Names may be spelled as in the equations, in LaTeX, or in plain letters.

exit status: 0, 2 for a wrong call.
"""


def add(commands: Commands[Any]) -> None:
    """Adds both to the parser of `indicial`."""
    attend = command(commands, "attend", "show what the heads of a model look at", ATTEND, _attend)
    _subject(attend)
    attend.add_argument("--layer", type=int, metavar="N", help="of this layer only")
    attend.add_argument("--head", type=int, metavar="N", help="of this head only")
    attend.add_argument("--places", metavar="FIRST-LAST",
                        help="the places to be shown (as many as fit)")  # fmt: skip
    attend.add_argument("--figure", metavar="FILE",
                        help="draw them: .svg, .png or .pdf")  # fmt: skip
    trace = command(commands, "trace", "show the values of any tensor of a model", TRACE, _trace)
    _subject(trace)
    trace.add_argument("--want", required=True, metavar="NAME,…", help="the tensors to be shown")


def _subject(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="RUN",
                        help="the folder of a run, or a design: its file, or its name")  # fmt: skip
    parser.add_argument("text", metavar="TEXT")
    parser.add_argument("--checkpoint", choices=["best", "last"], default="best",
                        help="which weights of a run (best)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the numbers as JSON")


def _opened(options: argparse.Namespace) -> Subject:
    """The model with the tokens of the text; what is too long is cut, and that is told."""
    subject = opened(options.model, options.text, options.checkpoint)
    if subject.left_out:
        print(
            f"indicial: the model reads {len(subject.tokens)} tokens; "
            f"the last {subject.left_out} of the text are left out",
            file=sys.stderr,
        )
    return subject


def opened(model: str, text: str, checkpoint: str = "best") -> Subject:
    """A run by its folder, a design by its file or its name, with a text."""
    from indicial.commands.designs import design_meant, named_design
    from indicial.inspect.subjects import Subject
    from indicial.program.messages import IndicialError

    made = named_design(model)
    if made is None:
        try:
            return Subject.of_run(model, text, checkpoint)
        except IndicialError as error:
            meant = "" if Path(model).exists() else design_meant(model)
            raise IndicialError(f"{error}{meant}") from error
    numbers = made.encode(text)
    return Subject.cut(made.module, numbers, [made.tokens[n] for n in numbers])


def _attend(options: argparse.Namespace) -> int:
    from indicial.inspect.attention import attend
    from indicial.inspect.attention_figure import draw_attention
    from indicial.inspect.weights import weights_map

    first, last = _places(options.places)
    subject = _opened(options)
    looks = attend(
        subject.module, subject.tokens, subject.labels, layer=options.layer, head=options.head
    )
    if options.figure:
        draw_attention(looks, options.figure, f"{options.model}: {options.text}")
    if options.json:
        print(json.dumps(_looks_json(subject, looks), ensure_ascii=False))
        return 0
    if options.figure:
        print(f"{len(looks)} head{'' if len(looks) == 1 else 's'} drawn in {options.figure}")
        return 0
    for number, look in enumerate(looks):
        if number:
            print()
        print("\n".join(weights_map(look, first=first, last=last, colour=_colour())))
    return 0


def _looks_json(subject: Subject, looks: list[Look]) -> dict[str, Any]:
    return {
        "tokens": subject.labels,
        "places": list(looks[0].labels) if looks else [],
        "heads": [look.to_json() for look in looks],
    }


def _trace(options: argparse.Namespace) -> int:
    from indicial.inspect.heatmap import heatmap
    from indicial.inspect.tracing import trace

    subject = _opened(options)
    found = trace(subject, split_names(options.want))
    if options.json:
        told = {one.name: one.to_json() for one in found}
        print(json.dumps({"tokens": subject.labels, "values": told}, ensure_ascii=False))
        return 0
    for number, one in enumerate(found):
        if number:
            print()
        lines = heatmap(
            one.values, one.name, one.letters, lowers=one.lowers, whole=one.whole, colour=_colour()
        )
        print("\n".join(lines))
    return 0


def split_names(text: str) -> list[str]:
    """`"alpha, W^{h,R}"` → `["alpha", "W^{h,R}"]`: commas in braces belong to a name."""
    pieces = re.findall(r"(?:\{[^}]*\}|[^,{])+", text)
    return [piece.strip() for piece in pieces if piece.strip()]


def _places(text: str | None) -> tuple[int, int | None]:
    from indicial.program.messages import IndicialError

    if text is None:
        return 0, None
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if match is None or (match[2] is not None and int(match[2]) < int(match[1])):
        raise IndicialError(f"--places takes FIRST-LAST, as in 0-31, not {text!r}")
    return int(match[1]), int(match[2]) if match[2] is not None else None


def _colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
