"""Training: a task, a module and a run → steps, looks at the validation part, checkpoints.

>>> summary = train(task, module, choices, run, [Metrics(run.metrics), make_display()], plan)
>>> summary.reason, summary.best.perplexity
('finished', 9.87…)

A step is a function of the weights, of the state of the optimizer and of its number: batches and
dropout depend on nothing else, and the learning rate on the number and on the stretch that was planned
(optimizers.py), which is kept with the weights. So a run that was stopped, at any moment, goes on
from its last checkpoint bit for bit as if it had not been.

Ctrl-C and SIGTERM end the step, save and return; a second Ctrl-C ends at once. So does an output that
nobody reads any more.

The number of steps is planned from how long one takes, measured before the first (`rehearse`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import torch

from indicial.compile.module.module import ProgramModule
from indicial.program.messages import IndicialError
from indicial.tasks.task import Scores, Task
from indicial.training import optimizers
from indicial.training.defaults import SHARE
from indicial.training.optimizers import Stretch
from indicial.training.processes import ALONE, Processes, writes
from indicial.training.run import Run
from indicial.training.settings import Choices
from indicial.training.training import NotFinite, Progress, Training, not_finite
from indicial.training.watchers import Interrupts, Plan, Report, Summary, Watcher, Watchers

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
        begun = optimizers.now()
        try:
            trial.step()  # the first is slow: sources are made
            begun = optimizers.now()
            while optimizers.now() - begun < REHEARSAL or len(times) < 2:
                at = optimizers.now()
                trial.step()
                times.append(optimizers.now() - at)
            if not processes.connected:
                task.validate(module, 1)  # the first look is slow as well
        except NotFinite:  # the training itself says more about it
            pass
    # The lower quartile: others may be at work for a moment, and seldom for the whole training.
    return sorted(times)[len(times) // 4] if times else optimizers.now() - begun


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


WORSE = 2
"""Looks without a better one, in data that were read at least once, after which more do not help."""


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
    found = processes.share_checkpoint(run.checkpoints.to_go_on() if writes() else None)
    told = Watchers(watchers)
    for text in run.checkpoints.damaged:
        told.note(text)
    if found is not None:
        training.load(found)
    training.progress.decided = run.description.decided()
    if plan is None:
        plan = make_plan(task, module, choices, run.folder, first=training.progress.step)
    with run.claimed(), torch.random.fork_rng(devices=[]):
        return _Course(training, run, told, found is not None).go(plan)


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
        self._impossible = False  # whether an infinite loss was told

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
        if progress.step < self.end and not self._patient():
            self.watchers.note(
                f"note: it was stopped at step {progress.step:,} because validation got no better "
                f"(--patience {choices.patience}). To continue anyway: --resume "
                f"{self.run.folder} --patience {progress.worse + 5}"
            )
            return "patience"  # as before it was resumed
        while progress.step < self.end:
            report = self._step()
            last = progress.step == self.end
            mark = progress.step == self.mark
            looks = last or self._is_at(choices.eval_every, mark)
            better = looks and self._look(report)
            if mark and not last:
                self._plan_anew()
            patient = self._patient()
            wanted = interrupts.asked is not None or self.watchers.lost is not None
            asked = self.training.processes.any(wanted)
            stops = asked or not patient
            if better or last or stops or mark or self._is_at(choices.save_every, mark):
                self._save(better)
            if stops and not last:
                return "stopped" if patient else "patience"
        return "finished"

    @property
    def end(self) -> int:
        return self.training.stretch.end

    @property
    def mark(self) -> int | None:
        """The step after which the rest is planned anew."""
        if self.choices.seconds is None:
            return None
        return self.training.stretch.mark(self.choices.mark_every)

    def _is_at(self, every: int | None, mark: bool) -> bool:
        return mark if every is None else self.progress.step % every == 0

    def _plan_anew(self) -> None:
        """How many steps there is time for, and whether more would help."""
        progress, choices, old = self.progress, self.choices, self.training.stretch
        progress.seconds = self.first.seconds + self.first.elapsed()
        assert choices.seconds is not None
        places = choices.max_steps
        new = old.in_time(
            progress.step, progress.seconds, choices.seconds, places, choices.most_steps
        )
        read = progress.tokens / max(1, self.training.task.about.tokens)
        learned = not new.ending and choices.patience is None and progress.worse >= WORSE
        if learned and read >= 1 and self._by_heart():
            new = new.ended(progress.step, places)
            self.watchers.note(
                f"note: validation got no better since step {progress.best_step:,}, so the learning "
                f"rate is brought down until step {new.end:,}, the last one"
            )
        self.training.go_along(Stretch(**self.training.processes.share(asdict(new))))

    def _by_heart(self) -> bool:
        """Whether what was read is known better than what was not. Where it is not, two looks
        without a better one are the noise of a high learning rate, and more data are no other."""
        progress = self.progress
        read = progress.smoothed / max(progress.weight, 1e-9)
        return self.last is not None and read < self.last.per_token

    def _patient(self) -> bool:
        patience = self.choices.patience
        return patience is None or self.progress.worse < patience

    def _step(self) -> Report:
        progress, begun = self.progress, optimizers.now()
        try:
            step = self.training.step()
        except NotFinite as found:
            batch = self.training.batch(found.number)
            rate = self.training.rate
            error = not_finite(
                self.training.module, batch, str(found), progress.step + 1, self.saved, rate
            )
            raise IndicialError(self.training.processes.share(str(error), found.rank)) from None
        self.stepping += optimizers.now() - begun
        seconds = self.first.elapsed()
        progress.seconds = self.first.seconds + seconds
        done, left = progress.step - self.first.step, self.end - progress.step
        report = Report(
            step=progress.step,
            of=self.end,
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
        if math.isinf(scores.nats) and not self._impossible:
            self._impossible = True
            self.watchers.note(
                "note: the equations give a token of the validation part the probability 0, so its "
                "loss is infinite, and no step can be the best"
            )
        self.watchers.validated(report, scores)
        better = (
            scores.better(self.best) if self.best is not None else math.isfinite(scores.per_token)
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
        most = self.choices.most_steps
        by_data = self.training.stretch.ending or (most is not None and self.end >= most)
        return Summary(
            reason=reason,
            step=progress.step,
            of=self.end,
            seconds=progress.seconds,
            budget=self.choices.seconds if by_data else None,
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
        self._begun = optimizers.now()

    def elapsed(self) -> float:
        return optimizers.now() - self._begun
