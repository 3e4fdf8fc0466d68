"""Documents made into other texts: nothing is lost, and what counts is what should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indicial.data.tokenizers import EOS
from indicial.program.messages import IndicialError
from indicial.tasks.texts import MAKERS, Made, shares

MARK = 99


def put_back(made: Made) -> list[int]:
    """The text with what stands behind the last sign in the places of the others, in their order."""
    tokens = made.tokens.tolist()
    assert tokens[-1] == EOS
    last = len(tokens) - 1 - tokens[::-1].index(MARK)
    text, taken = tokens[:last], tokens[last + 1 : -1]
    signs = text.count(MARK)
    if signs == 1:  # a span, or the only blank
        place = text.index(MARK)
        return [*text[:place], *taken, *text[place + 1 :]]
    return sorted([t for t in text if t != MARK] + taken)


@given(
    st.lists(st.integers(1, 98), min_size=1, max_size=40), st.integers(8, 64), st.integers(0, 99)
)
def test_what_is_taken_out_stands_behind(words: list[int], most: int, seed: int) -> None:
    document = np.array([*words, EOS])
    for name in ("spans", "blank"):
        made = MAKERS[name](document, most, MARK, np.random.default_rng(seed))
        assert len(made.tokens) <= most and (made.weights == 1).all()
        back = put_back(made)
        whole = [words[n : n + len(back)] for n in range(len(words))]
        assert back in whole or back in [sorted(part) for part in whole]
    kept = MAKERS["language"](document, most, MARK, np.random.default_rng(seed)).tokens.tolist()
    assert len(kept) == min(most, len(document))
    assert any(kept == document[n : n + len(kept)].tolist() for n in range(len(document)))


@given(st.lists(st.integers(1, 98), max_size=9), st.lists(st.integers(1, 98), max_size=9))
def test_only_the_answer_counts(question: list[int], answer: list[int]) -> None:
    document = np.array([*question, MARK, *answer, EOS])
    made = MAKERS["question"](document, 64, MARK, np.random.default_rng(0))
    assert made.tokens.tolist() == document.tolist()
    assert made.tokens[made.weights > 0].tolist() == [*answer, EOS]


def test_shares_are_read_and_checked() -> None:
    assert shares("language=1, spans=2.5") == {"language": 1.0, "spans": 2.5}
    assert shares("spans") == {"spans": 1.0}
    for said, why in [
        ("spam", "did you mean spans"),
        ("spans=0", "a number from"),
        ("spans=1,spans=2", "named twice"),
    ]:
        with pytest.raises(IndicialError, match=why):
            shares(said)
