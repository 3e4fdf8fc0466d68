"""The products that a head computes with: what two designs can be compared by.

>>> found = circuits(hand("content"))
>>> found.scores.shape, found.values.shape, found.labels      # tokens A B C, six positions
((1, 9, 9), (1, 3, 9), ('A', 'B', 'C', '0', '1', …))

The factors W^Q and W^K are free up to an invertible change, M W^Q and M^{-⊤} W^K; so are W^O and W^V,
and the vectors of tokens and positions with all that reads them. The products are not:

    scores[k,a,b]    how much head k adds for a query with feature a and a key with feature b
    values[k,o,b]    what head k adds to output o for a key with feature b

A feature is a token, a position, or an element of an input that is given as numbers. Many products
give the same outputs, and one of them stands for all (`gauge.py`): scores are centred where the
softmax does not see a shift, and so are values whose outputs go through a softmax themselves.

Scores and values that differ, and give the same outputs → one of them for all.

>>> scores, values = settled(scores, values, Features(slice(0, 3), slice(3, 7)))

Every place has one token and one position. So the outputs do not change

    if a number is added to the scores of a query for all tokens, or for all positions;
    if a row is added to the scores that all tokens ask for, and taken from those of all positions;
    if a column is added to the values of all tokens, and taken from those of all positions.

Therefore scores are centred over the key's tokens and over its positions, and what all positions share
is counted with the tokens. Two things make it finer. Where place t reads w[t-1], the first place has a
position and no token; so what all tokens share is what all positions share but the first. And where a
place looks back only, scores of a position for a later one are never used: they are 0 here. As not all
positions see the same then, what all tokens share is counted with the positions instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from indicial.designs import heads
from indicial.designs.arrays import Array
from indicial.inspect.attention import attentions
from indicial.inspect.readings import readings
from indicial.program import ir
from indicial.program.messages import IndicialError

if TYPE_CHECKING:
    from indicial.designs.design import Design


@dataclass(frozen=True)
class Circuits:
    scores: Array
    values: Array
    blocks: tuple[tuple[str, slice], ...]
    labels: tuple[str, ...]
    factors: Mapping[str, str]
    """The names of the parameters: `{"query": "W^Q", …}`; `output` where values are multiplied again."""
    applied: Mapping[str, Array]
    """Query, key and value of each feature: (heads, inner, features)."""
    products: Array
    """Query times key, as the matrices are: before one stands for all that give the same outputs."""
    weights: str
    """The name of the attention weights."""
    output: str
    """The name of what the head gives in the end: `y`, or `P`."""
    features: Features
    softmax: bool = False
    """Whether the outputs go through a softmax."""


def circuits(design: Design) -> Circuits:
    """The products of the one attention that a design has."""
    name = _attention(design)
    query_name, key_name, scale = heads.score(design, name)
    query, key = heads.projection(design, query_name), heads.projection(design, key_name)
    value_name, mixed = heads.mixed(design.program.code, name)
    value = heads.projection(design, value_name)
    if not query.reads == key.reads == value.reads:
        raise IndicialError(
            f"query, key and value of {name} read different inputs: {query.reads}, {key.reads} and "
            f"{value.reads}; such a head is not compared"
        )
    blocks = heads.blocks(design, query.reads)
    output = heads.output(design, mixed, value.array)
    stacked = np.vstack([block.vectors for block in blocks])
    with np.errstate(over="ignore", invalid="ignore"):  # told below
        q, k = query.array @ stacked.T, key.array @ stacked.T
        scores = scale * np.einsum("kia,kib->kab", q, k)
        v = value.array @ stacked.T
        values = output.array @ v
    if not (np.isfinite(scores).all() and np.isfinite(values).all()):
        raise IndicialError(f"the products of {design.name} are larger than numbers can be")
    places, start = [], 0
    for block in blocks:
        places.append((block.kind, slice(start, start + len(block.labels))))
        start += len(block.labels)
    factors = {"query": query.parameter, "key": key.parameter, "value": value.parameter}
    if output.parameters:
        factors["output"] = " ".join(output.parameters)
    if output.softmax:
        values = values - values.mean(1, keepdims=True)
    labels = tuple(label for block in blocks for label in block.labels)
    products = scores
    features = _features(design, name, places)
    scores, values = settled(scores, values, features)
    applied = {"query": q, "key": k, "value": v}
    return Circuits(
        scores, values, tuple(places), labels, factors, applied, products, name, output.tensor,
        features, output.softmax,
    )  # fmt: skip


def _attention(design: Design) -> str:
    """The name of the weights; in layers, or several times, is too much to compare."""
    found = attentions(design.program.code)
    title = design.program.title
    if not found:
        raise IndicialError(
            f"{title} has no attention, which is what two designs or runs are compared by; how well "
            "each of two runs predicts a text, `indicial evaluate` says"
        )
    if len(found) != 1:
        raise IndicialError(f"{title} has {len(found)} attentions; designs with one are compared")
    if found[0].layer is not None:
        raise IndicialError(f"{title} has attention in layers; designs with one are compared")
    return found[0].name


def _features(design: Design, name: str, blocks: list[tuple[str, slice]]) -> Features:
    """Which features stand together at a place, and which place sees which."""
    found = dict(blocks)
    positions = found.get("positions")
    reads = readings(design.program.code)
    silent = reads[0].later if reads else 0
    visible = None
    body = design.program.code.of(name)[0].body
    if positions is not None and isinstance(body, ir.Softmax) and body.condition is not None:
        # With all scores equal, a weight is above 0 exactly where the condition holds.
        zero = replace(design, arrays={n: 0 * a for n, a in design.arrays.items()})
        count = positions.stop - positions.start
        weights = zero.reading([0] * max(1, count - silent)).values([name])[name]
        visible = weights.reshape(-1, *weights.shape[-2:])[0] > 0
    return Features(found.get("tokens"), positions, silent, visible)


@dataclass(frozen=True)
class Features:
    """Which rows and columns are tokens, and which are positions."""

    tokens: slice | None = None
    positions: slice | None = None
    silent: int = 0
    """How many places, the first ones, read no token."""
    visible: np.ndarray[Any, np.dtype[np.bool_]] | None = None
    """Which position sees which; None if each sees all."""


def settled(scores: Array, values: Array, features: Features) -> tuple[Array, Array]:
    """Scores (heads, features, features) and values (heads, outputs, features) that stand for all."""
    scores, values = scores.copy(), values.copy()
    tokens, positions = features.tokens, features.positions
    if tokens is not None and positions is not None:
        later = slice(positions.start + features.silent, positions.stop)
        _move(values, later, tokens)
        mean = _centre(scores[:, :, tokens])
        if features.silent:
            scores[:, :, later] += mean
        rows = scores.transpose(0, 2, 1)
        _move(rows, *((later, tokens) if features.visible is None else (tokens, later)))
    elif tokens is not None:
        _centre(scores[:, :, tokens])
    if positions is not None:
        _centre_positions(scores, features, positions)
    return scores, values


def _centre(block: Array) -> Array:
    """Takes the mean of each row away, in place; gives it."""
    mean: Array = block.mean(-1, keepdims=True)
    block -= mean
    return mean


def _move(array: Array, source: slice, target: slice) -> None:
    """What the columns of one kind share is added to those of the other, in place."""
    array[:, :, target] += _centre(array[:, :, source])


def _centre_positions(scores: Array, features: Features, positions: slice) -> None:
    """Centres the scores for positions, as far as each row sees them."""
    used = np.ones((scores.shape[1], positions.stop - positions.start), bool)
    if features.visible is not None:
        used[positions] = features.visible
        if features.tokens is not None:
            blind = ~features.visible[:, features.silent :].any(-1)
            scores[:, positions][:, blind, features.tokens] = 0  # it sees no token at all
    block = scores[:, :, positions]
    block *= used
    block -= used * (block.sum(-1, keepdims=True) / used.sum(-1)[:, None])
