"""Training: a task, a module and a run → steps, looks at the validation part, checkpoints.

>>> summary = train(task, module, choices, run, [Metrics(run.metrics), make_display()], plan)
>>> summary.reason, summary.best.perplexity
('finished', 9.87…)

A step is a function of the weights, of the state of the optimizer and of its number: batches, the
learning rate and dropout depend on nothing else. So a run that was stopped, at any moment, goes on
from its last checkpoint bit for bit as if it had not been.

Ctrl-C and SIGTERM end the step, save and return; a second Ctrl-C ends at once. So does an output that
nobody reads any more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from indicial.compile.module.module import ProgramModule
from indicial.program.messages import IndicialError
from indicial.tasks.task import Batch, Scores, Task
from indicial.train.checkpoints import Checkpoint
from indicial.train.choices import BFLOAT16, Choices
from indicial.train.clipping import clip_by_norm
from indicial.train.interrupts import Interrupts
from indicial.train.nans import not_finite
from indicial.train.optimizers import Optimizer
from indicial.train.plans import make_plan
from indicial.train.processes import ALONE, Processes
from indicial.train.rank import writes
from indicial.train.run import Run, load_weights
from indicial.train.schedule import Schedule
from indicial.train.shards import whole
from indicial.train.watchers import Plan, Report, Summary, Watcher, Watchers

SMOOTHING = 0.98
"""Of the loss that is shown: about the last fifty steps."""


def train(
    task: Task,
    module: ProgramModule,
    choices: Choices,
    run: Run,
    watchers: Sequence[Watcher] = (),
    plan: Plan | None = None,
    processes: Processes = ALONE,
) -> Summary:
    """Trains from the run's last checkpoint on, or from the module's weights if there is none.

    `plan` is what watchers are told at the start; without one they are told no time.
    """
    training = Training(task, module, choices, processes)
    found = processes.share_checkpoint(run.checkpoints.latest() if writes() else None)
    told = Watchers(watchers)
    for text in run.checkpoints.damaged:
        told.note(text)
    if found is not None:
        training.load(found)
    if plan is None:
        plan = make_plan(task, module, choices, run.folder, first=training.progress.step)
    with run.claimed(), torch.random.fork_rng(devices=[]):
        return _Course(training, run, told, found is not None).go(plan)


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
        self,
        task: Task,
        module: ProgramModule,
        choices: Choices,
        processes: Processes = ALONE,
    ) -> None:
        self.task, self.module, self.choices = task, module, choices
        self.processes = processes
        self.device = next(module.parameters()).device
        unused = processes.connected and not self._all_used()
        self.replica = processes.wrap(module, unused, choices.compile)
        self.optimizer = Optimizer(module, choices.optimizer, weight_decay=choices.weight_decay)
        steps = choices.max_steps
        self.schedule = Schedule(choices.learning_rate, steps, min(choices.warmup, steps))
        self.progress = Progress()

    def step(self) -> Step:
        """One update. A loss that is not finite is an error, and the weights stay."""
        progress, choices = self.progress, self.choices
        self.module.train()
        self.optimizer.zero_grad()
        loss, terms, count = self._gradient(progress.step)
        parameters = self.module.parameters()
        norm, clipped = clip_by_norm(parameters, choices.clip or None, each=choices.clip_each)
        rate = self.schedule.at(progress.step)
        if not math.isfinite(norm):
            raise NotFinite(loss, progress.step * choices.accumulate)
        self.optimizer.step(rate)
        progress.step += 1
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
        torch.manual_seed(((self.choices.seed * 1_000_003 + number) * 4099 + rank) % (1 << 63))
        return self.task.batch(number, rank, of).to(self.device)

    def validate(self) -> Scores:
        """A look at the validation part, which changes nothing, not even what is drawn later."""
        torch.manual_seed(self.choices.seed)
        processes, most = self.processes, self.choices.eval_tokens
        if not processes.connected:
            return self.task.validate(self.module, most)
        with processes.whole(self.module):
            part = self.task.validate(self.module, most, processes.rank, processes.of)
        nats, count = processes.sum([part.nats, part.count])
        return self.task.scores(nats, int(count))

    def nan_in_validation(self, kept: int | None) -> IndicialError:
        """The error after a look that came to nothing; `kept` is the step that was saved last."""
        torch.manual_seed(self.choices.seed)
        step, module = self.progress.step, self.module.eval()
        rate = self.schedule.at(step - 1)
        with self.processes.whole(module):
            batch = self.task.nan_in_validation(module)
            return not_finite(module, batch, "the validation loss is nan", step, kept, rate)

    # ------------------------------------------------------------------ keeping

    def checkpoint(self) -> Checkpoint:
        keys = self.module.state_keys.values()
        tensors = {f"model/{key}": whole(self.module.get_parameter(key).detach()) for key in keys}
        tensors |= {f"optimizer/{name}": v for name, v in self.optimizer.tensors().items()}
        return Checkpoint(self.progress.step, tensors, asdict(self.progress))

    def load(self, checkpoint: Checkpoint) -> None:
        load_weights(self.module, checkpoint)
        self.optimizer.load(checkpoint.part("optimizer"))
        self.progress = Progress(**checkpoint.facts)


class NotFinite(Exception):
    """A step whose loss or gradient is nan or infinite."""

    def __init__(self, loss: float, number: int, rank: int = 0) -> None:
        finite = math.isfinite(loss)
        super().__init__("the gradient is not finite" if finite else f"the loss is {loss:g}")
        self.number = number
        """Of the batch."""
        self.rank = rank
        """The process whose part of the batch it is."""


class _Course:
    """A training from here to its end: looks, checkpoints, interruptions, and telling of them."""

    def __init__(self, training: Training, run: Run, watchers: Watchers, resumed: bool) -> None:
        self.training, self.run, self.watchers = training, run, watchers
        self.progress, self.choices = training.progress, training.choices
        self.saved = self.progress.step if resumed else None
        self.best = Scores(**self.progress.best) if self.progress.best is not None else None
        self.last: Scores | None = None
        self.first = Mark(self.progress)
        self.stepping = 0.0

    def go(self, plan: Plan) -> Summary:
        self.watchers.started(plan)
        reason = "failed"
        with Interrupts() as interrupts:  # to the end: curves are drawn whoever is in a hurry
            try:
                reason = self._steps(interrupts)
            except KeyboardInterrupt:
                reason = "stopped"
                raise
            finally:
                self.watchers.ended(self._summary(reason))
        return self._summary(reason)

    def _steps(self, interrupts: Interrupts) -> str:
        progress, choices = self.progress, self.choices
        if self.saved is None:
            self._save()  # a run can be resumed from its first moment
        while progress.step < choices.max_steps:
            report = self._step()
            last = progress.step == choices.max_steps
            looks = last or progress.step % choices.eval_every == 0
            better = looks and self._look(report)
            patient = choices.patience is None or progress.worse < choices.patience
            wanted = interrupts.asked is not None or self.watchers.lost is not None
            asked = self.training.processes.any(wanted)
            stops = asked or not patient
            if better or last or stops or progress.step % choices.save_every == 0:
                self._save(better)
            if stops and not last:
                return "stopped" if patient else "patience"
        return "finished"

    def _step(self) -> Report:
        progress, begun = self.progress, time.monotonic()
        try:
            step = self.training.step()
        except NotFinite as found:
            batch = self.training.batch(found.number)
            rate = self.training.schedule.at(progress.step)
            error = not_finite(
                self.training.module, batch, str(found), progress.step + 1, self.saved, rate
            )
            raise IndicialError(self.training.processes.share(str(error), found.rank)) from None
        self.stepping += time.monotonic() - begun
        seconds = self.first.elapsed()
        progress.seconds = self.first.seconds + seconds
        done, left = progress.step - self.first.step, self.choices.max_steps - progress.step
        report = Report(
            step=progress.step,
            of=self.choices.max_steps,
            tokens=progress.tokens,
            loss=step.loss,
            smoothed=progress.smoothed / progress.weight,
            terms=step.terms,
            gradient_norm=step.gradient_norm,
            clipped=progress.clipped,
            learning_rate=step.learning_rate,
            tokens_per_second=(progress.tokens - self.first.tokens) / max(self.stepping, 1e-9),
            seconds=progress.seconds,
            seconds_left=left * seconds / done,
        )
        self.watchers.stepped(report)
        return report

    def _look(self, report: Report) -> bool:
        """Counts the validation part; whether it is the best so far."""
        progress = self.progress
        self.last = scores = self.training.validate()
        if math.isnan(scores.nats):
            raise self.training.nan_in_validation(self.saved)
        self.watchers.validated(report, scores)
        better = math.isfinite(scores.per_token) and (
            self.best is None or scores.per_token < self.best.per_token
        )
        if better:
            self.best, progress.best, progress.best_step = scores, asdict(scores), progress.step
        progress.worse = 0 if better else progress.worse + 1
        return better

    def _save(self, best: bool = False) -> None:
        path = self.run.checkpoints.save(self.training.checkpoint(), best)
        self.saved = self.progress.step
        if path is not None:
            self.watchers.saved(self.progress.step, path)

    def _summary(self, reason: str) -> Summary:
        progress, lost = self.progress, self.watchers.lost
        return Summary(
            reason=reason,
            step=progress.step,
            of=self.choices.max_steps,
            seconds=progress.seconds,
            tokens=progress.tokens,
            folder=self.run.folder,
            best=self.best,
            best_step=progress.best_step,
            last=self.last,
            clipped=progress.clipped,
            lost=None if lost is None else lost.strerror or str(lost),
        )


class Mark:
    """Where this part of a training began."""

    def __init__(self, progress: Progress) -> None:
        self.step, self.tokens, self.seconds = progress.step, progress.tokens, progress.seconds
        self._begun = time.monotonic()

    def elapsed(self) -> float:
        return time.monotonic() - self._begun
