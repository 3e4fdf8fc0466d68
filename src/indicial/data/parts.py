"""What `--data` and `--validation` name → the two parts.

    parts = find_parts(["book.txt"], validation=0.1, …)
    train, validation, how = parts.divided

From files: a fraction that is kept back, or files of their own. From a world: sentences of their
own. A sentence of the validation part may also occur among those for training, by chance, as it
may in anything that is said anew; the entropy of the world is that of such sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from indicial.data.questions import Together, open_together
from indicial.data.sources import Files, Sentences, Source, open_source
from indicial.data.split import split
from indicial.data.world import World
from indicial.program.messages import IndicialError


@dataclass(frozen=True)
class Parts:
    """Where the training part comes from, and the validation part, if not from there as well."""

    train: Files | Sentences | Together
    validation: Files | Sentences | Together | float
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.train.name

    @property
    def world(self) -> World | None:
        return self.train.world if isinstance(self.train, Sentences) else None

    @property
    def unit(self) -> str:
        """What a document of plain text is."""
        found = self.train.texts if isinstance(self.train, Together) else self.train
        return found.unit if isinstance(found, Files) else "auto"

    def stamp(self) -> object:
        """JSON that changes when the data do."""
        if isinstance(self.validation, float):
            return [self.train.stamp(), self.validation, self.seed]
        return [self.train.stamp(), self.validation.stamp()]

    @cached_property
    def divided(self) -> tuple[Source, Source, str]:
        """Both parts, and in words how they were divided."""
        if isinstance(self.validation, float):
            if isinstance(self.train, Together) and self.train.asked:
                return self.train.split(self.validation, self.seed)
            return split(self.train, self.validation, self.seed)
        how = "sentences" if isinstance(self.validation, Sentences) else "files"
        return self.train, self.validation, f"{how} of their own"


def find_parts(
    what: Sequence[str],
    *,
    field: str | None,
    documents: str,
    validation: float | Sequence[str],
    seed: int,
    world_size: int,
    raw: bool,
    columns: Mapping[str, str] | None = None,
) -> Parts:
    """Both parts of the data that were asked for; complains about what does not fit together."""
    if columns:
        return _of_questions(what, field, documents, validation, seed, raw, columns)
    found = open_source(what, field, documents, raw)
    kept_back = _fraction_or_names(validation)
    if isinstance(found, World):
        if field or documents != "auto" or not isinstance(kept_back, float):
            raise IndicialError(
                f"{found.name} is a built-in world, which makes sentences for both parts: "
                "--field, --documents and files for --validation do not go with it"
            )
        return _of_world(found, kept_back, seed, world_size)
    found = found.settled()
    if isinstance(kept_back, float):
        return Parts(found, kept_back, seed, found.notes)
    other = open_source(kept_back, field, documents, raw)
    if isinstance(other, World):
        raise IndicialError(
            f"--validation {other.name} is a built-in world, and the training data are files"
        )
    found, other = found.without(other), replace(other, unit=found.unit)
    return Parts(found, other, seed, (*found.notes, *other.notes))


def _of_questions(
    what: Sequence[str],
    field: str | None,
    documents: str,
    validation: float | Sequence[str],
    seed: int,
    raw: bool,
    columns: Mapping[str, str],
) -> Parts:
    """Tables with questions and answers, and texts beside them."""
    train = open_together(what, columns, field, documents, raw)
    kept_back = _fraction_or_names(validation)
    if isinstance(kept_back, float):
        return Parts(train, kept_back, seed, train.notes)
    other = open_together(kept_back, columns, field, documents, raw)
    return Parts(train, other, seed, (*train.notes, *other.notes))


def _of_world(world: World, fraction: float, seed: int, size: int) -> Parts:
    notes = (
        (f"{world.name} is the built-in world; the file of that name is ./{world.name}",)
        if Path(world.name).exists()
        else ()
    )
    if size < 1:
        raise IndicialError(f"a world is asked for {size} sentences; it takes at least 1")
    train = Sentences(world, size, "training", seed)
    return Parts(
        train, Sentences(world, max(1, round(size * fraction)), "validation", seed), seed, notes
    )


def _fraction_or_names(validation: float | Sequence[str]) -> float | Sequence[str]:
    """`["0.1"]`, as the command line has it, is a fraction too."""
    names = [validation] if isinstance(validation, str) else validation
    if isinstance(names, float | int):
        return checked_fraction(float(names))
    if len(names) == 1:
        try:
            return checked_fraction(float(names[0]))
        except ValueError:
            pass
    return names


def checked_fraction(fraction: float) -> float:
    if not 0 < fraction < 1:
        raise IndicialError(
            f"--validation is {fraction:g}: it is a fraction between 0 and 1, such as 0.1, or files"
        )
    return fraction
