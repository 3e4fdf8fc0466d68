"""Optimizers over the named parameters of a module: Muon for matrices, AdamW for the rest.

>>> optimizer = Optimizer(module, "muon", weight_decay=0.1)
>>> loss.backward()
>>> optimizer.step(learning_rate=3e-3)
>>> optimizer.tensors().keys()
dict_keys(['W_hR/momentum', 'e/step', 'e/exp_avg', 'e/exp_avg_sq'])

`matrices.py` says which parameters are matrices, `muon.py` how they move, and `adamw.py` how the
others do. Both take the same learning rate.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from indicial.compile.module.module import ProgramModule
from indicial.program.messages import IndicialError
from indicial.training.adamw import PARTS, AdamW
from indicial.training.matrices import Matrix, matrices
from indicial.training.muon import Muon
from indicial.training.shards import divided, whole

KINDS = ("muon", "adamw")
MOMENTUM = "momentum"


class Optimizer:
    """One step for all parameters. Weight decay is for matrices only."""

    def __init__(
        self,
        module: ProgramModule,
        kind: str = "muon",
        *,
        weight_decay: float = 0.1,
        betas: tuple[float, float] = (0.9, 0.95),
        epsilon: float = 1e-8,
        momentum: float = 0.95,
    ) -> None:
        if kind not in KINDS:
            raise IndicialError(f"there is no optimizer {kind}; there are {' and '.join(KINDS)}")
        self.kind = kind
        self.parameters = {key: module.get_parameter(key) for key in module.state_keys.values()}
        maps = _large(module)
        self.of_muon = [key for key in self.parameters if kind == "muon" and key in maps]
        self.of_adamw = [key for key in self.parameters if key not in self.of_muon]
        own = self.parameters
        self._muon = Muon(
            {key: own[key] for key in self.of_muon},
            maps,
            momentum=momentum,
            weight_decay=weight_decay,
        )
        self._adamw = AdamW(
            {key: own[key] for key in self.of_adamw},
            decayed=maps,
            weight_decay=weight_decay,
            betas=betas,
            epsilon=epsilon,
        )

    def step(self, learning_rate: float) -> None:
        """Move every parameter that has a gradient."""
        self._muon.step(learning_rate)
        self._adamw.step(learning_rate)

    def zero_grad(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None

    # ------------------------------------------------------------------ keeping

    def tensors(self) -> dict[str, Tensor]:
        """The state as whole tensors under flat names, `W_hR/momentum`; copies only if divided."""
        found = {f"{key}/{MOMENTUM}": whole(value) for key, value in self._muon.momenta.items()}
        for key, state in self._adamw.state.items():
            found |= {f"{key}/{part}": whole(value) for part, value in state.items()}
        return found

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Put back what `tensors` gave, bit for bit."""
        state: dict[str, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            key, _, part = name.rpartition("/")
            state.setdefault(key, {})[part] = value
        odd = state.keys() - self.parameters.keys()
        if odd:
            raise IndicialError(f"the state has {', '.join(odd)}, which the model does not have")
        copies = {key: self._copies(key, own) for key, own in state.items()}
        self._muon.momenta = {key: copies[key][MOMENTUM] for key in self.of_muon if key in copies}
        self._adamw.state = {key: copies[key] for key in self.of_adamw if key in copies}

    def _copies(self, key: str, own: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The state of one parameter, checked, on its device and laid out as it is."""
        expected = {MOMENTUM} if key in self.of_muon else set(PARTS)
        if own.keys() != expected:
            raise IndicialError(
                f"the state of {key} is {', '.join(sorted(own))}, but {self.kind} keeps "
                f"{', '.join(sorted(expected))}: it was made by another optimizer"
            )
        parameter = self.parameters[key]
        found: dict[str, Tensor] = {}
        for part, value in own.items():
            if part == "step":
                found[part] = value.to(parameter.device, copy=True)
            elif value.shape == parameter.shape:
                found[part] = torch.empty_like(parameter).copy_(divided(value, parameter))
            else:
                raise IndicialError(
                    f"the {part} of {key} has the shape {tuple(value.shape)}, but {key} has "
                    f"{tuple(parameter.shape)}"
                )
        return found

    def describe(self) -> list[str]:
        """Which parameters each moves: `["Muon: W^Q, W^K", "AdamW: e, B"]`, by their keys."""
        lines = {"Muon": self.of_muon, "AdamW": self.of_adamw}
        return [f"{name}: {', '.join(keys)}" for name, keys in lines.items() if keys]


def _large(module: ProgramModule) -> dict[str, Matrix]:
    """The matrices by their keys; one row or one column is a vector."""
    found = {}
    for name, matrix in matrices(module.code).items():
        key = module.state_keys[name]
        _, rows, columns = matrix.shape(module.get_parameter(key).shape)
        if min(rows, columns) > 1:
            found[key] = matrix
    return found
