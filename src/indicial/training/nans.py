"""A loss or a gradient that is not a number: in which equation it began, and what to do.

>>> raise not_finite(module, batch, "the loss is nan", step=212, kept=200, rate=0.1)

step 212: the loss is nan.
cell.eq:3:1: error: R[4,17] of example 2 is inf, and all before it is finite [not-finite]
…
Nothing after step 200 was kept. Try a smaller --learning-rate (now 0.1), …
"""

from __future__ import annotations

import torch

from indicial.compile.module.module import ProgramModule
from indicial.program.messages import IndicialError
from indicial.tasks.task import Batch
from indicial.training.shards import local


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
