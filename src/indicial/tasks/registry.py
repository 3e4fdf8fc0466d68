"""The tasks by name.

>>> make_task("language", program, data, context=128, batch_size=32, seed=0)
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from indicial.data.columns.batches import ASIS, Columns, Variation
from indicial.data.corpus import Data
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.tasks.columns import ColumnTask
from indicial.tasks.language import Blank, Language
from indicial.tasks.task import Task
from indicial.tasks.texts import Texts

TASKS = {task.name: task for task in (Language, Blank, Texts)}


def make_task(
    name: str,
    program: Program,
    data: Data | Columns,
    *,
    context: int,
    batch_size: int,
    seed: int = 0,
    variation: Variation = ASIS,
    objective: str | None = None,
    shares: Sequence[float] = (),
) -> Task:
    """A task on data; the program is one that `programs.trainable` gave."""
    rows = {"context": context, "batch_size": batch_size, "seed": seed}
    if isinstance(data, Columns):
        return ColumnTask(program, data, **rows, variation=variation)
    if name == Texts.name:
        return Texts(program, data, **rows, objective=objective, shares=shares)
    return text_task(name, program, data, **rows)


def text_task(
    name: str, program: Program, data: Data, *, context: int, batch_size: int, seed: int = 0
) -> Language:
    """A task on one text."""
    if name not in TASKS:
        close = difflib.get_close_matches(name, TASKS, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(TASKS)}"
        raise IndicialError(f"there is no task {name}{hint}")
    return TASKS[name](program, data, context=context, batch_size=batch_size, seed=seed)
