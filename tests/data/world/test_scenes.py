"""Scenes: pictures that show what they are said to show, captions that are true, and whose words look where."""

import math
import re
from itertools import islice

import numpy as np
import pytest

from indicial.data.world.scenes import (
    COLOURS,
    HELD_OUT,
    PARTS,
    RADII,
    SHAPES,
    PointingScore,
    Scenes,
    Thing,
    captions,
    covered,
    draw,
    entropy,
    holding,
    judge,
    owners,
    vocabulary,
)
from indicial.program.messages import IndicialError

ROWS = list(Scenes().rows("train", 60, seed=7))


def test_a_row_is_a_picture_with_a_true_caption() -> None:
    for row in ROWS:
        assert row["I"].shape == (32, 32, 3) and row["I"].dtype == np.uint8
        judged = judge(row["w"], row["objects"])
        assert judged and judged.complete and not judged.why
    again = list(Scenes().rows("train", 60, seed=7))
    assert all(np.array_equal(a["I"], b["I"]) and a["w"] == b["w"] for a, b in zip(ROWS, again))  # noqa: B905
    with pytest.raises(IndicialError, match="the parts of scenes are train, validation, new"):
        next(Scenes().rows("test", 1))


def test_the_points_of_a_thing_have_its_colour_and_its_shape() -> None:
    """Measured on the picture: the nearest colour, how much is filled, and where."""
    rng = np.random.default_rng(0)
    for colour in COLOURS:
        for shape in SHAPES:
            thing = Thing(shape, colour, "large", 14.0, 17.0)
            picture, own = draw([thing], rng).astype(float), owners([thing])
            mean = picture[own == 1].mean(0)
            assert min(COLOURS, key=lambda c: np.abs(mean - COLOURS[c]).sum()) == colour
            across = np.nonzero(own)[1]
            assert abs(across.mean() - 17) < 0.6
            assert 9 <= across.max() - across.min() + 1 <= 11
    all_of_it = np.arange(32)
    areas = {
        s: covered(Thing(s, "red", "large", 14, 17), all_of_it, all_of_it).sum() for s in SHAPES
    }
    assert areas["circle"] == pytest.approx(math.pi * 5.5**2, rel=0.05)
    assert areas["square"] == pytest.approx((2 * 0.88 * 5.5) ** 2, rel=0.05)
    assert areas["ring"] == pytest.approx(math.pi * 5.5**2 * 0.7, rel=0.05)
    assert areas["diamond"] == pytest.approx(2 * (1.05 * 5.5) ** 2, rel=0.05)
    centre = {s: owners([Thing(s, "red", "large", 14, 17)])[14, 17] for s in SHAPES}
    assert centre == {s: int(s != "ring") for s in SHAPES}


def test_probabilities_of_captions_add_up_and_no_two_are_the_same() -> None:
    for row in ROWS:
        said = captions(row["objects"])
        assert math.fsum(caption.probability for caption in said) == pytest.approx(1)
        assert len({caption.text for caption in said}) == len(said)
        assert all(judge(c.text, row["objects"]).meant == c.meant for c in said)
        mean = -math.fsum(c.probability * math.log(c.probability) for c in said)
        assert entropy(row["objects"]) == pytest.approx(mean)
        (own,) = [c for c in said if c.text == row["w"]]
        assert row["log_probability"] == pytest.approx(math.log(own.probability))


def test_captions_with_another_word_are_false_of_a_scene() -> None:
    """Another colour, shape, size, number or relation makes something else of it."""
    kinds = [list(COLOURS), list(RADII), ["two", "three"], ["above", "below"]]
    for row in ROWS:
        words = row["w"].split()
        for number, word in enumerate(words):
            for kind in kinds:
                for other in kind:
                    if word in kind and other != word:
                        text = " ".join([*words[:number], other, *words[number + 1 :]])
                        assert not judge(text, row["objects"]), (row["w"], text)


SCENE = [
    Thing("circle", "red", "small", 5, 5),
    Thing("circle", "red", "small", 5, 20),
    Thing("ring", "blue", "large", 25, 26),
]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("two red circles and a blue ring", ""),
        ("a large blue ring below two small red circles", ""),
        ("two red circles left of a blue ring", ""),
        ("a blue ring", ""),
        ("a blue ring in the bottom right", ""),
        ("a blue ring at the bottom", "not at the bottom"),
        ("a red circle", "not a red circle: there are 2"),
        ("two blue rings", "not two blue rings: there is one"),
        ("a green ring", "not a green ring: there is none"),
        ("a small blue ring", "not a small blue ring: there is none"),
        ("a blue ring left of two red circles", "not left of"),
        ("a blue ring right of a blue ring", "not right of"),
        ("a blue ring and a blue ring", "something is named twice"),
        ("a blue ring , two red circles", "a list ends in and"),
        ("two red circle", "circle cannot come after two red"),
        ("a blue ring and", "the end cannot come after nothing"),
        ("a blue ring ring", "it goes on with ring"),
        ("", "the end cannot come after nothing"),
    ],
)  # fmt: skip
def test_judging(text: str, why: str) -> None:
    judged = judge(text, SCENE)
    assert (judged.true, judged.why) == (not why, why)


def test_only_what_names_everything_is_complete() -> None:
    assert judge("two red circles and a blue ring", SCENE).complete
    assert not judge("a blue ring", SCENE).complete
    assert judge("two red circles and a blue ring", SCENE).meant == (
        (0, 1), (0, 1), (0, 1), (), (2,), (2,), (2,)
    )  # fmt: skip


def test_all_words_are_known() -> None:
    said = " ".join(row["w"] for row in Scenes().rows("train", 400))
    assert set(said.split()) <= set(vocabulary())
    assert all(re.fullmatch(r"[a-z]+|,", word) for word in vocabulary())


def test_pairs_that_are_held_out_are_in_new_scenes_only() -> None:
    for part in PARTS:
        rows = list(islice(Scenes().rows(part, 60), 60))
        held = [{(t.colour, t.shape) for t in row["objects"]} & set(HELD_OUT) for row in rows]
        assert all(held) if part == "new" else not any(held)
        assert all(bool(row["new"]) == (part == "new") for row in rows)
    seen = {k for row in Scenes().rows("train", 300) for t in row["objects"] for k in (t.colour, t.shape)}  # fmt: skip
    assert {word for pair in HELD_OUT for word in pair} <= seen


def test_pointing_counts_words_that_look_at_what_they_name() -> None:
    own = owners(SCENE)
    grid = holding(own, [3], (8, 8))
    for row in range(8):
        for column in range(8):
            block = own[4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
            assert grid[row, column] == bool((block == 3).any())
    meant = judge("a blue ring below two red circles", SCENE).meant
    at_ring, nowhere = np.zeros((8, 8)), np.zeros((8, 8))
    at_ring[tuple(np.argwhere(grid)[0])] = 1
    nowhere[7, 0] = 1
    score = PointingScore()
    score.add(np.stack([at_ring, at_ring, nowhere, nowhere]), meant, own)
    assert (score.words, score.hits) == (3, 2)
    assert score.share == pytest.approx(2 / 3)
    assert score.chance == pytest.approx(grid.mean())
