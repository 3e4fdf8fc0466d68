"""Which words the model takes for alike: the nearest by the cosine of their vectors.

>>> nearest(module, tokenizer, [tokenizer.encode("dog")[0]])[0]
Neighbours(token='dog', near=(('cat', 0.83), ('horse', 0.71), …))

The vectors are the parameter that the equations read at a token, `e[w[t],j]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.data.tokenizers import Ints, Tokenizer
from indicial.program.ir import Code, Gather, Read
from indicial.program.messages import IndicialError

WORDS = 8
NEAR = 5


@dataclass(frozen=True)
class Neighbours:
    token: str
    near: tuple[tuple[str, float], ...]


def embedding(code: Code) -> tuple[str, int, str] | None:
    """The first parameter that is read at a token, along which axis, and at which input."""
    for statement in code.statements:
        for node in statement.body.every(Read):
            if code.tensors[node.tensor].role == "parameter":
                for axis, place in enumerate(node.places):
                    if (
                        isinstance(place, Gather)
                        and code.tensors[place.read.tensor].role == "input"
                    ):
                        return node.tensor, axis, place.read.tensor
    return None


def nearest(
    module: ProgramModule, tokenizer: Tokenizer, tokens: Sequence[int], count: int = NEAR
) -> list[Neighbours] | str:
    """The tokens that are nearest to some; or why nothing is near anything."""
    found = embedding(module.code)
    if found is None:
        return "no equation reads a parameter at a token, so tokens have no vectors"
    name, axis, _ = found
    vectors = module.parameter(name).detach().cpu().double().movedim(axis, 0).flatten(1)
    if vectors.shape[1] < 2:
        return f"{name} has one number for each token, so all are alike or opposite"
    # A blank is one more token behind the words, and none of them.
    cosines = torch.nn.functional.normalize(vectors[: tokenizer.size], dim=1)
    result = []
    for token in tokens:
        alike = cosines @ cosines[token]
        alike[token] = -2
        best = alike.topk(min(count, len(alike) - 1))
        near = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        result.append(
            Neighbours(
                _shown(tokenizer, token),
                tuple((_shown(tokenizer, number), cosine) for number, cosine in near),
            )
        )
    return result


def _shown(tokenizer: Tokenizer, number: int) -> str:
    """A token with its blanks to be seen."""
    return tokenizer.token(number).replace(" ", "␣")


def frequent(tokens: Ints, eos: int, count: int = WORDS) -> list[int]:
    """The tokens that come most often, but for the end of a document."""
    numbers = np.bincount(tokens.ravel())
    order = [int(n) for n in np.argsort(-numbers, kind="stable") if n != eos and numbers[n]]
    return order[:count]


def tokens_of(words: Sequence[str], tokenizer: Tokenizer) -> list[int]:
    """The token of each word, alone or with the blank that BPE puts before it."""
    found = []
    for word in words:
        ways = [tokenizer.encode(word)]
        if tokenizer.kind == "bpe":
            ways.insert(0, tokenizer.encode(f" {word}"))
        single = [way[0] for way in ways if len(way) == 1]
        if not single:
            parts = " ".join(_shown(tokenizer, n) for n in ways[-1])
            raise IndicialError(
                f"--words {word}: that is {len(ways[-1])} tokens ({parts}), and only one token has "
                "a vector"
            )
        found.append(single[0])
    return found
