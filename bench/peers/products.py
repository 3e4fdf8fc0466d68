"""The matrix products of a recurrent layer's training step, and nothing else.

With G = gates · J, for a layer with a single group of gates:

    forward     (B T, K) × (K, G)    the inputs of all steps
                (B, J) × (J, G)      T times
    backward    (B, G) × (G, J)      T times
                (G, B T) × (B T, K)  gradient of the input's weights
                (G, B T) × (B T, J)  gradient of the recurrent weights
                (B T, G) × (G, K)    gradient of the input, where it is wanted

What a step takes beyond this is what the recurrence costs on this machine.
"""

from __future__ import annotations

import torch

from bench.cells import Problem


class Products:
    """The products through `torch.mm`, into memory that is there already."""

    def __init__(self, problem: Problem) -> None:
        size, cell = problem.size, problem.cell
        b, t, j = size.batch, size.steps, size.units
        gates = len(cell.gates) * j
        self.calls: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        x, g, w = torch.randn(b * t, j), torch.randn(b * t, gates), torch.randn(gates, j)
        self._add(x, w.T)
        widths = [len(group) * j for group in cell.groups]
        for width in widths:
            h, small = torch.randn(b, j), torch.randn(b, width)
            weights = torch.randn(width, j)
            self._add(h, weights.T, times=t)
            self._add(small, weights, times=t)
        self._add(g.T, x)
        for width in widths:
            self._add(torch.randn(b * t, width).T, x)
        if problem.input_gradient:
            self._add(g, w)

    def _add(self, left: torch.Tensor, right: torch.Tensor, times: int = 1) -> None:
        self.calls += [(left, right, left @ right)] * times

    @property
    def operations(self) -> int:
        return sum(2 * a.shape[0] * a.shape[1] * b.shape[1] for a, b, _ in self.calls)

    def run(self) -> None:
        for left, right, out in self.calls:
            torch.mm(left, right, out=out)


class OneProduct:
    """A single large product: the rate this machine reaches at best."""

    operations = 2 * 2048**3

    def __init__(self) -> None:
        self.left, self.right = torch.randn(2048, 2048), torch.randn(2048, 2048)
        self.out = torch.empty(2048, 2048)

    def run(self) -> None:
        torch.mm(self.left, self.right, out=self.out)
