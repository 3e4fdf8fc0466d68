"""Designs on the command line: which one a word names.

>>> named_design("position").name
'position by hand'
>>> named_design("runs/people") is None
True
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indicial.designs.design import Design


def named_design(word: str) -> Design | None:
    """A design by its file or by its name; None for what is a run, a model or nothing known."""
    from indicial.designs.design import Design
    from indicial.designs.hand import HAND, hand

    path = Path(word)
    if path.is_file() and path.suffix == ".json" and path.name != "run.json":
        return Design.load(path)
    return hand(word) if word in HAND and not path.exists() else None


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


def two_designs(words: list[str]) -> tuple[Design, Design] | None:
    """Both designs, if designs or runs are what the words name; None if they name models.

    A run beside a design is taken for one: its equations with what it learned. The name of a model
    means the model; a run in a folder of that name is `./ugrnn`.
    """
    from indicial.designs.design import Design
    from indicial.library import names
    from indicial.program.messages import IndicialError

    runs = [word not in names() and (Path(word) / "run.json").is_file() for word in words]
    found = [None if run else named_design(word) for word, run in zip(words, runs, strict=True)]
    if not any(runs) and not any(found):
        return None
    odd = [word for word, run, made in zip(words, runs, found, strict=True) if not run and not made]
    if odd or len(words) != 2:
        what = f"{odd[0]} is neither a design nor a run" if odd else f"this names {len(words)}"
        raise IndicialError(
            f"a design or a run is compared with one other; {what} (models are compared with "
            "models: indicial compare gru lstm --data people)"
        )
    pair = [made or Design.of_run(word) for word, made in zip(words, found, strict=True)]
    return pair[0], pair[1]


def compare_designs(
    pair: tuple[Design, Design], text: str | None, figure: str | None, as_json: bool = False
) -> int:
    """Prints what is the same in two designs and what is not."""
    from indicial.designs.comparison import compare

    found = compare(*pair, text)
    if figure is not None:
        found.figure(figure)
    print(json.dumps(found.to_json(), ensure_ascii=False, indent=2) if as_json else found)
    return 0
