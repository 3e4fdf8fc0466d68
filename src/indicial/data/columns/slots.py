"""What the inputs of a program ask for: each is a slot that a column of the data fills.

    input x[s] in U         a text, in tokens of the vocabulary U
    input w[t] in V         another, with tokens of its own; two inputs `in V` share them
    input y in C            a label
    input x[t] in V         beside `input y[t] in C`, which is as long: a word and a label for each place
    input c[t,i] in K       beside `input x[t] in V`: how each of its words is spelt
    input head[t] in T      places: `in` its own length
    input I[x,y,c]          an image, rows from the top, or an array of three axes
    input z, input f[k]     a number, numbers

>>> [slot.kind for slot in slots(load("bahdanau").code)]
['text', 'text']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Sized
from dataclasses import dataclass

from indicial.program.ir import Code, Tensor

TEXT, UNITS, LABEL, PLACES, NUMBERS, IMAGE = "text", "units", "label", "places", "numbers", "image"
SPELLING = "spelling"


@dataclass(frozen=True)
class Slot:
    """One input, and what is to be read into it."""

    name: str
    kind: str
    """`text`, `units` (a name for each place of a list), `spelling` (characters of each), `label`,
    `places`, `numbers` or `image`."""
    axes: tuple[str | None, ...]
    """The names of the sizes of its axes; None for one that is a number."""
    letters: tuple[str, ...] = ()
    vocabulary: str | None = None
    """The name of the size that its tokens range over: slots that share it share their tokens."""
    predicted: bool = False
    """Whether the equations say how likely it is."""
    fixed: tuple[int | None, ...] = ()
    """The sizes that the equations themselves say."""
    candidate: bool = False
    """Whether rows are chosen among: each has one, and is compared with those of others."""

    @property
    def written(self) -> str:
        """`x[s] in U`."""
        letters = f"[{','.join(self.letters)}]" if self.letters else ""
        return f"{self.name}{letters}" + (f" in {self.vocabulary}" if self.vocabulary else "")

    @property
    def length(self) -> str | None:
        """The name of the size that differs from row to row: how long a text or a list is."""
        if self.kind in (TEXT, UNITS, PLACES, SPELLING):
            return self.axes[0]
        return self.axes[0] if self.kind == NUMBERS and len(self.axes) == 2 else None


def asked(slots: Sequence[Slot]) -> list[tuple[str, str, bool, str | None]]:
    """What some slots ask of the data, whatever their sizes are called: name, kind, whether it is
    predicted, and the first slot that it shares its tokens with."""
    firsts = {slot.vocabulary: slot.name for slot in reversed(slots)}
    return [(s.name, s.kind, s.predicted, s.vocabulary and firsts[s.vocabulary]) for s in slots]


def slots(code: Code, predicted: Collection[str] = ()) -> tuple[Slot, ...]:
    """The inputs of a program in their order; `predicted` are those that it says probabilities of."""
    inputs = [t for t in code.tensors.values() if t.role == "input"]
    firsts = Counter(t.axes[0].extent.name for t in inputs if t.axes)
    lengths = {t.axes[0].extent.name for t in inputs if t.axes}

    def slot(tensor: Tensor) -> Slot:
        values = tensor.values
        axes = tuple(axis.extent.name for axis in tensor.axes)
        fixed = tuple(_number(code, axis.extent) for axis in tensor.axes)
        if values is None:
            kind = IMAGE if len(axes) == 3 else NUMBERS
        elif not axes:
            kind = LABEL
        elif len(axes) == 2 and firsts[axes[0]] > 1:
            kind = SPELLING
        elif values.names & lengths:
            kind = PLACES
        else:
            kind = UNITS if firsts[axes[0]] > 1 else TEXT
        return Slot(
            tensor.name,
            kind,
            axes,
            tuple(axis.letter for axis in tensor.axes),
            None if values is None else str(values),
            tensor.name in predicted,
            fixed,
        )

    return tuple(slot(tensor) for tensor in inputs)


def spelt(slot: Slot, slots: Sequence[Slot]) -> Slot | None:
    """The input whose words another spells: the `x[t]` of `c[t,i]`."""
    if slot.kind != SPELLING:
        return None
    words = [s for s in slots if s.kind == UNITS and s.length == slot.length]
    return next((s for s in words if not s.predicted), None)


def uneven(slots: Sequence[Slot], values: Mapping[str, Sized]) -> str | None:
    """Why the inputs of a row do not fit together: two share a length, and are not as long; or None."""
    lengths: dict[str, tuple[str, int]] = {}
    for slot in slots:
        if slot.length is not None:
            here = len(values[slot.name])
            other, length = lengths.setdefault(slot.length, (slot.name, here))
            if length != here:
                return f"{other} has {length} places, and {slot.name} has {here}"
    return None


def _number(code: Code, extent: object) -> int | None:
    number = getattr(extent, "number", None)
    name = getattr(extent, "name", None)
    found = number if number is not None else code.sizes.get(name) if name is not None else None
    return None if found is None else int(found)
