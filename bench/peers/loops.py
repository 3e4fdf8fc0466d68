"""A PyTorch loop over time: as it is first written, and as those write it who want speed.

NaiveLoop      everything inside the loop, one gate after the other
HoistedLoop    the input's products before the loop, all gates of a group in one product
CompiledLoop   the same, its step through torch.compile
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional as nn

from bench.cells import Functions, Problem, State, bias, incoming, recurrent
from bench.peers.layer import TorchLayer, gradient

TORCH = Functions(torch.tanh, torch.sigmoid, torch.relu, torch.maximum)

Step = Callable[[tuple[torch.Tensor, ...], State], State]


class NaiveLoop(TorchLayer):
    """Each step multiplies the input and the state with each gate's own matrices."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.weights = {name: self.leaf(value) for name, value in problem.weights.items()}

    def forward(self) -> torch.Tensor:
        cell, size, w = self.problem.cell, self.problem.size, self.weights
        assert cell.update is not None
        state: State = (torch.zeros(size.batch, size.units),) * cell.states
        outputs = []
        for t in range(size.steps):
            x = self.x[:, t]

            def gates(
                group: int, operand: torch.Tensor, x: torch.Tensor = x
            ) -> tuple[torch.Tensor, ...]:
                return tuple(
                    operand @ w[recurrent(g)].T + x @ w[incoming(g)].T - w[bias(g, cell)]
                    for g in cell.groups[group]
                )

            state = cell.update(TORCH, gates, state, w)
            outputs.append(state[0])
        return torch.stack(outputs, 1)

    def gradients(self) -> dict[str, torch.Tensor]:
        return {name: gradient(weight) for name, weight in self.weights.items()}


class HoistedLoop(TorchLayer):
    """One product for the inputs of all steps, then one for each group of gates in a step."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        cell, w = problem.cell, problem.weights
        self.input = self.leaf(torch.cat([w[incoming(g)] for g in cell.gates]))  # (gates J, K)
        self.bias = self.leaf(torch.cat([-w[bias(g, cell)] for g in cell.gates]))
        self.groups = [
            self.leaf(torch.cat([w[recurrent(g)] for g in group])) for group in cell.groups
        ]
        self.vectors = {name: self.leaf(w[name]) for name in cell.vectors}
        self.step: Step = self._one_step

    def forward(self) -> torch.Tensor:
        cell, size = self.problem.cell, self.problem.size
        projected = nn.linear(self.x.transpose(0, 1), self.input, self.bias)  # (T, B, gates J)
        widths = [len(group) * size.units for group in cell.groups]
        parts = [part.unbind(0) for part in torch.split(projected, widths, -1)]
        state: State = (torch.zeros(size.batch, size.units),) * cell.states
        outputs = []
        for inputs in zip(*parts, strict=True):
            state = self.step(inputs, state)
            outputs.append(state[0])
        return torch.stack(outputs, 1)

    def _one_step(self, inputs: tuple[torch.Tensor, ...], state: State) -> State:
        cell = self.problem.cell

        def gates(group: int, operand: torch.Tensor) -> tuple[torch.Tensor, ...]:
            all_gates = torch.addmm(inputs[group], operand, self.groups[group].T)
            return tuple(all_gates.chunk(len(cell.groups[group]), -1))

        assert cell.update is not None
        return cell.update(TORCH, gates, state, self.vectors)

    def gradients(self) -> dict[str, torch.Tensor]:
        cell, j = self.problem.cell, self.problem.size.units
        merged = [(incoming, gradient(self.input), cell.gates)]
        merged += [
            (recurrent, gradient(weight), group)
            for weight, group in zip(self.groups, cell.groups, strict=True)
        ]
        found = {name: gradient(vector) for name, vector in self.vectors.items()}
        for gate, part in zip(cell.gates, torch.split(gradient(self.bias), j), strict=True):
            found[bias(gate, cell)] = -part
        for named, together, gates in merged:
            for gate, part in zip(gates, torch.split(together, j), strict=True):
                found[named(gate)] = part
        return found


class CompiledLoop(HoistedLoop):
    """The hoisted loop with its step compiled; the whole loop would take minutes to compile."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        torch.compiler.reset()  # or after eight sizes it would quietly stop compiling
        self.step = torch.compile(self._one_step, dynamic=False)
