"""Small random values for the models of the library, runs of the oracle on them, comparison."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch

from indicial import load
from indicial.program.meaning.interpret import Result
from indicial.program.meaning.sample import Sample, sample, small_sizes
from indicial.program.program import Program

Array = np.ndarray

LEAST = {"gpt2": {"T": 2}, "near": {"L": 2}}
"""Models that divide by a size less one: a text of one word has no second word to predict."""


@cache
def model(name: str) -> Program:
    """A model of the library, loaded and checked once."""
    return load(name)


def draw(program: Program, size: int = 2, seed: int = 0, **sizes: int) -> Sample:
    """Values for all that the program does not define; each size is `size` unless it is given."""
    every = {**small_sizes(program.code, size), **LEAST.get(program.title, {}), **sizes}
    return tidy(sample(program.code, every, seed))


def tidy(drawn: Sample) -> Sample:
    """Attention weights that are given must be some: positive."""
    if "α" in drawn.inputs:
        drawn.inputs["α"] = np.abs(drawn.inputs["α"]) + 0.01
    return drawn


def run(program: Program, drawn: Sample, **options: Any) -> Result:
    """The oracle on drawn values."""
    return program.interpret(
        drawn.inputs, drawn.parameters, draws=drawn.draws, sizes=drawn.sizes, **options
    )


def close(found: Array, expected: Array | torch.Tensor) -> None:
    """Equal in float64, up to rounding."""
    if isinstance(expected, torch.Tensor):
        expected = expected.detach().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-12)


def tensor(array: Array) -> torch.Tensor:
    return torch.tensor(np.asarray(array), dtype=torch.float64)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
