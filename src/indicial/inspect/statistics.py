"""The numbers of a model by name: its parameters, and what each equation gives on some texts.

>>> parameter_statistics(module)[0]
Statistics(name='W^{h,R}[j,i]', count=4096, mean=0.0, deviation=0.12, norm=7.9, most=0.5, …)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import with_indices
from indicial.inspect.probes import Twin
from indicial.program.ir import Code


@dataclass(frozen=True)
class Statistics:
    """Of the numbers that are finite; `norm` is that of all elements, of one text where it differs."""

    name: str
    count: int
    mean: float
    deviation: float
    norm: float
    most: float
    """The largest without its sign."""
    zero: float
    """The share that is exactly 0."""
    nan: float
    """The share that is not finite."""


def statistics(name: str, values: torch.Tensor, texts: int = 1) -> Statistics:
    """Of one tensor, which holds `texts` texts."""
    values = values.detach().double()
    finite = values[torch.isfinite(values)]
    known = finite if finite.numel() else torch.zeros(1, dtype=torch.float64)
    return Statistics(
        name,
        values.numel() // texts,
        float(known.mean()),
        float(known.std(correction=0)),
        float(known.norm()) / texts**0.5,
        float(known.abs().max()),
        float((values == 0).double().mean()) if values.numel() else 0.0,
        1 - finite.numel() / values.numel() if values.numel() else 0.0,
    )


def parameter_statistics(module: ProgramModule) -> list[Statistics]:
    tensors = module.code.tensors
    return [
        statistics(with_indices(tensors[name]), module.get_parameter(key).cpu())
        for name, key in module.state_keys.items()
    ]


def activation_statistics(
    module: ProgramModule, inputs: Mapping[str, torch.Tensor]
) -> list[Statistics]:
    """One for each tensor that an equation defines."""
    code = module.code
    names = list(dict.fromkeys(s.target for s in code.statements))
    with torch.no_grad():
        values = Twin(module, code, names)(inputs)
    return [_activation(code, name, values[name]) for name in names]


def _activation(code: Code, name: str, values: torch.Tensor) -> Statistics:
    texts = values.shape[0] if values.dim() > len(code.tensors[name].axes) else 1
    return statistics(with_indices(code.tensors[name]), values, texts)
