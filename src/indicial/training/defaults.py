"""What nobody said: sizes, batches, the learning rate and the number of steps.

    model + data + minutes   →   width, layers, context, batch size, learning rate
    a few measured steps     →   how many there are time for, to begin with (optimizers.py)

The width is the largest that still sees enough tokens: TOKENS for each parameter in the time there
is (as in Hoffmann et al. 2022, arXiv:2203.15556), and no more parameters than the data has tokens.
It depends on the kind of machine and not on a measurement, so that the same command makes the same
model again. Short trainings take small batches of short rows, attention more so than recurrences.
`bench/search.py` compares all this with a random search; docs/results.md has what came out.

`--device` → the device that a training runs on.

>>> best_device(None)          # the best there is
'cpu'

Too little memory → one sentence that says for what, and what to make smaller.

>>> with enough_memory("for a step of 64 x 128 tokens; make --batch-size smaller"):
...     loss.backward()
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch

from indicial.compile.module.sizes import data_lengths
from indicial.compile.schedule.schedule import schedule
from indicial.data.binding import IMAGE, slots
from indicial.data.column_rows import Columns
from indicial.data.corpus import Corpus, Data
from indicial.data.prepare_columns import SIZES
from indicial.data.prepare_text import LARGEST, SMALL, Cut
from indicial.data.tokenizers import Marked
from indicial.program.ir import Code
from indicial.program.meaning.arrays import tied_sizes
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.tasks.predictions import token_inputs
from indicial.training.equations import Roles, roles
from indicial.training.settings import BFLOAT16, FLOAT32, Choices, Settings

MINUTES = 5.0
TOKENS = {"attention": 5, "recurrent": 20}
"""Tokens for each parameter."""
WIDTHS = (32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
SPEED = {"cpu": 3.5e10, "mps": 1e12, "cuda": 3e13}
"""Operations in a second of training that are to be expected; of a CPU, for each core."""
MOST_CORES = 8
"""More do not make small models faster."""
STEP_TOKENS = {"cpu": 2048, "mps": 8192, "cuda": 32768}
"""Tokens in a step of a training that is not short."""
PICTURES = {"cpu": 64}
"""Pictures in a step at most: they take the time, and a caption has few tokens."""
MINUTE_TOKENS = 1024
"""Of one that takes a minute of one core; the square root of more for more."""
LEAST_TOKENS = {"attention": 512, "recurrent": 1024}
SHORT_ROWS = {
    "attention": ((1.0, 32), (4.0, 64), (math.inf, 128)),
    "recurrent": ((4.0, 64), (math.inf, 128)),
}
"""Minutes of one core, and how long a row is at most in a training that takes less."""
READ = 20_000
"""Characters that a core reads in a second, about, one by one."""
EPOCHS = 8
"""A small text that can be read so often is read in characters."""
MOST_EPOCHS = 40
"""Of a model that has as many parameters as there are tokens."""
LEAST_CHARACTERS = 1 << 16
"""Of a text that is cut into byte pairs: a vocabulary is learned from it."""
VOCABULARY = 5700
"""Tokens that a minute of one core can bear; they grow with the fourth root of the time."""
SHARE = 0.88
"""Of the time, what the steps take; the rest is for validation and for beginning."""
RATES = {
    ("muon", False): 0.012,
    ("muon", True): 0.03,
    ("adamw", False): 0.006,
    ("adamw", True): 0.02,
}
"""The best of a few for 600 steps of models 64 to 128 wide, by optimizer and whether they recur."""
WORLD_MINUTES = 10.0
"""Minutes of one core that the usual rows of a world are for."""
MOST_ROWS = 8.0
"""Times those, however long it takes."""
LOOKS = 20
LONG = 256
"""Tokens of a text in a row of columns that are not too many, however few rows have so many."""
TRAINING = 3
"""Work of a step, forward and backward, in that of a forward pass."""


def cut(settings: Settings, device: str) -> Cut:
    """How a text is cut: with little time for it into byte pairs, which tell more of it in a step,
    but into few of them, since each makes every step longer. In powers of 2, so that not every
    other time has tokens of its own."""
    time = core_minutes(settings, device)
    if math.isinf(time):
        return Cut()
    read = 60 * time * READ / EPOCHS
    few = VOCABULARY * time**0.25
    return Cut(
        min(SMALL, max(LEAST_CHARACTERS, 1 << round(math.log2(read)))),
        min(LARGEST, 1 << round(math.log2(few))),
    )


def core_minutes(settings: Settings, device: str) -> float:
    """The time in minutes of one core; without end on a GPU, and where the steps are said."""
    kind = device.partition(":")[0]
    if kind != "cpu" or (settings.minutes is None and settings.max_steps is not None):
        return math.inf
    return (settings.minutes or MINUTES) * _cores(kind)


def world_size(settings: Settings, device: str) -> int | None:
    """How many rows of a world with columns are made: more for a longer training, since new rows
    teach more than old ones. None: it is said, or there is no such world."""
    name = next((name for name in settings.data if name in SIZES), None)
    if settings.world_size is not None or name is None:
        return settings.world_size
    time = core_minutes(settings, device)
    longer = 1.0 if math.isinf(time) else min(MOST_ROWS, max(1.0, time / WORLD_MINUTES))
    return SIZES[name] << round(math.log2(longer))


def rows(data: Data | Columns, settings: Settings, device: str, model: str) -> tuple[int, int]:
    """How long a row of a batch is, or may be, and how many there are; `model` is what `kind_of`
    says of it."""
    if isinstance(data, Columns):
        return column_rows(data, settings, device, model)
    return text_rows(data.train, settings, device, model, isinstance(data.tokenizer, Marked))


def text_rows(
    corpus: Corpus, settings: Settings, device: str, model: str, own_rows: bool = False
) -> tuple[int, int]:
    """Of one text: how long each row is, and how many there are; with `own_rows` each is a document."""
    kind = device.partition(":")[0]
    time = (settings.minutes or MINUTES) * _cores(kind) if kind == "cpu" else math.inf
    context = settings.context or default_context(corpus, kind, time, model)
    row = min(context, max(1, len(corpus) // corpus.documents)) if own_rows else context
    return context, settings.batch_size or default_batch(row, len(corpus), kind, time, model)


def sizes(
    program: Program,
    told: Mapping[str, int],
    given: Mapping[str, int],
    minutes: float | None,
    tokens: int,
    tokens_per_row: float,
    device: str,
) -> dict[str, int]:
    """All sizes but those that the data tells: the widest that is not too wide for the time.

    `told` are those that the data tells, `given` those that were said, `tokens` how many the
    training part has.
    """
    kind = device.partition(":")[0]
    operations = 60 * (minutes or MINUTES) * SHARE * SPEED[kind] * _cores(kind)
    found, code = roles(program.code), program.code
    enough = TOKENS[kind_of(code)]
    best: dict[str, int] = {}
    for width in WIDTHS:
        tried = found.sizes(width, default_layers(code, found, width), dict(given))
        every = tied_sizes(code, {**tried, **told})
        parameters = _parameters(program, every)
        work = TRAINING * program.cost.work.value(every) / tokens_per_row
        if best and (operations / work < enough * parameters or parameters > tokens):
            break
        best = tried
    return best


def most_steps(parameters: int, tokens: int, tokens_per_step: int) -> int:
    """How many steps so many tokens are good for: more would learn them by heart, the sooner the
    more parameters there are."""
    epochs = MOST_EPOCHS * math.sqrt(tokens / parameters)
    return max(1, math.ceil(epochs * tokens / tokens_per_step))


def weight_decay(epochs: float) -> float:
    """What is read so often is learned by heart, the less so the more is forgotten meanwhile."""
    return min(max(0.1, epochs / 64), 0.5)


def _cores(kind: str) -> int:
    """Those that this process may run on, where the system tells."""
    if kind != "cpu":
        return 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(usable or 1, MOST_CORES)


def _parameters(program: Program, every: Mapping[str, int]) -> int:
    """Those but of word vectors, of which a token uses few."""
    code = program.code
    words = {t.values.name for t in token_inputs(code) if t.values is not None}
    return sum(
        size.value(every)
        for name, size in program.cost.parameters_by_tensor.items()
        if not any(axis.extent.name in words for axis in code.tensors[name].axes)
    )


def width_of(program: Program, known: Mapping[str, int]) -> int:
    """The width of the word vectors, or the largest size if there are none."""
    found = roles(program.code)
    if found.width is not None:
        return known[found.width]
    return max((value for name, value in known.items() if name not in found.told), default=1)


def default_layers(code: Code, found: Roles, width: int) -> int:
    """With attention, more in a wider model; RNNs on RNNs two; convolutions see as far as they go."""
    if found.heads:
        return 2 if width < 96 else 3 if width < 128 else 4 if width < 384 else 6
    return 2 if is_recurrent(code) else 6


def default_context(corpus: Corpus, kind: str, time: float, model: str) -> int:
    """A few short documents, or 128 tokens of long ones; less in a short training (`time` in
    minutes of one core, or without end), more where there is a GPU."""
    lengths = np.diff(corpus.starts)
    long = int(np.quantile(lengths, 0.99)) if len(lengths) else 0
    most = 256 if kind != "cpu" else next(row for less, row in SHORT_ROWS[model] if time < less)
    fitting = min(most, max(64, 16 * math.ceil(long / 16)))
    return max(2, min(fitting, len(corpus) // 4))


def column_rows(data: Columns, settings: Settings, device: str, model: str) -> tuple[int, int]:
    """How long a text of a row may be, and how many rows a batch has: all that there are, unless few
    are much longer than the others."""
    kind = device.partition(":")[0]
    time = (settings.minutes or MINUTES) * _cores(kind) if kind == "cpu" else math.inf
    lengths = [h.lengths for h in data.train.columns.values() if h.lengths is not None]
    lengths += [h.lengths for h in data.validation.columns.values() if h.lengths is not None]
    longest = max((int(one.max()) for one in lengths), default=2)
    usual = max((int(np.quantile(one, 0.995)) for one in lengths), default=1)
    context = settings.context or max(2, min(longest, max(LONG, usual)))
    per_row = len(data.train) / data.train.rows
    batch = default_batch(max(1, round(per_row)), len(data.train), kind, time, model)
    if any(coding.kind == IMAGE for coding in data.codings.values()):
        batch = min(batch, PICTURES.get(kind, batch))
    return context, settings.batch_size or min(batch, max(1, data.train.rows // 4))


def default_batch(context: int, tokens: int, kind: str, time: float, model: str) -> int:
    """So many rows that a step sees some thousand tokens, fewer in a short training, which would
    take too few steps; and that a small text takes a few."""
    short = max(LEAST_TOKENS[model], MINUTE_TOKENS * time**0.5)
    wanted = int(min(STEP_TOKENS[kind], short, max(context, tokens // 16)))
    return max(1, wanted // context)


def default_rate(optimizer: str, width: int, large: bool) -> float:
    """Recurrences take larger steps than attention, and wider models smaller ones."""
    return float(f"{RATES[optimizer, large] * (64 / width) ** 0.5:.2g}")


def kind_of(*codes: Code) -> str:
    """`recurrent` if all are; what goes along a text in no steps counts as `attention`."""
    return "recurrent" if all(map(is_recurrent, codes)) else "attention"


def is_recurrent(code: Code) -> bool:
    """Whether something goes along a text step by step."""
    lengths = set(data_lengths(code))
    axes = [
        code.tensors[name].axes[axis]
        for loop in schedule(code).loops()
        if loop.kind == "scanned"
        for name, axis in loop.axes.items()
    ]
    return any(axis.extent.names & lengths for axis in axes)


def takes_large_steps(code: Code) -> bool:
    """Whether all of it is learned as recurrences are: not where a picture is read beneath one, whose
    convolutions stop learning at their rate."""
    return is_recurrent(code) and all(slot.kind != IMAGE for slot in slots(code))


def amount(
    choices: Choices,
    settings: Settings,
    seconds_per_step: float | None,
    tokens_per_step: int,
    validation: int,
    *,
    seconds: float | None = None,
    most_steps: int | None = None,
) -> Choices:
    """How long the training is, and what happens how often on the way: from the time and what a step takes
    of it; a step that was not measured counts for nothing.

    `seconds` are what is left of the time, `most_steps` what the data are good for.
    """
    steps = settings.max_steps
    if steps is not None:
        seconds = most_steps = None
    else:
        seconds = 60 * (settings.minutes or MINUTES) if seconds is None else seconds
        steps = max(1, int(SHARE * seconds / (seconds_per_step or 1.0)))
        steps = min(steps, most_steps or steps)
    # Of a few steps that the time is for, half: the first was slow, perhaps, and others are not.
    few = steps if seconds is None else math.ceil(steps / 2)
    mark_every = max(math.ceil(steps / LOOKS), min(10, few))
    looks = max(1, steps // (settings.eval_every or mark_every))
    # A token costs a third of what it costs in training: all looks together a tenth.
    affordable = max(2 * tokens_per_step, int(0.3 * steps * tokens_per_step / looks))
    tokens = settings.eval_tokens or affordable
    at_marks = None if seconds is not None else mark_every
    return replace(
        choices,
        max_steps=steps,
        warmup=min(steps, settings.warmup if settings.warmup is not None else steps // 20),
        seconds=seconds,
        mark_every=mark_every,
        most_steps=most_steps,
        eval_every=settings.eval_every or at_marks,
        eval_tokens=None if tokens >= validation else tokens,
        save_every=settings.save_every or settings.eval_every or at_marks,
    )


def precision(device: str, said: str | None) -> str:
    """16 bits where the device multiplies them faster."""
    if said == BFLOAT16 and not device.startswith(("cuda", "mps")):
        # Some processors say that they have such products, and end the process at the first.
        raise IndicialError(f"--precision {said} is for a GPU; on {device} leave it out")
    narrow = device.startswith("cuda") and torch.cuda.is_bf16_supported()
    return said or (BFLOAT16 if narrow else FLOAT32)


def best_device(said: str | None, processes: int = 1) -> str:
    """The device that was asked for, if it is there; else the best there is."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if said is None:
        if processes > 1:  # they cannot share the one GPU that mps is
            return "cuda" if there["cuda"] else "cpu"
        return next((name for name, is_there in there.items() if is_there), "cpu")
    kind, colon, number = said.partition(":")
    try:
        torch.device(said)
    except RuntimeError:
        kind = ""
    if kind not in ("cpu", *there):
        raise IndicialError(f"--device must be cpu, cuda, cuda:1 or mps, not {said}")
    if not there.get(kind, True):
        raise IndicialError(f"--device {said}: torch finds no such device here")
    count = torch.cuda.device_count() if kind == "cuda" else 1
    if colon and (kind == "cpu" or int(number) >= count):  # torch takes any number for the CPU
        counted = f"are {count}, from cuda:0 on" if count > 1 else f"is one {kind}"
        raise IndicialError(f"--device {said}: there {counted}; use --device {kind}")
    return said


@contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """While this lasts, an error of PyTorch or NumPy about memory is told in these words."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        # PyTorch's words for it differ from device to device.
        if isinstance(error, RuntimeError) and "memory" not in str(error):
            raise
        raise IndicialError(f"there is no memory {what}") from error
