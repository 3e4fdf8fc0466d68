"""Pictures that are mirrored and moved: what is drawn, and that nothing else happens to them."""

from __future__ import annotations

import numpy as np

from indicial.data.column_rows import ASIS, Variation

PICTURES = np.random.default_rng(0).integers(0, 256, (64, 9, 11, 3), np.uint8)


def test_mirrored_pictures_are_those_or_their_mirror_images() -> None:
    found = Variation(mirror=True).of(PICTURES, key=5)
    same = [np.array_equal(one, other) for one, other in zip(found, PICTURES, strict=True)]
    turned = [
        np.array_equal(one, other[:, ::-1]) for one, other in zip(found, PICTURES, strict=True)
    ]
    assert all(a != b for a, b in zip(same, turned, strict=True))
    assert 16 < sum(turned) < 48


def test_moved_pictures_keep_their_middle() -> None:
    found = Variation(shift=2).of(PICTURES, key=5)
    moves = set()
    for one, other in zip(found, PICTURES, strict=True):
        held = [
            (down, across)
            for down in range(-2, 3)
            for across in range(-2, 3)
            if np.array_equal(one[2:-2, 2:-2], other[2 + down : 7 + down, 2 + across : 9 + across])
        ]
        assert len(held) == 1
        moves |= set(held)
        edge = other[np.clip(np.arange(9) + held[0][0], 0, 8)][
            :, np.clip(np.arange(11) + held[0][1], 0, 10)
        ]
        assert np.array_equal(one, edge)
    assert len(moves) > 12


def test_processes_draw_what_one_would() -> None:
    vary = Variation(mirror=True, shift=2)
    whole = vary.of(PICTURES, key=5)
    parts = [vary.of(PICTURES[rank::2], 5, rank, 2) for rank in range(2)]
    assert all(np.array_equal(whole[rank::2], parts[rank]) for rank in range(2))
    assert not np.array_equal(whole, vary.of(PICTURES, key=6))
    assert not ASIS and vary and np.array_equal(ASIS.of(PICTURES, key=5), PICTURES)
