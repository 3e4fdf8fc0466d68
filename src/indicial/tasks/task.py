"""A task: what a program is trained for, and how well it does it.

    task = make_task("language", program, data, context=128, batch_size=32, seed=0)

    batch = task.batch(7)                      the same batch whenever it is asked for
    loss, terms = task.loss(module, batch)     what is minimised, and its parts by name
    task.validate(module).per_token            nats per token of the validation part

Everything that is peculiar to a kind of data stands behind this: the loop (`training/loop.py`) knows
neither words nor images.

The terms that a loss is a sum of, so that each can be watched.

ℒ_{total} = ℒ_{LM} + λ ℒ_{focus}     →  ("ℒ_{LM}", "ℒ_{focus}")
loss = 1/T Σ_t -ln P(w_t | …)        →  ()
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.tokenizers import Ints
from indicial.program.ir import Apply, Code, Expression, Read
from indicial.program.program import Program


@dataclass(frozen=True)
class Batch:
    """What a module is called with: `module(**inputs, lengths=lengths)`."""

    inputs: dict[str, torch.Tensor]
    lengths: dict[str, torch.Tensor] = field(default_factory=dict)
    count: int = 0
    """The tokens in it."""
    weights: torch.Tensor | None = None
    """How much each token counts, or whether it does, where not all count alike."""

    def to(self, device: torch.device | str) -> Batch:
        """The same on another device."""
        return Batch(
            {name: value.to(device, non_blocking=True) for name, value in self.inputs.items()},
            {name: value.to(device, non_blocking=True) for name, value in self.lengths.items()},
            self.count,
            None if self.weights is None else self.weights.to(device, non_blocking=True),
        )


@dataclass(frozen=True)
class Scores:
    """How well a text is predicted.

    >>> Scores(nats=693.1, count=1000, characters=1000.0).bits_per_character
    0.99…
    """

    nats: float
    """-ln P of all that was counted, added up."""
    count: int
    """The tokens that were counted."""
    characters: float = 0.0
    """The characters that these tokens stand for."""
    words: float = 0.0
    """The words that these tokens stand for, the end of each document counted as one."""
    entropy: float | None = None
    """Nats per word that no model can go below, where the truth is known (a world)."""
    each: str = "token"
    """What is counted: `token`, or `row` where each row has one answer."""
    probable: bool = True
    """Whether `nats` are -ln of probabilities; without, they are only a loss that was added up."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Scores of the task by name: accuracy, macro F1, R²."""
    tally: tuple[float, ...] = ()
    """What the figures are made of: sums that several processes add up (`scoring.py`)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tally", tuple(self.tally))  # a list, if it comes from JSON

    @property
    def per_token(self) -> float:
        """The log loss, nats per token; or the loss of the program, where it says no P."""
        return self.nats / self.count if self.count else math.nan

    def better(self, other: Scores) -> bool:
        """Whether a step with these is the best: by exact matches, where such are counted."""
        if not math.isfinite(self.per_token):
            return False
        mine, theirs = (-s.figures.get("match", 0.0) for s in (self, other))
        return (mine, self.per_token) < (theirs, other.per_token)

    @property
    def perplexity(self) -> float | None:
        return math.exp(min(self.per_token, 700.0)) if self.probable else None

    @property
    def bits_per_character(self) -> float | None:
        return self.nats / math.log(2) / self.characters if self.characters else None

    @property
    def per_word(self) -> float | None:
        """Nats per word, which does not depend on the tokens."""
        return self.nats / self.words if self.words else None

    @property
    def above_entropy(self) -> float | None:
        """Nats per word above the truth; None where the truth is not known."""
        if self.entropy is None or self.per_word is None:
            return None
        return self.per_word - self.entropy

    def to_json(self) -> dict[str, Any]:
        """All numbers, for a file; those that are not known are left out."""
        found = {
            "loss": self.per_token,
            "perplexity": self.perplexity,
            "bits_per_character": self.bits_per_character,
            "nats_per_word": self.per_word,
            "above_entropy": self.above_entropy,
            "nats": self.nats,
            "tokens": self.count,
            **self.figures,
        }
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class About:
    """What there is to tell of a task before the first step."""

    data: str
    """In a few words: `names.txt, 32,033 documents`."""
    tokenizer: str
    """`characters, V = 28`."""
    tokens: int
    """Of the training part."""
    validation_tokens: int
    entropy: float | None = None
    """Nats per token that no model can go below, where the truth is known."""
    terms: tuple[str, ...] = ()
    """The names of the terms that the loss is a sum of."""
    tokens_per_row: float = 0.0
    """In a row of a batch, on average."""
    says: str = ""
    """What the equations are for, where it is worth telling."""
    padding: float | None = None
    """Of the places of a batch, where rows differ in length."""


class Task(ABC):
    """One kind of training: a program with data for it."""

    name: ClassVar[str]
    notes: Sequence[str] = ()
    """What the user should know of how the data are used."""

    def __init__(self, program: Program, *, context: int, batch_size: int, seed: int = 0) -> None:
        self.program = program
        """The joined equations; they have what the task needs."""
        self.context = context
        """Tokens of a row of a text; the most that there may be, where rows differ."""
        self.batch_size, self.seed = batch_size, seed
        self.terms = loss_terms(program.code)
        """The names of the terms that the loss is a sum of."""

    @property
    @abstractmethod
    def about(self) -> About: ...

    @property
    @abstractmethod
    def sizes(self) -> Mapping[str, int]:
        """The sizes that the data tells: the vocabulary, and how long a text is at most."""

    @property
    @abstractmethod
    def lengths(self) -> Mapping[str, int]:
        """The names of sizes that are as long as a text, and what they are on average."""

    @abstractmethod
    def describe(self) -> Mapping[str, Any]:
        """What a run keeps for those who use the model."""

    # ------------------------------------------------------------------ training

    @abstractmethod
    def batch(self, step: int, rank: int = 0, of: int = 1) -> Batch:
        """The batch of a step, a pure function of it; with several processes, the part of one."""

    def loss(self, module: Any, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """What is minimised, and the terms that it is a sum of, by name (none if it is no sum)."""
        name = self.program.code.loss
        assert name is not None
        found = module(**batch.inputs, lengths=batch.lengths or None, want=[name, *self.terms])
        # The loss is the mean over the batch already; a term is one number for each text.
        return found[name], {term: found[term].detach().mean() for term in self.terms}

    # ------------------------------------------------------------------ validation

    @abstractmethod
    def blocks(self, most: int | None = None) -> Iterator[Batch]:
        """The validation part in batches, or about `most` tokens of it, which are always the same."""

    def begin(self) -> Ints:
        """The sums that scores are made of, all 0."""
        return np.zeros(0)

    @abstractmethod
    def measure(self, module: ProgramModule, batch: Batch, tally: Ints) -> tuple[float, int]:
        """-ln P of all that a batch predicts, or its loss, added up, and how many these are; `tally` gets
        what the scores are made of."""

    @abstractmethod
    def scores(self, nats: float, count: int, tally: tuple[float, ...] = ()) -> Scores:
        """What so many nats on so many tokens of the validation part are worth, and so many sums."""

    def validate(
        self, module: ProgramModule, most: int | None = None, rank: int = 0, of: int = 1
    ) -> Scores:
        """The scores on the validation part, or on about `most` tokens of it.

        With several processes, those of the share of one: `scores` makes the whole of their sums. Which
        batches there are does not depend on how many share them.
        """
        training = module.training
        module.eval()
        device = next(module.parameters()).device
        nats, count, tally = 0.0, 0, self.begin()
        for number, batch in enumerate(self.blocks(most)):
            if number % of == rank:
                found, counted = self.measure(module, batch.to(device), tally)
                nats, count = nats + found, count + counted
        module.train(training)
        return self.scores(nats, count, tuple(tally.tolist()))

    def nan_in_validation(self, module: ProgramModule) -> Batch | None:
        """The first batch of the validation part whose loss is nan, for whoever asks why it is."""
        device = next(module.parameters()).device
        every = (batch.to(device) for batch in self.blocks())
        return next(
            (b for b in every if math.isnan(self.measure(module, b, self.begin())[0])), None
        )


def loss_terms(code: Code) -> tuple[str, ...]:
    """The numbers with a name that the loss adds up, each alone or times a constant."""
    if code.loss is None or len(code.of(code.loss)) != 1:
        return ()
    body = code.of(code.loss)[0].body
    if not (isinstance(body, Apply) and body.function == "+"):
        return ()
    found = [_named(code, part) for part in body.arguments]
    return tuple(dict.fromkeys(name for name in found if name is not None))


def _named(code: Code, part: Expression) -> str | None:
    """The one defined number in a term: the ℒ_{focus} of λ ℒ_{focus}."""
    names = {
        node.tensor
        for node in part.walk()
        if isinstance(node, Read)
        and code.tensors[node.tensor].role == "defined"
        and not code.tensors[node.tensor].axes
    }
    return names.pop() if len(names) == 1 else None
