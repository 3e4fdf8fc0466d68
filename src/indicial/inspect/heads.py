"""The weights of all heads on many texts at once, and how widely and how far each head looks.

>>> heads = weights_of(module, {"w": tokens})      # tokens: (B, T)
>>> heads[0].layer, heads[0].head, heads[0].weights.shape
(1, 0, (B, T, T))
>>> heads[0].entropy().mean(), heads[0].distance().mean()
(1.31…, 4.02…)
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from indicial.compile.module.sizes import data_lengths
from indicial.inspect.attention import Array, attentions
from indicial.program import ir
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    import torch

    from indicial.compile.module.module import ProgramModule


@dataclass(frozen=True)
class HeadWeights:
    """What one head looks at: `weights[b,t_1,t_2]`, from place t_1 of text b at place t_2."""

    layer: int | None
    head: int | None
    weights: Array

    @property
    def title(self) -> str:
        parts = [("layer", self.layer), ("head", self.head)]
        return ", ".join(f"{word} {n}" for word, n in parts if n is not None)

    def entropy(self) -> Array:
        """Nats, by text and place; e to it is over how many places the weights are spread."""
        weights = self.weights
        logs = np.log(np.where(weights > 0, weights, 1))  # 0 ln 0 is 0
        return np.asarray(-(weights * logs).sum(-1))

    def distance(self, power: float = 1) -> Array:
        """The mean of |t_1 - t_2|^power, by text and place."""
        rows, columns = np.indices(self.weights.shape[-2:])
        return np.asarray((self.weights * np.abs(rows - columns) ** power).sum(-1))


def weights_of(module: ProgramModule, inputs: Mapping[str, torch.Tensor]) -> list[HeadWeights]:
    """Of every head of every layer that looks at the text itself, in the order of the equations."""
    import torch

    code = module.code
    found = [axes for one in attentions(code) if (axes := _axes(code, one.name)) is not None]
    if not found:
        raise IndicialError(f"{module.title} has no head that looks at the text it reads")
    with torch.no_grad():
        given: dict[str, Any] = dict(inputs)
        arrays = module(**given, want=[one.name for one in found])
    heads = []
    for one in found:
        # The first axis is that of the texts.
        order = [1 + n for n in one.others] + [0, *(1 + n for n in one.places)]
        array = arrays[one.name].double().cpu().numpy().transpose(order)
        first = 0
        if one.layered:
            first = code.tensors[one.name].axes[one.others[0]].lower.value(module.sizes.known)
        for place in itertools.product(*map(range, array.shape[: len(one.others)])):
            layer = place[0] + first if one.layered else None
            head = place[-1] if len(one.others) > one.layered else None
            heads.append(HeadWeights(layer, head, array[place]))
    return heads


@dataclass(frozen=True)
class _Axes:
    """Where the two axes of places stand, and the others: the layer first, if there is one."""

    name: str
    places: tuple[int, int]
    others: tuple[int, ...]
    layered: bool


def _axes(code: ir.Code, name: str) -> _Axes | None:
    """None for weights on another text, or on an image."""
    axes = code.tensors[name].axes
    lengths = set(data_lengths(code))
    places = [n for n, axis in enumerate(axes) if axis.extent.name in lengths]
    if len(places) != 2 or axes[places[0]].extent != axes[places[1]].extent:
        return None
    rest = [n for n in range(len(axes)) if n not in places]
    layers = [n for n in rest if (axes[n].letter or "").startswith("ℓ")]
    heads = [n for n in rest if n not in layers]
    return _Axes(name, (places[0], places[1]), (*layers, *heads), bool(layers))
