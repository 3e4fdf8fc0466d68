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

How well each kind of thing is predicted, from sums that can be added up; what is likeliest of all that is predicted.

    Classes(("ADJ", "NOUN", …))   what was taken for what: accuracy, macro F1, a confusion matrix
    Right()                       how many are right: accuracy
    Edges(("nsubj", "obl:tmod"))  heads of words, and what they are called: UAS and LAS
    Together({("y",): …, …})      several of these
    Answered()                    the same of what is found, and of texts that are read off it
    Squares()                     squares of deviations: R²
    Nothing()                     -ln P says it all; texts that are written are scored elsewhere

>>> scoring = Classes(("no", "yes"))
>>> tally = scoring.begin()
>>> scoring.add(tally, true=np.array([0, 1, 1]), found=np.array([0, 1, 0]))
>>> scoring.figures(tally)
{'accuracy': 0.667, 'macro F1': 0.667}
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.codings import Coding, Places
from indicial.data.tokenizers import Ints
from indicial.data.treebanks import likeliest_tree
from indicial.program.ir import Apply, Code, Expression, Read
from indicial.program.program import Program
from indicial.tasks.forms import Form


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
    """What the figures are made of: sums that several processes add up."""

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


MOST = 100
"""Classes of a confusion matrix; of more only the right ones and both margins are counted."""


class Nothing:
    """No sums."""

    def begin(self) -> Ints:
        """All sums 0."""
        return np.zeros(0)

    def add(self, tally: Ints, true: Ints, found: Ints) -> None:
        """Counts what is true and what was found, element by element."""

    def figures(self, tally: Ints) -> dict[str, float]:
        """The scores by name."""
        return {}


class Right(Nothing):
    """How many are right, of how many."""

    def begin(self) -> Ints:
        return np.zeros(2)

    def add(self, tally: Ints, true: Ints, found: Ints) -> None:
        tally += [(true == found).sum(), true.size]

    def figures(self, tally: Ints) -> dict[str, float]:
        return {"accuracy": float(tally[0] / max(1, tally[1]))}


class Answered(Right):
    """How many are found, and how many texts are read exactly off what belongs to them, of how many."""

    def begin(self) -> Ints:
        return np.zeros(3)

    def add(self, tally: Ints, true: Ints, found: Ints) -> None:
        super().add(tally[:2], true, found)

    def read(self, tally: Ints, right: int) -> None:
        tally[2] += right

    def figures(self, tally: Ints) -> dict[str, float]:
        return {**super().figures(tally), "match": float(tally[2] / max(1, tally[1]))}


@dataclass(frozen=True)
class Classes(Nothing):
    """What was taken for what."""

    names: Sequence[str]

    @property
    def whole(self) -> bool:
        return len(self.names) <= MOST

    def begin(self) -> Ints:
        count = len(self.names)
        return np.zeros(count * count if self.whole else 3 * count)

    def add(self, tally: Ints, true: Ints, found: Ints) -> None:
        count = len(self.names)
        if self.whole:
            tally += np.bincount(true * count + found, minlength=count * count)
            return
        parts = tally.reshape(3, count)
        parts[0] += np.bincount(true[true == found], minlength=count)
        parts[1] += np.bincount(true, minlength=count)
        parts[2] += np.bincount(found, minlength=count)

    def confusion(self, tally: Ints) -> Ints | None:
        """Rows: what is true; columns: what was found. None if there are too many classes."""
        return np.asarray(tally).reshape(len(self.names), -1) if self.whole else None

    def figures(self, tally: Ints) -> dict[str, float]:
        table = self.confusion(tally)
        if table is not None:
            right, true, found = table.diagonal(), table.sum(1), table.sum(0)
        else:
            right, true, found = np.asarray(tally).reshape(3, -1)
        there = (true + found) > 0
        # 2 right / (true + found) is the harmonic mean of precision and recall.
        each = 2 * right[there] / (true + found)[there]
        return {
            "accuracy": float(right.sum() / max(1.0, true.sum())),
            "macro F1": float(each.mean()) if each.size else 0.0,
        }


class Squares(Nothing):
    """Count, sum and squares of the truth, squares of what is missed."""

    def begin(self) -> Ints:
        return np.zeros(4)

    def add(self, tally: Ints, true: Ints, found: Ints) -> None:
        tally += [true.size, true.sum(), (true**2).sum(), ((true - found) ** 2).sum()]

    def figures(self, tally: Ints) -> dict[str, float]:
        count, total, squares, missed = tally
        varies = squares - total**2 / max(1.0, count)
        return {"R²": float(1 - missed / varies)} if varies > 0 else {}


