"""`jax.lax.scan` under jit: forward and gradients in one compiled function.

The input's products stand before the scan and the gates of a group are merged, as in the hoisted
loop.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from bench.cells import Functions, Problem, State, bias, incoming, recurrent
from bench.peers.layer import Layer

JAX = Functions(jnp.tanh, jax.nn.sigmoid, jax.nn.relu, jnp.maximum)


class Scan(Layer):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        cell, w = problem.cell, problem.weights
        self.parameters: dict[str, Any] = {
            "input": [_array(w[incoming(g)]) for g in cell.gates],
            "bias": [_array(w[bias(g, cell)]) for g in cell.gates],
            "groups": [[_array(w[recurrent(g)]) for g in group] for group in cell.groups],
            "vectors": {name: _array(w[name]) for name in cell.vectors},
        }
        # Merged once, outside the timed step.
        self.parameters["input"] = jnp.concatenate(self.parameters["input"])
        self.parameters["bias"] = jnp.concatenate(self.parameters["bias"])
        self.parameters["groups"] = [jnp.concatenate(g) for g in self.parameters["groups"]]
        self.x, self.gradient = _array(problem.x), _array(problem.gradient)
        wanted = (0, 1) if problem.input_gradient else (0,)
        self.step = jax.jit(jax.value_and_grad(self._loss, wanted, has_aux=True))

    def _loss(self, parameters: dict[str, Any], x: Any) -> tuple[Any, Any]:
        h = self._forward(parameters, x)
        return (h * self.gradient).sum(), h

    def _forward(self, parameters: dict[str, Any], x: Any) -> Any:
        cell, size = self.problem.cell, self.problem.size
        projected = x.swapaxes(0, 1) @ parameters["input"].T - parameters["bias"]
        ends = np.cumsum([len(group) * size.units for group in cell.groups])
        parts = tuple(jnp.split(projected, ends[:-1], -1))

        def step(state: State, inputs: tuple[Any, ...]) -> tuple[State, Any]:
            def gates(group: int, operand: Any) -> tuple[Any, ...]:
                all_gates = inputs[group] + operand @ parameters["groups"][group].T
                return tuple(jnp.split(all_gates, len(cell.groups[group]), -1))

            assert cell.update is not None
            state = cell.update(JAX, gates, state, parameters["vectors"])
            return state, state[0]

        start = (jnp.zeros((size.batch, size.units)),) * cell.states
        _, h = jax.lax.scan(step, start, parts)
        return h.swapaxes(0, 1)

    def run(self) -> None:
        jax.block_until_ready(self.step(self.parameters, self.x))

    def result(self) -> dict[str, torch.Tensor]:
        (_, h), gradients = self.step(self.parameters, self.x)
        cell, j = self.problem.cell, self.problem.size.units
        merged = gradients[0]
        found = {"h": _tensor(h), **{n: _tensor(g) for n, g in merged["vectors"].items()}}
        for number, gate in enumerate(cell.gates):
            part = slice(number * j, (number + 1) * j)
            found[incoming(gate)] = _tensor(merged["input"][part])
            found[bias(gate, cell)] = _tensor(merged["bias"][part])
        for group, together in zip(cell.groups, merged["groups"], strict=True):
            for number, gate in enumerate(group):
                found[recurrent(gate)] = _tensor(together[number * j : (number + 1) * j])
        if self.problem.input_gradient:
            found["x"] = _tensor(gradients[1])
        return found


def _array(tensor: torch.Tensor) -> Any:
    return jnp.asarray(tensor.numpy())


def _tensor(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(array))
