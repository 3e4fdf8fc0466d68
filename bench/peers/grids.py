"""Loops inside loops in PyTorch, all that does not depend on the state taken out of them; its loss for alignments."""

from __future__ import annotations

import torch
from torch.nn import functional as nn

from bench.peers.layer import Layer, TrainedLayer, gradient

Tensor = torch.Tensor


class GridLoop(TrainedLayer):
    """An RNN along rows and columns; what a row needs of the row above is one product."""

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


class HighwayLoop(TrainedLayer):
    """A recurrent highway network; both products of a layer are one."""

    def forward(self) -> Tensor:
        own = self.weights
        inputs = nn.linear(self.x, torch.cat([own["W^H"], own["W^G"]]))
        weights = torch.cat([own["R^H"], own["R^G"]], 1).transpose(1, 2).unbind(0)
        biases = torch.cat([own["B^H"], own["B^G"]], 1).unbind(0)
        units = self.x.shape[2]
        state = self.x.new_zeros(self.x.shape[0], units)
        states = []
        for step in (inputs - biases[0]).unbind(1):
            for number, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
                new = torch.addmm(step if number == 0 else -bias, state, weight)
                candidate, gate = torch.tanh(new[:, :units]), torch.sigmoid(new[:, units:])
                state = torch.lerp(state, candidate, gate)
            states.append(state)
        return torch.stack(states, 1)


class Connected(Layer):
    """Connectionist temporal classification by PyTorch's own loss: the gradient of the scores."""

    def __init__(self, scores: Tensor, labels: Tensor) -> None:
        self.scores = scores.clone().requires_grad_()
        self.labels = labels

    def loss(self) -> Tensor:
        members, steps, _ = self.scores.shape
        ends = torch.full((members,), steps), torch.full((members,), self.labels.shape[1])
        weights = self.scores.log_softmax(-1).transpose(0, 1)
        return nn.ctc_loss(weights, self.labels, *ends, reduction="none").mean()

    def run(self) -> None:
        self.result()

    def result(self) -> dict[str, Tensor]:
        self.scores.grad = None
        loss = self.loss()
        torch.autograd.backward(loss)
        return {"loss": loss.detach(), "scores": gradient(self.scores)}
