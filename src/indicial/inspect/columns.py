"""A model that reads several columns, with what it is to read: texts, a picture, numbers.

>>> seen = column_subject("runs/translation", {"x": "ein Hund läuft"})
>>> [text.labels for text in seen.subject.texts]
[['ein', ' Hund', ' läuft', '<EOS>'], ['a', ' dog', ' runs', '<EOS>']]

What the model predicts may be given too; if it is not, it is what the model says itself, the likeliest word at each
step. A picture is a file, cut to the size that the model was trained with, or an array of its points.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from indicial.compile.module.module import ProgramModule
from indicial.data.columns.binding import File, spelt
from indicial.data.columns.codings import Coding, Image, Refused, Text
from indicial.data.tokenizers import EOS
from indicial.data.world import Phrasebook, tables, world_table
from indicial.data.world.phrasebook import Link, read_links
from indicial.decode.answers import Answerer
from indicial.inspect import subjects
from indicial.inspect.subjects import Subject, readings
from indicial.program.messages import IndicialError
from indicial.tasks.forms import Form, form_of

if TYPE_CHECKING:
    from indicial.training.run import Run


@dataclass(frozen=True)
class Seen:
    """A subject, with what is needed to draw it."""

    subject: Subject
    picture: Any = None
    """The points of the picture that it reads, from 0 to 255."""
    links: tuple[Link, ...] = ()
    """Which words stand for one another, where that is known."""

    @property
    def texts_across(self) -> bool:
        """Whether one thing is said of another, so that what looks across is what counts."""
        return len(self.subject.texts) > 1 or self.picture is not None


def column_subject(
    run: str | os.PathLike[str] | Run,
    given: Mapping[str, object],
    *,
    row: int | None = None,
    checkpoint: str = "best",
) -> Seen:
    """The model of a run with what it reads, by the names of its inputs; or a row of its world."""
    from indicial.training.run import Run

    run = run if isinstance(run, Run) else Run.open(run)
    form, module, codings = form_of(run.program), run.module(checkpoint), run.codings()
    cells = dict(given)
    if row is not None:
        cells = {**row_of(run, row, form), **cells}
    if odd := next((name for name in cells if name not in codings), None):
        raise IndicialError(f"there is no input {odd}; there are {', '.join(codings)}")
    predicted = [part.slot.name for part in form.parts]
    if not predicted and form.target is not None:
        predicted = [form.target.name]
    for slot in form.given:
        if (words := spelt(slot, form.given)) is not None and words.name in cells:
            cells.setdefault(slot.name, cells[words.name])
    lacking = [slot.name for slot in form.given if slot.name not in cells]
    if lacking:
        raise IndicialError(
            f"say what {lacking[0]} is: --input {lacking[0]}=…; the model reads "
            f"{', '.join(slot.written for slot in form.slots)}"
        )
    cells = {name: _loaded(codings[name], cell) for name, cell in cells.items()}
    stored = {name: _stored(name, codings[name], cell) for name, cell in cells.items()}
    if any(name not in stored for name in predicted):
        (answer,) = Answerer.of(run, checkpoint).answers([cells])
        for name in predicted:
            said = answer.each.get(name, answer.text)
            stored.setdefault(name, codings[name].encode(said) if said else np.array([EOS]))
    texts = tuple(
        _text(module, one, codings[one.name], stored[one.name]) for one in readings(module.code)
    )
    pictures = [stored[name] for name, coding in codings.items() if isinstance(coding, Image)]
    arrays = {
        name: np.asarray(codings[name].numbers(value), np.float64)
        for name, value in stored.items()
        if codings[name].size is None
    }
    subject = Subject(module, texts, arrays)
    return Seen(subject, pictures[0] if pictures else None, _links(run, codings, stored))


def row_of(run: Run, row: int, form: Form) -> dict[str, object]:
    """What a row of the validation part of a world gives to be read."""
    name = str(run.description.data.get("name"))
    if name not in tables():
        raise IndicialError(
            f"--row is for the rows of a built-in world ({', '.join(tables())}), and {run.folder} was "
            f"trained on {name}"
        )
    if row < 0:
        raise IndicialError(f"--row {row}: rows are counted from 0")
    *_, found = world_table(name).rows("validation", row + 1, seed=1)
    return {slot.name: found[slot.name] for slot in form.given}


def _loaded(coding: Coding, cell: object) -> object:
    """What a name of a file stands for, where an input reads no text."""
    if not isinstance(cell, str) or coding.size is not None:
        return cell
    path = Path(cell).expanduser()
    if path.suffix != ".npy":
        return File(path, cell) if isinstance(coding, Image) else cell
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise IndicialError(f"{cell} is no array saved by numpy") from None


def _stored(name: str, coding: Coding, cell: object) -> Any:
    """A cell as the data would have it."""
    try:
        return coding.encode(cell)
    except Refused as error:
        raise IndicialError(f"--input {name}: {error}") from None


def _text(module: ProgramModule, reading: Any, coding: Coding, stored: Any) -> subjects.Text:
    tokens = [int(token) for token in stored]
    if isinstance(coding, Text):
        labels = [coding.tokenizer.token(token) for token in tokens]
        return subjects.Text.cut(module, reading, tokens, labels, EOS)
    labels = coding.show(np.asarray(tokens)).split(" ")
    return subjects.Text.cut(module, reading, tokens, labels)


def _links(run: Run, codings: Mapping[str, Coding], stored: Mapping[str, Any]) -> tuple[Link, ...]:
    """Of a sentence of the phrasebook with its translation; nothing where they are not that."""
    if run.description.data.get("name") != Phrasebook.name:
        return ()
    world = world_table(Phrasebook.name)
    assert isinstance(world, Phrasebook)
    try:
        (derivation,) = world.world.parses(codings["w"].show(stored["w"]))
    except IndicialError:
        return ()
    row = world.row(derivation)
    if row["x"] != codings["x"].show(stored["x"]):
        return ()
    return tuple(read_links(row["alignment"]))
