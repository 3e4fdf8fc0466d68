"""Rows of tokens of one length, and the distribution of what comes next.

    walker = Walker(module)
    walker.extend([[5, 2, 9]])            one row, three tokens
    walker.probabilities                  (1, V): the distribution of the fourth
    walker.feed(np.array([4]))            the fourth is 4
    walker.select([0, 0])                 the row twice

All rows have the same length, so that every step is one step of the module for all of them.

Where the parameters have room for a number of steps only (learned positions), the window slides: it
begins again with the later half of what the model saw. Where it does so depends on the length alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.stepping.state import State
from indicial.decode.settings import Floats, Ints
from indicial.program.ir import Code
from indicial.program.messages import IndicialError
from indicial.tasks.predictions import prediction

AGAIN = 4
"""From the beginning, tokens are read in one pass, and each costs about a fifth of a step. So all are
read again where no more than three stand before each new one."""


class Walker:
    """`begun` is what `module.begin(x=…)` gave, for a model that reads more than its own tokens."""

    def __init__(self, module: ProgramModule, begun: State | None = None) -> None:
        self.module = module
        self.token, self.distribution = token_and_distribution(module.code)
        with torch.no_grad():
            self._begun = module.begin(want=[self.distribution]) if begun is None else begun
            self._state = self._begun.select([0]) if self._begun.batch is None else self._begun
        self._origins = np.arange(self.rows)
        self._tokens: Ints = np.empty((self.rows, 64), dtype=np.int64)
        self.length = 0
        self._fed = 0

    @property
    def rows(self) -> int:
        assert self._state.batch is not None
        return self._state.batch

    @property
    def tokens(self) -> Ints:
        """Every row so far: (rows, length)."""
        return self._tokens[:, : self.length]

    @property
    def room(self) -> int | None:
        """How many tokens the model can have before it; None for any number."""
        return self._begun.frame.decoder.most

    @property
    def vocabulary(self) -> int:
        values = self.module.code.tensors[self.token].values
        assert values is not None
        return values.value(self._begun.frame.sizes)

    @property
    def speaks_first(self) -> bool:
        """Whether the model has something to say before the first token.

        Where the equations find nothing to predict it from, every token is as likely as any other.
        """
        if self.distribution not in self._begun.out:
            return False
        first = self._begun.out[self.distribution]
        return bool(first.min() < first.max())

    @property
    def probabilities(self) -> Floats:
        """The distribution of the next token of each row: (rows, V)."""
        values = self._state.out[self.distribution]
        if values.dtype not in (torch.float32, torch.float64):
            values = values.float()
        return values.cpu().numpy()

    # ---- going on ----

    def feed(self, tokens: Ints, rows: Sequence[int] | None = None) -> None:
        """The next token of each row, or of these rows, in this order."""
        if rows is not None:
            self._select(np.asarray(rows), fed=True)
        if self.length == self._tokens.shape[1]:
            self._tokens = np.concatenate([self._tokens, np.empty_like(self._tokens)], axis=1)
        self._tokens[:, self.length] = tokens
        self.length += 1
        if self._fed == self.room:
            self._begin_at(window_start(self.length, self.room))
        else:
            self._step(self.length - 1)

    def extend(self, rows: Sequence[Sequence[int]] | Ints) -> None:
        """Several tokens of each row; what the window would slide over is left out."""
        new = np.asarray(rows, dtype=np.int64).reshape(self.rows, -1)
        if not new.shape[1]:
            return
        self._tokens = np.concatenate([self.tokens, new, np.empty_like(new)], axis=1)
        before, self.length = self.length, self.length + new.shape[1]
        start = window_start(self.length, self.room)
        seen = self.length - start
        again = new.shape[1] * AGAIN >= seen and self._begun.frame.decoder.one_pass(seen)
        if again or start != window_start(before, self.room):
            self._begin_at(start)
        else:
            self._read(before)

    def select(self, rows: Sequence[int] | Ints) -> None:
        """These rows, in this order; a row may come twice, or not at all."""
        self._select(np.asarray(rows))

    def _select(self, at: Ints, fed: bool = False) -> None:
        if np.array_equal(at, np.arange(self.rows)):
            return
        kin = fed and np.array_equal(self._origins[at], self._origins)
        self._tokens = self._tokens[at]
        self._origins = self._origins[at]
        self._state = self._state.select(torch.from_numpy(at), kin=kin)

    def _begin_at(self, start: int) -> None:
        self._state = self._begun.select(
            [0] * self.rows if self._begun.batch is None else torch.from_numpy(self._origins)
        )
        self._fed = 0
        self._read(start)

    def _read(self, start: int) -> None:
        """Everything from a place on."""
        tokens = torch.from_numpy(self.tokens[:, start:].copy())
        with torch.no_grad():
            self._state, _ = self.module.extend(self._state, **{self.token: tokens})
        self._fed += tokens.shape[1]

    def _step(self, place: int) -> None:
        tokens = torch.from_numpy(self._tokens[:, place].copy())
        with torch.no_grad():
            self._state, _ = self.module.step(self._state, **{self.token: tokens})
        self._fed += 1


def window_start(length: int, room: int | None) -> int:
    """The first token that the model still sees: it has `room // 2` tokens after each sliding.

    >>> [window_start(n, 4) for n in range(1, 10)]
    [0, 0, 0, 0, 3, 3, 3, 6, 6]
    """
    if room is None or length <= room:
        return 0
    if room < 1:
        raise IndicialError("the model has one position, so it cannot go on from any token")
    stride = room - max(1, room // 2) + 1
    return ((length - room - 1) // stride + 1) * stride


def token_and_distribution(code: Code) -> tuple[str, str]:
    """The input that is generated and the distribution of it: `w` and `P`."""
    found = prediction(code)
    if found is not None:
        return found.token.name, found.distribution.name
    raise IndicialError(
        "the equations give no distribution of a next token, so nothing can be generated: "
        "they need something like P(w[t] | w[0], …, w[t-1]) = softmax_{w_t} …"
    )
