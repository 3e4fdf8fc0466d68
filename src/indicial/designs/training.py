"""The equations of a design, learned: one sequence at a time, by plain gradient descent.

>>> learned = hand("content").train("content")
>>> learned.remark
'10,000 steps of one sequence at rate 0.03, seed 0'

Nothing of the design is used but its equations and sizes. With `starts=5` it is tried from five
random starts, and the one that ends with the smallest squared error is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from indicial.designs.checking import check, fits, targets
from indicial.designs.tasks import Task
from indicial.designs.tasks import task as named_task
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.designs.design import Design

Told = Callable[[int, float], object]

STEPS = 10_000
RATE = 0.03
TOLD = 10
"""How often a training tells how far it is."""
DEVIATION = 0.1
"""From larger starts, three in four are caught where a head looks at the wrong token."""


def train(
    design: Design,
    what: str | Task,
    *,
    steps: int = STEPS,
    rate: float = RATE,
    seed: int = 0,
    starts: int = 1,
    deviation: float = DEVIATION,
    told: Told | None = None,
) -> Design:
    """The design that is learned; `deviation` is that of the normal random starts.

    `told(step, error)` is called ten times, with the mean squared error since the last time.
    """
    task = named_task(what)
    fits(design, task)
    if steps < 1 or starts < 1 or not 0 < rate < float("inf"):
        raise IndicialError("training needs at least one step and one start, and a rate above 0")
    whole = all(isinstance(number, int) for number in (steps, starts, seed))
    if not whole or seed < 0 or not 0 <= deviation < float("inf"):
        raise IndicialError(
            "steps, starts and seed are whole numbers, the seed and the deviation at least 0"
        )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are tiny, and threads would wait for each other
    try:
        tried = [
            _from_start(design, task, steps, rate, seed + n, deviation, told) for n in range(starts)
        ]
    finally:
        torch.set_num_threads(threads)
    return min(tried, key=lambda one: check(one, task).squared_error)


def _from_start(
    design: Design,
    task: Task,
    steps: int,
    rate: float,
    seed: int,
    deviation: float,
    told: Told | None,
) -> Design:
    random = np.random.default_rng(seed)
    start = {
        name: torch.from_numpy(random.normal(0, deviation, array.shape))
        for name, array in design.arrays.items()
    }
    module = design.program.compile(sizes=design.sizes, start=start, dtype=torch.float64)
    optimizer = torch.optim.SGD(module.parameters(), rate)
    given, output = design.token_input, module.wanted[-1]
    cases = []
    for case in task.cases:
        wanted, asked = targets([case], len(task.outputs))
        mask = torch.from_numpy(asked[0])
        cases.append((torch.tensor(case.tokens), torch.from_numpy(wanted[0])[mask], mask))
    every, since = max(1, steps // TOLD), []
    for step, number in enumerate(random.integers(len(cases), size=steps), 1):
        tokens, wanted_rows, mask = cases[number]
        error = module(**{given: tokens})[output][mask] - wanted_rows
        loss = (error**2).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        since.append(float((error.detach() ** 2).mean()))
        if told is not None and step % every == 0:
            told(step, sum(since) / len(since))
            since = []
    arrays = {name: module.parameter(name).detach().numpy().copy() for name in design.arrays}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise IndicialError(f"{name} did not stay finite: train at a smaller rate than {rate}")
    remark = f"{steps:,} steps of one sequence at rate {rate:g}, seed {seed}"
    name = f"{task.name} learned"
    return replace(design, arrays=arrays, name=name, remark=remark)
