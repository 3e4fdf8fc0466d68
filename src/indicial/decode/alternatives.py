"""A text that a model writes, each token with what might have stood in its place; loops are told.

>>> made = with_alternatives(Speaker.of("runs/names"), "An", Decoding(temperature=0.8, seed=1))
>>> [(token.text, token.probability) for token in made.tokens], made.loop
([('n', 0.61), ('a', 0.83), …], None)

The text at a seed is that of `generate` at that seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from indicial.decode.choose import Chooser, normalised
from indicial.decode.settings import Decoding, Repeat, repeats
from indicial.decode.text import Speaker
from indicial.decode.tokens import Row, Sampling, started, stream
from indicial.decode.walker import Walker

SHOWN = 8
"""Of the likeliest tokens."""


@dataclass(frozen=True)
class Other:
    """What might have stood there; `drawn` is its probability after temperature and top-p."""

    text: str
    probability: float
    drawn: float


@dataclass(frozen=True)
class Token:
    text: str
    probability: float
    others: list[Other]


@dataclass(frozen=True)
class Written:
    """What was written behind a prompt, and why it ends."""

    prompt: str
    tokens: list[Token]
    ended: str
    loop: Repeat | None
    nats: float | None
    """Of each token in the mean; none where one was impossible."""


def with_alternatives(speaker: Speaker, prompt: str, settings: Decoding) -> Written:
    """One text of a model that writes."""
    speaker.check_writes()
    tokenizer = speaker.tokenizer
    walker = Walker(speaker.module)
    begun = started(walker, speaker.encode(prompt), tokenizer.eos)
    walker.extend([begun])
    row = Row(0, (), stream(settings.seeded(), begun, 0))
    sampling = Sampling(walker, [row], tokenizer.eos, settings, None)
    chooser = Chooser(settings)
    tokens: list[Token] = []
    while row.ended is None:
        plain = walker.probabilities[0].astype(np.float64)
        fed = sampling.next()
        number = int(row.tokens[-1])
        cut = plain
        if not settings.samples:
            cut = np.eye(1, len(plain), number)[0]  # nothing is drawn
        elif not chooser.plain:
            cut = normalised(chooser.scores(plain[None], None))[0]
        tokens.append(_token(tokenizer, number, plain, cut))
        if row.ended is None:
            sampling.feed(fed)
    likely = np.isfinite(row.log_probability)
    nats = -row.log_probability / len(row.tokens) if likely else None
    return Written(speaker.shown(prompt), tokens, row.ended, repeats(row.tokens), nats)


def _token(tokenizer: Any, number: int, plain: Any, cut: Any) -> Token:
    others = [
        Other(tokenizer.token(int(n)), _digits(plain[n]), _digits(cut[n]))
        for n in plain.argsort()[::-1][:SHOWN]
    ]
    return Token(tokenizer.token(number), _digits(plain[number]), others)


def _digits(value: Any) -> float:
    return float(f"{float(value):.4g}")
