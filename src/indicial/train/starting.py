"""From settings to a training that is ready to go: a new run, or one that goes on.

>>> ready = begin(Settings.read({"model": "ugrnn", "data": "people", "minutes": 5}))
>>> ready.plan.parameters, ready.plan.steps
(78720, 2310)
>>> train(ready.task, ready.module, ready.choices, ready.run, watchers, ready.plan)
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.corpus import Data
from indicial.data.prepare import WORLD_SIZE, prepare_data
from indicial.program.messages import IndicialError
from indicial.tasks.language import Language
from indicial.tasks.programs import Trainable, trainable
from indicial.tasks.registry import make_task
from indicial.train import defaults
from indicial.train.choices import Choices
from indicial.train.equations import Equations
from indicial.train.loop import NotFinite, Training
from indicial.train.origin import Origin
from indicial.train.plans import make_plan
from indicial.train.processes import ALONE, Processes
from indicial.train.run import FILE, Description, Run
from indicial.train.settings import Settings
from indicial.train.shared_data import prepared_together
from indicial.train.watchers import Plan

Tell = Callable[[str], None]

REHEARSAL = 1.5
"""Seconds for measuring how long a step takes."""
FEW = 20
"""So few steps are not measured: they are done before they are planned."""


@dataclass(frozen=True)
class Ready:
    """All that `train` takes."""

    task: Language
    module: ProgramModule
    choices: Choices
    run: Run
    plan: Plan


# ---------------------------------------------------------------------- a new run


def begin(
    settings: Settings, tell: Tell = lambda text: None, processes: Processes = ALONE
) -> Ready:
    """A new run. Its folder is made at the end, when nothing is left that could be wrong."""
    if not settings.model:
        raise IndicialError("say what to train: a model of the library (`ugrnn`) or an .eq file")
    if not settings.data:
        raise IndicialError("say what to train on: --data PATH, or --data people, a built-in world")
    folder = _folder(settings, processes)
    found = trainable(settings.model, settings.set, settings.task)
    given = found.sizes
    device = best_device(settings.device, processes.of)
    origin = Origin.of(settings, found) if settings.from_ is not None else None
    if origin is not None:
        found = replace(found, sizes={**origin.sizes(found.program), **found.sizes})
    cut_as = origin.run.folder if origin is not None else None
    data = read_data(settings, tell, cut_as, processes)
    for note in data.description.get("notes", ()):
        tell(f"note: {note}")
    if settings.world_size is not None and data.world is None:
        raise IndicialError(f"--world-size is for a built-in world, and {data.name} is none")
    task = _task(found, data, settings, device, processes)
    _check_sizes(given, task)
    task.batch(0)  # there are as many tokens as a row has
    module = _module(found, task, settings, processes.device(device))
    if origin is not None:
        tell(origin.fill(module))
    choices, per_step = _choices(task, module, settings, device, processes)
    description = Description(
        Equations.of(found.program),
        module.sizes.known,
        task.name,
        settings={**settings.said(), **choices.to_json(), **task.describe()},
        data=data.description,
    )
    run = Run.create(folder, description, data.tokenizer)
    return Ready(task, module, choices, run, make_plan(task, module, choices, folder, per_step))


def _folder(settings: Settings, processes: Processes) -> Path:
    """Where the run will be; the first process decides."""
    folder = Path(settings.out) if settings.out is not None else free_folder(settings)
    if processes.rank == 0:
        check_free(folder)
    return Path(processes.share(str(folder)))


def _task(
    found: Trainable, data: Data, settings: Settings, device: str, processes: Processes
) -> Language:
    context, batch_size = defaults.rows(data.train, settings, device)
    return make_task(
        found.task,
        found.program,
        data,
        context=context,
        batch_size=processes.rows(batch_size, said=settings.batch_size is not None),
        seed=settings.seed or 0,
    )


def _check_sizes(given: Mapping[str, int], task: Language) -> None:
    """What the data and `--context` decide is not said by `--set` as well, but to the same effect."""
    for name, value in given.items():
        if name in task.lengths and value != task.context:
            raise IndicialError(
                f"--set {name}={value}: {name} is how many tokens a row has, {task.context} here; "
                f"say --context {value}"
            )
        if value != task.sizes.get(name, value):
            raise IndicialError(
                f"--set {name}={value}: {name} is how many tokens there are, and the data has "
                f"{task.sizes[name]}; leave it out (with --tokens bpe it is --vocabulary)"
            )


def _module(found: Trainable, task: Language, settings: Settings, device: str) -> ProgramModule:
    told = {**dict.fromkeys(task.lengths, task.context), **task.sizes}
    tokens = len(task.data.train)
    chosen = defaults.sizes(found.program, told, found.sizes, settings.minutes, tokens, device)
    torch.manual_seed(settings.seed or 0)
    every = {**chosen, **task.sizes}
    try:
        return found.program.compile(sizes=every, device=device)
    except RuntimeError as error:  # torch's words for it differ from device to device
        if "memory" not in str(error):
            raise
        listed = ", ".join(f"{name} = {value}" for name, value in every.items())
        raise IndicialError(
            f"there is no memory on {device} for a model with {listed}; make a size smaller"
        ) from error


def _choices(
    task: Language,
    module: ProgramModule,
    settings: Settings,
    device: str,
    processes: Processes,
) -> tuple[Choices, float | None]:
    """All settings; and the seconds that a step takes, if they were measured."""
    optimizer = settings.optimizer or "muon"
    width = defaults.width_of(task.program, module.sizes.known)
    rate = defaults.default_rate(optimizer, width, defaults.is_recurrent(task.program.code))
    kept = Choices(
        context=task.context,
        batch_size=task.batch_size,
        max_steps=settings.max_steps or 1_000_000,
        learning_rate=_said(settings.learning_rate, rate),
        accumulate=settings.accumulate or 1,
        optimizer=optimizer,
        weight_decay=_said(settings.weight_decay, 0.1),
        clip=_said(settings.clip, 1.0),
        clip_each=bool(settings.clip_each),
        patience=settings.patience,
        seed=settings.seed or 0,
        device=device,
        precision=defaults.precision(device, settings.precision),
        compile=bool(settings.compile),
    )
    few = settings.max_steps is not None and settings.max_steps <= FEW
    per_step = processes.share(None if few else rehearse(task, module, kept, processes))
    tokens = kept.batch_size * kept.accumulate * kept.context
    amount = defaults.amount(settings, per_step, tokens, len(task.data.validation))
    return replace(kept, **amount.__dict__), per_step


def _said(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def rehearse(
    task: Language, module: ProgramModule, choices: Choices, processes: Processes = ALONE
) -> float:
    """Seconds that a step takes, measured on a copy that is thrown away."""
    with torch.random.fork_rng(devices=[]):
        slow = replace(choices, learning_rate=1e-6)
        trial = Training(task, copy.deepcopy(module), slow, processes.apart())
        times: list[float] = []
        begun = time.monotonic()
        try:
            trial.step()  # the first is slow: sources are made
            while time.monotonic() - begun < REHEARSAL or len(times) < 2:
                at = time.monotonic()
                trial.step()
                times.append(time.monotonic() - at)
        except NotFinite:  # the training itself says more about it
            pass
    return sorted(times)[len(times) // 2] if times else time.monotonic() - begun


# ---------------------------------------------------------------------- going on


def resume(
    folder: str,
    settings: Settings,
    tell: Tell = lambda text: None,
    processes: Processes = ALONE,
) -> Ready:
    """A run that goes on as it began; only what changes nothing in it may be said anew."""
    run = _open_run(folder, processes)
    kept = Settings.read(
        {k: v for k, v in run.description.settings.items() if k in Settings.__dataclass_fields__}
    )
    _check_same(folder, settings, kept)
    choices = Choices.from_json(run.description.settings)
    if settings.device is not None:
        choices = replace(choices, device=best_device(settings.device, processes.of))
    processes.rows(choices.batch_size, said=True)
    if settings.max_steps is not None and settings.max_steps != choices.max_steps:
        tell(
            f"the learning rate was planned for {choices.max_steps} steps and is now for "
            f"{settings.max_steps}"
        )
        choices = replace(choices, max_steps=settings.max_steps)
    tokenizer = run.folder if kept.from_ is not None else None
    data = read_data(settings.over(kept), tell, tokenizer, processes)
    before = [run.description.data.get(p, {}).get("digest") for p in ("train", "validation")]
    if before != [data.train.digest, data.validation.digest]:
        raise IndicialError(
            f"the data changed since {folder} was begun, so it cannot go on as if nothing had "
            f"happened. To train it further on the new data: --from {folder}"
        )
    run.mend_tokenizer(data.tokenizer)
    program = run.program
    task = make_task(
        run.description.task,
        program,
        data,
        context=choices.context,
        batch_size=choices.batch_size,
        seed=choices.seed,
    )
    torch.manual_seed(choices.seed)
    device = processes.device(choices.device)
    module = program.compile(sizes=run.description.sizes, device=device)
    latest = run.checkpoints.latest()
    if latest is None and kept.from_ is not None:  # it was stopped before it had begun
        tell(Origin(Run.open(kept.from_)).fill(module))
    first = latest.step if latest is not None else 0
    left = choices.max_steps - first
    per_step = rehearse(task, module, choices, processes) if left > FEW else None
    return Ready(
        task, module, choices, run, make_plan(task, module, choices, run.folder, per_step, first)
    )


def _open_run(folder: str, processes: Processes) -> Run:
    """The run as the first process finds it: other machines need not have its folder."""
    found = Run.open(folder) if processes.rank == 0 else None
    told = processes.share(found and [str(found.folder), found.description.to_json()])
    return found or Run(Path(told[0]), Description.from_json(told[1]))


MAY_CHANGE = ("out", "device", "fsdp", "max_steps", "data", "tensorboard")


def _check_same(folder: str, said: Settings, kept: Settings) -> None:
    for name, value in said.said().items():
        if name in MAY_CHANGE or kept.said().get(name) == value:
            continue
        flag = name.replace("_", "-")
        before = kept.said().get(name)
        was = f"was begun with {before}" if before is not None else "was begun without it"
        raise IndicialError(
            f"--{flag} {value}: {folder} {was}, and --resume goes on as it began. To train its "
            f"weights in another way: --from {folder}"
        )


# ---------------------------------------------------------------------- parts of both


def read_data(
    settings: Settings,
    tell: Tell,
    tokenizer: Path | None = None,
    processes: Processes = ALONE,
) -> Data:
    """The data that the settings name; cut as in another run, if its folder is given."""

    def prepare() -> Data:
        return prepare_data(
            settings.data,
            tokens=settings.tokens or "auto",
            vocabulary=settings.vocabulary,
            field=settings.field,
            documents=settings.documents or "auto",
            validation=_validation(settings.validation),
            world_size=settings.world_size or WORLD_SIZE,
            tokenizer=tokenizer,
            tell=tell,
        )

    return prepared_together(processes, prepare, (*settings.data, *(settings.validation or ())))


def _validation(said: tuple[str, ...] | None) -> float | tuple[str, ...] | None:
    """`0.1` is a part, anything else is files."""
    if said is not None and len(said) == 1:
        try:
            return float(said[0])
        except ValueError:
            pass
    return said


def best_device(said: str | None, processes: int = 1) -> str:
    """The device that was asked for, if it is there; else the best there is."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if said is None:
        if processes > 1:  # they cannot share the one GPU that mps is
            return "cuda" if there["cuda"] else "cpu"
        return next((name for name, is_there in there.items() if is_there), "cpu")
    kind = said.partition(":")[0]
    try:
        torch.device(said)
    except RuntimeError:
        kind = ""
    if kind not in ("cpu", *there):
        raise IndicialError(f"--device is cpu, cuda, cuda:1 or mps; it was given {said}")
    if not there.get(kind, True):
        raise IndicialError(f"--device {said}: there is none that torch can use here")
    return said


def free_folder(settings: Settings) -> Path:
    """A name for a run: `runs/ugrnn-people-1`, and `-2` if there is one."""
    model = "-".join(Path(what).stem for what in settings.model)
    name = f"{model}-{Path(settings.data[0]).stem}"
    name = re.sub(r"[^\w.+-]+", "-", name).strip("-")[:60] or "run"
    number = 1
    while (Path("runs") / f"{name}-{number}").exists():
        number += 1
    return Path("runs") / f"{name}-{number}"


def check_free(folder: Path) -> None:
    """A run is never written over."""
    if (folder / FILE).exists():
        raise IndicialError(
            f"there is a run in {folder} already. To go on with it: --resume {folder}; for a new "
            "one choose another --out"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise IndicialError(f"{folder} holds other things and is no run; choose another --out")
