"""Small texts and models to train on: seconds, and no files but those of the run."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.corpus import Corpus, Data
from indicial.data.tokenizers import make_tokenizer
from indicial.tasks.language import Language
from indicial.tasks.programs import make_task, trainable
from indicial.training.equations import Equations
from indicial.training.run import Description, Run
from indicial.training.settings import Choices

torch.set_num_threads(1)

WHO = ["the cat", "the dog", "a bird"]
DOES = ["sees", "hears", "likes"]


def sentences(number: int, seed: int = 0) -> list[str]:
    """`the cat sees a bird`: nobody does anything to itself."""
    drawn = random.Random(seed)
    found = []
    for _ in range(number):
        one, other = drawn.sample(WHO, 2)
        found.append(f"{one} {drawn.choice(DOES)} {other}")
    return found


def small_data(number: int = 200) -> Data:
    """Those sentences by characters."""
    train, validation = sentences(number), sentences(number // 4, seed=1)
    tokenizer = make_tokenizer("characters", train)
    parts = []
    for documents in (train, validation):
        encoded = [[*tokenizer.encode(text), tokenizer.eos] for text in documents]
        lengths = np.cumsum([0, *map(len, encoded)])
        text = "".join(documents)
        parts.append(
            Corpus(
                tokens=np.array([t for one in encoded for t in one], np.uint16),
                starts=lengths.astype(np.int64),
                characters=len(text),
                bytes=len(text.encode()),
                words=sum(len(d.split()) for d in documents),
                unknown=0,
                digest="none",
            )
        )
    description = {"name": "small", "train": {}, "validation": {}}
    return Data(parts[0], parts[1], tokenizer, None, description)


CHOICES = Choices(
    context=24, batch_size=8, max_steps=12, learning_rate=0.01, eval_every=4, save_every=3
)


def small_task(
    *what: str, given: dict[str, str] | None = None, data: Data | None = None, seed: int = 0
) -> Language:
    found = trainable(what, given)
    return make_task(
        found.task, found.program, data or small_data(), context=24, batch_size=8, seed=seed
    )


def small_module(task: Language, seed: int = 0, **sizes: int) -> ProgramModule:
    """All sizes that the data does not tell at 8, or as given; layers and heads at 2."""
    code = task.program.code
    told = {"L": 2, "K": 2, "I": 4, **sizes}
    every = {n: told.get(n, 8) for n in code.sizes if n != "T"} | task.sizes | sizes
    every = {name: value for name, value in every.items() if name in code.sizes}
    torch.manual_seed(seed)
    return task.program.compile(sizes=every)


def small_run(folder: Path, task: Language, module: ProgramModule, choices: Choices) -> Run:
    description = Description(
        Equations.of(task.program), module.sizes.known, task.name, choices.to_json()
    )
    return Run.create(folder, description, task.data.tokenizer)
