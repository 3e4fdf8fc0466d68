"""An RNN along rows and columns in PyTorch: what a row needs of the row above in one product, then step by step."""

from __future__ import annotations

import torch
from torch.nn import functional as nn

from bench.peers.layer import TrainedLayer

Tensor = torch.Tensor


class GridLoop(TrainedLayer):
    """One training step."""

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
