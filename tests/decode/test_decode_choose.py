"""What is cut and scaled, against Hugging Face's definitions written out for one row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indicial.decode.settings import Chooser, Decoding, drawn
from indicial.program.messages import IndicialError


def softmax(scores: np.ndarray) -> np.ndarray:
    values = np.exp(scores - scores.max())
    return values / values.sum()


def by_definition(p: np.ndarray, seen: set[int], settings: Decoding) -> np.ndarray:
    """RepetitionPenalty, Temperature, TopK, TopP and MinP, in this order, as their texts say."""
    scores = np.log(p)
    for token in seen:
        penalty = settings.repetition_penalty
        scores[token] = scores[token] * penalty if scores[token] < 0 else scores[token] / penalty
    scores = scores / settings.temperature
    if settings.top_k:
        least = sorted(scores)[-min(settings.top_k, len(scores))]
        scores = np.array([s if s >= least else -np.inf for s in scores])
    if settings.top_p < 1:
        order = np.argsort(scores)
        sums = np.cumsum(softmax(scores)[order])
        for place, token in enumerate(order[:-1]):
            if sums[place] <= 1 - settings.top_p:
                scores[token] = -np.inf
    if settings.min_p:
        probabilities = softmax(scores)
        scores[probabilities < settings.min_p * probabilities.max()] = -np.inf
    return softmax(scores)


@given(
    st.integers(0, 1000),
    st.sampled_from([0.3, 0.8, 1.0, 2.0]),
    st.sampled_from([0, 1, 3, 7, 50]),
    st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    st.sampled_from([0.5, 1.0, 1.3]),
)
def test_as_defined(seed: int, temperature: float, k: int, p: float, m: float, pen: float) -> None:
    settings = Decoding(temperature=temperature, top_k=k, top_p=p, min_p=m, repetition_penalty=pen)
    random = np.random.default_rng(seed)
    rows = random.dirichlet(np.full(12, 0.5), size=4) + 1e-9
    seen = random.random((4, 12)) < 0.3
    scores = Chooser(settings).scores(rows, seen)
    for row, flags, found in zip(rows, seen, scores, strict=True):
        expected = by_definition(row, set(np.flatnonzero(flags).tolist()), settings)
        np.testing.assert_allclose(softmax(found), expected, rtol=1e-9, atol=1e-15)


def test_top_k_keeps_what_is_as_likely() -> None:
    found = Chooser(Decoding(top_k=2)).scores(np.array([[0.4, 0.2, 0.2, 0.2]]), None)
    assert np.isfinite(found).all()


def test_draws_have_the_probabilities() -> None:
    """Uniform numbers in equal steps give each token in proportion, up to one."""
    p = np.random.default_rng(0).dirichlet(np.full(9, 0.4))
    p[[0, 4, 8]] = 0
    steps = 10_000
    uniform = (np.arange(steps) + 0.5) / steps
    together = drawn(np.tile(p, (steps, 1)), uniform)
    counts = np.bincount(together, minlength=9)
    assert np.abs(counts - steps * p / p.sum()).max() <= 1
    alone = [int(drawn(p[None], uniform[n : n + 1])[0]) for n in range(0, steps, 97)]
    assert alone == together[::97].tolist()


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-53])
@pytest.mark.parametrize("rows", [1, 3])
def test_weight_0_is_never_drawn(uniform: float, rows: int) -> None:
    for scale in (1, 1 / 3, 0.7, 1e-30):
        weights = np.tile([0.0, 0.0, scale, scale / 3, 0.0], (rows, 1))
        assert set(drawn(weights, np.full(rows, uniform)).tolist()) == {2 if uniform < 0.5 else 3}


def test_greedy_ignores_what_shapes_draws() -> None:
    p = np.array([[0.1, 0.5, 0.4]])
    assert Chooser(Decoding(temperature=0, top_k=1))(p, None, None).tolist() == [1]
    seen = np.array([[False, True, False]])
    assert Chooser(Decoding(temperature=0, repetition_penalty=2.0))(p, seen, None).tolist() == [2]


@pytest.mark.parametrize("temperature", [1e-320, 1e-100, 1e300])
def test_the_farthest_temperatures(temperature: float) -> None:
    """Next to 0 is as 0, and next to infinity every token is as likely as any other."""
    choose = Chooser(Decoding(temperature=temperature))
    p = np.array([[0.1, 0.5, 0.4]])
    found = {choose(p, None, np.array([u])).item() for u in (0.0, 0.34, 0.99)}
    assert found == ({1} if temperature < 1 else {0, 1, 2})


@pytest.mark.parametrize("settings", [Decoding(temperature=0), Decoding(), Decoding(top_k=2)])
def test_not_a_number_is_said(settings: Decoding) -> None:
    with pytest.raises(IndicialError, match="not numbers"):
        Chooser(settings)(np.array([[0.1, np.nan]]), None, np.array([0.5]))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"top_p": 1.5}, "top_p is 1.5; it is a probability, from 0 to 1"),
        ({"min_p": -0.1}, "min_p is -0.1"),
        ({"temperature": -1}, "the temperature is -1; it is 0 (greedy) or more"),
        ({"temperature": float("nan")}, "the temperature is nan"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0; it is a whole number from 1"),
        ({"top_k": -3}, "top_k is -3"),
        ({"repetition_penalty": 0}, "repetition_penalty is 0"),
        ({"seed": -1}, "the seed is -1"),
        ({"num_beams": 2, "length_penalty": 1e6}, "length_penalty is 1000000.0; it is a number from -50"),
        ({"num_beams": 2, "length_penalty": float("nan")}, "length_penalty is nan"),
        ({"early_stopping": "perhaps"}, "early_stopping is perhaps"),
        ({"temperature": 0, "num_return_sequences": 3}, "one likeliest text, not 3"),
        ({"temperature": 0, "do_sample": True}, "nothing is drawn"),
        ({"num_beams": 2, "num_return_sequences": 3}, "2 beams cannot return 3 texts"),
        ({"num_beams": 2, "temperature": 0.5}, "temperature=0.5 has no meaning"),
        ({"num_beams": 2, "do_sample": True}, "draws nothing"),
    ],
)  # fmt: skip
def test_wrong_settings(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(IndicialError) as error:
        Decoding(**wrong)  # type: ignore[arg-type]
    assert said in str(error.value)
