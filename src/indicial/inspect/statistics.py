"""The numbers of a model by name, which of its units hardly learn, and which words it takes for alike.

>>> parameter_statistics(module)[0]
Statistics(name='W^{h,R}[j,i]', count=4096, mean=0.0, deviation=0.12, norm=7.9, most=0.5, …)
>>> saturations(module, {"w": tokens})[0]
Saturation(equation='R', function='tanh', low=0.05, high=0.06, always=0.0)
>>> nearest(module, tokenizer, [tokenizer.encode("dog")[0]])[0]
Neighbours(token='dog', near=(('cat', 0.83), ('horse', 0.71), …))

A tanh is flat beyond ±0.97, a σ below 0.03 and above 0.97, a ReLU at 0. `always` is the share of
units that are so at every step of every text: a ReLU of which that is true is dead. The vectors of words are the
parameter that the equations read at a token, `e[w[t],j]`; near is what has a large cosine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from indicial.compile.module.module import ProgramModule
from indicial.compile.module.sizes import data_lengths, with_indices
from indicial.data.tokenizers import Ints, Tokenizer
from indicial.inspect.probes import Activation, Twin, observed
from indicial.program.ir import Code, Gather, Read
from indicial.program.messages import IndicialError


@dataclass(frozen=True)
class Statistics:
    """Of the numbers that are finite; `norm` is that of all elements, of one text where it differs."""

    name: str
    count: int
    mean: float
    deviation: float
    norm: float
    most: float
    """The largest without its sign."""
    zero: float
    """The share that is exactly 0."""
    nan: float
    """The share that is not finite."""


def statistics(name: str, values: torch.Tensor, texts: int = 1) -> Statistics:
    """Of one tensor, which holds `texts` texts."""
    values = values.detach().double()
    finite = values[torch.isfinite(values)]
    known = finite if finite.numel() else torch.zeros(1, dtype=torch.float64)
    return Statistics(
        name,
        values.numel() // texts,
        float(known.mean()),
        float(known.std(correction=0)),
        float(known.norm()) / texts**0.5,
        float(known.abs().max()),
        float((values == 0).double().mean()) if values.numel() else 0.0,
        1 - finite.numel() / values.numel() if values.numel() else 0.0,
    )


def parameter_statistics(module: ProgramModule) -> list[Statistics]:
    tensors = module.code.tensors
    return [
        statistics(with_indices(tensors[name]), module.get_parameter(key).cpu())
        for name, key in module.state_keys.items()
    ]


def activation_statistics(
    module: ProgramModule, inputs: Mapping[str, torch.Tensor]
) -> list[Statistics]:
    """One for each tensor that an equation defines."""
    code = module.code
    names = list(dict.fromkeys(s.target for s in code.statements))
    with torch.no_grad():
        values = Twin(module, code, names)(inputs)
    return [_activation(code, name, values[name]) for name in names]


def _activation(code: Code, name: str, values: torch.Tensor) -> Statistics:
    texts = values.shape[0] if values.dim() > len(code.tensors[name].axes) else 1
    return statistics(with_indices(code.tensors[name]), values, texts)


FLAT = {"tanh": (-0.97, 0.97), "σ": (0.03, 0.97), "ReLU": (0.0, float("inf"))}
"""Below the first and above the second there is next to no slope."""


@dataclass(frozen=True)
class Saturation:
    """Of one activation in one equation; shares from 0 to 1."""

    equation: str
    function: str
    low: float
    high: float | None
    """None for a ReLU, which has no upper end."""
    always: float


def saturations(
    module: ProgramModule, inputs: Mapping[str, torch.Tensor]
) -> list[Saturation] | str:
    """One for each activation, in the order of the equations; or why there is none."""
    code, found = observed(module.code)
    if not found:
        return "no equation has a tanh, a σ or a ReLU"
    with torch.no_grad():
        values = Twin(module, code, [one.name for one in found])(inputs)
    names = _names(found)
    return [_saturation(code, one, names[one.name], values[one.name]) for one in found]


def _names(found: list[Activation]) -> dict[str, str]:
    """`R`; where it is a part of the right side, `h: tanh`; the second of these `h: tanh 2`."""
    names: dict[str, str] = {}
    for one in found:
        label = one.target if one.whole else f"in {one.target}"
        taken = sum(name == label or name.startswith(f"{label} (") for name in names.values())
        names[one.name] = f"{label} ({taken + 1})" if taken else label
    return names


def _saturation(code: Code, one: Activation, name: str, values: torch.Tensor) -> Saturation:
    least, most = FLAT[one.function]
    low = values <= least
    high = values >= most
    always = (low | high).all(0) if values.dim() > len(code.tensors[one.name].axes) else low | high
    lengths = set(data_lengths(code))
    for number, axis in reversed(list(enumerate(code.tensors[one.name].axes))):
        if axis.extent.names & lengths:
            always = always.all(number)
    return Saturation(
        name,
        one.function,
        float(low.double().mean()),
        None if one.function == "ReLU" else float(high.double().mean()),
        float(always.double().mean()),
    )


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
