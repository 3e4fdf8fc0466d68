"""Runs as training leaves them, with random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from indicial import load
from indicial.compile.module.module import ProgramModule
from indicial.data.tokenizers import Tokenizer, make_tokenizer
from indicial.training.checkpoints import Checkpoint
from indicial.training.equations import Equations
from indicial.training.run import Description, Run
from tests.compile.module.modules import random

CHARACTERS = make_tokenizer("characters", ["abcä€ \n"])


def make_run(
    folder: Path, name: str, tokenizer: Tokenizer = CHARACTERS, seed: int = 0, **told: Any
) -> tuple[Run, ProgramModule]:
    """A run of a model whose distributions are far from even, and the module that is in it."""
    program = load(*name.split("+"))
    wanted = {"V": tokenizer.size, "J": 8, "I": 8, "K": 2, "D": 8, "L": 1, "T": 24}
    sizes = {n: wanted[n] for n in program.code.sizes if n in wanted}
    module = random(program.compile(sizes=sizes), seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(2)
    run = Run.create(
        folder,
        Description(Equations.of(program), sizes, "language", told, {"train": {"documents": 5}}),
        tokenizer,
    )
    tensors = {f"model/{key}": value.detach() for key, value in module.state_dict().items()}
    run.checkpoints.save(Checkpoint(1, tensors, {}), best=True)
    return run, module.eval()
