"""A language model is a distribution over texts, and no word is predicted from itself."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from drawing import Array, draw, model

from indicial import library

V = 2
BLANK = ["blank_log_loss", "blank_rnn"]
GIVEN = ["log_loss", "temperature", "blank_log_loss", "language_model", "language_model_stack"]
"""Those that are given their states, and so cannot show what they read of the text."""

MODELS = [n for n in library.names() if "P(w[t]" in library.path(n).read_text(encoding="utf-8")]
CAUSAL = [n for n in MODELS if n not in BLANK]


def probabilities(name: str, T: int) -> tuple[Array, Array]:
    """All texts of T words, and P[text,t,w] for each of them."""
    program = model(name)
    # With less than three units, layer norm leaves only signs.
    width = {"J": 3} if "J" in program.code.sizes else {}
    drawn = draw(program, 2, seed=3, T=T, V=V, **width)
    texts = np.array(list(product(range(V), repeat=T)))
    result = program.interpret(
        {**drawn.inputs, "w": texts},
        drawn.parameters,
        draws=drawn.draws,
        sizes=drawn.sizes,
        want=["P"],
    )
    # What is given its states is the same for all texts.
    return texts, np.broadcast_to(result["P"], (len(texts), T, V))


def test_what_is_tested() -> None:
    generating = {n for n in library.names() if model(n).code.generated}
    assert generating == set(MODELS) - {"log_loss", *BLANK}


@pytest.mark.parametrize("name", CAUSAL)
def test_all_texts_together_have_probability_one(name: str) -> None:
    texts, P = probabilities(name, 3)
    of_words = np.take_along_axis(P, texts[..., None], -1)[..., 0]
    assert of_words.prod(-1).sum() == pytest.approx(1)
    np.testing.assert_allclose(P.sum(-1), 1)


@pytest.mark.parametrize("name", CAUSAL)
def test_a_word_is_predicted_from_those_before_it(name: str) -> None:
    """Texts with the same beginning give the same P after it, and some words make a difference."""
    texts, P = probabilities(name, 3)
    for t in range(3):
        by_beginning: dict[tuple[int, ...], list[Array]] = {}
        for text, p in zip(texts, P, strict=True):
            by_beginning.setdefault(tuple(text[:t]), []).append(p[t])
        assert len(by_beginning) == V**t
        for same in by_beginning.values():
            np.testing.assert_array_equal(np.ptp(same, axis=0), 0)
        if t and name not in GIVEN:
            firsts = {same[0].round(9).tobytes() for same in by_beginning.values()}
            assert len(firsts) == V**t, "each beginning gives its own prediction"


def test_a_trigram_model_reads_two_words() -> None:
    texts, P = probabilities("trigram", 4)
    for first, second in product(range(V), repeat=2):
        same = P[(texts[:, 1] == first) & (texts[:, 2] == second), 3]
        np.testing.assert_array_equal(np.ptp(same, axis=0), 0)


@pytest.mark.parametrize("name", BLANK)
def test_a_blank_is_filled_from_both_sides_and_not_from_itself(name: str) -> None:
    texts, P = probabilities(name, 3)
    np.testing.assert_allclose(P.sum(-1), 1)
    for t in range(3):
        by_rest: dict[tuple[int, ...], list[Array]] = {}
        for text, p in zip(texts, P, strict=True):
            by_rest.setdefault((*text[:t], *text[t + 1 :]), []).append(p[t])
        for same in by_rest.values():
            np.testing.assert_array_equal(np.ptp(same, axis=0), 0)
        if name not in GIVEN:
            assert len({same[0].round(9).tobytes() for same in by_rest.values()}) == V**2
