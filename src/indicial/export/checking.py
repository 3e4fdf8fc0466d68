"""What both checks of an exported file share: inputs to try it on, and how far numbers are apart.

>>> random_texts(module, ["w"], batch=5, length=7)["w"].shape
torch.Size([5, 7])
>>> difference(path, [torch.ones(3)], [np.ones(3)])
0.0
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.program.messages import IndicialError

TRIES = ((5, 7), (1, 1), (2, 12))
"""Batch and length; none of them is what is traced."""
TOLERANCE = 1e-4
"""How far a number of the file may be from the module's, relative to the largest; 32 bits give 1e-6."""


def difference(path: Path, right: list[torch.Tensor], found: list[Any]) -> float:
    """The largest, relative to the largest number; an error if it is too large."""
    worst = 0.0
    for value, other in zip(right, found, strict=True):
        wanted = value.detach().cpu().numpy()
        if wanted.shape != other.shape:
            raise IndicialError(f"{path} gives {other.shape}, and the module {wanted.shape}")
        scale = max(float(np.abs(wanted).max(initial=0)), 1e-30)
        worst = max(worst, float(np.abs(wanted - other).max(initial=0)) / scale)
    if not worst < TOLERANCE:
        raise IndicialError(f"{path} gives other numbers than the module: they differ by {worst:g}")
    return worst


def random_texts(
    module: ProgramModule, names: Sequence[str], batch: int, length: int
) -> dict[str, torch.Tensor]:
    lengths = set(module.sizes.tellers) - module.sizes.fixed.keys()
    sizes = {**module.sizes.known, **dict.fromkeys(lengths, length)}
    given = {}
    for name in names:
        tensor = module.code.tensors[name]
        shape = (batch, *(axis.extent.value(sizes) for axis in tensor.axes))
        given[name] = _random(module, name, shape)
    return given


def random_step(module: ProgramModule, names: Sequence[str], batch: int) -> dict[str, torch.Tensor]:
    given = {}
    for name in names:
        tensor = module.code.tensors[name]
        known = module.sizes.known
        walked = [a for a in tensor.axes if not a.extent.names <= module.sizes.fixed.keys()]
        shape = [a.extent.value(known) for a in tensor.axes if a not in walked]
        given[name] = _random(module, name, (batch, *shape))
    return given


def _random(module: ProgramModule, name: str, shape: tuple[int, ...]) -> torch.Tensor:
    values = module.code.tensors[name].values
    if values is not None:
        return torch.randint(values.value(module.sizes.known), shape)
    return torch.randn(shape, dtype=module._like.dtype)
