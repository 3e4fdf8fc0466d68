"""The learning rate as a pure function of the step.

    Schedule(peak=3e-3, steps=1000, warmup=100)

    step      0       99      100        550        999
    rate   3e-5     3e-3     3e-3     1.5e-3       8e-9       cosine (the default)
    rate   3e-5     3e-3     3e-3     1.5e-3     3.3e-6       linear
    rate   3e-5     3e-3     3e-3       3e-3     1.5e-5       wsd: stable, then linear in the end
    rate   3e-5     3e-3     3e-3       3e-3       3e-3       constant

Steps count from 0: `at(0)` is the rate of the first update. No rate is 0, so no update is wasted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from indicial.program.messages import IndicialError

SHAPES = ("cosine", "linear", "wsd", "constant")


@dataclass(frozen=True)
class Schedule:
    """A rise to `peak` over `warmup` steps, then the decay that `shape` names, until `steps`."""

    peak: float
    steps: int
    warmup: int = 0
    shape: str = "cosine"
    floor: float = 0.0
    """What the rate falls to, as a part of the peak."""
    decay: float = 0.2
    """`wsd` only: the part of all steps that the fall takes, at the end."""

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            import difflib

            close = difflib.get_close_matches(self.shape, SHAPES, 1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise IndicialError(
                f"there is no schedule {self.shape}; {hint}There are {', '.join(SHAPES)}"
            )
        if not (math.isfinite(self.peak) and self.peak > 0):
            raise IndicialError(f"the learning rate is {self.peak}; it is a number above 0")
        if self.steps < 1:
            raise IndicialError(f"{self.steps} steps; there is at least 1")
        if not 0 <= self.warmup <= self.steps:
            raise IndicialError(
                f"a warm-up of {self.warmup} steps does not fit into {self.steps} steps"
            )
        if not 0 <= self.floor <= 1:
            raise IndicialError(f"the floor is {self.floor} of the peak; it is between 0 and 1")
        if not 0 < self.decay <= 1:
            raise IndicialError(
                f"the decay takes {self.decay} of the steps; it is above 0, up to 1"
            )

    def at(self, step: float) -> float:
        """The rate of the update after `step` updates; beyond the last step, that of the last.

        A training that is planned anew is between two steps of the first plan (stretches.py).
        """
        step = min(step, self.steps - 1)
        if step < self.warmup:
            return self.peak * min(1.0, (step + 1) / self.warmup)
        return self.peak * (self.floor + (1 - self.floor) * self._height(step))

    def _height(self, step: float) -> float:
        """How much is left of the peak above the floor: 1 after the warm-up, almost 0 at the end."""
        first = self.warmup
        if self.shape == "wsd":
            first = max(first, self.steps - math.ceil(self.decay * self.steps))
        left = min(1.0, (self.steps - step) / max(1, self.steps - first))
        match self.shape:
            case "constant":
                return 1.0
            case "cosine":
                return (1 - math.cos(math.pi * left)) / 2
            case _:
                return left
