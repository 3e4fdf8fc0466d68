"""Designs for the three tasks, made by hand: what each matrix is for is said beside it.

>>> print(hand("unique").check("unique"))
unique: all 120 sequences are right
…

All are `selects`: one head, one layer, x = one-hot token joined with a position, scale 1/√I.

Which design a word means.

>>> named_design("position").name
'position by hand'
>>> named_design("runs/people") is None
True
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from indicial.designs.arrays import Array
from indicial.designs.design import Design, design
from indicial.designs.tasks import TASKS
from indicial.library import names
from indicial.program.messages import IndicialError
from indicial.training.run import FILE, Run

STRENGTH = 10.0
"""By how much the score of what is looked for is above the others: they get e^-10 of its weight."""


def hand(name: str) -> Design:
    """The design for a task."""
    if name not in HAND:
        close = difflib.get_close_matches(name, HAND, 1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(HAND)}"
        raise IndicialError(f"there is no design {name!r}; {hint}")
    return HAND[name]()


def _content() -> Design:
    """A token asks for its own kind: query and key are the token itself, and so is the value."""
    token = _tokens(3, positions=1)
    gain = math.sqrt(STRENGTH * math.sqrt(3))  # for query and key each, against 1/√I
    return design(
        "selects", Q=gain * token, K=gain * token, V=token, positions=np.zeros((6, 1)),
        name="content by hand",
    )  # fmt: skip


def _position() -> Design:
    """Every token asks the same question, and only the first position has that key.

    A token is one-hot, so a row of ones over the tokens is 1 whatever the token is. Positions are
    one-hot too. Query and key need a single number, so the scale is 1.
    """
    query, key = np.zeros((1, 7)), np.zeros((1, 7))
    query[0, :3] = 1.0
    key[0, 3] = STRENGTH
    return design(
        "selects",
        Q=query,
        K=key,
        V=_tokens(3, positions=4),
        positions=np.eye(4),
        name="position by hand",
    )


def _unique() -> Design:
    """A token looks at its own kind and at `*`, the same amount at each place.

    If it is there n times, then `*` gets 1/(1 + n r) of its weight, where r is the weight of one of
    its kind against that of `*`. With r = 1/√2 that is 0.59 for n = 1 and at most 0.41 for more, as
    far above a half as below; the values make it the sign of an output, ten times as large.
    """
    gain = math.sqrt(STRENGTH * 2)  # I = 4, so the scale is 1/2
    query, key = np.zeros((4, 5)), np.zeros((4, 5))
    for token in (1, 2, 3):
        query[token, token] = key[token, token] = gain
        query[0, token] = gain
    key[0, 0] = gain + 2 * math.log(math.sqrt(2)) / gain  # ln √2 above its own kind
    value = np.zeros((2, 5))
    value[:, 0] = 0.5 + np.array([1, -1]) * 2.5
    value[:, 1:4] = 0.5 - np.array([[1], [-1]]) * 2.5
    return design(
        "selects", Q=query, K=key, V=value, positions=np.zeros((5, 1)),
        tokens=TASKS["unique"].tokens, name="unique by hand",
    )  # fmt: skip


def _tokens(count: int, positions: int) -> Array:
    """The matrix that keeps the token and drops the position."""
    return np.hstack([np.eye(count), np.zeros((count, positions))])


HAND = {"content": _content, "position": _position, "unique": _unique}


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
