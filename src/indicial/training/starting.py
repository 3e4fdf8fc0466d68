"""From settings to a training that is ready to go: a new run. `train.py` has those that go on.

>>> ready = begin(Settings.read({"model": "ugrnn", "data": "people", "minutes": 5}))
>>> ready.plan.parameters, ready.plan.steps
(78720, 2310)
>>> train(ready.task, ready.module, ready.choices, ready.run, watchers, ready.plan)

`--from RUN`: weights of another run to begin with.

>>> origin = Origin.of(settings, found)
>>> origin.fill(module)
'from runs/ugrnn-people-1, step 2310: 7 of 7 tensors'

The tokens are those of the other run, and so are the equations, the sizes and (of one text, where positions are
learned) the context that nobody says. A tensor is taken if
the equations call it the same and it has the same shape, but for how many positions there are: those that both have
are taken. The others begin anew, and are told.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import parameters, size_names
from indicial.data.binding import named
from indicial.data.column_rows import Columns, Variation
from indicial.data.corpus import Data
from indicial.data.prepare_text import Cut
from indicial.data.questions import NAMES as QUESTIONS
from indicial.data.questions import as_read
from indicial.notation.parse import canonical_name
from indicial.program.ir import Code
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.tasks.columns import ColumnTask
from indicial.tasks.forms import form_of
from indicial.tasks.predictions import text_lengths, token_inputs
from indicial.tasks.programs import Trainable, make_task, trainable
from indicial.tasks.task import Task
from indicial.tasks.texts import QUESTION, Texts, shares
from indicial.training import defaults, optimizers
from indicial.training.checkpoints import free_folder
from indicial.training.defaults import best_device, enough_memory
from indicial.training.equations import Equations
from indicial.training.loop import FEW, make_plan, rehearse
from indicial.training.processes import ALONE, Processes
from indicial.training.run import Description, Run, check_free
from indicial.training.settings import Choices, Settings
from indicial.training.shared_data import Tell, read_data
from indicial.training.watchers import Plan


@dataclass(frozen=True)
class Origin:
    """A run whose weights are taken."""

    run: Run

    @staticmethod
    def of(settings: Settings, found: Trainable) -> Origin:
        assert settings.from_ is not None
        for name in ("tokens", "vocabulary"):
            said = getattr(settings, name)
            if said is not None:
                raise IndicialError(
                    f"--{name} {said}: the weights of {settings.from_} belong to its own tokens, "
                    f"which are used here as well; leave --{name} out"
                )
        run = Run.open(settings.from_)
        texts = {"language", "texts"}
        if run.description.task != found.task and not {run.description.task, found.task} <= texts:
            raise IndicialError(
                f"{settings.from_} was trained for the task {run.description.task}, and this is "
                f"{found.task}: its tokens are others"
            )
        return Origin(run)

    def sizes(self, program: Program) -> dict[str, int]:
        """The sizes of the run that the program has as well, but for how long a text is."""
        known, lengths = self.run.description.sizes, text_lengths(program.code)
        return {n: known[n] for n in program.code.sizes if n in known and n not in lengths}

    def context(self, program: Program) -> int | None:
        """How long the text was there, where the program has learned positions and so had the run. Several texts
        are as long as the data has them: how long one was says nothing of another."""
        if len(text_lengths(program.code)) != 1:
            return None
        sizes = {name for tensor in parameters(program.code) for name in size_names(tensor.axes)}
        known = self.run.description.sizes
        found = [known[n] for n in text_lengths(program.code) if n in sizes and n in known]
        return found[0] if found else None

    @staticmethod
    def model(settings: Settings) -> tuple[Settings, tuple[Program, ...]]:
        """`--from RUN` without a model: the equations that the run keeps, with what was set there."""
        if settings.from_ is None or settings.model:
            return settings, ()
        run = Run.open(settings.from_)
        kept = Settings.kept(run.description.settings)
        task = settings.task or run.description.task
        task = "language" if task == "texts" else task
        return replace(settings, model=kept.model, task=task), (run.program,)

    def fill(self, module: ProgramModule) -> str:
        """Puts the weights in, and says which."""
        checkpoint = self.run.checkpoint("best")
        weights = checkpoint.part("model")
        own = {key: module.get_parameter(key) for key in module.state_keys.values()}
        taken = [
            key
            for name, key in module.state_keys.items()
            if key in weights and self._fits(module.code, name, weights[key].shape, own[key].shape)
        ]
        if not taken:
            raise IndicialError(
                f"none of the tensors of {self.run.folder} is called the same and has the same "
                f"shape here; it has {', '.join(weights)}"
            )
        with torch.no_grad():
            for key in taken:
                both = tuple(map(slice, map(min, weights[key].shape, own[key].shape)))
                own[key][both].copy_(weights[key][both])
        text = f"from {self.run.folder}, step {checkpoint.step}: {len(taken)} of {len(own)} tensors"
        fresh = [name for name, key in module.state_keys.items() if key not in taken]
        return f"{text}; anew: {', '.join(fresh)}" if fresh else text

    @staticmethod
    def _fits(code: Code, name: str, there: Sequence[int], here: Sequence[int]) -> bool:
        """Whether two shapes of a tensor are the same, but for lengths of texts."""
        lengths = {*text_lengths(code)}
        return len(there) == len(here) and all(
            a == b or not lengths.isdisjoint(size_names([axis]))
            for a, b, axis in zip(there, here, code.tensors[name].axes, strict=True)
        )


MOST = 1 << 27
"""Tokens of a batch."""
UNKNOWN = 0.01
"""Of the characters, so many may be none that the tokens of another run know."""
LITTLE = 1000
"""Tokens below which a text is told to be too short."""


@dataclass(frozen=True)
class Ready:
    """All that `train` takes."""

    task: Task
    module: ProgramModule
    choices: Choices
    run: Run
    plan: Plan


def begin(
    settings: Settings,
    tell: Tell = lambda text: None,
    processes: Processes = ALONE,
    data: Data | Columns | None = None,
    model: Sequence[str | os.PathLike[str] | Program] | None = None,
) -> Ready:
    """A new run. Its folder is made at the end, when nothing is left that could be wrong.

    `data` are what the settings name, if they are prepared already; `model` is what they name, if it
    is more than names and files.
    """
    settings.check_complete()
    settings, kept = Origin.model(settings)
    folder = _folder(settings, processes)
    found = trainable(model or kept or settings.model, settings.set, settings.task)
    for message in found.program.mistakes:  # warnings: an error would have ended it
        tell(message.render())
    if found.task != "columns":
        found = _with_objectives(settings, found, processes)
        settings = _of_one_text(settings, found)
    elif said := settings.objective or settings.shares:
        name = "objective" if settings.objective else "shares"
        raise IndicialError(
            f"--{name} {said if isinstance(said, str) else ' '.join(said)} is for equations that read one "
            "text; these say themselves what they predict from several inputs"
        )
    given = found.sizes
    device = best_device(settings.device, processes.of)
    origin = Origin.of(settings, found) if settings.from_ is not None else None
    if origin is not None:
        found = replace(found, sizes={**origin.sizes(found.program), **found.sizes})
        if settings.context is None:
            settings = replace(settings, context=origin.context(found.program))
    cut_as = origin.run.folder if origin is not None else None
    cut = Cut(**processes.share(asdict(defaults.cut(settings, device))))
    if data is None:
        if found.task == "columns":
            if form_of(found.program).candidates is not None and processes.of > 1:
                raise IndicialError(
                    "retrieval chooses among the rows of a batch, and several processes would divide "
                    "them: start it with one"
                )
            size = processes.share(defaults.world_size(settings, device))
            settings = replace(settings, world_size=size)
        data = read_data(found, settings, tell, cut_as, processes, cut)
    begun = optimizers.now()  # from here on the minutes count
    notes = list(data.description.get("notes", ()))
    if isinstance(data, Data):
        _check_known(data, settings)
        notes += _little(data)
        if settings.world_size is not None and data.world is None:
            raise IndicialError(f"--world-size is for a built-in world, which {data.name} is not")
    task = _task(found, data, settings, device, processes)
    for note in (*notes, *task.notes):
        tell(f"note: {note}")
    if variation_of(settings) and not (isinstance(task, ColumnTask) and task.pictures):
        raise IndicialError("--mirror and --shift are for pictures, and no input is one")
    _check_sizes(given, task)
    task.batch(0)  # there are as many tokens as a row has
    module = _module(found, task, settings, processes.device(device))
    if origin is not None:
        tell(origin.fill(module))
    choices, per_step = _choices(task, module, settings, device, processes, begun)
    description = Description(
        Equations.of(found.program),
        module.sizes.known,
        task.name,
        settings={**settings.located().said(), **choices.to_json(), **task.describe()},
        data=data.description,
    )
    run = Run.create(folder, description, data)
    return Ready(task, module, choices, run, make_plan(task, module, choices, folder, per_step))


def _with_objectives(settings: Settings, found: Trainable, processes: Processes) -> Trainable:
    """Whether documents are made into other texts, or questions are learned: another task."""
    asked = settings.column.keys() & {*QUESTIONS}
    if found.task == "blank" and settings.objective == "blank" and not asked:
        return found
    if settings.objective is None and not asked and not settings.shares:
        return found
    if found.task == "blank":
        raise IndicialError(
            f"{found.program.title} predicts a word from later ones as well: objectives and questions are "
            "for a model that reads from left to right"
        )
    if processes.of > 1:
        raise IndicialError(
            "objectives and questions are learned by one process: start it with one"
        )
    shares(settings.objective or QUESTION)
    return replace(found, task=Texts.name)


def _of_one_text(settings: Settings, found: Trainable) -> Settings:
    """`--data w=book.txt` and `--column w=text` of a program that reads one text."""
    inputs = [tensor.name for tensor in token_inputs(found.program.code)]
    if found.task == Texts.name:
        inputs += QUESTIONS
    if odd := next((n for n in settings.column if canonical_name(n) not in inputs), None):
        raise IndicialError(
            f"--column {odd}={settings.column[odd]}: the equations have no input {odd}; they read "
            f"{', '.join(inputs)}"
        )
    validation = settings.validation
    return replace(
        settings,
        data=tuple(named(item, inputs)[1] for item in settings.data),
        validation=validation and tuple(named(item, inputs)[1] for item in validation),
        field=settings.field
        or next((c for n, c in settings.column.items() if n not in QUESTIONS), None),
        column=settings.column if found.task == Texts.name else {},
    )


def _folder(settings: Settings, processes: Processes) -> Path:
    """Where the run will be; the first process decides."""
    folder = Path(settings.out) if settings.out is not None else free_folder(settings)
    if processes.rank == 0:
        check_free(folder)
    return Path(processes.share(str(folder)))


def _task(
    found: Trainable, data: Data | Columns, settings: Settings, device: str, processes: Processes
) -> Task:
    kind = defaults.kind_of(found.program.code)
    context, batch_size = defaults.rows(data, settings, device, kind)
    if context * batch_size > MOST:
        raise IndicialError(
            f"a batch of {batch_size:,} x {context:,} tokens is more than any memory holds; make "
            "--batch-size smaller (--accumulate makes up for it), or --context"
        )
    batch_size = processes.rows(batch_size, said=settings.batch_size is not None)
    seed = settings.seed or 0
    return task_of(found.task, found.program, data, settings, context, batch_size, seed)


def task_of(
    name: str,
    program: Program,
    data: Data | Columns,
    settings: Settings,
    context: int,
    batch_size: int,
    seed: int,
) -> Task:
    """The task with this name, on data, as the settings want it."""
    return make_task(
        name, program, data, context=context, batch_size=batch_size, seed=seed,
        variation=variation_of(settings), objective=settings.objective, shares=shares_of(settings),
    )  # fmt: skip


def variation_of(settings: Settings) -> Variation:
    """How the pictures of a batch are changed."""
    return Variation(bool(settings.mirror), settings.shift or 0)


def shares_of(settings: Settings) -> list[float]:
    """How often each name of `--data` comes, in the order in which documents are read."""
    said, given = settings.data, settings.shares
    if given is None:
        return []
    try:
        found = [float(share) for share in given]
    except ValueError:
        found = []
    if len(found) != len(said) or not all(0.001 <= share <= 1000 for share in found):
        raise IndicialError(
            f"--shares {' '.join(given)}: give a number from 0.001 to 1000 for each of the {len(said)} names of --data "
            f"({', '.join(said)}), such as --shares {' '.join('1' for _ in said)}"
        )
    return [found[number] for number in as_read(said, bool(settings.column))]


def _check_known(data: Data, settings: Settings) -> None:
    """With the characters of another run: what it has no token for cannot be learned."""
    if data.train.unknown > UNKNOWN * data.train.characters:
        raise IndicialError(
            f"{data.train.unknown:,} of the {data.train.characters:,} characters to learn from are "
            f"unknown to {settings.from_} ({UNKNOWN:.0%} may be). Train a new model on them, "
            "without --from; one with --tokens bytes or bpe knows every character"
        )


def _little(data: Data) -> list[str]:
    """What to know of a text that is too short to learn much from."""
    count, other = len(data.train), len(data.validation)
    if count >= LITTLE:
        return []
    return [
        f"{count} tokens are few to learn from: the model will memorise them and little else, "
        f"and how it does on the {other:,} held out for validation is chance. Give at "
        "least a few thousand characters, or try --data people"
    ]


def _check_sizes(given: Mapping[str, int], task: Task) -> None:
    """What the data and `--context` decide is not said by `--set` as well, but to the same effect."""
    for name, value in given.items():
        if name in task.lengths and value != task.context:  # of one text, all rows are as long
            raise IndicialError(
                f"--set {name}={value}: {name} is how many tokens a row has, {task.context} here; "
                f"use --context {value}"
            )
        if value != task.sizes.get(name, value):
            raise IndicialError(
                f"--set {name}={value}: {name} is told by the data, and is {task.sizes[name]}; leave "
                "it out (how many tokens bpe makes is --vocabulary)"
            )


def _module(found: Trainable, task: Task, settings: Settings, device: str) -> ProgramModule:
    about = task.about
    told = {**task.sizes, **task.lengths}
    data = (about.tokens, about.tokens_per_row)
    chosen = defaults.sizes(found.program, told, found.sizes, settings.minutes, *data, device)
    torch.manual_seed(settings.seed or 0)
    every = {**chosen, **task.sizes}
    listed = ", ".join(f"{name} = {value}" for name, value in every.items())
    with enough_memory(f"on {device} for a model with {listed}; make a size smaller"):
        return found.program.compile(sizes=every, device=device)


def _choices(
    task: Task,
    module: ProgramModule,
    settings: Settings,
    device: str,
    processes: Processes,
    begun: float,
) -> tuple[Choices, float | None]:
    """All settings; and the seconds that a step takes, if they were measured.

    The minutes began at `begun`: what making kernels took is not there for steps any more, but for
    half of the time, which is always there for them.
    """
    optimizer = settings.optimizer or "muon"
    width = defaults.width_of(task.program, module.sizes.known)
    rate = defaults.default_rate(optimizer, width, defaults.takes_large_steps(task.program.code))
    names = [f.name for f in fields(Choices)]
    said = {n: value for n in names if (value := getattr(settings, n, None)) is not None}
    rows = {"context": task.context, "batch_size": task.batch_size}
    machine = {"device": device, "precision": defaults.precision(device, settings.precision)}
    kept = Choices(**{"max_steps": 1_000_000, "learning_rate": rate, **said, **rows, **machine})
    few = settings.max_steps is not None and settings.max_steps <= FEW
    per_step = processes.share(None if few else rehearse(task, module, kept, processes))
    about = task.about
    tokens = round(kept.batch_size * kept.accumulate * about.tokens_per_row)
    whole = 60 * (settings.minutes or defaults.MINUTES)
    left = processes.share(max(whole - (optimizers.now() - begun), whole / 2))
    parameters = sum(p.numel() for p in module.parameters())
    # To know what a text says is to learn it by heart: more of the time is not too much.
    by_heart = isinstance(task, Texts)
    most = None if by_heart else defaults.most_steps(parameters, about.tokens, tokens)
    validation = about.validation_tokens
    chosen = defaults.amount(
        kept, settings, per_step, tokens, validation, seconds=left, most_steps=most
    )
    planned = most is not None and settings.max_steps is None
    epochs = chosen.max_steps * tokens / about.tokens if planned else 0.0
    decay = said.get("weight_decay", defaults.weight_decay(epochs))
    return replace(chosen, weight_decay=decay), per_step
