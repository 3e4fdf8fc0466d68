"""Which tensors of a program are attention weights, and what they are on a text.

>>> [found.name for found in attentions(load("transformer").code)]
['α']
>>> look = attend(run.module(), tokens, [tokenizer.token(n) for n in tokens])
>>> look[0].title, look[0].labels
('α, layer 1, head 0', ('·', ' Anna', ' knows', …))

Weights are what a softmax over the places of a text defines and a sum over those places reads. A
place is labelled with the token that it reads: in `transformer` place t reads w[t-1], and the first
reads none, which is shown as `·`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from indicial.compile.module.sizes import data_lengths
from indicial.program import ir
from indicial.program.messages import IndicialError
from indicial.tasks.predictions import token_inputs

if TYPE_CHECKING:
    from indicial.compile.module.module import ProgramModule

Array = np.ndarray[Any, np.dtype[np.float64]]

NOTHING = "·"
"""The label of a place that reads no token."""


@dataclass(frozen=True)
class Attention:
    """A tensor of weights: which axes are layer and head, and which two are places."""

    name: str
    rows: int
    columns: int
    layer: int | None
    heads: tuple[int, ...]


@dataclass(frozen=True)
class Look:
    """What one head looks at: `weights[t_1,t_2]`."""

    name: str
    layer: int | None
    head: int | None
    weights: Array
    labels: tuple[str, ...]

    @property
    def title(self) -> str:
        parts = [("layer", self.layer), ("head", self.head)]
        return ", ".join([self.name, *(f"{word} {n}" for word, n in parts if n is not None)])

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "layer": self.layer,
            "head": self.head,
            "weights": self.weights.tolist(),
        }


def attentions(code: ir.Code) -> list[Attention]:
    """All attention weights that have a name, in the order of the equations."""
    lengths = set(data_lengths(code))
    found: dict[str, Attention] = {}
    for statement in code.statements:
        softmax = next((n for n in statement.body.walk() if isinstance(n, ir.Softmax)), None)
        if softmax is None or len(softmax.indices) != 1 or statement.target in found:
            continue
        over = softmax.indices[0]
        letters = [_letter(place) for place in statement.left]
        if over.extent.name in lengths and over.name in letters:
            column = letters.index(over.name)
            made = _axes(code, statement, column, lengths)
            if made is not None and _read_as_weights(code, statement.target, column):
                found[statement.target] = made
    return list(found.values())


def _letter(place: ir.Place) -> str | None:
    return place.terms[0][0] if isinstance(place, ir.Affine) and len(place.terms) == 1 else None


def _axes(
    code: ir.Code, statement: ir.Statement, column: int, lengths: set[str]
) -> Attention | None:
    axes = code.tensors[statement.target].axes
    rows = [n for n, a in enumerate(axes) if n != column and a.extent.name in lengths]
    if len(rows) != 1:
        return None
    rest = [n for n in range(len(axes)) if n not in (column, rows[0])]
    layers = [n for n in rest if (axes[n].letter or "").startswith("ℓ")]
    layer = layers[0] if layers else None
    heads = tuple(n for n in rest if n != layer)
    return Attention(statement.target, rows[0], column, layer, heads)


def _read_as_weights(code: ir.Code, name: str, column: int) -> bool:
    """Whether some sum runs over the places that the weights are for."""
    return any(
        isinstance(node, ir.Reduce)
        and node.operator == "sum"
        and any(
            isinstance(inner, ir.Read)
            and inner.tensor == name
            and _letter(inner.places[column]) in {index.name for index in node.indices}
            for inner in node.descendants()
        )
        for statement in code.statements
        for node in statement.body.walk()
    )


def shift(code: ir.Code, token: str) -> int:
    """Which token a place reads: -1 where place t reads w[t-1]; 0 if the equations differ in that."""
    shifts = {
        place.shift[1]
        for statement in code.statements
        for node in statement.body.walk()
        if isinstance(node, ir.Read) and node.tensor == token
        for place in node.places
        if isinstance(place, ir.Affine) and place.shift is not None
        if not _predicts(code, statement)
    }
    return shifts.pop() if len(shifts) == 1 else 0


def _predicts(code: ir.Code, statement: ir.Statement) -> bool:
    """A loss reads the token that is predicted, not one that is looked at."""
    return any(
        isinstance(node, ir.Read) and code.tensors[node.tensor].probability
        for node in statement.body.walk()
    )


def text_input(code: ir.Code) -> ir.Tensor:
    """The input that a text goes into."""
    found = [t for t in token_inputs(code) if len(t.axes) == 1]
    if not found:
        raise IndicialError("the model reads no tokens: there is no text to give it")
    return found[0]


def room(module: ProgramModule) -> int | None:
    """How many tokens of a text the model can look at; None for any number."""
    length = text_input(module.code).axes[0].extent.name
    most = module.sizes.longest.get(length or "")
    return None if most is None else most - _later(module.code)


def _later(code: ir.Code) -> int:
    """The places after the last token of a text that read it: 1 where place t reads w[t-1]."""
    return max(0, -shift(code, text_input(code).name))


def place_labels(code: ir.Code, tokens: Sequence[str]) -> tuple[str, ...]:
    """The token that each place reads."""
    moved = shift(code, text_input(code).name)
    places = range(len(tokens) + _later(code))
    return tuple(tokens[n + moved] if 0 <= n + moved < len(tokens) else NOTHING for n in places)


def values(module: ProgramModule, tokens: Sequence[int], want: Sequence[str]) -> dict[str, Array]:
    """Tensors that the equations define, on one text, as arrays."""
    import torch

    if not len(tokens):
        raise IndicialError("the text is empty: give at least one token")
    name = text_input(module.code).name
    # So that the last token is read too; which token stands there is seen by nobody.
    whole = [*tokens, *[tokens[-1]] * _later(module.code)]
    with torch.no_grad():
        found = module(**{name: torch.tensor(whole)}, want=list(want))
    return {key: value.double().numpy() for key, value in found.items()}


def attend(
    module: ProgramModule,
    tokens: Sequence[int],
    labels: Sequence[str],
    *,
    layer: int | None = None,
    head: int | None = None,
) -> list[Look]:
    """What each head looks at on a text; of one layer or one head if it is said."""
    code = module.code
    found = attentions(code)
    if not found:
        raise IndicialError(
            f"{module.title} has no attention: no tensor is a softmax over the places of a text"
        )
    arrays = values(module, tokens, [one.name for one in found])
    shown = place_labels(code, labels)
    looks = [look for one in found for look in _looks(code, one, arrays[one.name], shown, module)]
    for word, wanted in (("layer", layer), ("head", head)):
        there = sorted({n for look in looks if (n := getattr(look, word)) is not None})
        if wanted is not None and wanted not in there:
            known = f"there are {there[0]} to {there[-1]}" if there else f"it has no {word}s"
            raise IndicialError(f"{module.title} has no {word} {wanted}; {known}")
        looks = [look for look in looks if wanted is None or getattr(look, word) == wanted]
    return looks


def _looks(
    code: ir.Code, one: Attention, array: Array, labels: tuple[str, ...], module: ProgramModule
) -> list[Look]:
    others = [n for n in (one.layer, *one.heads) if n is not None]
    turned = array.transpose([*others, one.rows, one.columns])
    first = 0
    if one.layer is not None:
        first = code.tensors[one.name].axes[one.layer].lower.value(module.sizes.known)
    looks = []
    for place in itertools.product(*map(range, turned.shape[:-2])):
        layer = place[0] + first if one.layer is not None else None
        head = place[-1] if one.heads else None
        looks.append(Look(one.name, layer, head, turned[place], labels))
    return looks
