"""A layer that can be timed and compared: one training step, and what came out of it.

layer = HoistedLoop(problem)
layer.run()         forward and backward
layer.result()      {"h": …, "W^{h,R}": its gradient, …}, by the names of the equations
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch

from bench.cells import Problem


class Layer(ABC):
    """What every contender of a recurrent row can do."""

    @abstractmethod
    def run(self) -> None:
        """One training step."""

    @abstractmethod
    def result(self) -> dict[str, torch.Tensor]:
        """Run once more; the output `h` and the gradients."""


class TorchLayer(Layer):
    """One that autograd differentiates. Subclasses give `forward` and `gradients`."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.x = problem.x.clone().requires_grad_(problem.input_gradient)
        self.leaves: list[torch.Tensor] = [self.x]

    @abstractmethod
    def forward(self) -> torch.Tensor:
        """`h`, (B, T, J)."""

    @abstractmethod
    def gradients(self) -> dict[str, torch.Tensor]:
        """Those of the parameters, by the names of the equations."""

    def leaf(self, value: torch.Tensor) -> torch.Tensor:
        """A parameter."""
        parameter = value.clone().requires_grad_()
        self.leaves.append(parameter)
        return parameter

    def run(self) -> None:
        self._step()

    def result(self) -> dict[str, torch.Tensor]:
        found = {"h": self._step(), **self.gradients()}
        if self.problem.input_gradient:
            found["x"] = gradient(self.x)
        return found

    def _step(self) -> torch.Tensor:
        for leaf in self.leaves:
            leaf.grad = None
        h = self.forward()
        torch.autograd.backward(h, self.problem.gradient)
        return h.detach()


class TrainedLayer(Layer):
    """One of weights and an input that stays: subclasses give `forward`."""

    def __init__(
        self, weights: dict[str, torch.Tensor], x: torch.Tensor, slope: torch.Tensor
    ) -> None:
        self.x, self.slope = x, slope
        self.weights = {n: w.clone().requires_grad_() for n, w in weights.items()}

    @abstractmethod
    def forward(self) -> torch.Tensor:
        """`h`, from the weights."""

    def run(self) -> None:
        self._step()

    def result(self) -> dict[str, torch.Tensor]:
        h = self._step()
        return {"h": h, **{name: gradient(w) for name, w in self.weights.items()}}

    def _step(self) -> torch.Tensor:
        for weight in self.weights.values():
            weight.grad = None
        h = self.forward()
        torch.autograd.backward(h, self.slope)
        return h.detach()


def gradient(leaf: torch.Tensor) -> torch.Tensor:
    assert leaf.grad is not None
    return leaf.grad
