"""Scores and values that differ, and give the same outputs → one of them for all.

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

from dataclasses import dataclass
from typing import Any

import numpy as np

from indicial.designs.arrays import Array


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
