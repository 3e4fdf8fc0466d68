"""How far a training is and where it ends: planned anew while it runs.

The learning rate was planned for so many steps: those are places of the schedule. A stretch says
at which place each step is.

>>> Stretch(end=1000).at(200)                   # as planned: step 200 is at place 200
200.0
>>> slow = Stretch(end=1000).to(200, 600, places=1000)    # half as fast from here on
>>> slow.pace, slow.at(200), slow.at(600)
(2.0, 200.0, 1000.0)

The rate goes on where it was, and falls as quickly as there is time for. A new stretch begins only
where a checkpoint is saved with it, so that a run that was killed goes on along the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
