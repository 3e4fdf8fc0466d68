"""An RNN along rows and columns in PyTorch: what a row needs of the row above in one product, then step by step."""

from __future__ import annotations

import torch
from torch.nn import functional as nn

from bench.peers.layer import Layer, gradient

Tensor = torch.Tensor


class GridLoop(Layer):
    """One training step."""

    def __init__(self, weights: dict[str, Tensor], x: Tensor, slope: Tensor) -> None:
        self.x, self.slope = x, slope
        self.weights = {n: w.clone().requires_grad_() for n, w in weights.items()}

    def run(self) -> None:
        self._step()

    def result(self) -> dict[str, Tensor]:
        h = self._step()
        return {"h": h, **{name: gradient(w) for name, w in self.weights.items()}}

    def _step(self) -> Tensor:
        for weight in self.weights.values():
            weight.grad = None
        h = self.forward()
        torch.autograd.backward(h, self.slope)
        return h.detach()

    def forward(self) -> Tensor:
        turned = self.weights["V"].t()
        inputs = nn.linear(self.x, self.weights["W"])
        rows: list[Tensor] = []
        for row in inputs.unbind(1):
            if rows:
                row = row + nn.linear(rows[-1], self.weights["U"])
            left = row.new_zeros(row.shape[0], row.shape[2])
            new = []
            for step in row.unbind(1):
                left = torch.tanh(torch.addmm(step, left, turned))
                new.append(left)
            rows.append(torch.stack(new, 1))
        return torch.stack(rows, 1)
