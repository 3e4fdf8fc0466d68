"""A model with what it is to read: a text, two texts, a picture, or numbers.

>>> subject = Subject.of_run("runs/people", "Anna knows Ben")
>>> subject.texts[0].labels
[' Anna', ' knows', ' Ben']
>>> seen = column_subject("runs/translation", {"x": "ein Hund läuft"})
>>> [text.labels for text in seen.subject.texts]
[['ein', ' Hund', ' läuft', '<EOS>'], ['a', ' dog', ' runs', '<EOS>']]
>>> trace(subject, ["alpha", "W^Q"])[0].name
'α'

A model with two texts reads a source and a target: the target is the one that it predicts. In
`encoder_decoder` place t of the target reads w[t-1], and the first reads none, which is shown as `·`. What a
model predicts may be given too; if it is not, it is what the model says itself, the likeliest word at each step.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import resolve
from indicial.data.binding import File, spelt
from indicial.data.codings import Coding, Image, Refused, tokens_by_name
from indicial.data.tokenizers import EOS
from indicial.data.world import Phrasebook, tables, world_table
from indicial.data.world.world import Link, read_links
from indicial.decode.answers import Answerer
from indicial.decode.text import Speaker
from indicial.program import ir
from indicial.program.messages import IndicialError, there_is
from indicial.tasks.forms import Form, form_of
from indicial.tasks.predictions import prediction, token_inputs
from indicial.training.curves import finite
from indicial.training.run import Run

NOTHING = "·"
"""The label of a place that reads no token."""
UNKNOWN = "?"
"""The label of a token that is predicted behind the end of a text."""


@dataclass(frozen=True)
class Reading:
    """An input that a text goes into."""

    tensor: ir.Tensor
    shift: int
    """Which token a place reads: -1 where place t reads w[t-1]."""
    predicted: bool
    """Whether the model says how likely its tokens are, one after the other."""
    copy: str | None = None
    """Another input that takes the same tokens: what stood where a text has blanks."""

    @property
    def name(self) -> str:
        return self.tensor.name

    @property
    def length(self) -> str | None:
        """The name of the size that the text is long: T."""
        return self.tensor.axes[0].extent.name

    @property
    def later(self) -> int:
        """The places after the last token that read it: 1 where place t reads w[t-1]."""
        return max(0, -self.shift)

    def room(self, module: ProgramModule) -> int | None:
        """How many tokens of a text the model can look at; None for any number."""
        most = module.sizes.longest.get(self.length or "")
        return None if most is None else most - self.later

    def labels(self, tokens: Sequence[str], places: Iterable[int]) -> tuple[str, ...]:
        """The token that each place reads."""
        return tuple(_at(tokens, self._number(place), NOTHING) for place in places)

    def steps(self, tokens: Sequence[str], places: Iterable[int]) -> tuple[str, ...]:
        """The same with the token that comes next, which the place predicts: `the → dog`."""
        read = [self._number(place) for place in places]
        return tuple(
            f"{_at(tokens, n, NOTHING).strip()} → {_at(tokens, n + 1, UNKNOWN).strip()}"
            for n in read
        )

    def _number(self, place: int) -> int:
        lower = self.tensor.axes[0].lower
        return place + self.shift - (lower.value({}) if not lower.names else 0)


def _at(tokens: Sequence[str], number: int, otherwise: str) -> str:
    return tokens[number] if 0 <= number < len(tokens) else otherwise


def readings(code: ir.Code) -> list[Reading]:
    """The texts that a program reads: one, or a source and a target."""
    found = [t for t in token_inputs(code) if len(t.axes) == 1]
    said = prediction(code)
    if said is not None and said.blanked is not None:
        # The model reads the text with its blanks, and the loss what stood there.
        name = said.blanked.name
        return [Reading(said.blanked, shift(code, name), False, said.token.name)]
    if len(found) > 2:
        names = ", ".join(tensor.name for tensor in found)
        raise IndicialError(f"the model reads {len(found)} texts ({names}); two can be given")
    target = said.token.name if said is not None else None
    made = [Reading(t, shift(code, t.name), t.name == target) for t in found]
    return sorted(made, key=lambda one: one.predicted)


def shift(code: ir.Code, token: str) -> int:
    """Which token a place reads: -1 where place t reads w[t-1]; 0 if the equations differ in that."""
    shifts = {
        place.shift[1]
        for statement in code.statements
        for node in statement.body.every(ir.Read)
        if node.tensor == token
        for place in node.places
        if place.shift is not None
        if not _predicts(code, statement)
    }
    return shifts.pop() if len(shifts) == 1 else 0


def _predicts(code: ir.Code, statement: ir.Statement) -> bool:
    """A loss reads the token that is predicted, not one that is looked at."""
    return any(code.tensors[node.tensor].probability for node in statement.body.every(ir.Read))


Array = np.ndarray[Any, np.dtype[np.float64]]

Encode = Callable[[Reading, str], tuple[list[int], list[str]]]
"""A text for an input → its tokens, and those as people read them."""


@dataclass(frozen=True)
class Text:
    """What one input reads."""

    reading: Reading
    tokens: list[int]
    labels: list[str]
    """The tokens as people read them."""
    left_out: int = 0
    """How many tokens of the text the model has no places for."""
    ended: bool = False
    """Whether nothing is predicted behind its last token, which is the end."""

    @staticmethod
    def cut(
        module: ProgramModule,
        reading: Reading,
        tokens: list[int],
        labels: list[str],
        end: int | None = None,
    ) -> Text:
        """As much of a text as the model can read; `end` is the token that ends what it says."""
        most = reading.room(module)
        kept = len(tokens) if most is None else min(most, len(tokens))
        if not kept:
            which = "text" if len(readings(module.code)) == 1 else f"text for {reading.name}"
            raise IndicialError(f"the {which} is empty: give at least one token")
        ended = reading.predicted and tokens[kept - 1] == end
        return Text(reading, tokens[:kept], labels[:kept], len(tokens) - kept, ended)

    @property
    def whole(self) -> list[int]:
        """With a place more if that is where the last token is read; nobody sees what stands there."""
        return [*self.tokens, *[self.tokens[-1]] * (0 if self.ended else self.reading.later)]


@dataclass(frozen=True)
class Subject:
    """A module, its texts in the order source, target, and its inputs that are numbers."""

    module: ProgramModule
    texts: tuple[Text, ...]
    arrays: Mapping[str, Array] = field(default_factory=dict)

    @staticmethod
    def make(
        module: ProgramModule,
        encode: Encode,
        text: str | None = None,
        target: str | None = None,
        arrays: Mapping[str, object] | None = None,
    ) -> Subject:
        """A text is the source if the model reads two."""
        pairs = _given(module, text, target)
        texts = tuple(Text.cut(module, one, *encode(one, said)) for one, said in pairs)
        return Subject(module, texts, _numbers(module.code, arrays or {}))

    @staticmethod
    def of_run(
        run: str | os.PathLike[str] | Run,
        text: str | None = None,
        target: str | None = None,
        *,
        checkpoint: str = "best",
        arrays: Mapping[str, object] | None = None,
    ) -> Subject:
        """The model of a run; texts as its tokenizer reads them."""
        return Subject.of_speaker(Speaker.of(run, checkpoint=checkpoint), text, target, arrays)

    @staticmethod
    def of_speaker(
        speaker: Speaker,
        text: str | None = None,
        target: str | None = None,
        arrays: Mapping[str, object] | None = None,
    ) -> Subject:
        """The same of a model that is there already."""
        tokenizer = speaker.tokenizer

        def encode(reading: Reading, said: str) -> tuple[list[int], list[str]]:
            # Only a text that is predicted begins as the training let it begin.
            tokens = speaker.encode(said) if reading.predicted else tokenizer.encode(said)
            return tokens if said else [], [tokenizer.token(n) for n in tokens]

        return Subject.make(speaker.module, encode, text, target, arrays)

    def values(self, want: Sequence[str]) -> dict[str, Array]:
        """Tensors that the equations define, as arrays."""
        given: dict[str, torch.Tensor] = {}
        for text in self.texts:
            names = [text.reading.name, text.reading.copy]
            given |= {name: torch.tensor(text.whole) for name in names if name is not None}
        kind = next((p.dtype for p in self.module.parameters()), torch.float64)
        given |= {name: torch.from_numpy(a).to(kind) for name, a in self.arrays.items()}
        with torch.no_grad():
            found = self.module(**given, want=list(want))
        return {key: value.double().numpy() for key, value in found.items()}


def _given(
    module: ProgramModule, text: str | None, target: str | None
) -> list[tuple[Reading, str]]:
    """Which text goes where, or what is missing."""
    reads = readings(module.code)
    if not reads and text is not None:
        raise IndicialError(
            f"{module.title} reads no tokens, so there is no text to give it; it reads numbers"
        )
    if len(reads) < 2 and target is not None:
        raise IndicialError(f"{module.title} reads one text, so there is no target to give it")
    if reads and text is None:
        raise IndicialError("say the text that the model is to read")
    if len(reads) == 2 and target is None:
        raise IndicialError(
            f"{module.title} reads two texts, {reads[0].name} and {reads[1].name}: "
            f"give the second too, --target TEXT"
        )
    said = [one for one in (text, target) if one is not None]
    return list(zip(reads, said, strict=True))


def _numbers(code: ir.Code, given: Mapping[str, object]) -> dict[str, Array]:
    """The arrays by the names that the equations have for them."""
    found = {}
    for spelling, values in given.items():
        name = resolve(code, spelling, ("input",))
        if code.tensors[name].values is not None:
            raise IndicialError(f"{name} takes a text; arrays are for inputs of numbers")
        try:
            found[name] = np.array(values, np.float64)
        except (TypeError, ValueError) as error:
            raise IndicialError(f"{name} is given no array of numbers: {error}") from error
    return found


@dataclass(frozen=True)
class Traced:
    """A tensor with its values; `lowers` are the index values of the first elements."""

    name: str
    letters: tuple[str, ...]
    lowers: tuple[int, ...]
    values: Array
    whole: bool
    labels: tuple[str, ...] = ()
    """Where the rows of a matrix are places of a text, the token that each of them reads."""

    def to_json(self) -> dict[str, Any]:
        """Numbers that are not finite are null: JSON has none."""
        return {
            "indices": list(self.letters),
            "from": list(self.lowers),
            "shape": list(self.values.shape),
            "values": finite(self.values.tolist()),
        }


def trace(subject: Subject, names: Sequence[str]) -> list[Traced]:
    """The tensors by any spelling of their names, in the order asked for."""
    code, module = subject.module.code, subject.module
    if not names:
        raise IndicialError("name the tensors: --want alpha,h")
    wanted = [resolve(code, name) for name in names]
    odd = [n for n in wanted if code.tensors[n].role not in ("defined", "parameter")]
    if odd:
        role = code.tensors[odd[0]].role
        raise IndicialError(
            f"{odd[0]} is given, not computed: it is {'an' if role == 'input' else 'a'} {role}"
        )
    defined = [n for n in wanted if code.tensors[n].role == "defined"]
    found = subject.values(defined) if defined else {}
    for name in wanted:
        if name not in found:
            found[name] = module.parameter(name).detach().double().numpy()
    return [_traced(subject, name, found[name]) for name in wanted]


def _traced(subject: Subject, name: str, array: Array) -> Traced:
    tensor = subject.module.code.tensors[name]
    sizes = subject.module.sizes.known
    lowers = tuple(axis.lower.value(sizes) if not axis.lower.names - sizes.keys() else 0
                   for axis in tensor.axes)  # fmt: skip
    labels: tuple[str, ...] = ()
    for text in subject.texts:
        down = tensor.axes[-2:-1]
        if down and down[0].extent.name == text.reading.length:
            places = range(lowers[-2], lowers[-2] + array.shape[-2])
            labels = text.reading.labels(text.labels, places)
    letters = _letters(subject.module.code, tensor)
    return Traced(name, letters, lowers, array, tensor.values is not None, labels)


def _letters(code: ir.Code, tensor: ir.Tensor) -> tuple[str, ...]:
    """As the equation has them, `t_1` and `t_2`, where two axes would have the same letter."""
    own = [axis.letter or "·" for axis in tensor.axes]
    for statement in code.of(tensor.name):
        left = [p.terms[0][0] if isinstance(p, ir.Affine) and len(p.terms) == 1 else None
                for p in statement.left]  # fmt: skip
        if len(set(own)) < len(own):
            own = [given or letter for given, letter in zip(left, own, strict=True)]
    return tuple(own)


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
    run = Run.open(run)
    form, module, codings = form_of(run.program), run.module(checkpoint), run.codings()
    cells = dict(given)
    if row is not None:
        cells = {**row_of(run, row, form), **cells}
    if odd := next((name for name in cells if name not in codings), None):
        raise IndicialError(f"there is no input {odd}; {there_is(codings)}")
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


def _text(module: ProgramModule, reading: Reading, coding: Coding, stored: Any) -> Text:
    tokens, named = [int(token) for token in stored], tokens_by_name(coding)
    return Text.cut(module, reading, tokens, list(map(named.token, tokens)), named.eos)


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
