"""What is told before the first step: the model, the data, the steps and how long they will take.

How long a step takes, measured before the first one: what the number of steps is planned from.

>>> rehearse(task, module, choices)
0.031
"""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import torch

from indicial.compile.module.module import ProgramModule
from indicial.tasks.task import Task
from indicial.training import clock
from indicial.training.defaults import SHARE
from indicial.training.processes import ALONE, Processes
from indicial.training.settings import Choices
from indicial.training.training import NotFinite, Training
from indicial.training.watchers import Plan

REHEARSAL = 1.0
"""Seconds for measuring how long a step takes."""
FEW = 20
"""So few steps are not measured: they are done before they are planned."""


def rehearse(
    task: Task, module: ProgramModule, choices: Choices, processes: Processes = ALONE
) -> float:
    """Seconds that a step takes, measured on a copy that is thrown away."""
    with torch.random.fork_rng(devices=[]):
        slow = replace(choices, learning_rate=1e-6)
        trial = Training(task, copy.deepcopy(module), slow, processes.apart())
        times: list[float] = []
        begun = clock.now()
        try:
            trial.step()  # the first is slow: sources are made
            begun = clock.now()
            while clock.now() - begun < REHEARSAL or len(times) < 2:
                at = clock.now()
                trial.step()
                times.append(clock.now() - at)
            if not processes.connected:
                task.validate(module, 1)  # the first look is slow as well
        except NotFinite:  # the training itself says more about it
            pass
    # The lower quartile: others may be at work for a moment, and seldom for the whole training.
    return sorted(times)[len(times) // 4] if times else clock.now() - begun


def make_plan(
    task: Task,
    module: ProgramModule,
    choices: Choices,
    folder: Path,
    per_step: float | None = None,
    first: int = 0,
    end: int | None = None,
) -> Plan:
    """What is told before the first step, which is to be the one after `first`; `end` is the last."""
    end = end or choices.max_steps
    seconds = None
    if per_step is not None:
        seconds = (end - first) * per_step / SHARE
    return Plan(
        model=task.program.title,
        task=task.name,
        folder=folder,
        parameters=sum(p.numel() for p in module.parameters()),
        sizes=module.sizes.known,
        batch_size=choices.batch_size,
        accumulate=choices.accumulate,
        context=choices.context,
        first=first,
        steps=end,
        seconds=seconds,
        optimizer=choices.optimizer,
        learning_rate=choices.learning_rate,
        device=choices.device,
        precision=choices.precision,
        **vars(task.about),
    )
