"""Values that are drawn anew in every call: dropout masks and noise.

    dropout(x[t,j], p)     while training, dropout_1[t,j] is 0 or 1/(1-p), drawn for each example
    ε[t,j] ~ N(0, 1)       drawn in every call

`module(x=x, draws={"dropout_1": mask})` sets them. The generator is that of PyTorch, so
`torch.manual_seed` makes a call repeatable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from indicial.compile.module.sizes import Formula
from indicial.program.ir import Code, Draw
from indicial.program.meaning.arrays import InterpretError, stored_extents
from indicial.program.meaning.interpret import evaluate
from indicial.program.messages import IndicialError


@dataclass(frozen=True)
class Drawn:
    """One tensor that is drawn: how large it is, and from what."""

    name: str
    distribution: str
    arguments: tuple[float, ...]
    extents: tuple[Formula, ...]

    @property
    def idle(self) -> bool:
        """A dropout that drops nothing."""
        return self.distribution == "dropout" and self.arguments == (0.0,)

    def shape(self, sizes: Mapping[str, int], batch: tuple[int, ...]) -> tuple[int, ...]:
        return (*batch, *(extent.at(sizes) for extent in self.extents))

    def values(
        self, sizes: Mapping[str, int], batch: tuple[int, ...], like: torch.Tensor
    ) -> torch.Tensor:
        """New values, other ones for each example."""
        empty = like.new_empty(self.shape(sizes, batch))
        match self.distribution, self.arguments:
            case "dropout", (rate,):
                return empty.bernoulli_(1 - rate).mul_(1 / (1 - rate) if rate < 1 else 0.0)
            case "N", (mean, variance):
                return empty.normal_(mean, variance**0.5)
            case "N", ():
                return empty.normal_()
            case "uniform", (low, high):
                return empty.uniform_(low, high)
            case "uniform", ():
                return empty.uniform_()
            case "bernoulli", (probability,):
                return empty.bernoulli_(probability)
        raise IndicialError(
            f"{self.name} is drawn from {self.distribution}, which is not drawn here; "
            f'give it: draws={{"{self.name}": …}}'
        )


def drawn_tensors(code: Code, sizes: Mapping[str, int]) -> list[Drawn]:
    """All that a program draws, apart from parameters, whose draw is where they start."""
    return [
        Drawn(
            draw.tensor,
            draw.distribution,
            _arguments(code, draw, sizes),
            tuple(Formula(extent) for extent in stored_extents(code.tensors[draw.tensor])),
        )
        for draw in code.draws
        if code.tensors[draw.tensor].role == "draw"
    ]


def _arguments(code: Code, draw: Draw, sizes: Mapping[str, int]) -> tuple[float, ...]:
    try:
        return tuple(evaluate(code, a, {}, {}, {}, sizes=sizes) for a in draw.arguments)
    except (InterpretError, KeyError) as error:
        raise IndicialError(
            f"what {draw.tensor} is drawn from has to be known beforehand: {error}"
        ) from error
