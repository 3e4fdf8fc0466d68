"""Gradients that are too long are made shorter.

>>> clip_by_norm(module.parameters(), most=1.0)
Clipped(norm=3.7, clipped=True)         # all gradients were divided by 3.7

`each=True` looks at each tensor by itself. A norm that is not finite is reported and nothing is
scaled: whoever calls decides whether to leave the step out.

A loss or a gradient that is not a number: in which equation it began, and what to do.

>>> raise not_finite(module, batch, "the loss is nan", step=212, kept=200, rate=0.1)

step 212: the loss is nan.
cell.eq:3:1: error: R[4,17] of example 2 is inf, and all before it is finite [not-finite]
…
Nothing after step 200 was kept. Try a smaller --learning-rate (now 0.1), …
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from indicial.compile.ground.torch_inside import norms as norms_of
from indicial.compile.ground.torch_inside import scale_
from indicial.compile.module.module import ProgramModule
from indicial.program.messages import IndicialError
from indicial.tasks.task import Batch
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


def not_finite(
    module: ProgramModule,
    batch: Batch | None,
    what: str,
    step: int,
    kept: int | None,
    rate: float,
) -> IndicialError:
    """The error to raise after a step that came to nothing; None: it was on no batch, seen again."""
    safe = f"The checkpoint of step {kept} is as it was. " if kept is not None else ""
    return IndicialError(
        f"step {step}: {what}.\n{_where(module, batch)}\n{safe}Try a smaller --learning-rate (it "
        f"is {rate:g} here), a longer --warmup, or a smaller --clip; or look at the equation: ln "
        "and √ near 0, exp of something large, a division"
    )


def _where(module: ProgramModule, batch: Batch | None) -> str:
    try:
        if batch is not None:
            with torch.no_grad():
                module(**batch.inputs, lengths=batch.lengths or None, find_nan=True)
    except IndicialError as error:
        return str(error)
    broken = [
        name
        for name in module.state_keys
        if (grad := module.parameter(name).grad) is not None
        and not torch.isfinite(local(grad)).all()
    ]
    if broken:
        return f"All equations are finite; the gradient of {', '.join(broken)} is not"
    return "All equations are finite when they are computed again"
