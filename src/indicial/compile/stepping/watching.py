"""Parameters that somebody changes without a trace: `p.data.mul_(2)`.

watch = Watch(parameters)
watch.changed()         whether a value is not what it was when this was asked before

PyTorch counts how often a tensor was changed, but not through `.data`, or through memory that it
shares. Who keeps something made of the parameters from one text to the next looks at the values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch


class Watch:
    """What the parameters were like."""

    def __init__(self, parameters: Callable[[], Sequence[torch.Tensor]]) -> None:
        self.parameters = parameters
        self._seen: list[float] | None = None

    def changed(self) -> bool:
        """Whether values have changed; at first, nothing is known, and they have."""
        before, self._seen = self._seen, _projected(self.parameters())
        return before != self._seen


@torch.no_grad()
def _projected(tensors: Sequence[torch.Tensor]) -> list[float]:
    """Each tensor between two random vectors: only what is lost in rounding leaves this the same."""
    numbers = []
    for tensor in tensors:
        rows = tensor.reshape(tensor.shape[0] if tensor.dim() > 1 else 1, -1)
        left, right = (
            _random(seed, n, rows.dtype, rows.device) for seed, n in enumerate(rows.shape)
        )
        numbers.append(rows.mv(right).dot(left).double())
    return torch.stack(numbers).tolist() if numbers else []


@functools.lru_cache(maxsize=64)
def _random(seed: int, count: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    drawn = torch.randn(count, generator=torch.Generator().manual_seed(seed))
    return drawn.to(device, dtype)
