"""What is told before the first step: the model, the data, the steps and how long they will take."""

from __future__ import annotations

from pathlib import Path

from indicial.compile.module.module import ProgramModule
from indicial.tasks.task import Task
from indicial.training.choices import Choices
from indicial.training.defaults import SHARE
from indicial.training.watchers import Plan


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
    about = task.about
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
        data=about.data,
        tokenizer=about.tokenizer,
        tokens=about.tokens,
        validation_tokens=about.validation_tokens,
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
        entropy=about.entropy,
        terms=about.terms,
        tokens_per_row=about.tokens_per_row,
        says=about.says,
        padding=about.padding,
    )
