"""Claims about a distribution come with their sampling error, and with draws enough."""

import math

import numpy as np
import pytest
from claiming import verdict, verdicts

from indicial import load
from indicial.claims.experiment import HOLDS, REFUTED, UNDECIDED, UNTRIED, Experiment, with_error
from indicial.claims.statistics import (
    BELOW_TOLERANCE,
    SURE,
    Estimate,
    _error_of_share,
    _for_tolerance,
    _group,
    _look,
)

KEYS = """
size N = 10
constant M[m] = [5, 10, 100]
μ[n,i] ~ orthonormal
ε ~ N(1, 1/2)
k[n,i] = μ[n,i]
k[0,i] = ε μ[0,i]
"""


def test_noisy_keys_and_one_head() -> None:
    """How much the attention to a noisy key varies; worked out by hand in one dimension below."""
    text = KEYS + "q[m,i] = M[m] (μ[0,i] + μ[1,i])\nα[m,n] = softmax_n k[n,I] q[m,I]\n"
    random = np.random.default_rng(1).normal(1, math.sqrt(0.5), 400_000)
    claims = []
    for number, factor in enumerate((5, 10, 100)):
        # The scores are ε M, M and eight times 0.
        top = np.maximum(random * factor, factor)
        own = np.exp(random * factor - top)
        share = own / (own + np.exp(factor - top) + 8 * np.exp(-top))
        claims.append(f"claim std of α[{number},0] ≈ {share.std():.4f} within 0.01")
    assert [float(c.split()[5]) for c in claims] == pytest.approx([0.386, 0.442, 0.494], abs=0.001)
    assert [v.status for v in verdicts(text + "\n".join(claims))] == [HOLDS] * 3
    assert verdict(text + "claim std of α[0,0] ≈ 0.344 within 0.02").status == REFUTED


def test_noisy_keys_and_two_heads() -> None:
    text = KEYS + (
        "α_1[m,n] = softmax_n k[n,I] M[m] μ[0,I]\n"
        "α_2[m,n] = softmax_n k[n,I] M[m] μ[1,I]\n"
        "c[m,n] = 1/2 (α_1[m,n] + α_2[m,n])\n"
        "claim probability of (|c[0,0] - 1/2| > 0.1) ≈ 0.34 within 0.02\n"
        "claim probability of (|c[1,0] - 1/2| > 0.1) ≈ 0.18 within 0.02\n"
        "claim probability of (|c[2,0] - 1/2| > 0.1) ≈ 0.09 within 0.02\n"
    )
    assert [v.status for v in verdicts(text)] == [HOLDS] * 3


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("mean of x ≈ 1 within 0.1", HOLDS),
        ("std of x ≈ 2 within 0.1", HOLDS),
        ("variance of x ≈ 4 within 0.3", HOLDS),
        ("variance of x ≈ 2 within 0.3", REFUTED),
        ("probability of (x > 1) ≈ 1/2 within 0.05", HOLDS),
        ("probability of (x > 1 and x < 3) ≤ 0.5", HOLDS),
        ("probability of (x > 99) ≤ 0.01", HOLDS),
        ("probability of (x > 99) ≥ 0.01", REFUTED),
        ("max of x ≥ 4", HOLDS),
        ("min of x ≥ 0", REFUTED),
        ("mean of x ≥ 0", HOLDS),
        ("mean of x ≤ 0", REFUTED),
        ("mean of x ≈ std of x within 2", HOLDS),
        ("mean of x^2 - (mean of x)^2 ≈ 4 within 0.5", HOLDS),
    ],
)
def test_every_statistic(claim: str, status: str) -> None:
    assert verdict(f"x ~ N(1, 4)\nclaim {claim}").status == status


def test_unit_variance_at_every_size() -> None:
    text = "h[i] ~ N(0, 1)\ne[i] ~ N(0, 1)\nβ = 1/sqrt(I)\ns = β h[I] e[I]\n"
    found = verdict(text + "claim variance of s ≈ 1 within 0.2")
    assert found.status == HOLDS
    assert "I = 1 to 32" in found.found
    flat = verdict(text.replace("1/sqrt(I)", "1/I") + "claim variance of s ≈ 1 within 0.2")
    assert flat.status == REFUTED


def test_the_error_is_the_standard_error() -> None:
    """Of a mean it is σ/√n, of a standard deviation σ/√(2n)."""
    code = load("x ~ N(0, 4)\nclaim mean of x ≈ 0 within 1\nclaim std of x ≈ 2 within 1").code
    for test, expected in zip(code.tests, (2 / 50, 2 / 50 / math.sqrt(2)), strict=True):
        experiment = Experiment(code, test)
        errors = [
            float(_look(experiment, {}, np.random.default_rng(seed), 2500).error)
            for seed in range(40)
        ]
        assert np.mean(errors) == pytest.approx(expected, rel=0.1)


def test_a_verdict_is_right_for_many_seeds() -> None:
    """The true mean lies a little inside, or outside, the tolerance."""
    for seed in range(6):
        inside = verdict("x ~ N(0, 1)\nclaim mean of x ≈ 0.09 within 0.1", seed=seed)
        outside = verdict("x ~ N(0, 1)\nclaim mean of x ≈ 0.11 within 0.1", seed=seed)
        assert (inside.status, outside.status) == (HOLDS, REFUTED)


def test_what_the_draws_do_not_settle_is_undecided() -> None:
    found = verdict("x ~ N(0, 1)\nclaim mean of x ≥ 0", draws=5000)
    assert found.status == UNDECIDED
    said = found.message().render()
    assert "it needs about" in said.replace("\n    ", " ")
    assert "--draws" in said


