"""A shuffled order that needs no memory: place → number, computed when it is asked for.

    shuffled(np.arange(5), 5, key=7)    →  array([3, 0, 4, 1, 2])
    shuffled(np.array([2]), 5, key=7)   →  array([4])

A list of all rows in random order would take eight bytes a row, must be made anew each epoch, and
kept for resuming. Instead the place is scrambled by steps that can each be undone, so no two places
give the same number: multiplying by an odd number and adding another modulo a power of two, and
xor with its own upper bits. A result that is not below `count` is scrambled again until it is.
"""

from __future__ import annotations

import hashlib
import struct

import numpy as np

from indicial.data.tokenizers import Ints

ROUNDS = 5


def key(*parts: object) -> int:
    """A number of 64 bits that depends on all parts: `key(seed, epoch, "shift")`."""
    text = "\0".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def shuffled(places: Ints, count: int, key: int) -> Ints:
    """Which of `count` things stands at each of `places`; each number below `count` once."""
    bits = max(1, (count - 1).bit_length())
    shift, mask = np.uint64((bits + 1) // 2), np.uint64((1 << bits) - 1)
    rounds = _rounds(key)
    numbers = places.astype(np.uint64)
    outside: Ints = np.arange(len(numbers))
    while len(outside):
        scrambled = numbers[outside]
        for odd, added in rounds:
            scrambled = (scrambled * odd + added) & mask
            scrambled ^= scrambled >> shift
        numbers[outside] = scrambled
        outside = outside[scrambled >= count]
    return numbers.astype(np.int64)


def _rounds(key: int) -> list[tuple[np.uint64, np.uint64]]:
    """An odd number and another for each round."""
    seed = struct.pack("<Q", key)
    digest = hashlib.blake2b(seed, digest_size=8 * ROUNDS, person=b"odd").digest()
    added = hashlib.blake2b(seed, digest_size=8 * ROUNDS, person=b"added").digest()
    numbers = zip(struct.iter_unpack("<Q", digest), struct.iter_unpack("<Q", added), strict=True)
    return [(np.uint64(first | 1), np.uint64(second)) for (first,), (second,) in numbers]
