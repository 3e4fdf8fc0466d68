"""The trainings of a study: settings as `indicial train` takes them → runs.

>>> trial = training("focus, λ = 0.1, seed 0", Settings(model=("transformer", "focus"), …, out=…))
>>> unfinished([trial])
[Trial(label='focus, λ = 0.1, seed 0', …)]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from indicial.lab.pool import finished
from indicial.lab.trials import Trial
from indicial.tasks.programs import trainable
from indicial.training.equations import Equations
from indicial.training.settings import Settings


@dataclass(frozen=True)
class Terms:
    """What the trainings of all studies have in common unless a plan says otherwise."""

    data: str = "people"
    world_size: int = 100_000
    context: int = 64
    batch_size: int = 16
    width: int = 64


def training(label: str, settings: Settings) -> Trial:
    """All that decides it is said in the settings, so nothing is asked for and nothing searched."""
    equations = _equations(settings.model, tuple(settings.set.items()))
    return Trial(
        label=label,
        model=equations.title,
        asked=0,
        parameters=0,
        seed=settings.seed or 0,
        settings=settings,
        equations=equations,
        work=float(settings.max_steps or 1),
    )


@cache
def _equations(model: tuple[str, ...], given: tuple[tuple[str, str], ...]) -> Equations:
    """Seeds share them, and a study asks more than once."""
    return Equations.of(trainable(model, dict(given)).program)


def unfinished(trials: Sequence[Trial]) -> list[Trial]:
    """Those that are still to be done, or to be gone on with."""
    return [trial for trial in trials if finished(trial) is None]
