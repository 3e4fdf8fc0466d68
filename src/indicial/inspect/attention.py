"""Which tensors of a program are attention weights, and what they are on a text.

>>> [found.name for found in attentions(load("encoder_decoder").code)]
['α^E', 'α^Z', 'α^X']
>>> look = attend(Subject.of_run("runs/people", "Anna knows Ben"))[0]
>>> look.title, look.rows.labels
('α, layer 1, head 0', ('·', ' Anna', ' knows', ' Ben'))

Weights are what a softmax over places defines, places of a text or of an image, and a sum over those
places reads. A place of a text is labelled with the token that it reads (`subjects.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import data_lengths
from indicial.inspect.subjects import Subject
from indicial.program import ir
from indicial.program.messages import IndicialError
from indicial.program.sizes import Size, Strided

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Attention:
    """A tensor of weights: which of its axes are layer and head, who looks, and at what."""

    name: str
    rows: int
    columns: tuple[int, ...]
    """One axis for a text, two for an image."""
    layer: int | None
    heads: tuple[int, ...]


@dataclass(frozen=True)
class Side:
    """The places along one side of a matrix of weights."""

    name: str
    """The input that the places belong to: `w`; for an image the letter of its axis."""
    labels: tuple[str, ...]
    first: int = 0
    """The number of the first place."""

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Look:
    """What one head looks at: `weights[row,column]`; on an image, what one place of the text does."""

    name: str
    layer: int | None
    head: int | None
    weights: Array
    rows: Side
    columns: Side
    at: str | None = None
    """The place of a text that looks at an image: `3 dog`."""

    @property
    def title(self) -> str:
        return title_of(self.name, self.layer, self.head, self.at)

    @property
    def says(self) -> str:
        """What the matrix shows, in words."""
        if self.at is not None:
            return f"where it looks, {self.rows.name} down and {self.columns.name} across"
        if self.rows.name != self.columns.name:
            return f"each row ({self.rows.name}) looks at the columns ({self.columns.name})"
        return "each row looks at the columns"

    def to_json(self) -> dict[str, Any]:
        found = {
            "name": self.name,
            "layer": self.layer,
            "head": self.head,
            "rows": {"of": self.rows.name, "labels": list(self.rows.labels)},
            "columns": {"of": self.columns.name, "labels": list(self.columns.labels)},
            "weights": self.weights.tolist(),
        }
        return found if self.at is None else found | {"place": self.at}


# ---------------------------------------------------------------------- in the equations


def attentions(code: ir.Code) -> list[Attention]:
    """All attention weights that have a name, in the order of the equations."""
    lengths = set(data_lengths(code))
    found: dict[str, Attention] = {}
    for statement in code.statements:
        softmax = next((n for n in statement.body.every(ir.Softmax)), None)
        if softmax is None or statement.target in found:
            continue
        letters = [_letter(place) for place in statement.left]
        over = [index.name for index in softmax.indices]
        if all(_is_long(i.extent, lengths) and i.name in letters for i in softmax.indices):
            columns = tuple(letters.index(name) for name in over)
            made = _axes(code, statement, columns, lengths)
            if made is not None and _read_as_weights(code, statement.target, columns):
                found[statement.target] = made
    return list(found.values())


def _is_long(extent: Size, lengths: set[str]) -> bool:
    """Whether there are as many as places of an input, or as strides leave of them."""
    (atom,) = extent.atoms if len(extent.atoms) == 1 else ("",)
    left = isinstance(atom, Strided) and atom.base in lengths and extent == Size.of(atom)
    return left or extent.name in lengths


def _letter(place: ir.Place) -> str | None:
    return place.terms[0][0] if isinstance(place, ir.Affine) and len(place.terms) == 1 else None


def _axes(
    code: ir.Code, statement: ir.Statement, columns: tuple[int, ...], lengths: set[str]
) -> Attention | None:
    axes = code.tensors[statement.target].axes
    rows = [n for n, a in enumerate(axes) if n not in columns and _is_long(a.extent, lengths)]
    if len(rows) != 1 or len(columns) > 2:
        return None
    rest = [n for n in range(len(axes)) if n not in (*columns, rows[0])]
    layers = [n for n in rest if (axes[n].letter or "").startswith("ℓ")]
    layer = layers[0] if layers else None
    heads = tuple(n for n in rest if n != layer)
    return Attention(statement.target, rows[0], columns, layer, heads)


def _read_as_weights(code: ir.Code, name: str, columns: tuple[int, ...]) -> bool:
    """Whether some sum runs over the places that the weights are for."""
    return any(
        node.operator == "sum"
        and any(
            isinstance(inner, ir.Read)
            and inner.tensor == name
            and _letter(inner.places[columns[0]]) in {index.name for index in node.indices}
            for inner in node.descendants()
        )
        for statement in code.statements
        for node in statement.body.every(ir.Reduce)
    )


# ---------------------------------------------------------------------- on a text


def attend(subject: Subject, *, layer: int | None = None, head: int | None = None) -> list[Look]:
    """What each head looks at; of one layer or one head if it is said."""
    module = subject.module
    found = attentions(module.code)
    if not found:
        raise IndicialError(
            f"{module.title} has no attention: no tensor is a softmax over the places of a text"
        )
    arrays = subject.values([one.name for one in found])
    looks = [look for one in found for look in _looks(subject, one, arrays[one.name])]
    for word, wanted in (("layer", layer), ("head", head)):
        there = sorted({n for look in looks if (n := getattr(look, word)) is not None})
        if wanted is not None and wanted not in there:
            known = f"it has no {word}s"
            if there:
                known = f"there are {there[0]} to {there[-1]}" if there[1:] else f"only {there[0]}"
            raise IndicialError(f"{module.title} has no {word} {wanted}; {known}")
        looks = [look for look in looks if wanted is None or getattr(look, word) == wanted]
    return looks


def _looks(subject: Subject, one: Attention, array: Array) -> list[Look]:
    sides = [_side(subject, one, axis, array.shape[axis]) for axis in (one.rows, *one.columns)]
    return [
        look
        for layer, head, weights in each_head(subject.module, one, array)
        for look in _matrices(Look(one.name, layer, head, weights, sides[0], sides[-1]), sides)
    ]


def each_head(
    module: ProgramModule, one: Attention, array: Array
) -> Iterator[tuple[int | None, int | None, Array]]:
    """The weights of each head, with the number of its layer, as the equations count, and its own; an axis of
    texts stays in front of those that look and are looked at."""
    texts = array.ndim - len(module.code.tensors[one.name].axes)
    outer = [texts + n for n in (one.layer, *one.heads) if n is not None]
    inner = [*range(texts), *(texts + n for n in (one.rows, *one.columns))]
    turned = array.transpose([*outer, *inner])
    for place in np.ndindex(turned.shape[: len(outer)]):
        layer, heads, sizes = None, place, turned.shape[: len(outer)]
        if one.layer is not None:
            layer, heads, sizes = (
                place[0] + _lower(module, one.name, one.layer),
                place[1:],
                sizes[1:],
            )
        yield layer, int(np.ravel_multi_index(heads, sizes)) if heads else None, turned[place]


def title_of(name: str, layer: int | None, head: int | None, at: str | None = None) -> str:
    """`α, layer 1, head 0`."""
    parts = [("layer", layer), ("head", head), ("place", at)]
    named = [f"{word} {n}" for word, n in parts if n is not None]
    return ", ".join([name, *named] if name else named)


def _matrices(look: Look, sides: list[Side]) -> list[Look]:
    """The weights as they are, or an image for each place that looks."""
    if len(sides) == 2:
        return [look]
    rows = sides[0]
    return [
        Look(look.name, look.layer, look.head, weights, sides[1], sides[2], f"{n} {label}".strip())
        for n, (label, weights) in enumerate(
            zip(rows.labels, look.weights, strict=True), rows.first
        )
    ]


def _side(subject: Subject, one: Attention, number: int, count: int) -> Side:
    """The places along an axis, each with the token that it reads."""
    axes = subject.module.code.tensors[one.name].axes
    axis, first = axes[number], _lower(subject.module, one.name, number)
    places = range(first, first + count)
    for text in subject.texts:
        if text.reading.length == axis.extent.name:
            own = number == one.rows and axis.extent not in [axes[n].extent for n in one.columns]
            name = text.reading.steps if own and text.reading.predicted else text.reading.labels
            return Side(text.reading.name, name(text.labels, places), first)
    owners = (t.name for t in subject.module.code.tensors.values() if t.role == "input"
              if axis.extent in [a.extent for a in t.axes])  # fmt: skip
    image = number in one.columns and len(one.columns) > 1
    return Side(axis.letter if image else next(owners, axis.letter), ("",) * count, first)


def _lower(module: ProgramModule, name: str, axis: int) -> int:
    """The index of the first element along an axis."""
    lower, sizes = module.code.tensors[name].axes[axis].lower, module.sizes.known
    return 0 if lower.names - sizes.keys() else lower.value(sizes)
