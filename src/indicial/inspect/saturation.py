"""Which units hardly learn: the share of each tanh, σ and ReLU that is where it is flat.

>>> saturations(module, {"w": tokens})[0]
Saturation(equation='R', function='tanh', low=0.05, high=0.06, always=0.0)

A tanh is flat beyond ±0.97, a σ below 0.03 and above 0.97, a ReLU at 0. `always` is the share of
units that are so at every step of every text: a ReLU of which that is true is dead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import data_lengths
from indicial.inspect.probes import Activation, Twin, observed
from indicial.program.ir import Code

FLAT = {"tanh": (-0.97, 0.97), "σ": (0.03, 0.97), "ReLU": (0.0, float("inf"))}
"""Below the first and above the second there is next to no slope."""


@dataclass(frozen=True)
class Saturation:
    """Of one activation in one equation; shares from 0 to 1."""

    equation: str
    function: str
    low: float
    high: float | None
    """None for a ReLU, which has no upper end."""
    always: float

    @property
    def share(self) -> float:
        return self.low + (self.high or 0.0)


def saturations(
    module: ProgramModule, inputs: Mapping[str, torch.Tensor]
) -> list[Saturation] | str:
    """One for each activation, in the order of the equations; or why there is none."""
    code, found = observed(module.code)
    if not found:
        return "no equation has a tanh, a σ or a ReLU"
    with torch.no_grad():
        values = Twin(module, code, [one.name for one in found])(inputs)
    names = _names(found)
    return [_saturation(code, one, names[one.name], values[one.name]) for one in found]


def _names(found: list[Activation]) -> dict[str, str]:
    """`R`; where it is a part of the right side, `h: tanh`; the second of these `h: tanh 2`."""
    names: dict[str, str] = {}
    for one in found:
        label = one.target if one.whole else f"in {one.target}"
        taken = sum(name == label or name.startswith(f"{label} (") for name in names.values())
        names[one.name] = f"{label} ({taken + 1})" if taken else label
    return names


def _saturation(code: Code, one: Activation, name: str, values: torch.Tensor) -> Saturation:
    least, most = FLAT[one.function]
    low = values <= least
    high = values >= most
    always = (low | high).all(0) if values.dim() > len(code.tensors[one.name].axes) else low | high
    lengths = set(data_lengths(code))
    for number, axis in reversed(list(enumerate(code.tensors[one.name].axes))):
        if axis.extent.names & lengths:
            always = always.all(number)
    return Saturation(
        name,
        one.function,
        float(low.double().mean()),
        None if one.function == "ReLU" else float(high.double().mean()),
        float(always.double().mean()),
    )
