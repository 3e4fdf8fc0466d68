"""`k[i] ~ N(μ[i], C[i,j])`: draws with a covariance, singular ones too; the covariance of the draws is the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from indicial.claims.trying import pictures
from indicial.library.loading import load

RANDOM = """
size I = 3
constant A[i,r] = [[1.0, 0.0, 0.0], [0.8, 0.5, 0.0], [-0.3, 0.9, 0.2]]
k[i] ~ N(2, Σ_r A[i,r] A[j,r])
plot of k[i]
"""
SINGULAR = """
size I = 3
constant m[i] = [1, 2, -1]
k[i] ~ N(m[i], 1/2 m[i] m[j])
plot of k[i]
"""


@pytest.mark.parametrize("text", [RANDOM, SINGULAR])
def test_the_draws_have_the_mean_and_the_covariance_of_the_text(text: str) -> None:
    (picture,) = pictures(load(text), draws=4000)
    A = np.array([[1.0, 0.0, 0.0], [0.8, 0.5, 0.0], [-0.3, 0.9, 0.2]])
    m = np.array([1.0, 2.0, -1.0])
    mean, covariance = (np.full(3, 2.0), A @ A.T) if text is RANDOM else (m, np.outer(m, m) / 2)
    assert np.allclose(picture.values.mean(axis=0), mean, atol=0.1)
    assert np.allclose(np.cov(picture.values.T), covariance, atol=0.15)


def test_each_row_is_drawn_by_itself() -> None:
    text = "size N = 2\nsize I = 2\nk[n,i] ~ N(0, (n + 1) [i = j])\nplot of k[n,i]"
    (picture,) = pictures(load(text), draws=4000)
    rows = np.cov(picture.values.reshape(4000, 4).T)
    assert np.allclose(rows, np.diag([1.0, 1.0, 2.0, 2.0]), atol=0.15)


def test_a_variance_without_an_index_of_its_own_stays_a_variance() -> None:
    program = load("input σ[i]\nk[i] ~ N(0, σ[i] σ[i])")
    assert {"k", "σ"} == set(program.code.tensors)


def test_a_covariance_in_vector_style() -> None:
    text = "vector μ\nμ ~ N(3, 1)\nk ~ N(μ, 1/100 I + 1/2 μ μ^⊤)\nz = k^⊤ μ/(μ^⊤ μ)\nplot of z"
    (picture,) = pictures(load(text), draws=4000)
    assert picture.values.mean() == pytest.approx(1, abs=0.1)
    assert picture.values.var() == pytest.approx(1 / 2, abs=0.1)
