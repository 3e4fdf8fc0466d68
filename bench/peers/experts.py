"""Experts in PyTorch: tokens sorted by the expert that they chose, and each expert one product."""

from __future__ import annotations

import torch
from torch.nn import functional as nn

from bench.peers.layer import TrainedLayer

Tensor = torch.Tensor
Weights = dict[str, Tensor]


class SortedDispatch(TrainedLayer):
    """One training step of a feed-forward layer of which each token has its best `chosen` experts."""

    def __init__(self, weights: Weights, x: Tensor, slope: Tensor, chosen: int) -> None:
        super().__init__(weights, x, slope)
        self.chosen = chosen

    def forward(self) -> Tensor:
        tokens = self.x.flatten(0, 1)
        scores = nn.linear(tokens, self.weights["W^G"])
        if self.chosen == 1:
            shares, experts = scores.softmax(-1).max(-1, keepdim=True)
        else:
            best, experts = scores.topk(self.chosen, -1)
            shares = best.softmax(-1)
        order = experts.flatten().argsort()
        counts = experts.flatten().bincount(minlength=scores.shape[1]).tolist()
        owners = order // self.chosen
        rows = torch.split(tokens.index_select(0, owners), counts)
        up, down = self.weights["W^1"].unbind(), self.weights["W^2"].unbind()
        outputs = [
            nn.linear(nn.linear(own, up[e]).relu_(), down[e])
            for e, own in enumerate(rows)
            if len(own)
        ]
        weighted = torch.cat(outputs) * shares.flatten().index_select(0, order).unsqueeze(1)
        h = torch.zeros_like(tokens).index_add(0, owners, weighted)
        return h.view(self.x.shape)
