"""The mean of the weights over the last steps (`--average`): kept beside them, and used in their place.

>>> average = Average(module, steps=1000)
>>> average.follow(step=2310)             # after each step
>>> with average.used():                  # for a look at the validation part, and in a checkpoint
...     task.validate(module)

The last steps weigh most (Polyak and Juditsky 1992, as an exponential mean). At the beginning the mean is
of the last tenth of the steps, since the first weights are of no use to anybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from indicial.training.shards import divided

YOUNG = 9
"""After n steps the mean is of about n / YOUNG of them, as long as that is less than it may be."""


class Average:
    """The means by the keys of the weights; without steps there are none, and nothing is done."""

    def __init__(self, parameters: Mapping[str, nn.Parameter], steps: int) -> None:
        self.parameters, self.steps = dict(parameters), steps
        self.means = {k: p.detach().clone() for k, p in self.parameters.items()} if steps else {}

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Takes the weights after so many steps into account."""
        for key, mean in self.means.items():
            mean.lerp_(self.parameters[key], max(1 / self.steps, YOUNG / (YOUNG + step)))

    @contextmanager
    def used(self) -> Iterator[None]:
        """While this lasts, the module has the means as its weights."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def load(self, weights: Mapping[str, Tensor]) -> None:
        """The module has the means of a checkpoint, whose own weights are these; none: they are the same."""
        for key, mean in self.means.items():
            mean.copy_(self.parameters[key])
        for key, value in weights.items():
            self.parameters[key].copy_(divided(value, self.parameters[key]))

    @torch.no_grad()
    def _exchange(self) -> None:
        for key, mean in self.means.items():
            own = self.parameters[key]
            kept = own.clone()
            own.copy_(mean)
            mean.copy_(kept)