@dataclass(frozen=True)
class Edges(Nothing):
    """Heads of words that make trees, and labels of these links if they have names.

    As CoNLL 2018 counts them: of all words, marks too, how many have the right head (UAS), and how many of these the
    right label as well (LAS), by what stands before the colon of `obl:tmod`.
    """

    names: Sequence[str] = ()

    @cached_property
    def _main(self) -> Ints:
        """For each label the number of the first that has the same main part."""
        mains = [name.partition(":")[0] for name in self.names]
        return np.array([mains.index(main) for main in mains])

    def begin(self) -> Ints:
        return np.zeros(3 if len(self.names) else 2)

    def add(self, tally: Ints, true: Ints, found: Ints) -> None:
        """Heads, or two rows: heads and labels."""
        true, found = np.atleast_2d(true), np.atleast_2d(found)
        right = true[0] == found[0]
        tally[:2] += [right.size, right.sum()]
        if len(self.names):
            tally[2] += (right & (self._main[true[1]] == self._main[found[1]])).sum()

    def figures(self, tally: Ints) -> dict[str, float]:
        words = max(1, tally[0])
        found = {"UAS": float(tally[1] / words)}
        return {**found, "LAS": float(tally[2] / words)} if len(self.names) else found


@dataclass(frozen=True)
class Together(Nothing):
    """Several things that are predicted: which inputs each scoring counts, one or two of them."""

    parts: Mapping[tuple[str, ...], Nothing]

    def begin(self) -> Ints:
        return np.concatenate([part.begin() for part in self.parts.values()])

    def split(self, tally: Ints) -> list[Ints]:
        """The sums of each, as views of all of them."""
        ends = np.cumsum([len(part.begin()) for part in self.parts.values()])
        return np.split(tally, ends[:-1])

    def add_all(self, tally: Ints, true: Mapping[str, Ints], found: Mapping[str, Ints]) -> None:
        """Counts what is true and what was found of each input."""
        for (names, part), own in zip(self.parts.items(), self.split(tally), strict=True):
            both = [[values[name] for name in names] for values in (true, found)]
            part.add(own, *(np.stack(values) if len(names) > 1 else values[0] for values in both))

    def figures(self, tally: Ints) -> dict[str, float]:
        found: dict[str, float] = {}
        for (names, part), own in zip(self.parts.items(), self.split(tally), strict=True):
            each = part.figures(own)
            plain = isinstance(part, Edges) or len(self.parts) == 1
            found |= each if plain else {f"{names[0]} {name}": v for name, v in each.items()}
        return found


Tensors = Mapping[str, torch.Tensor]
Compute = Callable[[Tensors, list[str]], Tensors]
"""The tensors of some names, given what was found of the inputs that are predicted."""


@dataclass(frozen=True)
class Chosen:
    values: torch.Tensor
    """The likeliest in each place of each row."""
    distribution: torch.Tensor


def likeliest(
    form: Form, codings: Mapping[str, Coding], compute: Compute, lengths: Tensors
) -> dict[str, Chosen]:
    """By the names of the inputs that are predicted."""
    found: dict[str, Chosen] = {}
    for stage in form.stages:
        names = [part.prediction.distribution.name for part in stage]
        tensors = compute({name: chosen.values for name, chosen in found.items()}, names)
        for part, name in zip(stage, names, strict=True):
            coding, length = codings[part.slot.name], part.slot.length
            values = tensors[name].argmax(-1)
            if isinstance(coding, Places) and coding.trees and length is not None:
                values = _trees(tensors[name], lengths[length])
            found[part.slot.name] = Chosen(values, tensors[name])
    return found


def _trees(distribution: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The likeliest tree of each row, (B, T); behind its end, 0."""
    found = torch.zeros(distribution.shape[:2], dtype=torch.int64)
    with np.errstate(divide="ignore"):
        scores = np.log(distribution.double().cpu().numpy())
    for row, (own, length) in enumerate(zip(scores, lengths.tolist(), strict=True)):
        found[row, :length] = torch.tensor(likeliest_tree(own[:length, :length]))
    return found.to(distribution.device)
