"""The learning rate as a pure function of the step.

    Schedule(peak=3e-3, steps=1000, warmup=100)

    step      0       99      100        550        999
    rate   3e-5     3e-3     3e-3     1.5e-3       8e-9

Steps count from 0: `at(0)` is the rate of the first update. No rate is 0, so no update is wasted.

How far a training is and where it ends: planned anew while it runs.

The learning rate was planned for so many steps: those are places of the schedule. A stretch says
at which place each step is.

>>> Stretch(end=1000).at(200)                   # as planned: step 200 is at place 200
200.0
>>> slow = Stretch(end=1000).to(200, 600, places=1000)    # half as fast from here on
>>> slow.pace, slow.at(200), slow.at(600)
(2.0, 200.0, 1000.0)

The rate goes on where it was, and falls as quickly as there is time for. A new stretch begins only
where a checkpoint is saved with it, so that a run that was killed goes on along the same ones.

`--minutes` are those of the wall. Who measures on a machine where others work, or tests what happens on one that
becomes slow, puts another clock in its place: `schedule.now = time.process_time`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from indicial.program.messages import IndicialError

now: Callable[[], float] = time.monotonic
"""The clock that a training goes by."""


@dataclass(frozen=True)
class Schedule:
    """A rise to `peak` over `warmup` steps, then half a wave of a cosine, until `steps`."""

    peak: float
    steps: int
    warmup: int = 0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.peak) and self.peak > 0):
            raise IndicialError(f"the learning rate is {self.peak}; it is a number above 0")
        if self.steps < 1:
            raise IndicialError(f"{self.steps} steps; there is at least 1")
        if not 0 <= self.warmup <= self.steps:
            raise IndicialError(
                f"a warm-up of {self.warmup} steps does not fit into {self.steps} steps"
            )

    def at(self, step: float) -> float:
        """The rate of the update after `step` updates; beyond the last step, that of the last.

        A training that is planned anew is between two steps of the first plan.
        """
        step = min(step, self.steps - 1)
        if step < self.warmup:
            return self.peak * min(1.0, (step + 1) / self.warmup)
        left = min(1.0, (self.steps - step) / max(1, self.steps - self.warmup))
        return self.peak * (1 - math.cos(math.pi * left)) / 2


STILL = 0.25
"""When validation gets no better, the rate falls in this part of the steps that were done."""


@dataclass(frozen=True)
class Stretch:
    """From `step` on, which is at `place` of the schedule, each step goes `pace` places."""

    end: int
    """The last step."""
    step: int = 0
    place: float = 0.0
    pace: float = 1.0
    seconds: float = 0.0
    """Used when it began."""
    ending: bool = False
    """Whether it ends because validation got no better, and not with the time."""

    def at(self, step: int) -> float:
        """The place of a step."""
        return self.place + (step - self.step) * self.pace

    def to(self, step: int, end: int, places: int) -> Stretch:
        """From a step of this stretch on, so quickly that the schedule is done at `end`."""
        end = max(end, step + 1)
        place = self.at(step)
        return replace(self, end=end, step=step, place=place, pace=(places - place) / (end - step))

    def mark(self, places: int) -> int:
        """The step at which the next one begins: `places` further on, but not beyond the end."""
        return min(self.end, self.step + max(1, round(places / self.pace)))

    def in_time(
        self, step: int, seconds: float, budget: float, places: int, most: int | None
    ) -> Stretch:
        """The next stretch, by the time that this one took for its steps and by what is left.

        `most` are the steps that the data are good for.
        """
        per_step = (seconds - self.seconds) / max(1, step - self.step)
        left = max(0.0, budget - seconds)
        end = step + int(left / per_step) if per_step > 0 else self.end
        if self.ending:
            end = min(end, self.end)
        elif most is not None:
            end = min(end, most)
        return replace(self.to(step, end, places), seconds=seconds)

    def ended(self, step: int, places: int) -> Stretch:
        """Brings the rate down from here on, and ends."""
        end = min(self.end, step + max(1, round(STILL * step)))
        return replace(self.to(step, end, places), ending=True)
