"""The task of a language model that learns documents and questions, each in a row of its own.

>>> task = Texts(program, data, context=64, batch_size=32, objective="language=1,question=2")
>>> batch = task.batch(0)
>>> batch.inputs["w"].shape, batch.weights.shape      # the rows of a batch are about as long
(torch.Size([32, 24]), torch.Size([32, 24]))

What a document is made into before it is learned, and what of it counts:

    language    the painter Anna Lind .               all of it
    spans       the ⁇ Lind .⁇painter Anna             a span is taken out, and stands behind the text
    blank       the ⁇ Anna ⁇ .⁇painter Lind           words are, and stand there in their order
    question    Where was Anna Lind born?⁇Lund        a question with its answer, which is all that counts

All of them are texts that a language model reads from left to right, so the same equations learn any mixture. A
number for each token says how much it counts. What is minimised is -ln P of the tokens that count, divided by
how many these are. Each step has one objective, as often as its share says, and so are its rows drawn from the
files (`--shares`). Validation looks at questions where there are some: how many answers the likeliest tokens
spell exactly, which is what greedy answers would be.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.corpus import Corpus, Data, key, shuffled
from indicial.data.tokenizers import EOS, Ints, Marked
from indicial.program.messages import IndicialError
from indicial.program.program import Program
from indicial.tasks.language import Language
from indicial.tasks.predictions import SURPRISE
from indicial.tasks.task import About, Batch, Scores

Key = TypeVar("Key")
POOL = 8
"""Batches whose rows are drawn together and sorted by their lengths."""
CYCLE = 60
"""Turns in which each objective, or file, comes as often as its share says; more, if one would not come at all."""
STEP = 8
"""Rows are filled up to a multiple of this, so that there are few lengths."""


class Texts(Language):
    """Documents in rows of their own; some of their tokens count."""

    name = "texts"

    def __init__(
        self,
        program: Program,
        data: Data,
        *,
        context: int,
        batch_size: int,
        seed: int = 0,
        objective: str | None = None,
        shares: Sequence[float] = (),
    ) -> None:
        """`shares`: how often each of the files and folders comes, in the order of their documents."""
        super().__init__(program, data, context=context, batch_size=batch_size, seed=seed)
        if self.prediction is None or self.terms:
            what = "adds other terms to it" if self.terms else "says no probability of a word"
            raise IndicialError(
                f"objectives and questions are learned by -ln P of the words that count, and {program.title} "
                f"{what}"
            )
        self.most = self.rows.context
        self._marked = {
            part: self._with_sign(corpus)
            for part, corpus in (("train", data.train), ("validation", data.validation))
        }
        counts = data.train.items if shares else [data.train.documents]
        self._shares = np.array(shares or [1.0])
        self._item = np.repeat(np.arange(len(counts)), counts)
        self.objective = self._objective(objective)
        self._order = _schedule(self.objective)
        self._pools: dict[str, tuple[int, list[list[Made]]]] = {}

    @property
    def mark(self) -> int:
        assert isinstance(self.data.tokenizer, Marked)
        return self.data.tokenizer.mark

    def _with_sign(self, corpus: Corpus) -> Ints:
        """Which documents have the sign in them: questions."""
        where = np.flatnonzero(np.asarray(corpus.tokens) == self.mark)
        found = np.zeros(corpus.documents, bool)
        found[np.searchsorted(corpus.starts, where, side="right") - 1] = True
        return found

    def _objective(self, said: str | None) -> dict[str, float]:
        """What was said, where there are documents for it; else all there are documents for."""
        if said is not None:
            return shares(said)
        found = {LANGUAGE: self._from(LANGUAGE), QUESTION: self._from(QUESTION)}
        return {name: sum(items.values()) for name, items in found.items() if items}

    def _from(self, objective: str) -> dict[int, float]:
        """The shares of those that have documents for an objective."""
        own = np.unique(self._item[self._marked["train"] == (objective == QUESTION)])
        return dict(zip(own.tolist(), self._shares[own].tolist(), strict=True))

    @property
    def about(self) -> About:
        listed = ", ".join(f"{name} {share:g}" for name, share in self.objective.items())
        lengths = np.diff(self.data.train.starts)
        rows, says = float(np.minimum(lengths, self.most).mean()), f"objectives: {listed}"
        return replace(super().about, entropy=None, tokens_per_row=rows, says=says)

    def describe(self) -> Mapping[str, Any]:
        return {
            "context": self.context,
            "begins_with_eos": self.leads,
            "layout": "documents",
            "asks": QUESTION in self.objective,
        }

    # ------------------------------------------------------------------ batches

    def batch(self, step: int, rank: int = 0, of: int = 1) -> Batch:
        name, number = _turn(self._order, step)
        rows = self._pool(name, number // POOL)[number % POOL]
        first, last = (n * self.batch_size // of for n in (rank, rank + 1))
        return self._filled(rows[first:last])

    def _pool(self, name: str, group: int) -> list[list[Made]]:
        """The rows of some batches of an objective, a function of the seed and their number alone."""
        if self._pools.get(name, (-1, []))[0] != group:
            random = np.random.default_rng([self.seed, list(MAKERS).index(name), group])
            size = POOL * self.batch_size
            made = [
                MAKERS[name](self._document(self.data.train, d), self.most, self.mark, random)
                for d in self._drawn(name, range(group * size, (group + 1) * size))
            ]
            made.sort(key=lambda one: len(one.tokens))
            size = self.batch_size
            batches = [made[n * size : (n + 1) * size] for n in range(POOL)]
            self._pools[name] = group, [batches[n] for n in random.permutation(POOL)]
        return self._pools[name][1]

    def _drawn(self, name: str, rows: range) -> list[int]:
        """The documents of some rows of an objective: from each file as often as its share says."""
        order = _schedule(self._from(name))
        if not order:
            what = "questions" if name == QUESTION else "texts"
            raise IndicialError(f"--objective {name}: there are no {what} in {self.data.name}")
        turns = np.array([_turn(order, row) for row in rows])
        found = np.empty(len(rows), np.int64)
        for item in dict.fromkeys(order):
            fits = (self._marked["train"] == (name == QUESTION)) & (self._item == item)
            here = turns[:, 0] == item
            # The order of the first is that of a single file.
            drawn_by = f"{name} {item}" if item != order[0] else name
            found[here] = self._shuffled(np.flatnonzero(fits), turns[here, 1], drawn_by)
        return found.tolist()

    def _shuffled(self, own: Ints, numbers: Ints, name: str) -> Ints:
        """Every document once, in an order of its own each time."""
        found = np.empty_like(numbers)
        for epoch in set((numbers // len(own)).tolist()):
            here = numbers // len(own) == epoch
            order = shuffled(numbers[here] % len(own), len(own), key(self.seed, epoch, name))
            found[here] = own[order]
        return found

    @staticmethod
    def _document(corpus: Corpus, number: int) -> Ints:
        begin, end = corpus.starts[number : number + 2]
        return np.asarray(corpus.tokens[begin:end], np.int64)

    def _filled(self, rows: Sequence[Made]) -> Batch:
        longest = max(len(row.tokens) for row in rows)
        length = min(-(-longest // STEP) * STEP, self.most)
        tokens = np.zeros((len(rows), length), np.int64)
        weights = np.zeros((len(rows), length), np.float32)
        for place, row in enumerate(rows):
            tokens[place, : len(row.tokens)] = row.tokens
            weights[place, : len(row.tokens)] = row.weights
        count = sum(len(row.tokens) for row in rows)
        return Batch(self.inputs(tokens), count=count, weights=torch.from_numpy(weights))

    def loss(self, module: Any, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        inner = getattr(module, "module", module)  # of a replica
        found = self.measuring(inner).learning(batch.inputs, [SURPRISE])[SURPRISE]
        assert batch.weights is not None
        own = found[:, int(self.leads) :] * batch.weights
        return own.sum() / batch.weights.sum(), {}

    # ------------------------------------------------------------------ validation

    def begin(self) -> Ints:
        """How many answers are right, of how many."""
        return np.zeros(2)

    @property
    def asks(self) -> bool:
        """Whether the validation part has questions; then these are all that it is looked at for."""
        return bool(self._marked["validation"].any())

    def blocks(self, most: int | None = None) -> Iterator[Batch]:
        """The questions of the validation part if it has any, or else its texts."""
        corpus, asked, seen = self.data.validation, self.asks, 0
        random = np.random.default_rng(0)
        make = MAKERS[QUESTION if asked else LANGUAGE]
        made = [
            make(self._document(corpus, number), self.most, self.mark, random)
            for number in np.flatnonzero(self._marked["validation"] == asked).tolist()
        ]
        order = sorted(range(len(made)), key=lambda n: len(made[n].tokens))
        batches = [order[n : n + self.batch_size] for n in range(0, len(order), self.batch_size)]
        for several in (batches[n] for n in random.permutation(len(batches))):
            batch = self._filled([made[n] for n in several])
            yield batch
            seen += batch.count
            if most is not None and seen >= most:
                return

    def measure(self, module: ProgramModule, batch: Batch, tally: Ints) -> tuple[float, int]:
        assert batch.weights is not None
        found, right = self.counted_nats(module, batch)
        tally += [int(right.sum()) * self.asks, len(right) * self.asks]
        return float(found.double().sum()), int((batch.weights > 0).sum())

    def counted_nats(
        self, module: ProgramModule, batch: Batch
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """-ln P of what counts in each row, and whether the likeliest tokens are just that."""
        assert self.prediction is not None and batch.weights is not None
        P = self.prediction.distribution.name
        found = self.measuring(module).tensors(batch.inputs, None, [SURPRISE, P])
        skip = int(self.leads)
        likeliest = found[P][:, skip:].argmax(-1)
        counts = batch.weights > 0
        tokens = batch.inputs[self.token.name][:, skip:]
        right = ((likeliest == tokens) | ~counts).all(1)
        return (found[SURPRISE][:, skip:] * batch.weights).sum(1), right

    def scores(self, nats: float, count: int, tally: tuple[float, ...] = ()) -> Scores:
        right, asked = tally or (0, 0)
        figures = {"match": right / asked} if asked else {}
        return Scores(nats, count, figures=figures, tally=tally)


def _schedule(shares: Mapping[Key, float]) -> list[Key]:
    """Whose turn it is, over and over: each comes when it has waited longest for its share."""
    total = sum(shares.values())
    due = dict.fromkeys(shares, 0.0)
    order: list[Key] = []
    rarest = min(shares.values(), default=1.0)
    for _ in range(len(shares) if len(shares) < 2 else max(CYCLE, math.ceil(total / rarest))):
        for name, share in shares.items():
            due[name] += share / total
        name = max(due, key=lambda one: due[one])
        due[name] -= 1
        order.append(name)
    return order


def _turn(order: Sequence[Key], number: int) -> tuple[Key, int]:
    """Whose turn one is, and how many turns it has had before."""
    rounds, place = divmod(number, len(order))
    name = order[place]
    return name, rounds * order.count(name) + order[:place].count(name)


LANGUAGE, SPANS, BLANK, QUESTION = "language", "spans", "blank", "question"
SHORTEST = 4
"""Tokens that a text is cut to at least, before a span is taken out."""
SPAN = (0.125, 0.375)
"""The part of it that a span is: a quarter on average."""
BLANKS = 0.15
"""Of all tokens, as in Devlin et al. 2019."""


@dataclass(frozen=True)
class Made:
    """Tokens, and how much each of them counts."""

    tokens: Ints
    weights: Ints


def shares(said: str) -> dict[str, float]:
    """`language=1,spans=2` → how often each objective is taken; `spans` → it alone."""
    found: dict[str, float] = {}
    for item in said.split(","):
        name, _, number = item.strip().partition("=")
        if name not in MAKERS:
            close = difflib.get_close_matches(name, MAKERS, 1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(MAKERS)}"
            raise IndicialError(f"--objective: there is no {name}; {hint}")
        try:
            share = float(number or 1)
        except ValueError:
            share = -1.0
        if not 0.001 <= share <= 1000:
            raise IndicialError(
                f"--objective {said}: the share of {name} is a number from 0.001 to 1000, such as {name}=2"
            )
        if name in found:
            raise IndicialError(f"--objective {said}: {name} is named twice")
        found[name] = share
    return found


def language(document: Ints, most: int, mark: int, random: np.random.Generator) -> Made:
    """The document, or a part of one that is longer than `most` tokens."""
    return _all(_part(document, most, random))


def spans(document: Ints, most: int, mark: int, random: np.random.Generator) -> Made:
    """A random length of it, without a span of about a quarter of that, which stands behind it."""
    room = max(SHORTEST, most - 3)  # two signs and an end
    text = _part(document[:-1], room, random)
    length = int(random.integers(min(SHORTEST, len(text)), len(text) + 1))
    taken = max(1, round(length * random.uniform(*SPAN)))
    first = int(random.integers(0, length - taken + 1))
    out = np.zeros(length, bool)
    out[first : first + taken] = True
    return _without(text[:length], out, mark)


def blank(document: Ints, most: int, mark: int, random: np.random.Generator) -> Made:
    """Some tokens of it, which stand behind it in their order."""
    room = max(SHORTEST, int((most - 2) / (1 + 2 * BLANKS)))
    text = _part(document[:-1], room, random)
    drawn = random.random(len(text))
    out = (drawn < BLANKS) | (drawn == drawn.min())
    return _without(text, out & (np.cumsum(out) <= max(1, most - 2 - len(text))), mark)


def question(document: Ints, most: int, mark: int, random: np.random.Generator) -> Made:
    """What stands behind the last sign counts; too long a question is cut at its beginning."""
    text = document[-most:]
    places = np.flatnonzero(text == mark)
    weights = np.ones(len(text), np.float32)
    weights[: int(places[-1]) + 1 if len(places) else 0] = 0
    return Made(text, weights)


Maker = Callable[[Ints, int, int, np.random.Generator], Made]
MAKERS: dict[str, Maker] = {LANGUAGE: language, SPANS: spans, BLANK: blank, QUESTION: question}


def _part(document: Ints, most: int, random: np.random.Generator) -> Ints:
    if len(document) <= most:
        return document
    first = int(random.integers(0, len(document) - most + 1))
    return document[first : first + most]


def _without(text: Ints, out: Ints, mark: int) -> Made:
    """One sign in the place of all that was taken out side by side; behind the text, a sign and that."""
    begins = out & ~np.concatenate([[False], out[:-1]])
    left = np.where(out, mark, text)[~out | begins]
    return _all(np.concatenate([left, [mark], text[out], [EOS]]))


def _all(tokens: Ints) -> Made:
    return Made(tokens, np.ones(len(tokens), np.float32))
