"""The weights with all that changes them, step by step: what a checkpoint holds.

>>> training = Training(task, module, choices)
>>> training.step().loss, training.validate().per_token
(2.89…, 2.85…)
>>> clip_by_norm(module.parameters(), most=1.0)
Clipped(norm=3.7, clipped=True)         # all gradients were divided by 3.7

A norm that is not finite is reported and nothing is scaled: whoever calls decides whether to leave the step out. Of
a loss or a gradient that is not a number it is told in which equation it began, and what to do:

step 212: the loss is nan.
cell.eq:3:1: error: R[4,17] of example 2 is inf, and all before it is finite [not-finite]
…
Nothing after step 200 was kept. Try a smaller --learning-rate (now 0.1), …
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from indicial.compile.ground.torch_inside import norms as norms_of
from indicial.compile.ground.torch_inside import scale_
from indicial.compile.module.module import ProgramModule
from indicial.program.messages import IndicialError
from indicial.tasks.task import Batch, Scores, Task
from indicial.training.checkpoints import Checkpoint
from indicial.training.defaults import enough_memory
from indicial.training.optimizers import Average, Optimizer, Schedule, Stretch
from indicial.training.processes import ALONE, Processes, is_divided, local, whole
from indicial.training.run import load_weights
from indicial.training.settings import BFLOAT16, Choices

SMOOTHING = 0.98
"""Of the loss that is shown: about the last fifty steps."""


@dataclass
class Progress:
    """What is carried from step to step beside weights and optimizer; kept in checkpoints."""

    step: int = 0
    tokens: int = 0
    smoothed: float = 0.0
    weight: float = 0.0
    """How much of `smoothed` there is yet."""
    clipped: int = 0
    seconds: float = 0.0
    best: dict[str, Any] | None = None
    """The best scores so far."""
    best_step: int | None = None
    worse: int = 0
    """Looks at the validation part since the best one."""
    stretch: dict[str, Any] | None = None
    """The one that the training is on, if it was planned anew."""
    decided: dict[str, Any] | None = None
    """What all steps follow from, as the run describes it."""


@dataclass(frozen=True)
class Step:
    """What one update of the weights was like."""

    loss: float
    terms: dict[str, float]
    gradient_norm: float
    learning_rate: float


class Training:
    """The weights with all that changes them: what a checkpoint holds."""

    def __init__(
        self, task: Task, module: ProgramModule, choices: Choices, processes: Processes = ALONE
    ) -> None:
        self.task, self.module, self.choices = task, module, choices
        self.processes = processes
        self.device = next(module.parameters()).device
        unused = processes.connected and not self._all_used()
        self.replica = processes.wrap(module, unused, choices.compile)
        self.optimizer = Optimizer(module, choices.optimizer, weight_decay=choices.weight_decay)
        self.average = Average(self.optimizer.parameters, choices.average)
        steps = choices.max_steps
        self.schedule = Schedule(choices.learning_rate, steps, min(choices.warmup, steps))
        self.progress = Progress()
        self.stretch = Stretch(end=steps)

    @property
    def rate(self) -> float:
        """Of the next step."""
        return self.schedule.at(self.stretch.at(self.progress.step))

    def go_along(self, stretch: Stretch) -> None:
        """Plans the rest anew; kept with the next checkpoint."""
        self.stretch, self.progress.stretch = stretch, asdict(stretch)

    def step(self) -> Step:
        """One update. A loss that is not finite is an error, and the weights stay."""
        progress, choices = self.progress, self.choices
        self.module.train()
        self.optimizer.zero_grad()
        with enough_memory(
            f"on {self.device} for a step of {choices.batch_size} x {choices.context} tokens; make "
            "--batch-size smaller (--accumulate makes up for it), or --context, or a size"
        ):
            loss, terms, count = self._gradient(progress.step)
        parameters = self.module.parameters()
        norm, clipped = clip_by_norm(parameters, choices.clip or None, each=choices.clip_each)
        rate = self.rate
        if not math.isfinite(norm):
            raise NotFinite(loss, progress.step * choices.accumulate)
        self.optimizer.step(rate)
        progress.step += 1
        self.average.follow(progress.step)
        progress.tokens += count
        progress.clipped += clipped
        progress.weight = SMOOTHING * progress.weight + (1 - SMOOTHING)
        progress.smoothed = SMOOTHING * progress.smoothed + (1 - SMOOTHING) * loss
        return Step(loss, terms, norm, rate)

    def _gradient(self, step: int) -> tuple[float, dict[str, float], int]:
        """The mean gradient over the batches of a step goes into the parameters."""
        parts = self.choices.accumulate
        total, count = 0.0, 0
        sums: dict[str, float] = {}
        narrow = self.choices.precision == BFLOAT16
        for number in range(step * parts, (step + 1) * parts):
            batch = self.batch(number)
            last = number + 1 == (step + 1) * parts
            with self.processes.exchanging(self.replica, now=last):
                with torch.autocast(self.device.type, torch.bfloat16, enabled=narrow):
                    loss, terms = self.task.loss(self.replica, batch)
                value, tokens, means = self._of_all(loss, batch.count, terms, number)
                (loss / parts).backward()  # type: ignore[no-untyped-call]
            total += value / parts
            count += tokens
            for name, term in means.items():
                sums[name] = sums.get(name, 0.0) + term / parts
        return total, sums, count

    def _of_all(
        self, loss: Tensor, count: int, terms: dict[str, Tensor], number: int
    ) -> tuple[float, int, dict[str, float]]:
        """The means over all processes, whose parts of a batch are of one size."""
        own = loss.item()
        value, tokens, *rest = self.processes.sum(
            [own, count, *(term.item() for term in terms.values())]
        )
        of = self.processes.of if self.processes.connected else 1
        if not math.isfinite(value):
            rank = self.processes.first(not math.isfinite(own))
            raise NotFinite(value / of, number, rank)
        return (
            value / of,
            int(tokens),
            {name: v / of for name, v in zip(terms, rest, strict=True)},
        )

    def _all_used(self) -> bool:
        """Whether the loss depends on every parameter."""
        self.task.loss(self.module, self.batch(0))[0].backward()  # type: ignore[no-untyped-call]
        used = all(p.grad is not None for p in self.module.parameters())
        self.module.zero_grad()
        return used

    def batch(self, number: int) -> Batch:
        """A batch, and the generator set as dropout is to be drawn for it."""
        rank, of = self.processes.rank, self.processes.of
        self._draw_from(((self.choices.seed * 1_000_003 + number) * 4099 + rank) % (1 << 63))
        return self.task.batch(number, rank, of).to(self.device)

    def _draw_from(self, seed: int) -> None:
        """Sets the generators that dropout draws from."""
        if self.device.type == "cpu":  # in every step, and to ask after all devices takes 0.1 ms
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)

    def validate(self) -> Scores:
        """A look at the validation part, which changes nothing, not even what is drawn later."""
        torch.manual_seed(self.choices.seed)
        processes, most = self.processes, self.choices.eval_tokens
        with self.average.used(), processes.whole(self.module):
            if not processes.connected:
                return self.task.validate(self.module, most)
            part = self.task.validate(self.module, most, processes.rank, processes.of)
        nats, count, *tally = processes.sum([part.nats, part.count, *part.tally])
        return self.task.scores(nats, int(count), tuple(tally))

    def nan_in_validation(self, kept: int | None) -> IndicialError:
        """The error after a look that came to nothing; `kept` is the step that was saved last."""
        torch.manual_seed(self.choices.seed)
        step, module = self.progress.step, self.module.eval()
        rate = self.schedule.at(self.stretch.at(step - 1))
        with self.average.used(), self.processes.whole(module):
            batch = self.task.nan_in_validation(module)
            return not_finite(module, batch, "the validation loss is nan", step, kept, rate)

    # ------------------------------------------------------------------ keeping

    def checkpoint(self) -> Checkpoint:
        own = {key: whole(p.detach()) for key, p in self.optimizer.parameters.items()}
        means = {key: whole(mean) for key, mean in self.average.means.items()}
        tensors = {f"model/{key}": value for key, value in (means or own).items()}
        tensors |= {f"trained/{key}": value for key, value in own.items() if means}
        tensors |= {f"optimizer/{name}": v for name, v in self.optimizer.tensors().items()}
        return Checkpoint(self.progress.step, tensors, asdict(self.progress))

    def load(self, checkpoint: Checkpoint) -> None:
        load_weights(self.module, checkpoint)
        self.average.load(checkpoint.part("trained"))
        self.optimizer.load(checkpoint.part("optimizer"))
        self.progress = Progress(**checkpoint.facts)
        if self.choices.seconds is None:  # the number of steps was said since
            self.progress.stretch = None
        if self.progress.stretch is not None:
            self.stretch = Stretch(**self.progress.stretch)


class NotFinite(Exception):
    """A step whose loss or gradient is nan or infinite."""

    def __init__(self, loss: float, number: int, rank: int = 0) -> None:
        finite = math.isfinite(loss)
        super().__init__("the gradient is not finite" if finite else f"the loss is {loss:g}")
        self.number = number
        """Of the batch."""
        self.rank = rank
        """The process whose part of the batch it is."""


class Clipped(NamedTuple):
    norm: float
    """The length of all gradients together, before anything was scaled."""
    clipped: bool


def clip_by_norm(
    parameters: Iterable[nn.Parameter], most: float | None, each: bool = False
) -> Clipped:
    """Scale gradients in place so that their norm, or that of each tensor, is `most` at most.

    With `most=None` the norm is only measured.
    """
    found = [p.grad for p in parameters if p.grad is not None]
    if not found:
        return Clipped(0.0, False)
    gradients = [local(gradient) for gradient in found]
    norms = torch.stack(norms_of(gradients)).double()
    if is_divided(found[0]):  # each process has some rows of all of them
        norms = norms.square()
        torch.distributed.all_reduce(norms)
        norms = norms.sqrt()
    norm = norms.norm().item()
    if most is None or not math.isfinite(norm):
        return Clipped(norm, False)
    too_long = bool((norms > most).any()) if each else norm > most
    if too_long:
        each_own = (most / norms).clamp(max=1.0).tolist()
        scale_(gradients, each_own if each else [most / norm] * len(gradients))
    return Clipped(norm, too_long)


def not_finite(
    module: ProgramModule, batch: Batch | None, what: str, step: int, kept: int | None, rate: float
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
