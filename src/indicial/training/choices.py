"""What a training does in full: every setting has a value.

>>> choices = Choices(context=128, batch_size=32, max_steps=1000, learning_rate=3e-3)
>>> Choices.from_json(choices.to_json()) == choices
True

The names are those of the settings. A run keeps them, so that it can go on as it began, and does
not ask a clock or a machine again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from indicial.program.messages import IndicialError

FLOAT32, BFLOAT16 = "float32", "bfloat16"


@dataclass(frozen=True)
class Choices:
    """Decided by whoever starts a run, or by `defaults.py`."""

    context: int
    batch_size: int
    max_steps: int
    """The last step, or the steps that the learning rate is planned for if there are `seconds`."""
    learning_rate: float
    accumulate: int = 1
    optimizer: str = "muon"
    warmup: int = 0
    weight_decay: float = 0.1
    clip: float = 1.0
    """0 clips nothing."""
    clip_each: bool = False
    average: int = 0
    """Steps whose weights are averaged; 0: none."""
    eval_every: int | None = 100
    """None: at the marks; so does `save_every`."""
    eval_tokens: int | None = None
    """None: all there are."""
    save_every: int | None = 100
    patience: int | None = None
    seconds: float | None = None
    """The time for all of it: the number of steps is planned anew at every mark on the way. None:
    just so many steps."""
    mark_every: int = 100
    """Steps of the plan from one mark to the next."""
    most_steps: int | None = None
    """More would only learn the data by heart."""
    seed: int = 0
    device: str = "cpu"
    precision: str = FLOAT32
    compile: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Choices:
        """Other settings, those of the data for instance, may stand beside them."""
        names = {f.name for f in fields(Choices)}
        try:
            return Choices(**{name: value for name, value in found.items() if name in names})
        except TypeError as error:
            raise IndicialError(f"the settings of the run are damaged: {error}") from error
