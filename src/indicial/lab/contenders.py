"""A model as it is named for a comparison: what it is made of, and what is set in it.

ugrnn                     a model of the library
cell.eq                   equations of one's own
transformer+focus         several texts, joined
stacked:CELL=gru,L=3      with sizes, constants, or what fills a hole
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from indicial.program.messages import IndicialError
from indicial.tasks.programs import Trainable, trainable


@dataclass(frozen=True)
class Contender:
    """One of the models that are compared."""

    name: str
    """What it is called in tables, pictures and folders; no two have the same."""
    what: tuple[str, ...]
    given: dict[str, str] = field(default_factory=dict)

    def trainable(self) -> Trainable:
        return trainable(self.what, self.given)


def contender(text: str) -> Contender:
    """`"stacked:CELL=gru,L=3"` → a model of the library with two things set."""
    if Path(text).exists():
        return Contender(Path(text).stem, (text,))
    models, _, settings = text.partition(":")
    what = tuple(part.strip() for part in models.split("+"))
    given: dict[str, str] = {}
    for setting in filter(None, settings.split(",")):
        name, equals, value = (part.strip() for part in setting.partition("="))
        if not (name and equals and value):
            raise IndicialError(
                f"{text}: after the colon comes NAME=VALUE,…, as in stacked:CELL=gru,L=3"
            )
        given[name] = value
    if not all(what):
        raise IndicialError(f"{text!r} names no model; write ugrnn, cell.eq or transformer+focus")
    name = "+".join(Path(part).stem for part in what)
    return Contender(f"{name}:{settings}" if settings else name, what, given)


def contenders(texts: Sequence[str]) -> list[Contender]:
    """All that are named, each under a name of its own."""
    found = [contender(text) for text in texts]
    names = [one.name for one in found]
    for one, text in zip(found, texts, strict=True):
        if list(texts).count(text) > 1:
            raise IndicialError(
                f"{text} is named twice; several trainings of one model are asked for by --seeds"
            )
        if names.count(one.name) > 1:
            raise IndicialError(f"two models are called {one.name}; one of them is {text}")
    return found
