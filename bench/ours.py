"""Indicial's side: an equation compiled to a module, with the weights everybody has.

    layer = Compiled(problem)
    layer.run()

`NotThere` says why something cannot be measured (yet); the table shows it and goes on.
"""

from __future__ import annotations

from typing import Any

import torch

import indicial
from bench.cells import EQUATIONS, Problem
from bench.peers.layer import Layer, TorchLayer, gradient
from bench.table import NOT_THERE


class NotThere(Exception):
    """What was to be measured does not exist, or does not work; the text says which."""


def module(source: str, **sizes: int) -> Any:
    """The compiled program, an `nn.Module`."""
    return compile_program(indicial.load(source), **sizes)


def compile_program(program: Any, **sizes: int) -> Any:
    if not hasattr(program, "compile"):
        raise NotThere(NOT_THERE)
    try:
        return program.compile(**sizes)
    except Exception as error:
        raise NotThere(explain(error)) from error


def explain(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return f"fails: {text.splitlines()[0]}"


class FromEquations(Layer):
    """A layer that gives h of x, from its equations: the gradients of all its weights."""

    def __init__(
        self,
        name: str,
        weights: dict[str, torch.Tensor],
        x: torch.Tensor,
        slope: torch.Tensor,
        **sizes: int,
    ) -> None:
        self.module = module(str(EQUATIONS / f"{name}.eq"), **sizes)
        load_weights(self.module, weights)
        self.names, self.x, self.slope = list(weights), x, slope
        self.leaves = list(self.module.parameters())

    def run(self) -> None:
        self._step()

    def result(self) -> dict[str, torch.Tensor]:
        h = self._step()
        return {"h": h, **{n: gradient(self.module.parameter(n)) for n in self.names}}

    def _step(self) -> torch.Tensor:
        for leaf in self.leaves:
            leaf.grad = None
        h: torch.Tensor = self.module(x=self.x)["h"]
        torch.autograd.backward(h, self.slope)
        return h.detach()


class Compiled(TorchLayer):
    """A recurrent layer from its equations."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        size = problem.size.units
        self.module = module(problem.cell.source, J=size, K=size)
        load_weights(self.module, problem.weights)
        self.leaves += list(self.module.parameters())

    def forward(self) -> torch.Tensor:
        h: torch.Tensor = self.module(x=self.x)["h"]
        return h

    def gradients(self) -> dict[str, torch.Tensor]:
        return {n: gradient(self.module.parameter(n)) for n in self.problem.weights}


def load_weights(compiled: Any, weights: dict[str, torch.Tensor]) -> None:
    """Give a module's parameters their values, by the names of the equations."""
    with torch.no_grad():
        for name, value in weights.items():
            compiled.parameter(name).copy_(value)
