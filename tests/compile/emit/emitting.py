"""Emitted sources beside the oracle: small random values, and how to compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
import torch

from indicial import load
from indicial.compile.emit.source import Source, emit
from indicial.compile.schedule.schedule import schedule
from indicial.program.ir import Code
from indicial.program.meaning.interpret import Result, interpret
from indicial.program.meaning.sample import Sample, sample, small_sizes
from indicial.program.program import Program

Arrays = dict[str, torch.Tensor]

LEAST = {"gpt2": {"T": 2}, "near": {"L": 2}}
"""Models that divide by a size less one."""


@cache
def model(name: str) -> Code:
    """A model of the library."""
    return load(name).code


@cache
def code(text: str) -> Code:
    """The checked program of a text."""
    return Program.of_text("\n".join(line.strip() for line in text.strip().splitlines())).code


def draw(program: Code, size: int, seed: int = 0, **sizes: int) -> Sample:
    """Values for all that a program does not define; attention weights that are given are some."""
    drawn = sample(program, {**small_sizes(program, size), **sizes}, seed)
    if "α" in drawn.inputs:
        drawn.inputs["α"] = np.abs(drawn.inputs["α"]) + 0.01
    return drawn


def tensors(program: Code, arrays: dict[str, np.ndarray]) -> Arrays:
    """Arrays as tensors: float64, tokens int64."""
    found = {}
    for name, array in arrays.items():
        token = program.tensors[name].values is not None
        kind = torch.int64 if token else torch.float64
        found[name] = torch.tensor(np.asarray(array), dtype=kind)
    return found


def batch(samples: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays of several examples, one behind the other."""
    return {name: np.stack([s[name] for s in samples]) for name in samples[0]}


def source(program: Code, want: Iterable[str] | None = None, **options: frozenset[str]) -> Source:
    """The text for all that a program defines, or for what is wanted."""
    names = list(want) if want is not None else list(dict.fromkeys(defined(program)))
    return emit(program, schedule(program, names), names, **options)


def defined(program: Code) -> list[str]:
    return [s.target for s in program.statements]


def agree(program: Code, size: int, *, members: int = 2, seed: int = 0, **sizes: int) -> None:
    """The emitted text gives, for each member of a batch, what the oracle gives."""
    drawn = [draw(program, size, seed + number, **sizes) for number in range(members)]
    text = source(program)
    inputs = batch([d.inputs for d in drawn])
    written = any(axis.letter == "b" for t in program.tensors.values() for axis in t.axes)
    if written:
        inputs = drawn[0].inputs
    parameters = drawn[0].parameters
    found = text.run(tensors(program, parameters), tensors(program, inputs), drawn[0].sizes, {}, {})
    expected = interpret(program, inputs, parameters, sizes=drawn[0].sizes, draws=drawn[0].draws)
    compare(found, expected)


def compare(found: Arrays, expected: Result, tolerance: float = 1e-9) -> None:
    """Equal wherever the oracle has an element."""
    for name, tensor in found.items():
        array, other = tensor.detach().numpy(), np.asarray(expected[name])
        if array.ndim == other.ndim + 1:  # nothing was given, so the oracle has no batch
            array = array[0]
        assert array.shape == other.shape, f"{name}: {array.shape}, not {other.shape}"
        there = ~np.isnan(other)
        np.testing.assert_allclose(
            array[there], other[there], rtol=tolerance, atol=tolerance, err_msg=name
        )
