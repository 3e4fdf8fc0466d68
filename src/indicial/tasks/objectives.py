"""What a document is made into before it is learned, and what of it counts.

    language    the painter Anna Lind .               all of it
    spans       the ⁇ Lind .⁇painter Anna             a span is taken out, and stands behind the text
    blank       the ⁇ Anna ⁇ .⁇painter Lind           words are, and stand there in their order
    question    Where was Anna Lind born?⁇Lund        a question with its answer, which is all that counts

>>> shares("language=1,spans=1")
{'language': 1.0, 'spans': 1.0}

All of them are texts that a language model reads from left to right, so the same equations learn any mixture. A
number for each token says how much it counts.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from indicial.data.tokenizers import EOS, Ints
from indicial.program.messages import IndicialError

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
