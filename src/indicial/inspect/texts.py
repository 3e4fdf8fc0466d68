"""A run → a few texts to look at its model with: of its own validation part, or of other data.

>>> texts = texts_for(Run.open("runs/book"), module)
>>> texts.inputs["w"].shape
torch.Size([32, 128])
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from indicial.compile.ground import private
from indicial.compile.module.module import ProgramModule
from indicial.data.columns.codings import tokens_by_name
from indicial.data.corpus import Data
from indicial.data.prepare import find_again, open_data
from indicial.data.sources import Sentences
from indicial.data.tokenizers import Ints, Tokenizer
from indicial.data.world import World
from indicial.decode.evaluate import SENTENCES, encoded, open_for, task_on
from indicial.inspect.statistics import embedding
from indicial.program.messages import IndicialError
from indicial.tasks.forms import form_of
from indicial.training.run import Run
from indicial.training.settings import Settings
from indicial.training.shared_data import read_run_columns, read_run_data

TEXTS = 32


@dataclass(frozen=True)
class Texts:
    """Rows of one length as the model reads them, and the tokens in them."""

    name: str
    inputs: dict[str, torch.Tensor]
    tokens: Ints


def texts_for(
    run: Run,
    module: ProgramModule,
    data: Sequence[str] | None = None,
    field: str | None = None,
    count: int = TEXTS,
) -> Texts:
    """The same texts every time."""
    if data is None:
        own = _own(run)
        return _rows(own, run, module, f"the validation part of {own.name}", count)
    tokenizer = run.tokenizer()
    found = open_for(run, tokenizer, data, field, None)
    source = Sentences(found, SENTENCES, "evaluation", 0) if isinstance(found, World) else found
    with tempfile.TemporaryDirectory(dir=private.temporary()) as folder:
        corpus = encoded(source, tokenizer, Path(folder))
        both = Data(corpus, corpus, tokenizer, None, {"name": source.name})
        return _rows(both, run, module, source.name, count)


def rows_for(
    run: Run, module: ProgramModule, data: Sequence[str] | None = None, count: int = TEXTS
) -> tuple[Texts, Tokenizer]:
    """Rows of a run with several inputs, all of one shape, and what the tokens that have vectors are
    called."""
    form = form_of(run.program)
    if data is not None:
        raise IndicialError(
            f"{run.folder} reads {' and '.join(slot.name for slot in form.slots)}: it is looked at "
            "with its own validation part, so leave --data out"
        )
    columns = read_run_columns(run, form.slots, Settings(), lambda text: None)
    part, context = columns.validation, run.number("context")
    lengths = [h.lengths for h in part.columns.values() if h.lengths is not None]
    alike = np.arange(part.rows)
    if lengths:
        shapes = np.minimum(np.stack(lengths, 1), context)
        each, which, many = np.unique(shapes, axis=0, return_inverse=True, return_counts=True)
        alike = np.flatnonzero(which.ravel() == (many * each.sum(1)).argmax())
    rows = alike[:count]
    inputs = {
        name: torch.from_numpy(np.ascontiguousarray(held.take(rows, context)[0]))
        for name, held in part.columns.items()
    }
    found = embedding(module.code)
    read = found[2] if found is not None else next(iter(inputs))
    tokenizer = tokens_by_name(columns.codings[read])
    tokens = (
        np.asarray(inputs[read])
        if inputs[read].dtype == torch.int64
        else np.zeros((len(rows), 0), int)
    )
    return Texts(f"the validation part of {columns.name}", inputs, tokens), tokenizer


def _own(run: Run) -> Data:
    """The data of the run, prepared as in training."""
    found = find_again(run.description.data, open_data)
    if found is not None:
        return found
    kept = Settings.kept(run.description.settings)
    if not kept.data:
        raise IndicialError(f"{run.folder} does not say what it was trained on; give --data PATH")
    try:
        data = read_run_data(run, Settings(), lambda text: None, run.folder)
    except IndicialError as error:
        raise IndicialError(
            f"{error} (to look at the model with other data: --data PATH)"
        ) from error
    return data


def _rows(data: Data, run: Run, module: ProgramModule, name: str, count: int) -> Texts:
    task = task_on(data, run, module, None)
    context, there = task.checked.context, len(data.validation)
    if there < context:
        raise IndicialError(
            f"{name} has {there} tokens, and the model is looked at while it reads {context}: give "
            "more text, --data PATH"
        )
    block = task.checked.batch(0, count)
    inputs = {n: v.cpu() for n, v in task.block_inputs(block, 0).items()}
    return Texts(name, inputs, block.tokens)
