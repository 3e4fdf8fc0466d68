"""The tasks of a language model, each word of a text from those before it; and of a blank one, from all others.

>>> task = Language(program, data, context=128, batch_size=32, seed=0)
>>> task.batch(0).inputs["w"].shape
torch.Size([32, 128])
>>> task.validate(module).perplexity
9.87…

Training minimises the loss of the program, whatever it is. Validation counts -ln P of each token of
the validation part once; where a program says no P, it takes the loss itself.

    blank_rnn            reads the whole text, and predicts each word without reading it
    encoder + masked     reads the text with blanks in it: w; what stood there: u; where: m

A blank is one more token, behind those of the tokenizer. Which words are blanked is drawn from the
seed and the number of the batch, so that the same batch is the same again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import parameters, size_names
from indicial.data.corpus import Block, Data, Rows
from indicial.data.tokenizers import Ints
from indicial.program.ir import Tensor as Declared
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.tasks.predictions import Measure, prediction, probe, text_lengths, token_inputs
from indicial.tasks.task import About, Batch, Scores, Task


class Language(Task):
    """Texts in rows; the inputs of the program are the tokens."""

    name = "language"

    def __init__(
        self, program: Program, data: Data, *, context: int, batch_size: int, seed: int = 0
    ) -> None:
        super().__init__(program, context=context, batch_size=batch_size, seed=seed)
        self.data = data
        self.prediction = prediction(program.code)
        layout = Rows(data.train, context, seed).layout
        # A model that says nothing about the first word is shown the end of the text before it. In
        # a long text that is one word of all, and does no harm unless its probability is 0.
        said = probe(program)
        lacks = layout == "documents" or not said.first_is_possible
        self.leads = lacks and not said.first_is_known
        inner = context - 1 if self.leads else context
        self.rows = Rows(data.train, inner, seed, layout)
        if len(data.validation) < 2:
            raise IndicialError(
                f"the validation part has {len(data.validation)} tokens; give more data, or a "
                "larger --validation"
            )
        self.checked = Rows(data.validation, inner, seed, layout)
        self._measure: Measure | None = None

    @property
    def about(self) -> About:
        data, documents = self.data, self.data.train.documents
        return About(
            data=f"{data.name}, {documents:,} document{'s' * (documents != 1)}",
            tokenizer=f"{data.tokenizer.kind}, V = {data.tokenizer.size}",
            tokens=len(data.train),
            validation_tokens=len(data.validation),
            entropy=data.entropy_per_token,
            terms=self.terms,
            tokens_per_row=self.context,
        )

    @property
    def vocabulary(self) -> int:
        return self.data.tokenizer.size

    @property
    def token(self) -> Declared:
        """The input that holds the text."""
        return self.prediction.token if self.prediction else token_inputs(self.program.code)[0]

    @property
    def lengths(self) -> dict[str, int]:
        """The names of sizes that are as long as a text, T, and how long that is."""
        return dict.fromkeys(text_lengths(self.program.code), self.context)

    @property
    def sizes(self) -> dict[str, int]:
        """V, and T where a parameter has room for so many positions."""
        code = self.program.code
        found: dict[str, int] = {}
        for tensor in token_inputs(code):
            if tensor.values is not None and tensor.values.name is not None:
                found[tensor.values.name] = self.vocabulary
        for length in self.lengths:
            if any(length in size_names(t.axes) for t in parameters(code)):
                found[length] = self.context
        return found

    # ------------------------------------------------------------------ training

    def batch(self, step: int, rank: int = 0, of: int = 1) -> Batch:
        tokens = self.rows.batch(step, self.batch_size, rank, of).tokens
        return Batch(self.inputs(tokens), count=tokens.size)

    def inputs(self, tokens: Ints) -> dict[str, torch.Tensor]:
        """What the program reads of some rows."""
        if self.leads:
            ends = np.full((len(tokens), 1), self.data.tokenizer.eos, tokens.dtype)
            tokens = np.concatenate([ends, tokens], axis=1)
        return {self.token.name: torch.from_numpy(tokens)}

    # ------------------------------------------------------------------ validation

    def blocks(self, most: int | None = None) -> Iterator[Batch]:
        """Each token of the validation part once, or the first of them."""
        seen = 0
        for number, block in enumerate(self.checked.in_order(self.batch_size)):
            batch = self.of_block(block, number)
            yield batch
            assert batch.weights is not None
            seen += int(batch.weights.sum())
            if most is not None and seen >= most:
                return

    def of_block(self, block: Block, number: int) -> Batch:
        """What the program reads of a block, and which of its tokens count; `number` counts the blocks."""
        counted = np.ones(block.tokens.shape, bool) if block.counted is None else block.counted
        return Batch(self.inputs(block.tokens), weights=torch.from_numpy(counted))

    def measure(self, module: ProgramModule, batch: Batch, tally: Ints) -> tuple[float, int]:
        found, counted = self.surprise(module, batch), batch.weights
        assert counted is not None
        return float(found[counted].double().sum()), int(counted.sum())

    def surprise(self, module: ProgramModule, batch: Batch) -> torch.Tensor:
        """-ln P of each token of a block, (B, T), with what it takes to say which character each unknown
        one is: bits are never flattered."""
        tokens, tokenizer = batch.inputs[self.token.name][:, int(self.leads) :], self.data.tokenizer
        if self.prediction is None:
            with torch.no_grad():
                loss: torch.Tensor = module(**batch.inputs).loss
            return loss.expand(tokens.shape)
        found = self.measuring(module)(batch.inputs)[:, int(self.leads) :]
        if tokenizer.unknown is None:
            return found
        return found + tokenizer.unknown_nats * (tokens == tokenizer.unknown)

    def measuring(self, module: ProgramModule) -> Measure:
        assert self.prediction is not None
        if self._measure is None or self._measure.module is not module:
            self._measure = Measure(module, self.prediction)
        return self._measure

    def scores(self, nats: float, count: int, tally: tuple[float, ...] = ()) -> Scores:
        if self.prediction is None:
            return Scores(nats, count, probable=False)
        corpus = self.data.validation
        part = count / len(corpus)
        words = corpus.words + corpus.documents
        entropy = self.data.entropy_per_token
        if count == len(corpus) and self.data.sampled_entropy_per_token is not None:
            entropy = self.data.sampled_entropy_per_token
        return Scores(
            nats,
            count,
            characters=corpus.characters * part,
            words=words * part,
            entropy=None if entropy is None else entropy * len(corpus) / words,
        )

    def describe(self) -> Mapping[str, Any]:
        """What generating needs to know about how the rows were made."""
        return {"context": self.context, "begins_with_eos": self.leads, "layout": self.rows.layout}


PART = 0.15
"""Of all tokens, as in Devlin et al. 2019."""
VALIDATION = 1
"""Blanks of the validation part are drawn apart from those of training."""


class Blank(Language):
    """Rows of text; the program says whether it wants blanks in them."""

    name = "blank"

    @property
    def blanks(self) -> bool:
        """Whether the program reads the text with blanks in it."""
        return self.prediction is not None and self.prediction.blanked is not None

    @property
    def vocabulary(self) -> int:
        return self.data.tokenizer.size + self.blanks

    def batch(self, step: int, rank: int = 0, of: int = 1) -> Batch:
        tokens = self.rows.batch(step, self.batch_size, rank, of).tokens
        if not self.blanks:
            return Batch(self.inputs(tokens), count=tokens.size)
        # Drawn for all rows of the batch, so that it does not matter how many processes share it.
        first = rank * self.batch_size // of
        drawn = self.where((self.batch_size, tokens.shape[1]), step)
        where = drawn[first : first + len(tokens)]
        return Batch(self.blanked(tokens, where), count=int(where.sum()))

    def where(self, shape: tuple[int, ...], number: int, part: int = 0) -> Ints:
        """Which tokens are blanked: some of each row, at least one."""
        random = np.random.default_rng([self.seed, part, number])
        drawn: Ints = np.asarray(random.random(shape))
        return np.asarray((drawn < PART) | (drawn == drawn.min(axis=1, keepdims=True)))

    def blanked(self, tokens: Ints, where: Ints) -> dict[str, torch.Tensor]:
        assert self.prediction is not None
        blank = self.vocabulary - 1
        return self.prediction.inputs(torch.from_numpy(tokens), torch.from_numpy(where), blank)

    def of_block(self, block: Block, number: int) -> Batch:
        """With blanks in the text only they count, each where it would be counted anyway."""
        batch = super().of_block(block, number)
        if not self.blanks:
            return batch
        where = self.where(block.tokens.shape, number, VALIDATION)
        assert batch.weights is not None
        return Batch(
            self.blanked(block.tokens, where), weights=batch.weights & torch.from_numpy(where)
        )

    def scores(self, nats: float, count: int, tally: tuple[float, ...] = ()) -> Scores:
        """Words that are seen from both sides may well cost less than the entropy of the text."""
        return replace(super().scores(nats, count), entropy=None)

    @property
    def about(self) -> About:
        return replace(super().about, entropy=None)
