"""`generate` for a run that reads other inputs: rows in, what the model says of each out, or answers off pages.

$ indicial generate runs/german --input x=- < test.de
$ indicial generate reader --prompt "Where was Anna Lind born?" --show-source
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from indicial.commands.arguments import check_outputs, columns_of
from indicial.program.messages import IndicialError, counted
from indicial.program.outputs import write_text, written

if TYPE_CHECKING:
    from indicial.data.binding import Row
    from indicial.decode.answers import Answer, Answerer, Cells
    from indicial.decode.lookup import Librarian
    from indicial.training.run import Run


TOLD = 5
"""Rows that cannot be read and are told one by one."""
MOST_WAITING = 4096
"""Lines of standard input that are answered together."""
STANDARD = "-"
PATIENCE = 1.0
"""Seconds in which nothing comes, until it is told what is waited for."""


def answer(options: argparse.Namespace, run: Run) -> int:
    """Writes the answers to all rows that `--input` names."""
    from indicial.data.tables import Bad
    from indicial.decode.answers import Answerer
    from indicial.tasks.forms import SEQUENCE

    if options.interactive:
        raise IndicialError("--interactive is for one text; give lines by --input NAME=-")
    if len(options.prompt) > 1 or options.prompt_file:
        raise IndicialError("with --input a --prompt is what each answer begins with: give one")
    check_outputs(options, "out")
    answerer = Answerer.of(run, options.checkpoint)
    if options.prompt and answerer.form.kind != SEQUENCE:
        said = " ".join(f"--input {slot.name}=…" for slot in answerer.given)
        raise IndicialError(
            f"--prompt is what a written text begins with, and this model writes none ({answerer.form.says}): "
            f"say {said}"
        )
    settings = answerer.settings({**decoding(options), "stop_at_repeat": None})
    prompt = options.prompt[0] if options.prompt else ""
    shown = _shower(options, run, answerer)
    bad, asked = Refusals(), 0
    every: list[Answer] = []
    with _output(options.out) as out:
        for block in blocks(options, answerer):
            bad.block = block
            asked += len(block)
            rows = [{} if isinstance(row.cells, Bad) else row.cells for row in block]
            for one in answerer.answers(rows, settings, prompt, refused=bad.add):
                if options.json:
                    every.append(one)
                else:
                    print(shown(rows[one.row], one), file=out)
            out.flush()
        if options.json:
            told = {"run": options.run_folder, "checkpoint": options.checkpoint}
            answers = [one.to_json() for one in every]
            print(json.dumps({**told, "answers": answers}, ensure_ascii=False, indent=2), file=out)
    bad.tell()
    if not asked:
        print("note: there is no answer, since nothing was given to be read", file=sys.stderr)
    return 0


def decoding(options: argparse.Namespace) -> dict[str, Any]:
    """What was said of how text is made, by the names of `Decoding`; None is what was not."""
    from indicial.decode.settings import Decoding

    said = {name: getattr(options, name, None) for name in Decoding.__dataclass_fields__}
    if options.early_stopping is not None:
        said["early_stopping"] = {"true": True, "false": False}.get(options.early_stopping, "never")
    return {**said, "slide": not options.no_slide}


def _shower(
    options: argparse.Namespace, run: Run, answerer: Answerer
) -> Callable[[Cells, Answer], str]:
    """How an answer is written: as it is, as a sentence of CoNLL-U, or as arcs above its words."""
    from indicial.data.treebanks import written
    from indicial.inspect.pictures import arcs_text, heads_of

    if options.format == "lines":
        return lambda cells, one: str(one)
    named = answerer.fields
    forms = [slot.name for slot in answerer.given if named.get(slot.name) == "form"]
    said = [part.slot.name for part in answerer.form.parts if part.slot.name in named]
    if options.json or not forms or not said:
        raise IndicialError(
            f"--format {options.format} is not with --json"
            if options.json
            else f"--format {options.format} is for a model that was trained on CoNLL-U; {run.folder} says "
            f"{answerer.form.says}"
        )

    def sentence(cells: Cells, one: Answer) -> str:
        if not one.text:
            return ""  # it could not be read
        found = answerer.parsed(cells, one)
        if options.format == "conllu" or "head" not in found:
            typed = cells[forms[0]]
            return written(found, typed if isinstance(typed, str) else None).removesuffix("\n")
        return arcs_text(found["form"], heads_of(found)) + "\n"

    return sentence


class Refusals:
    """Rows that cannot be read, to be told at the end: their lines are empty."""

    def __init__(self) -> None:
        self.count = 0
        self.block: Sequence[Row] = ()
        """Those that are answered now."""
        self._lines: list[str] = []

    def add(self, row: int, why: str) -> None:
        self.count += 1
        if len(self._lines) < TOLD:
            where, cells = self.block[row]
            self._lines.append(f"{where}: {getattr(cells, 'why', why)}")

    def tell(self) -> None:
        if not self.count:
            return
        rows = counted(self.count, "row")
        print(f"note: {rows} cannot be read, and the answer is an empty line:", file=sys.stderr)
        for line in self._lines:
            print(f"  {line}", file=sys.stderr)


# ---------------------------------------------------------------------- rows


def blocks(options: argparse.Namespace, answerer: Answerer) -> Iterator[list[Row]]:
    """The rows that were named, many together."""
    from indicial.data.binding import IMAGE, File, Row, bind, named
    from indicial.data.tables import PICTURES, Bad

    inputs = [slot.name for slot in answerer.given]
    items = options.input or _piped(answerer)
    pairs = [named(item, inputs) for item in items]
    for item, (name, _) in zip(items, pairs, strict=True):
        if name is None and not os.path.exists(item):
            wanted = ", ".join(slot.written for slot in answerer.given)
            raise IndicialError(
                f"--input {item}: there is no such file, and no input that this names; the equations "
                f"read {wanted}: say --input {inputs[0]}=TEXT or --input {inputs[0]}=FILE"
            )
    images = {slot.name for slot in answerer.given if slot.kind == IMAGE}
    texts: dict[str, Any] = {}
    for name, value in pairs:
        if name in images and value.lower().endswith(PICTURES) and _is_file(value):
            texts[name] = File(Path(value), value)
        elif name is not None and not _is_file(value):
            texts[name] = value
    if STANDARD in texts.values():
        yield from _lines(texts, inputs)
        return
    columns = columns_of(options)
    files = [
        i for i, (name, v) in zip(items, pairs, strict=True) if name not in texts and _is_file(v)
    ]
    slots = [slot for slot in answerer.given if slot.name not in texts]
    if not slots:
        yield [Row("row 1", texts)]
        return
    if not files:
        lacking = " ".join(f"--input {slot.name}=…" for slot in slots)
        raise IndicialError(f"the equations read {slots[0].written} as well: say {lacking}")
    rows: list[Row] = []
    for where, cells in bind(slots, files, columns).rows():
        rows.append(Row(where, cells if isinstance(cells, Bad) else {**texts, **cells}))
        if len(rows) == MOST_WAITING:
            yield rows
            rows = []
    if rows:
        yield rows


def _is_file(value: str) -> bool:
    """A text that is the name of a file means the file."""
    return value != STANDARD and len(value) < 1024 and "\0" not in value and os.path.exists(value)


def _piped(answerer: Answerer) -> list[str]:
    """Standard input, where nothing is said, one input is read, and somebody pipes."""
    given = answerer.given
    if len(given) == 1 and sys.stdin is not None and not sys.stdin.isatty():
        return [f"{given[0].name}={STANDARD}"]
    said = " ".join(f"--input {slot.name}=…" for slot in given)
    wanted = ", ".join(slot.written for slot in given)
    raise IndicialError(f"the equations read {wanted}: say {said}, each a text or a file")


def _lines(texts: dict[str, str], inputs: Sequence[str]) -> Iterator[list[Row]]:
    """Lines of standard input as they come: one alone is answered at once, many together."""
    from indicial.data.binding import Row

    name, *more = [name for name, value in texts.items() if value == STANDARD]
    if more or sys.stdin is None:
        raise IndicialError("standard input can be read by one input")
    if lacking := [name for name in inputs if name not in texts]:
        raise IndicialError(f"say what {lacking[0]} is as well: --input {lacking[0]}=TEXT")
    numbers = itertools.count(1)
    handle = sys.stdin.fileno()
    if sys.stdin.isatty() or not select.select([handle], [], [], PATIENCE)[0]:
        told = f"note: {name} is read from standard input, one in each line; Ctrl-D ends it"
        print(told, file=sys.stderr)
    for lines in waiting(handle):
        yield [Row(f"line {next(numbers)}", {**texts, name: line}) for line in lines]


def waiting(handle: int) -> Iterator[list[str]]:
    """The lines of a pipe or a terminal that are there already, whenever some are."""
    rest = b""
    while True:
        piece = os.read(handle, 1 << 16)
        rest += piece
        more = bool(piece) and select.select([handle], [], [], 0)[0]
        *lines, rest = rest.split(b"\n")
        if lines and more and len(lines) < MOST_WAITING:
            rest = b"\n".join([*lines, rest])
            continue
        if lines:
            yield [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
        if not piece:
            if rest:
                yield [rest.decode("utf-8", "replace")]
            return


# ---------------------------------------------------------------------- answers


@contextmanager
def _output(path: str | None) -> Iterator[TextIO]:
    """Where answers go: a file that is there when all of it is, or standard output."""
    if path is None:
        yield sys.stdout
        return
    with written(path) as beside, beside.open("w", encoding="utf-8") as file:
        yield file


def looks_up(run: Run) -> bool:
    """Whether the model of a run finds pages and reads them."""
    from indicial.tasks.forms import form_of

    return run.description.task == "columns" and form_of(run.program).read is not None


def answer_from_pages(options: argparse.Namespace, run: Run) -> int:
    """Answers the questions that were given; or asks every page."""
    from indicial.commands.generate import prompts_of
    from indicial.decode.lookup import Librarian

    check_outputs(options, "out")
    librarian = Librarian.of(run, options.checkpoint, options.pages)
    if options.ask:
        return _ask(options, run, librarian)
    questions = [q for text in prompts_of(options) for q in text.splitlines() if q.strip()]
    if not questions:
        raise IndicialError(
            'give a question: --prompt "Where was Anna Lind born?", or --prompt-file'
        )
    found = list(librarian.answers(questions))
    if options.json:
        told = [
            {"question": question, **one.answer.to_json(), "page": one.page, "page_number": one.number,
             "page_probability": one.probability}
            for question, one in zip(questions, found, strict=True)
        ]  # fmt: skip
        return _write(options, json.dumps(told, ensure_ascii=False, indent=2) + "\n")
    lines = []
    for question, one in zip(questions, found, strict=True):
        lines.append(f"{question} {one.answer}" if options.out is None else str(one.answer))
        if options.show_source:
            page = one.page.strip().replace("\n", "\n    ")
            lines.append(f"  page {one.number + 1} ({one.probability:.2f}): {page}")
    return _write(options, "".join(f"{line}\n" for line in lines))


def _ask(options: argparse.Namespace, run: Run, librarian: Librarian) -> int:
    """A row for each page: what one would ask of it, and what it answers. Left out are pages that give
    neither, and those that the questions of the training are about."""
    from indicial.commands.evaluate import progress_of
    from indicial.decode.matching import trained_on

    known = trained_on(run, run.description.settings.get("column") or {})
    learned = dict(known.questions()) if known is not None else {}
    with progress_of("pages") as progress:
        kept = librarian.questions(learned, progress)
    pages = len(librarian.pages)
    if len(kept) < pages:
        print(f"note: {pages - len(kept):,} of {pages:,} pages gave no new question with an answer",
              file=sys.stderr)  # fmt: skip
    return _write(options, "".join(f"{question}\t{answer}\n" for question, answer in kept.items()))


def _write(options: argparse.Namespace, text: str) -> int:
    if options.out is not None:
        write_text(options.out, text)
    else:
        print(text, end="")
    return 0
