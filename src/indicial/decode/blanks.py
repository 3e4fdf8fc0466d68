"""A text with blanks → the words that fit there, with their probabilities.

>>> filled = fill("runs/blank", "the ___ of Lund is")
>>> print(filled)
the mayor of Lund is
>>> filled.blanks[0].words[:2]
((' mayor', 0.81), (' owner', 0.07))

A blank is one token. Of several the surest is filled first, and the others are asked again with it in its
place. A model that reads no blanks (`blank_rnn`) predicts each word without reading it; then what is not
filled yet holds the likeliest word so far.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.tokenizers import Tokenizer
from indicial.program.messages import IndicialError
from indicial.tasks.predictions import Prediction, prediction
from indicial.training.run import Run

BLANK = re.compile(r"_{3,}")
SWEEPS = 5
"""So often blanks are asked again at most, where each has the others in view."""


@dataclass(frozen=True)
class Blank:
    """One blank: the words that fit, the likeliest first, with their probabilities."""

    place: int
    """The number of its token in the text."""
    words: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Filled:
    """A text, and what was put into its blanks."""

    text: str
    result: str
    blanks: tuple[Blank, ...]

    def __str__(self) -> str:
        return self.result

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def fill(
    model: str | os.PathLike[str] | Run,
    text: str,
    *,
    alternatives: int = 5,
    checkpoint: str = "best",
) -> Filled:
    """The text with its blanks, `___`, filled by a run that was trained for it."""
    run = Run.open(model)
    if run.description.task != "blank":
        raise IndicialError(
            "blanks are filled by a model that reads the words on both sides: train one with --task "
            "blank, for example blank_rnn; this one goes on from a prompt"
        )
    module = run.module(checkpoint)
    leads = bool(run.description.settings.get("begins_with_eos"))
    return filled(module, run.tokenizer(), text, leads=leads, alternatives=alternatives)


def filled(
    module: ProgramModule,
    tokenizer: Tokenizer,
    text: str,
    *,
    leads: bool = False,
    alternatives: int = 5,
) -> Filled:
    """The same with a module and its tokenizer."""
    found = prediction(module.code)
    if found is None:
        raise IndicialError(
            "the equations say no probability of a word, so nothing can be filled in"
        )
    tokens, places = _tokens(tokenizer, text, leads)
    asked = _Asked(module, found, tokenizer, tokens)
    words: dict[int, tuple[tuple[str, float], ...]] = {}
    open_places = list(places)
    while open_places:
        scores = asked.distributions(open_places)
        surest = max(open_places, key=lambda place: float(scores[place].max()))
        asked.tokens[surest] = int(scores[surest].argmax())
        open_places.remove(surest)
    for _ in range(SWEEPS if len(places) > 1 else 1):
        before = list(asked.tokens)
        for place in places:
            one = asked.distributions([place])[place]
            asked.tokens[place] = int(one.argmax())
            best = one.topk(min(alternatives, len(one)))
            likeliest = [tokenizer.decode([token]) for token in best.indices.tolist()]
            words[place] = tuple(zip(likeliest, best.values.tolist(), strict=True))
        if asked.tokens == before:
            break
    first = int(leads)
    result = tokenizer.decode(asked.tokens[first:])
    return Filled(text, result, tuple(Blank(p - first, words[p]) for p in places))


def _tokens(tokenizer: Tokenizer, text: str, leads: bool) -> tuple[list[int], list[int]]:
    """The tokens of a text, with the end sign in the place of each blank, and where those are."""
    pieces = BLANK.split(text)
    if len(pieces) == 1:
        raise IndicialError(
            'there is no blank in the text: write ___ for a word, as in "the ___ is"'
        )
    tokens, places = [tokenizer.eos] * leads, []
    for number, piece in enumerate(pieces):
        if number:
            places.append(len(tokens))
            tokens.append(tokenizer.eos)
        if tokenizer.kind == "bpe":  # a word begins with its blank, and at the beginning gets one
            piece = piece.removesuffix(" ") if number < len(pieces) - 1 else piece
            piece = piece.removeprefix(" ") if number else piece
        tokens += tokenizer.encode(piece)
    return tokens, places


@dataclass
class _Asked:
    """A text that is filled step by step."""

    module: ProgramModule
    prediction: Prediction
    tokenizer: Tokenizer
    tokens: list[int]

    def distributions(self, places: Sequence[int]) -> dict[int, torch.Tensor]:
        """P at each of these places, with blanks there if the model reads blanks."""
        given = torch.tensor([self.tokens])
        where = torch.zeros(given.shape, dtype=torch.bool)
        where[0, list(places)] = True
        size, name = self.tokenizer.size, self.prediction.distribution.name
        inputs = self.prediction.inputs(given, where, size)
        device = next(self.module.parameters()).device
        given_there = {n: v.to(device) for n, v in inputs.items()}
        self.module.eval()
        with torch.no_grad():
            values = self.module(**given_there, want=[name])[name][0]
        result = {}
        for place in places:
            one = values[place, :size].clone().double().cpu()
            one[self.tokenizer.eos] = 0
            if self.tokenizer.unknown is not None:
                one[self.tokenizer.unknown] = 0
            result[place] = one / one.sum()
        return result
