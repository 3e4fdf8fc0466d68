"""nn.LSTM, nn.GRU and nn.RNN with the weights of the equations.

PyTorch adds two biases where the equations subtract one: the first gets `-B`, the second 0.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from bench.cells import Problem, bias, incoming, recurrent
from bench.peers.layer import TorchLayer, gradient

KINDS: dict[str, Callable[..., nn.RNNBase]] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "gru_outside": nn.GRU,
    "rnn_tanh": nn.RNN,
}


class Module(TorchLayer):
    """PyTorch stores the gates in the order of `cell.gates`, so merging them is enough."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        cell, w, j = problem.cell, problem.weights, problem.size.units
        self.module = KINDS[cell.name](j, j, batch_first=True)
        second = torch.zeros(len(cell.gates) * j)
        if "B^{h,R}" in w:
            second[-j:] = -w["B^{h,R}"]
        values = {
            "weight_ih_l0": torch.cat([w[incoming(g)] for g in cell.gates]),
            "weight_hh_l0": torch.cat([w[recurrent(g)] for g in cell.gates]),
            "bias_ih_l0": -torch.cat([w[bias(g, cell)] for g in cell.gates]),
            "bias_hh_l0": second,
        }
        self.module.load_state_dict(values)
        self.leaves += list(self.module.parameters())

    def forward(self) -> torch.Tensor:
        h: torch.Tensor = self.module(self.x)[0]
        return h

    def gradients(self) -> dict[str, torch.Tensor]:
        cell, j = self.problem.cell, self.problem.size.units
        merged = {name: torch.split(gradient(p), j) for name, p in self.module.named_parameters()}
        found = {}
        for number, gate in enumerate(cell.gates):
            found[incoming(gate)] = merged["weight_ih_l0"][number]
            found[recurrent(gate)] = merged["weight_hh_l0"][number]
            found[bias(gate, cell)] = -merged["bias_ih_l0"][number]
        if "B^{h,R}" in cell.vectors:
            found["B^{h,R}"] = -merged["bias_hh_l0"][-1]
        return found
