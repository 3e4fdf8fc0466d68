"""Small language models with random parameters, and what they say computed the slow way."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch

from indicial import load
from indicial.compile.module.module import ProgramModule
from indicial.decode.continuation import Continuation
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
    with torch.no_grad():
        return module(w=torch.tensor([*tokens, 0]), want=["P"])["P"][-1].numpy()


def made(*given: Any, **named: Any) -> list[Continuation]:
    """`generate_tokens`, the continuations of all prompts in one list."""
    return [one for several in generate_tokens(*given, **named) for one in several]


def likelihood(module: ProgramModule, prompt: list[int], new: list[int]) -> float:
    """ln of the probability of the new tokens after the prompt."""
    before = list(prompt)
    total = 0.0
    for token in new:
        total += float(np.log(next_distribution(module, before)[token]))
        before.append(token)
    return total
