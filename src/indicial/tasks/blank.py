"""The task of a blank language model: each word of a text from all others.

    blank_rnn            reads the whole text, and predicts each word without reading it
    encoder + masked     reads the text with blanks in it: w; what stood there: u; where: m

>>> task.batch(0).inputs          # encoder + masked
{"u": (32, 128) tokens, "w": the same with blanks, "m": 1.0 at each blank}

A blank is one more token, behind those of the tokenizer. Which words are blanked is drawn from the
seed and the number of the batch, so that the same batch is the same again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.batches import Block
from indicial.data.tokenizers import Ints
from indicial.tasks.language import Language
from indicial.tasks.task import About, Batch, Scores

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
            return Batch(self.inputs(tokens, step), count=tokens.size)
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
        found = self.prediction
        assert found is not None and found.blanked is not None
        inputs = {
            found.token.name: torch.from_numpy(tokens),
            found.blanked.name: torch.from_numpy(np.where(where, self.vocabulary - 1, tokens)),
        }
        if found.mask is not None:
            inputs[found.mask.name] = torch.from_numpy(where.astype(np.float32))
        return inputs

    def counted(self, block: Block, number: int) -> Ints:
        """With blanks in the text only they count, each where it would be counted anyway."""
        counted = super().counted(block, number)
        if not self.blanks:
            return counted
        return np.asarray(counted & self.where(block.tokens.shape, number, VALIDATION))

    def scores(self, nats: float, count: int, tally: tuple[float, ...] = ()) -> Scores:
        """Words that are seen from both sides may well cost less than the entropy of the text."""
        return replace(super().scores(nats, count), entropy=None)

    @property
    def about(self) -> About:
        return replace(super().about, entropy=None)

    def block_inputs(self, block: Block, number: int) -> dict[str, torch.Tensor]:
        if not self.blanks:
            return super().block_inputs(block, number)
        return self.blanked(block.tokens, self.where(block.tokens.shape, number, VALIDATION))

    def surprise(
        self, module: ProgramModule, block: Block, number: int, device: torch.device
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.blanks:
            return super().surprise(module, block, number, device)
        inputs = self.block_inputs(block, number)
        found = self.measure(module)({n: v.to(device) for n, v in inputs.items()})
        where = torch.from_numpy(self.counted(block, number)).to(device)
        return self.spelled(found, block), where