def test_a_straddling_figure_gets_more_draws() -> None:
    near = verdict("x ~ N(0, 1)\nclaim mean of x ≈ 0.095 within 0.1")
    far = verdict("x ~ N(0, 1)\nclaim mean of x ≈ 0 within 0.1")
    assert (near.status, far.status) == (HOLDS, HOLDS)

    def draws(text: str) -> int:
        return int(text.split("(")[1].split()[0].replace(",", ""))

    assert draws(near.found) > 10 * draws(far.found)


def test_values_beside_a_statistic_are_refused() -> None:
    found = verdict("x ~ N(0, 1)\ny ~ N(0, 1)\nclaim mean of x ≈ y within 1")
    assert found.status == UNTRIED
    assert "a statistic is combined with what changes from draw to draw: y" in found.found


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.38662, 0.00091, "0.3866 ± 0.0009"),
        (0.38662, 0.00131, "0.3866 ± 0.0013"),
        (12.3456, 0.51, "12.3 ± 0.5"),
        (1234.5, 12.0, "1234.5 ± 12.0"),
        (2.0, 0.0, "2"),
    ],
)
def test_digits_follow_the_error(value: float, error: float, text: str) -> None:
    assert with_error(value, error) == text


def test_no_minus_before_nothing() -> None:
    assert with_error(-0.00001, 0.001) == "0.0000 ± 0.0010"


def test_one_broken_element_is_enough() -> None:
    """The mean at i = 1 is plainly wrong; that the one at i = 0 is near its bound changes nothing."""
    text = "size I = 2\nx[i] ~ N(0.1 + 9 i, 1)\nclaim mean of x[i] ≈ 0 within 0.1"
    found = verdict(text, draws=2500)
    assert found.status == REFUTED
    assert found.broken is not None and found.broken.place == {"i": 1}


@pytest.mark.parametrize("seen", [0, 1, 2, 4, 10, 30])
def test_a_rare_case_is_not_taken_for_none(seen: int) -> None:
    """A bound that is said to hold is missed by chance about as seldom as four errors promise."""
    draws = 2_500
    bound = seen + SURE * _error_of_share(np.array(seen / draws), draws) * draws
    by_chance = sum(math.exp(-bound) * bound**k / math.factorial(k) for k in range(seen + 1))
    assert by_chance < 3e-4
    ordinary = math.sqrt(0.25 / draws)
    assert _error_of_share(np.array(0.5), draws) == pytest.approx(ordinary, rel=0.01)


def test_a_quotient_of_means_is_told_how_to_be_written() -> None:
    text = "u ~ uniform(0, 1)\nclaim {} ≈ 2/3 within 0.05"
    assert verdict(text.format("(mean of u^2) / (mean of u)")).status == HOLDS
    assert (
        "write (mean of a) / (mean of b)" in verdict(text.format("mean of u^2 / mean of u")).found
    )


def test_too_much_for_thousands_of_draws_is_not_begun() -> None:
    found = verdict(
        "size I = 1200\nsize J = 1200\nx[i,j] ~ N(0, 1)\nclaim mean of x[0,0] ≈ 0 within 0.1"
    )
    assert found.status == UNTRIED
    assert "too many numbers for thousands of draws" in found.message().text


def test_draws_for_a_tolerance() -> None:
    """So many that the error, which falls with their root, is a sixth of the tolerance."""

    def needed(error: list[float], allowed: list[float], tried: list[bool]) -> int:
        nothing = np.zeros(len(error))
        return _for_tolerance(
            Estimate({}, 1000, nothing, nothing, np.array(error), nothing, np.array(allowed), np.array(tried))
        )  # fmt: skip

    draws = needed([0.02, 0.03, 9.0, 9.0], [0.1, 0.1, 0.0, 0.1], [True, True, True, False])
    assert 0.03 * math.sqrt(1000 / draws) == pytest.approx(0.1 / BELOW_TOLERANCE, rel=1e-3)
    assert needed([0.5], [0.0], [True]) == 0
    assert needed([0.5], [0.1], [False]) == 0


def test_each_side_is_told_on_its_own_side() -> None:
    found = verdict("x ~ N(1, 1)\nclaim std of x ≥ 3")
    assert found.status == REFUTED and found.broken is not None
    assert found.broken.left.startswith(("0.9", "1.0")) and found.broken.right == "3"
    found = verdict("x ~ N(1, 1)\nclaim 3 ≤ std of x")
    assert found.broken is not None
    assert found.broken.left == "3" and found.broken.right.startswith(("0.9", "1.0"))


def test_the_spread_of_a_group_is_that_of_what_it_is_drawn_from() -> None:
    values = np.array([1.0, 2.0, 6.0])
    assert _group("variance", values) == pytest.approx(7)  # (4 + 1 + 9) / 2
    assert _group("std", values) == pytest.approx(math.sqrt(7))


def test_a_name_that_noise_would_have_is_left_to_the_text() -> None:
    text = "noise_1[i] ~ N(0, 1)\nε ~ N(0, 1)\nx[i] = noise_1[i] + ε\nclaim mean of x[i]^2 ≈ 2 within 0.2"
    assert verdict(text).status == HOLDS


def test_the_mean_of_a_derivative() -> None:
    """3 (μ² + σ²) is 6, and not 3 μ²."""
    text = "x ~ N(1, 1)\ny = x^3\n"
    assert verdict(f"{text}claim mean of ∂y/∂x ≈ 6 within 0.5").status == HOLDS
    assert verdict(f"{text}claim mean of ∂y/∂x ≈ 3 within 0.5").status == REFUTED
