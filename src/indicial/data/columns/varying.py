"""Pictures of a batch, changed a little, so that a small set of photographs is not learned by heart.

    Variation(mirror=True, shift=8).of(pictures, key(seed, step, "pictures"))

Each picture is mirrored or not, left and right, and moved by up to `shift` points down and across; what
comes in at an edge repeats that edge. What is done is drawn from the key, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from indicial.data.tokenizers import Ints


@dataclass(frozen=True)
class Variation:
    """How pictures may be changed: what is true of one should be true of it afterwards."""

    mirror: bool = False
    shift: int = 0

    def __bool__(self) -> bool:
        return self.mirror or self.shift > 0

    def of(self, pictures: Ints, key: int, rank: int = 0, of: int = 1) -> Ints:
        """New pictures of the same size; one process of several has every so-manieth of the batch."""
        draws = np.random.default_rng(key)
        drawn = len(pictures) * of
        moved = draws.integers(-self.shift, self.shift + 1, (drawn, 2))[rank::of]
        mirrored = draws.random(drawn)[rank::of] < 0.5 * self.mirror
        height, width = (np.arange(size) for size in pictures.shape[1:3])
        found = np.empty_like(pictures)
        for row, (down, across) in enumerate(moved[: len(pictures)].tolist()):
            lines = np.clip(height + down, 0, len(height) - 1)
            places = np.clip(width + across, 0, len(width) - 1)
            places = places[::-1] if mirrored[row] else places
            found[row] = pictures[row][lines[:, None], places[None, :]]
        return found


ASIS = Variation()
