"""Gradients that are too long are made shorter.

>>> clip_by_norm(module.parameters(), most=1.0)
Clipped(norm=3.7, clipped=True)         # all gradients were divided by 3.7

`each=True` looks at each tensor by itself. A norm that is not finite is reported and nothing is
scaled: whoever calls decides whether to leave the step out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from indicial.compile.ground.torch_inside import norms as norms_of
from indicial.compile.ground.torch_inside import scale_
from indicial.training.shards import is_divided, local


class Clipped(NamedTuple):
    norm: float
    """The length of all gradients together, before anything was scaled."""
    clipped: bool


def clip_by_norm(
    parameters: Iterable[nn.Parameter], most: float | None, each: bool = False
) -> Clipped:
    """Scale gradients in place so that their norm, or that of each tensor, is `most` at most.

    With `most=None` the norm is only measured.
    """
    found = [p.grad for p in parameters if p.grad is not None]
    if not found:
        return Clipped(0.0, False)
    gradients = [local(gradient) for gradient in found]
    norms = torch.stack(norms_of(gradients)).double()
    if is_divided(found[0]):  # each process has some rows of all of them
        norms = norms.square()
        torch.distributed.all_reduce(norms)
        norms = norms.sqrt()
    norm = norms.norm().item()
    if most is None or not math.isfinite(norm):
        return Clipped(norm, False)
    if each:
        factors = (most / norms).clamp(max=1.0)
        too_long = bool((norms > most).any())
        _scale(gradients, factors.tolist() if too_long else None)
        return Clipped(norm, too_long)
    _scale(gradients, [most / norm] * len(gradients) if norm > most else None)
    return Clipped(norm, norm > most)


def _scale(gradients: list[Tensor], factors: list[float] | None) -> None:
    if factors is not None:
        scale_(gradients, factors)
