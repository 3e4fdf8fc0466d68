"""What a text costs by its length: why translation wants attention, as numbers.

>>> losses_by_length(run, data)
[(6.0, 0.04), (9.5, 0.11), (18.2, 0.93)]        words on average, nats per token

A model that has to put the whole source into one vector loses on long texts; one that can look back does not.
The rows of the validation part are divided by the length of what is predicted, about as many in each part.
"""

from __future__ import annotations

import numpy as np
import torch

from indicial.data.columns.parts import Columns
from indicial.tasks.columns import ColumnTask
from indicial.tasks.forms import SEQUENCE
from indicial.tasks.predictions import SURPRISE, Measure
from indicial.training.run import Run

PARTS = 8
MOST = 60_000
"""Tokens that are looked at."""


def losses_by_length(run: Run, data: Columns) -> list[tuple[float, float]]:
    """The mean length and the nats per token of each part; nothing if no text is predicted."""
    context, batch_size = run.number("context"), run.number("batch_size", 32)
    task = ColumnTask(run.program, data, context=context, batch_size=batch_size)
    length = task.form.length
    if task.form.kind != SEQUENCE or task.form.prediction is None or length is None:
        return []
    module = run.module("best").eval()
    measure = Measure(module, task.form.prediction)
    lengths: list[torch.Tensor] = []
    nats: list[torch.Tensor] = []
    with torch.no_grad():
        for batch in task.blocks(MOST):
            found = measure.tensors(batch.inputs, batch.lengths, [SURPRISE])[SURPRISE].double()
            long = batch.lengths[length]
            inside = torch.arange(found.shape[1]) < long[:, None]
            lengths.append(long)
            nats.append(torch.where(inside, found, 0.0).sum(1))
    return parted(torch.cat(lengths).numpy(), torch.cat(nats).numpy())


def parted(
    lengths: np.ndarray[tuple[int], np.dtype[np.int64]],
    nats: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> list[tuple[float, float]]:
    """Rows of about the same length together: their mean length, and what a token of them costs."""
    edges = np.unique(np.quantile(lengths, np.linspace(0, 1, PARTS + 1)[1:]))
    found = []
    below = -1.0
    for edge in edges.tolist():
        here = (lengths > below) & (lengths <= edge)
        if here.any():
            found.append(
                (float(lengths[here].mean()), float(nats[here].sum() / lengths[here].sum()))
            )
        below = edge
    return found
