"""AdamW over named parameters (Loshchilov and Hutter 2019), all tensors in one call.

>>> adamw = AdamW({"e": e, "B": b}, decayed={"e"}, weight_decay=0.1)
>>> adamw.step(learning_rate=3e-3)
>>> adamw.state["e"].keys()
dict_keys(['step', 'exp_avg', 'exp_avg_sq'])

The arithmetic is PyTorch's own. Its class `torch.optim.AdamW` does no more here, and the first one
that is made imports the compiler of PyTorch, which takes longer than all else before the first step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch
from torch import Tensor, nn

from indicial.compile.ground.torch_inside import adamw_

PARTS = ("step", "exp_avg", "exp_avg_sq")


class AdamW:
    """`state` is all that it remembers."""

    def __init__(
        self,
        parameters: Mapping[str, nn.Parameter],
        *,
        decayed: Collection[str] = (),
        weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.95),
        epsilon: float = 1e-8,
    ) -> None:
        self.parameters = dict(parameters)
        self.betas, self.epsilon = betas, epsilon
        self.groups = (
            ([key for key in parameters if key in decayed], weight_decay),
            ([key for key in parameters if key not in decayed], 0.0),
        )
        self.state: dict[str, dict[str, Tensor]] = {}

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        for group, decay in self.groups:
            keys = [key for key in group if self.parameters[key].grad is not None]
            if keys:
                self._move(keys, learning_rate, decay)

    def _move(self, keys: list[str], learning_rate: float, decay: float) -> None:
        own = [self.parameters[key] for key in keys]
        states = [self._of(key) for key in keys]
        steps, means, squares = ([state[part] for state in states] for part in PARTS)
        adamw_(
            list[Tensor](own),
            [p.grad for p in own if p.grad is not None],
            means,
            squares,
            steps,
            learning_rate=learning_rate,
            betas=self.betas,
            decay=decay,
            epsilon=self.epsilon,
        )

    def _of(self, key: str) -> dict[str, Tensor]:
        """The state of a parameter, made when it first moves."""
        if key not in self.state:
            parameter = self.parameters[key]
            count = torch.zeros((), device=parameter.device)
            means = (torch.zeros_like(parameter) for _ in range(2))
            self.state[key] = dict(zip(PARTS, (count, *means), strict=True))
        return self.state[key]
