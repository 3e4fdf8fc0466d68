"""Which texts a model reads, and which token each of its places reads.

>>> [(one.name, one.shift) for one in readings(load("encoder_decoder").code)]
[('x', 0), ('w', -1)]
>>> readings(load("transformer").code)[0].labels(["Anna", "knows"], range(3))
('·', 'Anna', 'knows')

A model with two texts reads a source and a target: the target is the one that it predicts. In
`encoder_decoder` place t of the target reads w[t-1], and the first reads none, which is shown as `·`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from indicial.program import ir
from indicial.program.messages import IndicialError
from indicial.tasks.predictions import Prediction, prediction, token_inputs

if TYPE_CHECKING:
    from indicial.compile.module.module import ProgramModule

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
        return [_blanked(code, said, said.blanked)]
    if len(found) > 2:
        names = ", ".join(tensor.name for tensor in found)
        raise IndicialError(f"the model reads {len(found)} texts ({names}); two can be given")
    target = said.token.name if said is not None else None
    made = [Reading(t, shift(code, t.name), t.name == target) for t in found]
    return sorted(made, key=lambda one: one.predicted)


def _blanked(code: ir.Code, said: Prediction, blanked: ir.Tensor) -> Reading:
    """The model reads the text with its blanks, and the loss what stood there."""
    return Reading(blanked, shift(code, blanked.name), False, said.token.name)


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
