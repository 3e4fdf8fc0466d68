"""Which design a word means.

>>> named_design("position").name
'position by hand'
>>> named_design("runs/people") is None
True
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from indicial.designs.design import Design
from indicial.designs.hand import HAND, hand
from indicial.library import names
from indicial.program.messages import IndicialError
from indicial.training.run import FILE, Run

Named = str | os.PathLike[str] | Design | Run


def named_design(word: str | os.PathLike[str]) -> Design | None:
    """A design by its file or by its name; None for what is a run, a model or nothing known."""
    path = Path(word)
    if path.is_file() and path.suffix == ".json" and path.name != FILE:
        return Design.load(path)
    return hand(str(word)) if str(word) in HAND and not path.exists() else None


def two_designs(words: Sequence[object]) -> tuple[Design, Design] | None:
    """Both designs, if designs or runs are what the words name; None if they name models.

    A run beside a design is taken for one: its equations with what it learned. The name of a model
    means the model; a run in a folder of that name is `./ugrnn`.
    """
    found = [_design(word) for word in words]
    if not any(found):
        return None
    odd = [word for word, one in zip(words, found, strict=True) if one is None]
    if odd or len(words) != 2:
        what = f"{odd[0]} is neither a design nor a run" if odd else f"this names {len(words)}"
        raise IndicialError(
            f"a design or a run is compared with one other; {what} (models are compared with "
            "models: indicial compare gru lstm --data people)"
        )
    one, other = (d if isinstance(d, Design) else Design.of_run(d) for d in found if d is not None)
    return one, other


def _design(word: object) -> Design | Run | Path | None:
    """A design, or a run that is not opened yet; None for anything else."""
    if isinstance(word, Design | Run):
        return word
    if not isinstance(word, str | os.PathLike):
        return None
    if str(word) not in names() and (Path(word) / FILE).is_file():
        return Path(word)
    return named_design(word)
