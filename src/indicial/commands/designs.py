"""What commands about designs share: what is told of them, and of a word that names none."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indicial.designs.design import Design


@contextmanager
def design_meant(word: str) -> Iterator[None]:
    """Adds to a complaint about a run that is not there what else may have been meant."""
    from indicial.designs.hand import HAND
    from indicial.library import names
    from indicial.program.messages import IndicialError

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


def compare_designs(
    pair: tuple[Design, Design],
    text: str | None,
    figure: str | None,
    as_json: bool = False,
    task: str | None = None,
) -> int:
    """Prints what is the same in two designs and what is not."""
    from indicial.designs.comparison import compare

    found = compare(*pair, text)
    if figure is not None:
        found.figure(figure)
    if as_json:
        why = {"reasons": [r.to_json() for r in found.reasons(task)]} if task else {}
        print(json.dumps(found.to_json() | why, ensure_ascii=False, indent=2))
    else:
        print(found.told(task) if task else found)
    return 0
