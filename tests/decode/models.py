"""Small language models with random parameters, and what they say computed the slow way."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch

from indicial import load
from indicial.compile.module.module import ProgramModule
from indicial.decode.settings import Continuation
from indicial.decode.tokens import generate_tokens
from tests.compile.module.modules import random, small

CAUSAL = [
    "rnn_lm", "transformer", "gpt2", "trigram", "causal_cnn", "lstm+language_model",
    "stacked+language_model_stack",
]  # fmt: skip


@cache
def model(name: str, scale: float = 3.0, **sizes: int) -> ProgramModule:
    """A language model of the library; with a scale above 1 its distributions are far from even."""
    program = load(*name.split("+"))
    known = {**small(program)["sizes"], "T": 40, **sizes}
    module = random(program.compile(sizes=known, dtype=torch.float64)).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(scale)
    return module


def next_distribution(module: ProgramModule, tokens: list[int]) -> np.ndarray:
    """P of the token after these: the whole model on all of them, and any token behind them."""
    return _next(module, tuple(tokens)).copy()


@cache
def _next(module: ProgramModule, tokens: tuple[int, ...]) -> np.ndarray:
    return distributions(module, [*tokens, 0])[-1]


def distributions(module: ProgramModule, tokens: list[int]) -> np.ndarray:
    """P of each token from those before it, all at once."""
    with torch.no_grad():
        return module(w=torch.tensor(tokens), want=["P"])["P"].numpy()


def made(*given: Any, **named: Any) -> list[Continuation]:
    """`generate_tokens`, the continuations of all prompts in one list."""
    return [one for several in generate_tokens(*given, **named) for one in several]


def likelihood(module: ProgramModule, prompt: list[int], new: list[int]) -> float:
    """ln of the probability of the new tokens after the prompt."""
    p = distributions(module, prompt + new)[len(prompt) :]
    return float(np.log(p[np.arange(len(new)), new]).sum())
