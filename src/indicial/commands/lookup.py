"""`generate` for a run that looks answers up in pages: questions in, answers out, with their pages.

$ indicial generate reader --prompt "Where was Anna Lind born?" --show-source
$ indicial generate reader --ask --out questions.tsv
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indicial.decode.lookup import Librarian
    from indicial.training.run import Run


def looks_up(run: Run) -> bool:
    """Whether the model of a run finds pages and reads them."""
    from indicial.tasks.forms import form_of

    return run.description.task == "columns" and form_of(run.program).read is not None


def answer_from_pages(options: argparse.Namespace, run: Run) -> int:
    """Answers the questions that were given; or asks every page."""
    from indicial.commands.arguments import check_outputs
    from indicial.commands.generate import prompts_of
    from indicial.decode.lookup import Librarian
    from indicial.program.messages import IndicialError

    if options.out is not None:
        check_outputs(options, {"out": [Path(options.out)]})
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
    from indicial.program.outputs import write_text

    if options.out is not None:
        write_text(options.out, text)
    else:
        print(text, end="")
    return 0
