"""A shuffled order that needs no memory: place → number, computed when it is asked for.

    shuffled(np.arange(5), 5, key=7)    →  array([3, 0, 4, 1, 2])
    shuffled(np.array([2]), 5, key=7)   →  array([4])

A list of all rows in random order would take eight bytes a row, must be made anew each epoch, and
kept for resuming. Instead the place is scrambled by a Feistel network (Luby and Rackoff 1988), a
bijection of the numbers below a power of four whatever its round function is. A result that is not
below `count` is scrambled again until it is, which leaves a bijection of the numbers below `count`.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

import numpy as np

Ints: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

ROUNDS = 6


def key(*parts: object) -> int:
    """A number of 64 bits that depends on all parts: `key(seed, epoch, "shift")`."""
    text = "\0".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def shuffled(places: Ints, count: int, key: int) -> Ints:
    """Which of `count` things stands at each of `places`; each number below `count` once."""
    half = np.uint64(max(1, ((count - 1).bit_length() + 1) // 2))
    numbers = _scrambled(places.astype(np.uint64), half, key)
    while (outside := numbers >= count).any():
        numbers[outside] = _scrambled(numbers[outside], half, key)
    return numbers.astype(np.int64)


def _scrambled(numbers: Ints, half: np.uint64, key: int) -> Ints:
    """A bijection of the numbers of 2·half bits."""
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = numbers >> half, numbers & mask
    for round_key in range(key, key + ROUNDS):
        left, right = right, left ^ (_mixed(right, round_key) & mask)
    return (left << half) | right


def _mixed(numbers: Ints, key: int) -> Ints:
    """Numbers in which every bit depends on every bit of number and key (SplitMix64)."""
    mixed = numbers + np.uint64(key * 0x9E3779B97F4A7C15 % 2**64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
