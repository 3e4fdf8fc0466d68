"""Scores: the same number in nats, bits, per word and above the truth."""

import math

import pytest

from indicial.tasks.task import Scores


def test_the_same_number_in_several_units() -> None:
    # 1000 fair coins, each written with two characters, ten to a word.
    scores = Scores(1000 * math.log(2), 1000, characters=2000, words=100, entropy=6.0)
    assert scores.per_token == pytest.approx(math.log(2))
    assert scores.perplexity == pytest.approx(2)
    assert scores.bits_per_character == pytest.approx(0.5)
    assert scores.per_word == pytest.approx(10 * math.log(2))
    assert scores.above_entropy == pytest.approx(10 * math.log(2) - 6)


def test_what_is_not_known_is_left_out() -> None:
    found = Scores(2.0, 1).to_json()
    assert found == {"loss": 2.0, "perplexity": math.exp(2), "nats": 2.0, "tokens": 1}
    assert math.isnan(Scores(0.0, 0).per_token)
